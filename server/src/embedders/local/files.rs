//! The files of a model: found in the data folder, or downloaded into it.
//!
//! `models/<model>` holds a model that somebody put there, `models/<model>/<revision>` one revision of it, which is
//! also where downloads go. Nothing outside of that folder is read, whatever the name of a model says.

use std::path::{Path, PathBuf};

use lamina_engine::index::embedding::EmbedFailure;
use parking_lot::Mutex;

use super::download::Hub;
use crate::outbound::Outbound;

const HUB: &str = "https://huggingface.co";
pub(super) const CONFIG: &str = "config.json";
pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const SAFETENSORS: &str = "model.safetensors";
pub(super) const PICKLE: &str = "pytorch_model.bin";
pub(super) const POOLING: &str = "1_Pooling/config.json";

/// Where models are kept and come from.
#[derive(Debug)]
pub(crate) struct ModelStore {
    folder: PathBuf,
    hub: Hub,
    /// One download at a time: the second for the same model finds the first one's files.
    downloading: Mutex<()>,
}

/// The files of a model that is there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModelFiles {
    pub(super) config: PathBuf,
    pub(super) tokenizer: PathBuf,
    pub(super) weights: Weights,
    /// Not all models have one.
    pub(super) pooling: Option<PathBuf>,
}

/// The two formats of weights.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Weights {
    Safetensors(PathBuf),
    Pickle(PathBuf),
}

impl ModelFiles {
    fn in_folder(folder: &Path) -> Option<ModelFiles> {
        let file = |name: &str| Some(folder.join(name)).filter(|file| file.is_file());
        let weights = file(SAFETENSORS).map(Weights::Safetensors).or_else(|| file(PICKLE).map(Weights::Pickle));
        Some(ModelFiles {
            config: file(CONFIG)?,
            tokenizer: file(TOKENIZER)?,
            weights: weights?,
            pooling: file(POOLING),
        })
    }
}

impl ModelStore {
    /// Keeps models in `folder`, which need not be there, and downloads them from `hub`.
    pub(crate) fn new(folder: PathBuf, hub: &str, token: Option<String>, outbound: Outbound) -> ModelStore {
        ModelStore { folder, hub: Hub::new(hub, token, outbound), downloading: Mutex::new(()) }
    }

    /// Keeps models in `folder`. `HF_ENDPOINT` names another hub than the usual one, `HF_TOKEN` is shown to it.
    pub(crate) fn from_environment(folder: PathBuf, outbound: Outbound) -> ModelStore {
        let hub = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| HUB.to_owned());
        ModelStore::new(folder, &hub, std::env::var("HF_TOKEN").ok(), outbound)
    }

    /// The files of a model.
    ///
    /// # Errors
    /// When they are not there and can't be downloaded. The message says where to put them.
    pub(super) fn files(&self, model: &str, revision: &str) -> Result<ModelFiles, EmbedFailure> {
        if !is_name(model, 2) || !is_name(revision, 3) {
            return Err(EmbedFailure::user(format!("`{model}` (revision `{revision}`) is no name of a model")));
        }
        let of_model = self.folder.join(model);
        let of_revision = of_model.join(revision.replace('/', "--"));
        let found = || ModelFiles::in_folder(&of_revision).or_else(|| ModelFiles::in_folder(&of_model));
        if let Some(files) = found() {
            return Ok(files);
        }
        let _one_at_a_time = self.downloading.lock();
        if let Some(files) = found() {
            return Ok(files);
        }
        self.hub.download(model, revision, &of_revision).map_err(|reason| {
            EmbedFailure::runtime(format!(
                "model `{model}` is not on this server and could not be downloaded from {}: {reason}\n  - hint: put \
                 `{CONFIG}`, `{TOKENIZER}` and `{SAFETENSORS}` into the folder `models/{model}` of the database",
                self.hub.url()
            ))
        })?;
        found().ok_or_else(|| EmbedFailure::runtime(format!("model `{model}` was downloaded and is gone")))
    }
}

/// Whether a name is made of at most so many parts that are plain names of files.
fn is_name(name: &str, parts_max: usize) -> bool {
    let is_plain = |part: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && !part.starts_with('.') && part.chars().all(is_known)
    };
    name.split('/').count() <= parts_max && name.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for name in ["bge", "BAAI/bge-base-en-v1.5", "a/b_c"] {
            assert!(is_name(name, 2), "{name}");
        }
        for name in ["", "..", "a/..", "../a", "/a", "a/b/c", "a b", "a/.git", "a\\b"] {
            assert!(!is_name(name, 2), "{name}");
        }
    }
}
