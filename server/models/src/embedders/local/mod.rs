//! Models that run inside the server: the source `huggingFace` of embedders and rerankers.
//!
//! A model is a folder of [files], found or downloaded by the [store](super::store); its tokens go through a [network](network), and the
//! vectors of the tokens are [pooled](pooling) into one. Texts of the same number of tokens go through together, so
//! nothing is padded and no text changes the vector of another. [Cross-encoders](cross) make a score of a query and a text.

mod cross;
mod files;
mod network;
mod pooling;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{Device, Tensor};
use lamina_engine::index::embedding::{Asking, EmbedFailure};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokenizers::{Encoding, Tokenizer, TruncationParams};

pub(super) use cross::{CrossEncoders, CrossModel};
use network::Network;
use pooling::Pooling;

use super::remembering::{Answer, Answered, VectorMaker};
use super::store::{MAIN_REVISION, ModelStore, lock_unless_cancelled};

/// Tokens that go through the network together, at most; one text may have more.
const BATCH_TOKENS: usize = 4096;

const DEFAULT_MODEL: &str = "BAAI/bge-base-en-v1.5";
const DEFAULT_REVISION: &str = "617ca489d9e86b49b8167676d8220688b99db36e";

/// Model to run, and its pooling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocalModel {
    pub(super) model: String,
    pub(super) revision: String,
    /// Method that combines the vectors of tokens into one: the setting `pooling`.
    pub(super) pooling: String,
}

impl LocalModel {
    /// The model that a configuration names; `None` when its source is another.
    pub(super) fn of(configuration: &Map<String, Value>) -> Option<LocalModel> {
        let text = |field: &str| configuration.get(field).and_then(Value::as_str).map(str::to_owned);
        if text("source")? != "huggingFace" {
            return None;
        }
        let model = text("model");
        let default_revision = if model.is_none() { DEFAULT_REVISION } else { MAIN_REVISION };
        Some(LocalModel {
            revision: text("revision").unwrap_or_else(|| default_revision.to_owned()),
            model: model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            pooling: text("pooling").unwrap_or_else(|| "useModel".to_owned()),
        })
    }
}

/// Models kept in memory, at most; more make all others leave.
const OPENED_MAX: usize = 8;

/// Set by the first who needs the model; the others wait.
type Opening = Arc<Mutex<Option<Arc<LocalEmbedder>>>>;

/// All models of the server.
#[derive(Debug)]
pub(super) struct LocalModels {
    store: Arc<ModelStore>,
    opened: Mutex<HashMap<String, Opening>>,
}

impl LocalModels {
    pub(super) fn new(store: Arc<ModelStore>) -> LocalModels {
        LocalModels { store, opened: Mutex::default() }
    }

    /// The model, loaded if it is not. Blocks as [`LocalEmbedder::open`] does.
    ///
    /// # Errors
    /// The errors of [`LocalEmbedder::open`].
    pub(super) fn open(&self, wanted: &LocalModel, cancelled: &AtomicBool) -> Result<Arc<LocalEmbedder>, EmbedFailure> {
        let opening = {
            let mut opened = self.opened.lock();
            let key = format!("{} {} {}", wanted.model, wanted.revision, wanted.pooling);
            if opened.len() >= OPENED_MAX && !opened.contains_key(&key) {
                opened.clear();
            }
            Arc::clone(opened.entry(key).or_default())
        };
        let mut opening = lock_unless_cancelled(cancelled, &opening).ok_or_else(EmbedFailure::cancelled)?;
        if let Some(open) = &*opening {
            return Ok(Arc::clone(open));
        }
        let open = Arc::new(LocalEmbedder::open(&self.store, wanted, cancelled)?);
        *opening = Some(Arc::clone(&open));
        Ok(open)
    }
}

/// A model in memory.
pub(super) struct LocalEmbedder {
    name: String,
    tokenizer: Tokenizer,
    network: Network,
    pooling: Pooling,
    device: Device,
    dimensions: u32,
}

impl std::fmt::Debug for LocalEmbedder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LocalEmbedder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl LocalEmbedder {
    /// Loads the model, after downloading it if it is not there. Blocks, for minutes when it is downloaded; takes the memory of its
    /// weights.
    ///
    /// # Errors
    /// When it can't be had, or is of a kind that does not run here.
    pub(super) fn open(
        store: &ModelStore,
        wanted: &LocalModel,
        cancelled: &AtomicBool,
    ) -> Result<LocalEmbedder, EmbedFailure> {
        let files = store.files(&wanted.model, &wanted.revision, true, cancelled)?;
        let failed = |what: &str, reason: String| {
            EmbedFailure::user(format!("{what} of model `{}` can't be used: {reason}", wanted.model))
        };
        let device = device();
        let network =
            Network::load(&files, &device).map_err(|reason| failed("the weights or `config.json`", reason))?;
        let tokenizer = tokenizer(&files.tokenizer, network.token_count_max())
            .map_err(|reason| failed("`tokenizer.json`", reason))?;
        let pooling = Pooling::choose(&wanted.pooling, files.pooling.as_deref())
            .map_err(|reason| failed("`1_Pooling/config.json`", reason))?;
        let mut opened =
            LocalEmbedder { name: wanted.model.clone(), tokenizer, network, pooling, device, dimensions: 0 };
        let measured = opened.embed(&["test".to_owned()], cancelled)?;
        opened.dimensions = measured.first().and_then(|vector| u32::try_from(vector.len()).ok()).unwrap_or(0);
        Ok(opened)
    }

