//! What goes on in the background of a server that others follow, or that follows.

use std::sync::Arc;

use crate::access::{key_lines, replace_keys};
use crate::app::AppState;
use crate::replication::{Follower, Following, ObjectError, Published, Publisher};

/// Publishes or follows while it lives.
#[derive(Default)]
pub(super) struct Replicating {
    _publisher: Option<Publisher>,
    _follower: Option<Follower>,
}

/// Publishes or follows, as the options say.
///
/// # Errors
/// What the store says.
pub(super) fn replicate(state: &Arc<AppState>) -> Result<Replicating, ObjectError> {
    let (options, outbound) = (&state.options, &state.outbound);
    let (instance, queue, replication) =
        (Arc::clone(&state.instance), Arc::clone(&state.queue), Arc::clone(&state.replication));
    let of_keys = Arc::clone(state);
    if let Some(address) = &options.replication.publish {
        let keys = Box::new(move || key_lines(of_keys.access.keys()));
        let published = Published { instance, queue, keys, replication };
        let publisher = Publisher::start(address, options, outbound, published)?;
        return Ok(Replicating { _publisher: Some(publisher), _follower: None });
    }
    let Some(address) = &options.replication.follow else { return Ok(Replicating::default()) };
    let replace_keys = Box::new(move |lines| replace_keys(of_keys.access.keys(), lines));
    let following = Following { instance, queue, replace_keys, replication };
    let follower = Follower::start(address, options, outbound, following)?;
    Ok(Replicating { _publisher: None, _follower: Some(follower) })
}
