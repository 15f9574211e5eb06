//! Vectors of the texts of queries. They are made before a search takes its thread, because a provider may be slow.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lamina_engine::index::embedding::EmbedFailure;
use lamina_engine::index::settings::Settings;

/// Index, embedder with its configuration, and text: an earlier state of an index may have another embedder of the same name.
pub(crate) type TextKey = (String, String, String);

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
    pub(crate) fn insert(&mut self, key: TextKey, result: Result<Arc<[f32]>, EmbedFailure>, took: Duration) {
        self.0.insert(key, Embedded { result, took });
    }

    /// Returns the key of a text for an embedder of an index with these settings.
    pub(crate) fn key(uid: &str, settings: &Settings, embedder: &str, text: &str) -> TextKey {
        let configuration = settings.embedders.get(embedder).map(|configuration| configuration.to_string());
        (uid.to_owned(), format!("{embedder} {}", configuration.unwrap_or_default()), text.to_owned())
    }

    /// The vector of a text.
    ///
    /// # Errors
    /// Why it has none.
    pub(crate) fn get(&self, key: &TextKey) -> Result<Vec<f32>, EmbedFailure> {
        match self.0.get(key) {
            Some(embedded) => embedded.result.clone().map(|vector| vector.to_vec()),
            None => Err(EmbedFailure::undecided("the text of the query was not embedded")),
        }
    }

    /// Returns the time spent waiting for a text; `None` if its vector was not requested.
    pub(crate) fn took(&self, key: &TextKey) -> Option<Duration> {
        self.0.get(key).map(|embedded| embedded.took)
    }
}
