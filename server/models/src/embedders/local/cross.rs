//! Cross-encoders: networks that read a query and a text together, and say in one number how well the one answers the other.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use candle_core::{Device, Tensor};
use lamina_engine::index::embedding::EmbedFailure;
use parking_lot::Mutex;
use tokenizers::Tokenizer;
use tokio::sync::Semaphore;

use super::network::{Head, Network};
use super::{OPENED_MAX, batches, device, tokenizer};
use crate::embedders::store::ModelStore;

/// A model that could not be loaded is not tried again for so long.
const FAILED_TIME: Duration = Duration::from_secs(60);

/// Model, and its revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::embedders) struct CrossModel {
    pub(in crate::embedders) model: String,
    pub(in crate::embedders) revision: String,
}

/// Outcome of loading a model.
#[derive(Default)]
enum Loaded {
    #[default]
    NotYet,
    Failed(Instant, String),
    Open(Arc<CrossEncoder>),
}

/// Held by the first who needs the model; the others wait.
type Loading = Arc<tokio::sync::Mutex<Loaded>>;

/// All cross-encoders of the server.
pub(in crate::embedders) struct CrossEncoders {
    store: Arc<ModelStore>,
    loaded: Mutex<HashMap<CrossModel, Loading>>,
    /// One call at a time has all cores; the others wait, each until its deadline.
    pub(super) turn: Arc<Semaphore>,
}

/// Ends the work of a search that has its answer, or waits for none any more.
struct EndsWork(Arc<AtomicBool>);

impl Drop for EndsWork {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl CrossEncoders {
    pub(in crate::embedders) fn new(store: Arc<ModelStore>) -> CrossEncoders {
        CrossEncoders { store, loaded: Mutex::default(), turn: Arc::new(Semaphore::new(1)) }
    }

    /// Scores how well each text answers `query`, from 0 to 1, in order. A model that is not loaded by the deadline
    /// serves a later search.
    ///
    /// # Errors
    /// Fails if the model cannot be obtained or run, or is late.
    pub(in crate::embedders) async fn scores(
        &self,
        wanted: CrossModel,
        query: &str,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Vec<f64>, String> {
        let pairs: Vec<(String, String)> = texts.iter().map(|text| (query.to_owned(), text.clone())).collect();
        let work = async {
            let encoder = self.open(wanted).await?;
            let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|error| error.to_string())?;
            let ended = Arc::new(AtomicBool::new(false));
            let _ends = EndsWork(Arc::clone(&ended));
            let scores = tokio::task::spawn_blocking(move || {
                let scores = encoder.scores(pairs, &ended);
                drop(turn);
                scores
            });
            scores.await.unwrap_or_else(|panic| Err(format!("the model failed: {panic}")))
        };
        let in_time = tokio::time::timeout_at(deadline.into(), work).await;
        in_time.unwrap_or_else(|_| Err("the model did not answer in time".to_owned()))
    }

    /// The model, loaded if it is not.
    async fn open(&self, wanted: CrossModel) -> Result<Arc<CrossEncoder>, String> {
        let loading = {
            let mut loaded = self.loaded.lock();
            if loaded.len() >= OPENED_MAX && !loaded.contains_key(&wanted) {
                loaded.clear();
            }
            Arc::clone(loaded.entry(wanted.clone()).or_default())
        };
        let mut state = loading.lock_owned().await;
        match &*state {
            Loaded::Open(encoder) => return Ok(Arc::clone(encoder)),
            Loaded::Failed(when, reason) if when.elapsed() < FAILED_TIME => return Err(reason.clone()),
            Loaded::Failed(..) | Loaded::NotYet => {}
        }
        let store = Arc::clone(&self.store);
        // Goes on when this search has given up.
        let load = tokio::spawn(async move {
            let load = move || CrossEncoder::open(&store, &wanted, &AtomicBool::new(false));
            let opened = match tokio::task::spawn_blocking(load).await {
                Ok(opened) => opened.map(Arc::new).map_err(|failure| failure.to_string()),
                Err(panic) => Err(format!("the model failed: {panic}")),
            };
            *state = match &opened {
                Ok(encoder) => Loaded::Open(Arc::clone(encoder)),
                Err(reason) => Loaded::Failed(Instant::now(), reason.clone()),
            };
            opened
        });
        load.await.unwrap_or_else(|panic| Err(format!("the model failed: {panic}")))
    }
}

/// A cross-encoder in memory.
pub(super) struct CrossEncoder {
    name: String,
    tokenizer: Tokenizer,
    network: Network,
    head: Head,
    device: Device,
}

impl CrossEncoder {
    /// Loads the model, after downloading it if it is not there. Blocks, for minutes when it is downloaded; takes the memory of
    /// its weights.
    ///
    /// # Errors
    /// When it can't be had, or is of a kind that gives no scores here.
    pub(super) fn open(
        store: &ModelStore,
        wanted: &CrossModel,
        cancelled: &AtomicBool,
    ) -> Result<CrossEncoder, EmbedFailure> {
        let files = store.files(&wanted.model, &wanted.revision, false, cancelled)?;
        let failed = |what: &str, reason: String| {
            EmbedFailure::user(format!("{what} of model `{}` can't be used: {reason}", wanted.model))
        };
        let device = device();
        let loaded = Network::load_with_head(&files, &device);
        let (network, head) = loaded.map_err(|reason| failed("the weights or `config.json`", reason))?;
        let tokenizer = tokenizer(&files.tokenizer, network.token_count_max());
        let tokenizer = tokenizer.map_err(|reason| failed("`tokenizer.json`", reason))?;
        Ok(CrossEncoder { name: wanted.model.clone(), tokenizer, network, head, device })
    }

    /// The scores of pairs of a query and a text, from 0 to 1, in order, unless the work `ended` before.
    ///
    /// # Errors
    /// When the model can't make one of them.
    pub(super) fn scores(&self, pairs: Vec<(String, String)>, ended: &AtomicBool) -> Result<Vec<f64>, String> {
        let failed = |reason: String| format!("model `{}` failed: {reason}", self.name);
        let encodings = self.tokenizer.encode_batch(pairs, true).map_err(|error| failed(error.to_string()))?;
        let mut scores = vec![0.0; encodings.len()];
        for batch in batches(&encodings) {
            if ended.load(Ordering::Relaxed) {
                return Err("the search did not wait for the model".to_owned());
            }
            let shape = (batch.len(), encodings[batch[0]].len());
            let [tokens, parts] = [tokenizers::Encoding::get_ids, tokenizers::Encoding::get_type_ids]
                .map(|of| batch.iter().flat_map(|place| of(&encodings[*place])).copied().collect::<Vec<u32>>());
            let run = || {
                let tokens = Tensor::from_vec(tokens, shape, &self.device)?;
                let parts = Tensor::from_vec(parts, shape, &self.device)?;
                self.head.scores(&self.network.forward(&tokens, Some(&parts))?)?.to_vec1::<f32>()
            };
            for (place, score) in batch.iter().zip(run().map_err(|error| failed(error.to_string()))?) {
                if !score.is_finite() {
                    return Err(failed("a score is not a number".to_owned()));
                }
                scores[*place] = 1.0 / (1.0 + (-f64::from(score)).exp());
            }
        }
        Ok(scores)
    }
}
