//! The files of models: found in the data folder or in a cache of the hub's own tools, or [downloaded](download).
//!
//! `models/<model>` holds a model that the operator put there, `models/<model>/<revision>` one revision of it, which is
//! also where downloads go. Caches are laid out as the hub's tools do it (`models--<owner>--<name>` with `refs`,
//! `snapshots` and `blobs`); `models` may be one, and the environment may name another. Nothing outside of these
//! folders is read, whatever the name of a model says. Which files a model consists of is for its [`Layout`] to say.

mod download;
mod file_names;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hf_hub::{Cache, Repo, RepoType};
use lamina_base::cancellation::CHECK_INTERVAL;
use lamina_base::outbound::Outbound;
use lamina_engine::index::embedding::EmbedFailure;
use parking_lot::{Mutex, MutexGuard};

pub(super) use download::Download;
use download::{Hub, is_commit};
pub(super) use file_names::{CONFIG, MODULES, SAFETENSORS, STATIC_SAFETENSORS, STATIC_TOKENIZER, TOKENIZER};
#[cfg(any(test, feature = "local-models"))]
pub(super) use file_names::{PICKLE, POOLING};

const HUB: &str = "https://huggingface.co";
/// Revision of a model for which none is given.
pub(super) const MAIN_REVISION: &str = "main";

/// The files that a kind of model consists of.
pub(super) trait Layout {
    type Files;

    /// The files in a folder, if it has all of them.
    fn in_folder(&self, folder: &Path) -> Option<Self::Files>;

    /// The same in a folder that other programs have filled, perhaps with less than the whole model.
    fn in_snapshot(&self, folder: &Path) -> Option<Self::Files> {
        self.in_folder(folder)
    }

    /// Downloads the files, the weights last: a folder with them is a model.
    ///
    /// # Errors
    /// The reason why the model cannot be had, for people.
    fn fetch(&self, download: &mut Download<'_>) -> Result<(), String>;
}

/// Store and source of models.
#[derive(Debug)]
pub(crate) struct ModelStore {
    folder: PathBuf,
    /// In the order in which they are looked into.
    caches: Vec<Cache>,
    hub: Hub,
    /// One download at a time: the second for the same model finds the first one's files.
    downloading: Mutex<()>,
}

/// Time for a download to notice that the server stops.
const STOP_TIME: Duration = Duration::from_secs(1);

impl ModelStore {
    /// Keeps models in `folder`, which need not be there, and downloads them from `hub`. `folder` and `caches` are looked
    /// into as caches of the hub's tools, in this order; nothing is written to `caches`.
    pub(super) fn new(
        folder: PathBuf,
        caches: Vec<PathBuf>,
        hub: &str,
        token: Option<String>,
        outbound: Outbound,
    ) -> ModelStore {
        let caches = std::iter::once(folder.clone()).chain(caches).map(Cache::new).collect();
        ModelStore { folder, caches, hub: Hub::new(hub, token, outbound), downloading: Mutex::new(()) }
    }

    /// Keeps models in `folder`. `HF_ENDPOINT` names another hub than the usual one, `HF_TOKEN` is shown to it;
    /// `HF_HUB_CACHE`, or else `HF_HOME`, names a cache.
    pub(super) fn from_environment(folder: PathBuf, outbound: Outbound) -> ModelStore {
        let hub = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| HUB.to_owned());
        let caches = named_cache(|name| std::env::var_os(name)).into_iter().collect();
        ModelStore::new(folder, caches, &hub, std::env::var("HF_TOKEN").ok(), outbound)
    }

    /// Ends the download that is under way, and refuses others: what carries them out is about to end. Waits a second at most.
    pub(super) fn stop(&self) {
        self.hub.stop();
        drop(self.downloading.try_lock_for(STOP_TIME));
    }

    /// The files of a model that is on this machine.
    ///
    /// # Errors
    /// When the name is none.
    pub(super) fn find<L: Layout>(
        &self,
        layout: &L,
        model: &str,
        revision: &str,
    ) -> Result<Option<L::Files>, EmbedFailure> {
        if !is_name(model, 2) || !is_name(revision, 3) {
            return Err(EmbedFailure::user(format!("`{model}` (revision `{revision}`) is not a valid model name")));
        }
        let own = layout.in_folder(&self.of_revision(model, revision));
        let own = own.or_else(|| layout.in_folder(&self.folder.join(model)));
        let snapshots = || self.caches.iter().filter_map(|cache| in_cache(cache, model, revision));
        Ok(own.or_else(|| snapshots().find_map(|snapshot| layout.in_snapshot(&snapshot))))
    }

