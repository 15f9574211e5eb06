//! An embedder for documents: many texts, several requests at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use lamina_base::outbound::Outbound;
use lamina_engine::index::embedding::{Asking, EmbedFailure};
use parking_lot::Mutex;

use super::call;
use super::provider::Provider;
use super::remembering::{Answer, Answered, VectorMaker};

/// Requests of one call of [`VectorMaker::make`] that are under way at the same time.
const PARALLEL_REQUESTS: usize = 8;
/// Texts refused one after the other until it is clear that it is not the texts.
const REFUSALS_MAX: usize = 20;

/// A provider whose size of vectors is known.
#[derive(Debug)]
pub(super) struct RemoteEmbedder {
    outbound: Outbound,
    provider: Provider,
    dimensions: u32,
}

impl RemoteEmbedder {
    /// Measures the size when it is not configured, by embedding a word. Blocks; not for threads of the runtime.
    pub(super) fn open(
        outbound: Outbound,
        provider: Provider,
        asking: Option<Asking<'_>>,
    ) -> Result<RemoteEmbedder, EmbedFailure> {
        let dimensions = match (provider.dimensions, asking) {
            (Some(dimensions), _) => dimensions,
            (None, Some(asking)) => {
                let texts = ["test".to_owned()];
                let call = call::embed(&outbound, &provider, &texts, None, asking);
                let vector = outbound.runtime().block_on(call)?.into_iter().next().transpose()?;
                vector.and_then(|vector| u32::try_from(vector.len()).ok()).unwrap_or(0)
            }
            (None, None) => return Err(EmbedFailure::runtime("the embedding server has not been asked yet")),
        };
        if dimensions == 0 {
            return Err(EmbedFailure::runtime("the embedding server gives empty vectors"));
        }
        Ok(RemoteEmbedder { outbound, provider, dimensions })
    }

    async fn ask(&self, texts: &[String], asking: Asking<'_>) -> Result<Vec<Answer>, EmbedFailure> {
        let answers = call::embed(&self.outbound, &self.provider, texts, None, asking).await?;
        let expected = self.dimensions as usize;
        let sized = answers.into_iter().map(|answer| match answer {
            Ok(vector) if vector.len() != expected => {
                let failure = EmbedFailure::other_dimensions(expected, vector.len()).of_text();
                asking.watch.answer_failed(&failure.message);
                Err(failure)
            }
            answer => answer,
        });
        Ok(sized.collect())
    }

    /// Asks for the texts of one request. When it is refused, halves of it are tried, so that one text that the provider
    /// does not like costs the others nothing but time.
    async fn make_some(
        &self,
        first: usize,
        texts: &[String],
        trouble: &Trouble,
        asking: Asking<'_>,
        answered: &Answered<'_>,
    ) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(texts.len());
        // The next range is the last; ranges come in order.
        let mut ranges: Vec<_> = std::iter::once(0..texts.len()).collect();
        while let Some(range) = ranges.pop() {
            if let Some(failure) = trouble.lasting() {
                answers.extend(range.map(|_| Err(failure.clone())));
                continue;
            }
            match self.ask(&texts[range.clone()], asking).await {
                Ok(asked) => {
                    for (answer, number) in asked.iter().zip(range) {
                        match answer {
                            Ok(vector) => {
                                trouble.passed();
                                answered(first + number, vector);
                            }
                            Err(failure) => trouble.refused(failure),
                        }
                    }
                    answers.extend(asked);
                }
                Err(failure) if failure.is_of_text && range.len() > 1 => {
                    let middle = range.start + range.len() / 2;
                    ranges.push(middle..range.end);
                    ranges.push(range.start..middle);
                }
                Err(failure) if failure.is_of_text => {
                    trouble.refused(&failure);
                    answers.push(Err(failure));
                }
                Err(failure) => {
                    trouble.lasts(failure);
                    ranges.push(range);
                }
            }
        }
        answers
    }
}

/// Faults that affect all texts, as found so far by the requests of a call.
#[derive(Debug, Default)]
struct Trouble {
    refusals: AtomicUsize,
    lasting: Mutex<Option<EmbedFailure>>,
}

impl Trouble {
    fn lasting(&self) -> Option<EmbedFailure> {
        self.lasting.lock().clone()
    }

    fn lasts(&self, failure: EmbedFailure) {
        self.lasting.lock().get_or_insert(failure);
    }

    fn passed(&self) {
        self.refusals.store(0, Ordering::Relaxed);
    }

    fn refused(&self, failure: &EmbedFailure) {
        if self.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS_MAX {
            self.lasts(EmbedFailure { is_of_text: false, ..failure.clone() });
        }
    }
}

impl VectorMaker for RemoteEmbedder {
    fn dimensions(&self) -> u32 {
        self.dimensions
    }

    fn reach(&self, asking: Asking<'_>) -> Result<(), EmbedFailure> {
        self.outbound.runtime().block_on(call::reach(&self.outbound, &self.provider, asking))
    }

    fn make(&self, texts: &[String], asking: Asking<'_>, answered: &Answered<'_>) -> Vec<Answer> {
        let trouble = Trouble::default();
        let length = self.provider.batch_length;
        let calls = texts
            .chunks(length)
            .enumerate()
            .map(|(number, texts)| self.make_some(number * length, texts, &trouble, asking, answered));
        let all = stream::iter(calls).buffered(PARALLEL_REQUESTS).collect::<Vec<_>>();
        self.outbound.runtime().block_on(all).into_iter().flatten().collect()
    }
}
