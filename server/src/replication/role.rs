//! What a server is when it starts.

use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use super::Role;
use super::chain::newest_root;
use super::remembered::followed_root;
use super::root::Root;
use super::store::{ObjectError, ObjectStore, blocking};
use crate::options::Options;
use crate::outbound::Outbound;

/// Whether the server of this folder follows.
pub(crate) fn has_followed(folder: &Path) -> bool {
    followed_root(folder).is_some()
}

/// As the options say; where they leave it open, as the store says: `uid` is that of the database in `folder`.
///
/// # Errors
/// What the store says, where it is not known otherwise.
pub(crate) fn role_at_start(
    options: &Options,
    outbound: &Outbound,
    folder: &Path,
    uid: Uuid,
) -> Result<Role, ObjectError> {
    let replication = &options.replication;
    let address = match (&replication.publish, &replication.follow) {
        (Some(_), _) => return Ok(Role::Publisher),
        (None, None) => return Ok(Role::Alone),
        (None, Some(_)) if !replication.standby => return Ok(Role::Replica),
        (None, Some(address)) => address,
    };
    let store = ObjectStore::open(address, &options.object_storage, outbound, Arc::default())?;
    let has_followed = has_followed(folder);
    by_store(blocking(newest_root(&store, 0)), uid, has_followed)
}

/// As the newest root says, for a server that may be either.
///
/// # Errors
/// What the store says, where the server has not followed.
pub(super) fn by_store(
    newest: Result<Option<Root>, ObjectError>,
    uid: Uuid,
    has_followed: bool,
) -> Result<Role, ObjectError> {
    match newest {
        Ok(Some(root)) if root.holder == uid => Ok(Role::Publisher),
        Ok(Some(_)) => Ok(Role::Replica),
        // What it has followed is gone, and may come back.
        Ok(None) if has_followed => Ok(Role::Replica),
        Ok(None) => Ok(Role::Publisher),
        Err(error) if has_followed => {
            tracing::error!(%error, "cannot find the writer in the store: this server answers reads from its data");
            Ok(Role::Replica)
        }
        Err(error) => Err(error),
    }
}