    /// The files of a model, which is downloaded if it is not here. Blocks.
    ///
    /// # Errors
    /// When they are not there and can't be downloaded. The message says where to put them.
    pub(super) fn obtain<L: Layout>(
        &self,
        layout: &L,
        model: &str,
        revision: &str,
        cancelled: &AtomicBool,
    ) -> Result<L::Files, EmbedFailure> {
        if let Some(files) = self.find(layout, model, revision)? {
            return Ok(files);
        }
        let _one_at_a_time = lock_unless_cancelled(cancelled, &self.downloading).ok_or_else(EmbedFailure::cancelled)?;
        if let Some(files) = self.find(layout, model, revision)? {
            return Ok(files);
        }
        let folder = self.of_revision(model, revision);
        let fetch = |download: &mut Download<'_>| layout.fetch(download);
        self.hub.download(model, revision, &folder, fetch, cancelled).map_err(|reason| {
            let option = if revision == MAIN_REVISION { String::new() } else { format!(" --revision {revision}") };
            EmbedFailure::runtime(format!(
                "model `{model}` is not on this server and could not be downloaded from {}: {reason}\n  - hint: put \
                 `{CONFIG}`, `{TOKENIZER}` and `{SAFETENSORS}` into the folder `models/{model}` of the database, or run \
                 `hf download {model}{option} --cache-dir DATABASE/models`",
                self.hub.url()
            ))
        })?;
        let found = self.find(layout, model, revision)?;
        found.ok_or_else(|| EmbedFailure::runtime(format!("model `{model}` was downloaded and is gone")))
    }

    fn of_revision(&self, model: &str, revision: &str) -> PathBuf {
        self.folder.join(model).join(revision.replace('/', "--"))
    }
}

/// The cache that the environment names. None is guessed: the home folder of a user is not the server's.
fn named_cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("HF_HUB_CACHE").or_else(|| folder("HF_HOME").map(|home| home.join("hub")))
}

/// The folder of a revision of a model in a cache, if it has one.
fn in_cache(cache: &Cache, model: &str, revision: &str) -> Option<PathBuf> {
    let repo = Repo::with_revision(model.to_owned(), RepoType::Model, revision.to_owned());
    let commit = if is_commit(revision) {
        revision.to_owned()
    } else {
        // Not by `CacheRepo::get`, which goes wherever the text in there leads.
        let reference = cache.path().join(repo.folder_name()).join("refs").join(revision);
        fs::read_to_string(reference).ok()?.trim().to_owned()
    };
    is_commit(&commit).then(|| cache.repo(repo).pointer_path(&commit))
}

/// Reports whether a name consists of at most `parts_max` parts that are plain file names.
fn is_name(name: &str, parts_max: usize) -> bool {
    let is_plain = |part: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && !part.starts_with('.') && part.chars().all(is_known)
    };
    name.split('/').count() <= parts_max && name.split('/').all(is_plain)
}

/// The lock; `None` if the flag is set before. Blocks.
pub(super) fn lock_unless_cancelled<'a, T>(cancelled: &AtomicBool, mutex: &'a Mutex<T>) -> Option<MutexGuard<'a, T>> {
    while !cancelled.load(Ordering::Relaxed) {
        if let Some(guard) = mutex.try_lock_for(CHECK_INTERVAL) {
            return Some(guard);
        }
    }
    None
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

    #[test]
    fn only_the_environment_names_a_cache_elsewhere() {
        let named = |variables: &[(&str, &str)]| {
            let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            named_cache(value)
        };
        assert_eq!(named(&[("HF_HUB_CACHE", "/cache"), ("HF_HOME", "/home")]), Some("/cache".into()));
        assert_eq!(named(&[("HF_HUB_CACHE", ""), ("HF_HOME", "/home")]), Some("/home/hub".into()));
        assert_eq!(named(&[("HF_HOME", "")]), None);
        assert_eq!(named(&[("HOME", "/root")]), None);
    }
}
