//! What a replica remembers from start to start, in the database folder. A server that writes has no such file.

use std::fs;
use std::path::{Path, PathBuf};

use lamina_base::stored_names::FolderName;
use lamina_data::instance::{Instance, read_state, write_state};
use lamina_engine::index::newest_generation;
use serde::{Deserialize, Serialize};

use super::known_root::KnownRoot;
use super::root::{PublishedIndex, PublishedManifest};

const FILE: &str = "replica.json";

/// Progress that a replica keeps over a restart.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplicaState {
    /// The number of the root.
    pub(super) root: u64,
    /// The name of what it carries.
    pub(super) carried: Option<String>,
    pub(super) indexes: Vec<Local>,
    /// More of the root; `None` before the first one.
    pub(super) seen: Option<KnownRoot>,
}

/// An index of the publisher, here.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Local {
    pub(super) published: PublishedIndex,
    pub(super) folder: FolderName,
}

/// Returns whether the index in the folder at `path` is in exactly the state of this manifest.
pub(super) fn is_in_state(path: &Path, manifest: &PublishedManifest) -> bool {
    newest_generation(path) == Some(manifest.generation)
        && fs::read(path.join(manifest.name())).is_ok_and(|bytes| crc32fast::hash(&bytes) == manifest.checksum)
}

impl ReplicaState {
    /// Reads the state of the database in `folder`. What cannot be read is nothing: it is fetched again.
    pub(super) fn read(folder: &Path) -> Option<ReplicaState> {
        read_state(folder, FILE).ok()
    }

    /// An index that is not in the state that was followed, in the database of `instance`.
    pub(super) fn other_than_followed(&self, instance: &Instance) -> Option<&Local> {
        self.indexes.iter().find(|local| !is_in_state(&instance.index_folder(&local.folder), &local.published.manifest))
    }

    /// Durable when this returns.
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        write_state(folder, FILE, self)
    }
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The number of the root that the server of this folder has followed to, if it follows.
pub(super) fn followed_root(folder: &Path) -> Option<u64> {
    ReplicaState::read(folder).map(|remembered| remembered.root)
}

/// The server of this folder follows no more.
pub(super) fn forget_following(folder: &Path) -> std::io::Result<()> {
    match fs::remove_file(path(folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
