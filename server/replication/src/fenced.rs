//! The end of a writer that another one has taken over from.

use super::Replication;
use super::chain::newest_root;
use super::store::{ObjectStore, blocking};

/// Takes no writes any more: another server does.
pub(super) fn step_down(store: &ObjectStore, replication: &Replication, begins_again: bool) {
    // Only to name it.
    let writer = blocking(newest_root(store, 0)).ok().flatten().and_then(|root| root.writer);
    replication.step_down(writer, begins_again);
}
