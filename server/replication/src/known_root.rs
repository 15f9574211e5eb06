//! The root by which a server knows its store again. One that publishes keeps it in the database folder; a follower, with the rest
//! of what it remembers.

use std::path::{Path, PathBuf};

use lamina_base::options::StoreAddress;
use lamina_data::instance::{read_state, write_state};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::root::Root;

const FILE: &str = "store.json";

/// A root that a server has published or followed, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KnownRoot {
    pub(super) address: String,
    /// The identity of the store.
    pub(super) store: Uuid,
    pub(super) root: u64,
    pub(super) epoch: u64,
    pub(super) nonce: Uuid,
    pub(super) holder: Uuid,
    pub(super) next_task: u32,
}

impl KnownRoot {
    pub(super) fn of(root: &Root, address: &StoreAddress) -> KnownRoot {
        KnownRoot {
            address: address.to_string(),
            store: root.store,
            root: root.number,
            epoch: root.epoch,
            nonce: root.nonce,
            holder: root.holder,
            next_task: root.next_task,
        }
    }

    /// Reads the state of the server with the database in `folder`, if it has published.
    pub(super) fn read(folder: &Path) -> Option<KnownRoot> {
        read_state(folder, FILE).ok()
    }

    /// Durable when this returns.
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        write_state(folder, FILE, self)
    }
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}
