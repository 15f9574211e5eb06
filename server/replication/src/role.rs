//! What a server is when it starts.

use std::path::Path;
use std::sync::Arc;

use lamina_base::options::Options;
use lamina_base::outbound::Outbound;
use lamina_base::plural::counted;
use lamina_data::tasks::{Store, StoreError};
use uuid::Uuid;

use super::Role;
use super::chain::newest_root;
use super::known::Known;
use super::replica_state::followed_root;
use super::root::Root;
use super::store::{ObjectError, ObjectStore, blocking};

/// Reports whether the server of this folder follows.
pub fn has_followed(folder: &Path) -> bool {
    followed_root(folder).is_some()
}

/// Role of a server at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtStart {
    pub role: Role,
    /// True if the store has confirmed the role. Without that, a former writer may still be the writer: it follows, and
    /// keeps what it has accepted.
    pub is_sure: bool,
}

impl AtStart {
    fn sure(role: Role) -> AtStart {
        AtStart { role, is_sure: true }
    }
}

/// Determines the role from the options, or from the store if they leave it open. `uid` is that of the database in
/// `folder`.
///
/// # Errors
/// Fails with the error of the store, if the role cannot be determined otherwise.
pub fn role_at_start(options: &Options, outbound: &Outbound, folder: &Path, uid: Uuid) -> Result<AtStart, ObjectError> {
    let replication = &options.replication;
    let address = match (&replication.publish, &replication.follow) {
        (Some(_), _) => return Ok(AtStart::sure(Role::Publisher)),
        (None, None) => return Ok(AtStart::sure(Role::Alone)),
        (None, Some(_)) if !replication.standby => return Ok(AtStart::sure(Role::Replica)),
        (None, Some(address)) => address,
    };
    let store = ObjectStore::open(address, &options.object_storage, outbound, Arc::default())?;
    let (newest, known) = (blocking(newest_root(&store, 0)), Known::read(folder));
    let Some(known) = known else { return by_store(newest, uid, false).map(AtStart::sure) };
    let is_sure = match &newest {
        Ok(Some(root)) => root.holder == uid || blocking(known.is_continued(&store, root, &store.shown())).is_ok(),
        _ => false,
    };
    Ok(AtStart { role: by_store(newest, uid, true)?, is_sure })
}

/// Determines the role from the newest root, for a server that may be writer or replica. `has_known`: it has
/// published to the store, or followed.
///
/// # Errors
/// Fails with the error of the store, if the server has no record of the store.
pub(super) fn by_store(
    newest: Result<Option<Root>, ObjectError>,
    uid: Uuid,
    has_known: bool,
) -> Result<Role, ObjectError> {
    match newest {
        Ok(Some(root)) if root.holder == uid => Ok(Role::Publisher),
        Ok(Some(_)) => Ok(Role::Replica),
        // What it has known is gone, and may come back.
        Ok(None) if has_known => Ok(Role::Replica),
        Ok(None) => Ok(Role::Publisher),
        Err(error) if has_known => {
            tracing::error!(%error, "cannot find the writer in the store: this server answers reads from its data");
            Ok(Role::Replica)
        }
        Err(error) => Err(error),
    }
}

/// Forgets the tasks that this server has accepted as the writer and not carried out: it follows another one.
///
/// # Errors
/// What the queue says.
pub fn forget_accepted(store: &Store, is_in_store: bool) -> Result<(), StoreError> {
    let waiting = store.forget_tasks()?;
    if waiting > 0 && is_in_store {
        tracing::warn!("the new writer will carry out {}, which this server has accepted", counted(waiting, "task"));
    } else if waiting > 0 {
        tracing::error!(
            "lost: {} that this server had accepted and not carried out when another server took over. Send again what is missing",
            counted(waiting, "task")
        );
    }
    Ok(())
}
