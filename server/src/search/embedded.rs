//! Vectors of the texts of queries. They are made before a search takes its thread, because a provider may be slow.

use std::collections::HashMap;
use std::sync::Arc;

use lamina_engine::index::embedding::EmbedFailure;

/// Index, embedder and text.
type Asked = (String, String, String);

/// The vectors that were made for the searches of a request.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedTexts(HashMap<Asked, Result<Arc<[f32]>, EmbedFailure>>);

impl EmbeddedTexts {
    /// Adds what came of a text.
    pub fn insert(&mut self, uid: &str, embedder: &str, text: &str, result: Result<Arc<[f32]>, EmbedFailure>) {
        self.0.insert((uid.to_owned(), embedder.to_owned(), text.to_owned()), result);
    }

    /// The vector of a text.
    ///
    /// # Errors
    /// Why it has none.
    pub fn get(&self, uid: &str, embedder: &str, text: &str) -> Result<Vec<f32>, EmbedFailure> {
        match self.0.get(&(uid.to_owned(), embedder.to_owned(), text.to_owned())) {
            Some(Ok(vector)) => Ok(vector.to_vec()),
            Some(Err(failure)) => Err(failure.clone()),
            None => Err(EmbedFailure::undecided("the text of the query was not embedded")),
        }
    }
}
