//! The files of a model: found in the data folder or in a cache of the hub's own tools, or downloaded.
//!
//! `models/<model>` holds a model that the operator put there, `models/<model>/<revision>` one revision of it, which is
//! also where downloads go. Caches are laid out as the hub's tools do it (`models--<owner>--<name>` with `refs`,
//! `snapshots` and `blobs`); `models` may be one, and the environment may name another. Nothing outside of these
//! folders is read, whatever the name of a model says.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hf_hub::{Cache, Repo, RepoType};
use lamina_base::outbound::Outbound;
use lamina_engine::index::embedding::EmbedFailure;
use parking_lot::Mutex;

use super::download::{Hub, is_commit};
use super::file_names::{CONFIG, PICKLE, POOLING, SAFETENSORS, TOKENIZER};
use super::{MAIN_REVISION, lock_unless_cancelled};

const HUB: &str = "https://huggingface.co";
/// The hub puts it into every repository that it makes.
const ATTRIBUTES: &str = ".gitattributes";

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
    /// Keeps models in `folder`, which need not be there, and downloads them from `hub`. `folder` and `caches` are looked
    /// into as caches of the hub's tools, in this order; nothing is written to `caches`.
    pub(crate) fn new(
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
    pub(crate) fn from_environment(folder: PathBuf, outbound: Outbound) -> ModelStore {
        let hub = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| HUB.to_owned());
        let caches = named_cache(|name| std::env::var_os(name)).into_iter().collect();
        ModelStore::new(folder, caches, &hub, std::env::var("HF_TOKEN").ok(), outbound)
    }

    /// The files of a model. `pools`: the vectors of its tokens become one, so how has to be known.
    ///
    /// # Errors
    /// When they are not there and can't be downloaded. The message says where to put them.
    pub(super) fn files(
        &self,
        model: &str,
        revision: &str,
        pools: bool,
        cancelled: &AtomicBool,
    ) -> Result<ModelFiles, EmbedFailure> {
        if !is_name(model, 2) || !is_name(revision, 3) {
            return Err(EmbedFailure::user(format!("`{model}` (revision `{revision}`) is not a valid model name")));
        }
        let of_model = self.folder.join(model);
        let of_revision = of_model.join(revision.replace('/', "--"));
        let found = || {
            let own = ModelFiles::in_folder(&of_revision).or_else(|| ModelFiles::in_folder(&of_model));
            own.or_else(|| self.caches.iter().find_map(|cache| in_cache(cache, model, revision, pools)))
        };
        if let Some(files) = found() {
            return Ok(files);
        }
        let _one_at_a_time = lock_unless_cancelled(cancelled, &self.downloading).ok_or_else(EmbedFailure::cancelled)?;
        if let Some(files) = found() {
            return Ok(files);
        }
        self.hub.download(model, revision, &of_revision, cancelled).map_err(|reason| {
            let option = if revision == MAIN_REVISION { String::new() } else { format!(" --revision {revision}") };
            EmbedFailure::runtime(format!(
                "model `{model}` is not on this server and could not be downloaded from {}: {reason}\n  - hint: put \
                 `{CONFIG}`, `{TOKENIZER}` and `{SAFETENSORS}` into the folder `models/{model}` of the database, or run \
                 `hf download {model}{option} --cache-dir DATABASE/models`",
                self.hub.url()
            ))
        })?;
        found().ok_or_else(|| EmbedFailure::runtime(format!("model `{model}` was downloaded and is gone")))
    }
}

/// The cache that the environment names. None is guessed: the home folder of a user is not the server's.
fn named_cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("HF_HUB_CACHE").or_else(|| folder("HF_HOME").map(|home| home.join("hub")))
}

/// The files of a model in a cache, if it has all of them.
fn in_cache(cache: &Cache, model: &str, revision: &str, pools: bool) -> Option<ModelFiles> {
    let repo = Repo::with_revision(model.to_owned(), RepoType::Model, revision.to_owned());
    let commit = if is_commit(revision) {
        revision.to_owned()
    } else {
        // Not by `CacheRepo::get`, which goes wherever the text in there leads.
        let reference = cache.path().join(repo.folder_name()).join("refs").join(revision);
        fs::read_to_string(reference).ok()?.trim().to_owned()
    };
    let snapshot = is_commit(&commit).then(|| cache.repo(repo).pointer_path(&commit))?;
    // Programs that only run the network do not fetch how to pool, and without it vectors are others, not missing. That a
    // model has no such file is known where its whole repository was fetched.
    let is_whole = |files: &ModelFiles| !pools || files.pooling.is_some() || snapshot.join(ATTRIBUTES).is_file();
    ModelFiles::in_folder(&snapshot).filter(is_whole)
}

