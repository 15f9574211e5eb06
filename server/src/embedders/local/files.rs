//! The files of a model: found in the data folder, or downloaded into it.
//!
//! `models/<model>` holds a model that somebody put there, `models/<model>/<revision>` one revision of it, which is
//! also where downloads go. Nothing outside of that folder is read, whatever the name of a model says.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lamina_engine::index::embedding::EmbedFailure;
use parking_lot::Mutex;
use reqwest::Method;

use crate::outbound::Outbound;

/// Longest file, in bytes. Small models have a tenth of a gigabyte, large ones two.
const FILE_BYTES_MAX: u64 = 8 << 30;
const DOWNLOAD_TIME: Duration = Duration::from_secs(60 * 60);
const TRIES: u32 = 3;

const HUB: &str = "https://huggingface.co";
const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const SAFETENSORS: &str = "model.safetensors";
const PICKLE: &str = "pytorch_model.bin";
const POOLING: &str = "1_Pooling/config.json";

/// Where models are kept and come from.
#[derive(Debug)]
pub(crate) struct ModelStore {
    folder: PathBuf,
    /// Address of the hub, without a slash at the end.
    hub: String,
    token: Option<String>,
    outbound: Outbound,
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
        let hub = hub.trim_end_matches('/').to_owned();
        ModelStore { folder, hub, token, outbound, downloading: Mutex::new(()) }
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
        self.download(model, revision, &of_revision).map_err(|reason| {
            EmbedFailure::runtime(format!(
                "model `{model}` is not on this server and could not be downloaded from {}: {reason}\n  - hint: put \
                 `{CONFIG}`, `{TOKENIZER}` and `{SAFETENSORS}` into the folder `models/{model}` of the database",
                self.hub
            ))
        })?;
        found().ok_or_else(|| EmbedFailure::runtime(format!("model `{model}` was downloaded and is gone")))
    }

    fn download(&self, model: &str, revision: &str, folder: &Path) -> Result<(), String> {
        let base = format!("{}/{model}/resolve/{revision}", self.hub);
        let get = |name: &str| self.fetch(&format!("{base}/{name}"), &folder.join(name));
        let needed = |name: &str| get(name)?.then_some(()).ok_or_else(|| format!("it has no `{name}`"));
        needed(CONFIG)?;
        needed(TOKENIZER)?;
        get(POOLING)?;
        if !get(SAFETENSORS)? {
            needed(PICKLE)?;
        }
        Ok(())
    }

    /// Downloads a file; whether there is one.
    fn fetch(&self, url: &str, to: &Path) -> Result<bool, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.outbound.runtime().block_on(self.try_fetch(url, to)) {
                Ok(found) => return Ok(found),
                Err((_, true)) if tries < TRIES => std::thread::sleep(Duration::from_secs(1)),
                Err((reason, _)) => return Err(reason),
            }
        }
    }

    /// As [`ModelStore::fetch`]; an error tells whether another try may help.
    async fn try_fetch(&self, url: &str, to: &Path) -> Result<bool, (String, bool)> {
        let mut request = self.outbound.request(Method::GET, url).map_err(|error| (error.to_string(), false))?;
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let mut answer = request.timeout(DOWNLOAD_TIME).send().await.map_err(|error| {
            let error = crate::outbound::OutboundError::from(error);
            (error.to_string(), error.is_transient())
        })?;
        match answer.status().as_u16() {
            200 => {}
            404 => return Ok(false),
            status => return Err((format!("it answered HTTP {status}"), status >= 500)),
        }
        let local = |error: std::io::Error| (format!("{}: {error}", to.display()), false);
        fs::create_dir_all(to.parent().unwrap_or(to)).map_err(local)?;
        // Only whole files get their name.
        let unfinished = to.with_extension("part");
        let mut file = fs::File::create(&unfinished).map_err(local)?;
        let mut bytes = 0;
        while let Some(piece) = answer.chunk().await.map_err(|error| (error.without_url().to_string(), true))? {
            bytes += piece.len() as u64;
            if bytes > FILE_BYTES_MAX {
                return Err((format!("a file has more than {FILE_BYTES_MAX} bytes"), false));
            }
            file.write_all(&piece).map_err(local)?;
        }
        file.sync_all().map_err(local)?;
        fs::rename(&unfinished, to).map_err(local)?;
        Ok(true)
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
