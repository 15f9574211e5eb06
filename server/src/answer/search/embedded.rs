//! Vectors of the texts of queries. They are made before a search takes its thread, because a provider may be slow.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lamina_engine::index::embedding::EmbedFailure;

/// Index, embedder and text.
type TextKey = (String, String, String);

/// Outcome of embedding a text.
#[derive(Clone, Debug)]
struct Embedded {
    result: Result<Arc<[f32]>, EmbedFailure>,
    took: Duration,
}

/// The vectors that were made for the searches of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct EmbeddedTexts(HashMap<TextKey, Embedded>);

impl EmbeddedTexts {
    /// Adds what came of a text, and how long that took.
    pub(crate) fn insert(
        &mut self,
        uid: &str,
        embedder: &str,
        text: &str,
        result: Result<Arc<[f32]>, EmbedFailure>,
        took: Duration,
    ) {
        self.0.insert((uid.to_owned(), embedder.to_owned(), text.to_owned()), Embedded { result, took });
    }

    /// The vector of a text.
    ///
    /// # Errors
    /// Why it has none.
    pub(crate) fn get(&self, uid: &str, embedder: &str, text: &str) -> Result<Vec<f32>, EmbedFailure> {
        match self.of(uid, embedder, text) {
            Some(embedded) => embedded.result.clone().map(|vector| vector.to_vec()),
            None => Err(EmbedFailure::undecided("the text of the query was not embedded")),
        }
    }

    /// Returns the time spent waiting for a text; `None` if its vector was not requested.
    pub(crate) fn took(&self, uid: &str, embedder: &str, text: &str) -> Option<Duration> {
        self.of(uid, embedder, text).map(|embedded| embedded.took)
    }

    fn of(&self, uid: &str, embedder: &str, text: &str) -> Option<&Embedded> {
        self.0.get(&(uid.to_owned(), embedder.to_owned(), text.to_owned()))
    }
}
