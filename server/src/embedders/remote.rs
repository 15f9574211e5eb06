//! An embedder for documents: many texts, several requests at a time.

use std::sync::atomic::AtomicBool;

use futures_util::{StreamExt, TryStreamExt, stream};
use lamina_engine::index::embedding::{EmbedFailure, Embedder};

use super::call;
use super::provider::Provider;
use crate::outbound::Outbound;

/// Requests of one call of [`Embedder::embed`] that are under way at the same time.
const PARALLEL_REQUESTS: usize = 8;

/// A provider whose size of vectors is known.
#[derive(Debug)]
pub(super) struct RemoteEmbedder {
    outbound: Outbound,
    provider: Provider,
    dimensions: u32,
}

impl RemoteEmbedder {
    /// Measures the size when it is not configured, by embedding a word. Blocks; not for threads of the runtime.
    pub(super) fn open(outbound: Outbound, provider: Provider) -> Result<RemoteEmbedder, EmbedFailure> {
        let dimensions = match provider.dimensions {
            Some(dimensions) => dimensions,
            None => {
                let texts = ["test".to_owned()];
                let never = AtomicBool::new(false);
                let call = call::embed(&outbound, &provider, &texts, None, &never);
                let vectors = outbound.runtime().block_on(call)?;
                vectors.first().and_then(|vector| u32::try_from(vector.len()).ok()).unwrap_or(0)
            }
        };
        if dimensions == 0 {
            return Err(EmbedFailure::runtime("the embedding server gives empty vectors"));
        }
        Ok(RemoteEmbedder { outbound, provider, dimensions })
    }
}

impl Embedder for RemoteEmbedder {
    fn dimensions(&self) -> u32 {
        self.dimensions
    }

    fn embed(&self, texts: &[String], cancelled: &AtomicBool) -> Result<Vec<Vec<f32>>, EmbedFailure> {
        let calls = texts
            .chunks(self.provider.batch_length)
            .map(|texts| call::embed(&self.outbound, &self.provider, texts, None, cancelled));
        let all = stream::iter(calls).buffered(PARALLEL_REQUESTS).try_collect::<Vec<Vec<Vec<f32>>>>();
        Ok(self.outbound.runtime().block_on(all)?.into_iter().flatten().collect())
    }
}