    fn failed(&self, reason: impl std::fmt::Display) -> EmbedFailure {
        EmbedFailure::runtime(format!("model `{}` failed: {reason}", self.name))
    }

    /// The vectors of texts that all have `length` tokens.
    fn run(&self, tokens: &[&[u32]], length: usize) -> Result<Vec<Vec<f32>>, candle_core::Error> {
        let flat: Vec<u32> = tokens.iter().flat_map(|tokens| tokens.iter().copied()).collect();
        let tokens = Tensor::from_vec(flat, (tokens.len(), length), &self.device)?;
        self.pooling.pool(&self.network.forward(&tokens, None)?)?.to_vec2()
    }

    /// The vectors of `texts`, in order.
    ///
    /// # Errors
    /// When the model can't make one of them, or it was `cancelled`.
    pub(super) fn embed(&self, texts: &[String], cancelled: &AtomicBool) -> Result<Vec<Vec<f32>>, EmbedFailure> {
        self.embed_reporting(texts, cancelled, &|_, _| ())
    }

    fn embed_reporting(
        &self,
        texts: &[String],
        cancelled: &AtomicBool,
        answered: &Answered<'_>,
    ) -> Result<Vec<Vec<f32>>, EmbedFailure> {
        let inputs: Vec<&str> = texts.iter().map(String::as_str).collect();
        let encodings = self.tokenizer.encode_batch(inputs, true).map_err(|error| self.failed(error))?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for batch in batches(&encodings) {
            let length = encodings[batch[0]].len();
            if length == 0 {
                return Err(self.failed("a text has no tokens, not even those that mark its start and end"));
            }
            if cancelled.load(Ordering::Relaxed) {
                return Err(EmbedFailure::cancelled());
            }
            let tokens: Vec<&[u32]> = batch.iter().map(|place| encodings[*place].get_ids()).collect();
            let made = self.run(&tokens, length).map_err(|error| self.failed(error))?;
            for (place, vector) in batch.iter().zip(made) {
                answered(*place, &vector);
                vectors[*place] = vector;
            }
        }
        Ok(vectors)
    }
}

impl VectorMaker for LocalEmbedder {
    fn dimensions(&self) -> u32 {
        self.dimensions
    }

    fn make(&self, texts: &[String], asking: Asking<'_>, answered: &Answered<'_>) -> Vec<Answer> {
        match self.embed_reporting(texts, asking.cancelled, answered) {
            Ok(vectors) => vectors.into_iter().map(Ok).collect(),
            Err(failure) => vec![Err(failure); texts.len()],
        }
    }
}

/// The tokeniser of a model, which cuts what is longer than the network takes.
fn tokenizer(file: &Path, length_max: usize) -> Result<Tokenizer, String> {
    let mut tokenizer = Tokenizer::from_file(file).map_err(|error| error.to_string())?;
    let truncation = TruncationParams { max_length: length_max, ..TruncationParams::default() };
    tokenizer.with_padding(None);
    tokenizer.with_truncation(Some(truncation)).map_err(|error| error.to_string())?;
    Ok(tokenizer)
}

/// The places of texts that go through a network together: of the same number of tokens, short ones first.
fn batches(encodings: &[Encoding]) -> Vec<Vec<usize>> {
    let length = |place: &usize| encodings[*place].len();
    let mut order: Vec<usize> = (0..encodings.len()).collect();
    order.sort_by_key(length);
    let same_length = order.chunk_by(|one, other| length(one) == length(other));
    same_length
        .flat_map(|places| places.chunks((BATCH_TOKENS / length(&places[0]).max(1)).max(1)))
        .map(<[usize]>::to_vec)
        .collect()
}

/// The GPU, if the server was built for one and there is one.
fn device() -> Device {
    match Device::cuda_if_available(0) {
        Ok(device) => {
            if device.is_cuda() {
                tracing::info!("the model runs on the GPU");
            }
            device
        }
        Err(error) => {
            // Behind the first line is where it was found.
            let error = error.to_string().lines().next().unwrap_or_default().to_owned();
            tracing::warn!(error, "no GPU can be used: the model runs on the CPU");
            Device::Cpu
        }
    }
}

#[cfg(test)]
mod tests;