/// Reports whether a name consists of at most `parts_max` parts that are plain file names.
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

    const MODEL: &str = "tiny/model";
    const COMMITS: [&str; 2] = ["0123456789abcdef0123456789abcdef01234567", "89abcdef0123456789abcdef0123456789abcdef"];
    /// Files of a complete model that also declares its pooling.
    const ALL: [&str; 4] = [CONFIG, TOKENIZER, SAFETENSORS, POOLING];

    #[test]
    fn names_stay_in_their_folder() {
        for name in ["bge", "BAAI/bge-base-en-v1.5", "a/b_c"] {
            assert!(is_name(name, 2), "{name}");
        }
        for name in ["", "..", "a/..", "../a", "/a", "a/b/c", "a b", "a/.git", "a\\b"] {
            assert!(!is_name(name, 2), "{name}");
        }
    }

    /// A folder for models and two caches beside it.
    struct Fixture {
        folder: tempfile::TempDir,
        _runtime: tokio::runtime::Runtime,
        store: ModelStore,
    }

    const OWN: &str = "models";
    const FIRST: &str = "first";
    const SECOND: &str = "second";

    impl Fixture {
        fn new() -> Fixture {
            let folder = tempfile::tempdir().unwrap();
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let outbound = {
                let _guard = runtime.enter();
                Outbound::new("any".parse().unwrap()).unwrap()
            };
            let [own, first, second] = [OWN, FIRST, SECOND].map(|name| folder.path().join(name));
            let store = ModelStore::new(own, vec![first, second], "http://127.0.0.1:1", None, outbound);
            Fixture { folder, _runtime: runtime, store }
        }

        fn write(&self, path: &str, content: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        /// Puts files into a cache as the hub's tools do: links from the snapshot to what is named by its content.
        fn cached(&self, cache: &str, commit: &str, names: &[&str]) {
            let repo = format!("{cache}/models--tiny--model");
            for (number, name) in names.iter().enumerate() {
                let blob = format!("{commit}-{number}");
                self.write(&format!("{repo}/blobs/{blob}"), name);
                let link = self.folder.path().join(format!("{repo}/snapshots/{commit}/{name}"));
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                let up = if name.contains('/') { "../../../blobs" } else { "../../blobs" };
                std::os::unix::fs::symlink(format!("{up}/{blob}"), link).unwrap();
            }
        }

        fn refers(&self, cache: &str, revision: &str, content: &str) {
            self.write(&format!("{cache}/models--tiny--model/refs/{revision}"), content);
        }

        /// Returns the folder of a revision's configuration, relative to the folder of the fixture. Returns the reason if
        /// there is none.
        fn find(&self, revision: &str) -> Result<String, String> {
            let files = self
                .store
                .files(MODEL, revision, true, &AtomicBool::default())
                .map_err(|failure| failure.to_string())?;
            let path = files.config.strip_prefix(self.folder.path()).expect("nothing else is looked into");
            Ok(path.parent().unwrap().to_str().unwrap().to_owned())
        }

        #[track_caller]
        fn assert_in_cache(&self, revision: &str, cache: &str, commit: &str) {
            assert_eq!(self.find(revision).unwrap(), format!("{cache}/models--tiny--model/snapshots/{commit}"));
        }

        #[track_caller]
        fn assert_nowhere(&self, revision: &str) {
            let refusal = self.find(revision).unwrap_err();
            assert!(refusal.contains("is not on this server"), "{refusal}");
        }
    }

    #[test]
    fn a_cache_is_asked_by_branch_by_tag_and_by_commit() {
        let fixture = Fixture::new();
        fixture.cached(FIRST, COMMITS[0], &ALL);
        fixture.cached(FIRST, COMMITS[1], &ALL);
        fixture.refers(FIRST, "main", COMMITS[0]);
        fixture.refers(FIRST, "refs/pr/1", &format!("{}\n", COMMITS[1]));
        fixture.assert_in_cache("main", FIRST, COMMITS[0]);
        fixture.assert_in_cache("refs/pr/1", FIRST, COMMITS[1]);
        fixture.assert_in_cache(COMMITS[1], FIRST, COMMITS[1]);
        fixture.assert_nowhere("v2");
        fixture.assert_nowhere(&COMMITS[0][..7]);
        let files = fixture.store.files(MODEL, "main", true, &AtomicBool::default()).unwrap();
        assert!(
            matches!(&files.weights, Weights::Safetensors(file) if fs::read(file).unwrap() == SAFETENSORS.as_bytes())
        );
        assert_eq!(fs::read(files.pooling.unwrap()).unwrap(), POOLING.as_bytes());
    }

    #[test]
    fn what_is_not_whole_is_no_model() {
        for missing in [CONFIG, TOKENIZER, SAFETENSORS] {
            let fixture = Fixture::new();
            let names: Vec<&str> = ALL.into_iter().filter(|name| *name != missing).collect();
            fixture.cached(OWN, COMMITS[0], &names);
            fixture.refers(OWN, "main", COMMITS[0]);
            fixture.assert_nowhere("main");
            fixture.cached(FIRST, COMMITS[1], &ALL);
            fixture.refers(FIRST, "main", COMMITS[1]);
            fixture.assert_in_cache("main", FIRST, COMMITS[1]);
        }
        // A link whose blob was removed.
        let fixture = Fixture::new();
        fixture.cached(FIRST, COMMITS[0], &ALL);
        fs::remove_file(fixture.folder.path().join(format!("{FIRST}/models--tiny--model/blobs/{}-0", COMMITS[0])))
            .unwrap();
        fixture.assert_nowhere(COMMITS[0]);
    }

    #[test]
    fn how_to_pool_is_not_guessed_from_what_another_program_fetched() {
        let fixture = Fixture::new();
        fixture.cached(FIRST, COMMITS[0], &[CONFIG, TOKENIZER, SAFETENSORS]);
        fixture.assert_nowhere(COMMITS[0]);
        let scoring = fixture.store.files(MODEL, COMMITS[0], false, &AtomicBool::default());
        assert!(scoring.is_ok(), "one that gives scores does not pool");
        fixture.cached(SECOND, COMMITS[0], &[ATTRIBUTES, CONFIG, TOKENIZER, PICKLE]);
        fixture.assert_in_cache(COMMITS[0], SECOND, COMMITS[0]);
        assert_eq!(fixture.store.files(MODEL, COMMITS[0], true, &AtomicBool::default()).unwrap().pooling, None);
    }

    #[test]
    fn a_reference_leads_to_a_snapshot_or_nowhere() {
        let fixture = Fixture::new();
        fixture.cached(FIRST, COMMITS[0], &ALL);
        for name in ALL {
            fixture.write(&format!("elsewhere/{}/{name}", COMMITS[0]), name);
        }
        let outside = fixture.folder.path().join("elsewhere").join(COMMITS[0]);
        assert!(ModelFiles::in_folder(&outside).is_some());
        for content in [
            &format!("../../../elsewhere/{}", COMMITS[0]),
            outside.to_str().unwrap(),
            &format!("{0}/../{0}", COMMITS[0]),
            &format!("{0}\n{0}", COMMITS[0]),
            &COMMITS[0].replace('0', "/"),
            ".",
            "",
        ] {
            fixture.refers(FIRST, "main", content);
            fixture.assert_nowhere("main");
        }
        fixture.write(&format!("{FIRST}/models--tiny--model/refs/binary"), "");
        fs::write(fixture.folder.path().join(format!("{FIRST}/models--tiny--model/refs/binary")), [0xFF; 40]).unwrap();
        fixture.assert_nowhere("binary");
        // A folder where a reference should be.
        fixture.refers(FIRST, "refs/pr/1", COMMITS[0]);
        fixture.assert_nowhere("refs/pr");
        fixture.assert_in_cache("refs/pr/1", FIRST, COMMITS[0]);
    }

    #[test]
    fn the_nearest_place_counts() {
        let fixture = Fixture::new();
        for (place, commit) in [(SECOND, COMMITS[1]), (FIRST, COMMITS[0]), (OWN, COMMITS[1])] {
            fixture.cached(place, commit, &ALL);
            fixture.refers(place, "main", commit);
            fixture.assert_in_cache("main", place, commit);
        }
        for own in ["models/tiny/model", "models/tiny/model/main"] {
            for name in [CONFIG, TOKENIZER, SAFETENSORS] {
                fixture.write(&format!("{own}/{name}"), name);
            }
            assert_eq!(fixture.find("main").unwrap(), own);
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
