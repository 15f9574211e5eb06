//! Vectors made from texts: what the engine asks of those that can make them, and what can go wrong.
//!
//! The engine knows neither models nor networks. The caller that opens an index hands in an [`EmbedderProvider`]; for each
//! embedder of the settings that makes its own vectors, the index opens an [`Embedder`] and gives it texts in batches.

mod asking;
mod bounded;
mod error;
mod limit;
mod passages;
mod probe;
mod report;
mod template;

use std::fmt;
use std::sync::Arc;

pub use asking::{Asking, EmbeddingWatch, Trouble, Watched};
pub use bounded::work_bytes;
pub use error::{EmbedFailure, EmbeddingError, Fault, Misspelt, TemplateError};
pub use limit::TemplateLimit;
pub(super) use passages::texts_hash;
pub use passages::{Chunks, PASSAGE_TOKENS, PASSAGE_TOKENS_MAX, PASSAGES_MAX, PassageTemplate, Passages};
pub(super) use report::EmbeddingLog;
pub use report::{DocumentFailure, Embedded};

pub(super) use template::{DocumentTemplate, Rendered};
pub use template::{
    JsonTemplate, RenderFailure, TemplateVariables, TextTemplate, check_fragments_limits, check_fragments_size,
    check_template_limits,
};

use super::settings::EmbedderSettings;

/// Turns texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// Numbers of a vector.
    fn dimensions(&self) -> u32;

    /// For each text, in order, a vector of [`Embedder::dimensions`] finite numbers, or why it got none after all tries.
    /// May take long; gives up soon after it is cancelled. Called from several threads.
    fn embed(&self, texts: &[String], asking: Asking<'_>) -> Vec<Result<Vec<f32>, EmbedFailure>>;

    /// Looks whether the provider can be reached, without asking for a vector.
    ///
    /// # Errors
    /// Why it cannot.
    fn reach(&self, _: Asking<'_>) -> Result<(), EmbedFailure> {
        Ok(())
    }

    /// For each text, in order, the vector that is remembered of it. Asks no provider, and returns at once.
    fn known(&self, texts: &[String]) -> Vec<Option<Vec<f32>>> {
        vec![None; texts.len()]
    }

    /// For each text, in order, its vector, made at once by a model at hand. A text that says nothing to the model has none,
    /// which is no failure. `None`: vectors of this embedder take time, and are asked for with [`Embedder::embed`].
    fn at_once(&self, _: &[&str]) -> Option<Vec<Option<Vec<f32>>>> {
        None
    }
}

/// Opens the embedders that settings name.
pub trait EmbedderProvider: Send + Sync + fmt::Debug {
    /// The embedder of this configuration, for documents. Called once a batch; what is costly should be kept. May take long;
    /// gives up soon after it is cancelled. Without `asking` it returns at once.
    ///
    /// # Errors
    /// When the configuration can't work, it gave up, or no provider may be asked and it would have to.
    fn open(&self, settings: &EmbedderSettings, asking: Option<Asking<'_>>) -> Result<Arc<dyn Embedder>, EmbedFailure>;

    /// The embedder of this configuration, if its model is on this machine and makes vectors [at once](Embedder::at_once). Reads files
    /// at the first call, and sends no request.
    fn at_hand(&self, _: &EmbedderSettings) -> Option<Arc<dyn Embedder>> {
        None
    }

    /// Remembers vectors that were made of texts with this configuration, as long as [`Embedder::embed`] would.
    fn remember(&self, _: &EmbedderSettings, _: &[(String, Vec<f32>)]) {}

    /// An index has committed all vectors that it asked for until now: what was kept in case that it has to ask again
    /// may go.
    fn committed(&self) {}
}

/// The longest start of `text` that has at most `bytes_max` bytes and ends between characters.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let end = (0..=bytes_max).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Has no embedders: only vectors that come with the documents work.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEmbedders;

impl EmbedderProvider for NoEmbedders {
    fn open(&self, settings: &EmbedderSettings, _: Option<Asking<'_>>) -> Result<Arc<dyn Embedder>, EmbedFailure> {
        let source = settings.configuration.get("source").and_then(serde_json::Value::as_str).unwrap_or("openAi");
        Err(EmbedFailure::user(format!("embedders of source `{source}` are not available here")))
    }
}
