//! The files of a network: configuration, tokens, weights and how to pool.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lamina_engine::index::embedding::EmbedFailure;

use crate::embedders::store::{CONFIG, Download, Layout, ModelStore, PICKLE, POOLING, SAFETENSORS, TOKENIZER};

/// The hub puts it into every repository that it makes.
const ATTRIBUTES: &str = ".gitattributes";

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

/// Places of the files of a network.
struct NetworkLayout {
    /// The vectors of its tokens become one, so how has to be known.
    pools: bool,
}

impl Layout for NetworkLayout {
    type Files = ModelFiles;

    fn in_folder(&self, folder: &Path) -> Option<ModelFiles> {
        let file = |name: &str| Some(folder.join(name)).filter(|file| file.is_file());
        let weights = file(SAFETENSORS).map(Weights::Safetensors).or_else(|| file(PICKLE).map(Weights::Pickle));
        Some(ModelFiles {
            config: file(CONFIG)?,
            tokenizer: file(TOKENIZER)?,
            weights: weights?,
            pooling: file(POOLING),
        })
    }

    fn in_snapshot(&self, folder: &Path) -> Option<ModelFiles> {
        // Programs that only run the network do not fetch how to pool, and without it vectors are others, not missing. That a
        // model has no such file is known where its whole repository was fetched.
        let is_whole = |files: &ModelFiles| !self.pools || files.pooling.is_some() || folder.join(ATTRIBUTES).is_file();
        self.in_folder(folder).filter(is_whole)
    }

    fn fetch(&self, download: &mut Download<'_>) -> Result<(), String> {
        download.needs(CONFIG)?;
        download.needs(TOKENIZER)?;
        download.has(POOLING)?;
        if download.has(SAFETENSORS)? || download.has(PICKLE)? { Ok(()) } else { Err(download.missing(SAFETENSORS)) }
    }
}

impl ModelStore {
    /// The files of a network. `pools`: the vectors of its tokens become one, so how has to be known.
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
        self.obtain(&NetworkLayout { pools }, model, revision, cancelled)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lamina_base::outbound::Outbound;

    use super::*;

    const MODEL: &str = "tiny/model";
    const COMMITS: [&str; 2] = ["0123456789abcdef0123456789abcdef01234567", "89abcdef0123456789abcdef0123456789abcdef"];
    /// Files of a complete model that also declares its pooling.
    const ALL: [&str; 4] = [CONFIG, TOKENIZER, SAFETENSORS, POOLING];

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
        assert!(NetworkLayout { pools: true }.in_folder(&outside).is_some());
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
}
