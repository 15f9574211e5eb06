//! What goes on in the background of a server that others follow, or that follows.

use std::sync::Arc;

use lamina_base::aliases::Aliases;
use lamina_base::error::ApiError;
use lamina_base::options::{Options, StoreAddress};
use lamina_data::access::ApiKey;
use lamina_data::chats::Workspaces;
use lamina_data::network::Topology;
use lamina_data::tasks::{Store, StoreError};
use lamina_data::webhooks::{Webhook, WebhookFile};
use lamina_replication::{
    AtStart, Follower, Following, FoundDamage, ObjectError, Prepared, Published, Publisher, Role, SharedState, Taking,
    forget_accepted, has_followed,
};
use serde_json::{Map, Value};

use crate::app::{AppState, Opened};

/// Publishes or follows while it lives.
#[derive(Default)]
pub(super) struct Replicating {
    _publisher: Option<Publisher>,
    _follower: Option<Follower>,
}

/// Settles what an earlier role has left: tasks that a replica does not execute, and uids that the former writer
/// may have given.
pub(super) fn settle_role(at_start: AtStart, store: &Store, options: &Options) -> Result<(), StoreError> {
    let AtStart { role, is_sure } = at_start;
    match role {
        Role::Replica if is_sure => forget_accepted(store, options.replication.is_to_be_in_store())?,
        Role::Publisher if has_followed(&options.service.db_path) => store.pass_over_uids()?,
        _ => {}
    }
    Ok(())
}

/// Returns the store to which this server publishes, or that it follows.
fn address(options: &Options) -> Option<&StoreAddress> {
    options.replication.publish.as_ref().or(options.replication.follow.as_ref())
}

/// Takes over from what published before, where this server publishes.
///
/// # Errors
/// What the store says.
pub(super) fn prepare(options: &Options, opened: &Opened) -> Result<Option<Prepared>, ObjectError> {
    let Opened { instance, queue, outbound, replication, .. } = opened;
    let Some(address) = address(options).filter(|_| replication.role() == Role::Publisher) else { return Ok(None) };
    Prepared::new(address, options, outbound, &Taking { instance, queue, replication }).map(Some)
}

/// Publishes what is prepared, or follows, as the options say.
///
/// # Errors
/// What the store says.
pub(super) fn replicate(state: &Arc<AppState>, prepared: Option<Prepared>) -> Result<Replicating, ObjectError> {
    let (options, outbound) = (&state.options, &state.outbound);
    let (instance, queue, replication) =
        (Arc::clone(&state.instance), Arc::clone(&state.queue), Arc::clone(&state.replication));
    let of_keys = Arc::clone(state);
    let master_key_mark = state.access.keys().master_key_mark();
    let Some(address) = address(options) else { return Ok(Replicating::default()) };
    if let Some(prepared) = prepared {
        let keys = Box::new(move || of_keys.access.keys().all());
        let mut carrying = Carrying { state: Arc::clone(state), last: None };
        let carried = Box::new(move |aliases: &Arc<Aliases>| carrying.now(aliases));
        let of_scrubber = Arc::clone(state);
        let found_damage = Box::new(move |damage: &FoundDamage<'_>| note_damage(&of_scrubber, damage));
        let published = Published { instance, queue, keys, master_key_mark, carried, replication, found_damage };
        let publisher = Publisher::start(prepared, options, published)?;
        return Ok(Replicating { _publisher: Some(publisher), _follower: None });
    }
    let replace_keys = Box::new(move |keys: &[ApiKey]| of_keys.access.keys().replace(keys));
    let of_carried = Arc::clone(state);
    let take_shared_state = Box::new(move |carried: &SharedState| take(&of_carried, carried));
    let following = Following { instance, queue, replace_keys, master_key_mark, take_shared_state, replication };
    let follower = Follower::start(address, options, outbound, following)?;
    Ok(Replicating { _publisher: None, _follower: Some(follower) })
}

/// Has damage that a publication has met shown like what the scrubber finds. Whether it is there.
fn note_damage(state: &AppState, damage: &FoundDamage<'_>) -> bool {
    let FoundDamage { uid, snapshot, file, reason, is_cut } = *damage;
    let found = snapshot.scrub_file(file, reason, is_cut);
    state.scrubber.report(uid, &found);
    state.instance.set_damaged_aside(uid);
    !found.is_empty()
}

/// Takes what belongs to no index, but for aliases and rules.
fn take(state: &AppState, carried: &SharedState) -> Result<(), ApiError> {
    state.features.follow(&carried.features, &state.options.preset_features())?;
    state.webhooks.follow(carried.webhooks.clone())?;
    state.network.follow(&carried.network)?;
    state.chats.follow(&carried.chats)
}

/// Shared state for replicas besides indexes and keys, rebuilt when something in it has changed.
struct Carrying {
    state: Arc<AppState>,
    last: Option<(Sources, Arc<SharedState>)>,
}

/// Sources of the shared state.
#[derive(PartialEq)]
struct Sources {
    aliases: Arc<Aliases>,
    rules: u64,
    features: Map<String, Value>,
    webhooks: Arc<Vec<Arc<Webhook>>>,
    network: Arc<Topology>,
    chats: Arc<Workspaces>,
}

impl Carrying {
    fn now(&mut self, aliases: &Arc<Aliases>) -> Arc<SharedState> {
        let state = &self.state;
        let sources = Sources {
            aliases: Arc::clone(aliases),
            // Before the rules are read: a change in between is met the next time.
            rules: state.instance.rules().version(),
            features: state.features.show(),
            webhooks: state.webhooks.all(),
            network: state.network.topology(),
            chats: state.chats.all(),
        };
        if let Some((last, carried)) = &self.last
            && *last == sources
        {
            return Arc::clone(carried);
        }
        let carried = SharedState {
            rules: state.instance.rules().all(),
            features: sources.features.clone(),
            webhooks: WebhookFile::of(&sources.webhooks),
            network: serde_json::to_value(&*sources.network).expect("names and texts are JSON"),
            chats: serde_json::to_value(&*sources.chats).expect("names and texts are JSON"),
            aliases: Aliases::clone(aliases),
        };
        let carried = Arc::new(carried);
        self.last = Some((sources, Arc::clone(&carried)));
        carried
    }
}
