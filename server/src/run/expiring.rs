//! Asks for the removal of documents that have expired.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_data::tasks::{Content, NewTask};
use lamina_replication::Role;
use tokio::time::MissedTickBehavior;

use crate::app::AppState;

/// Minimum time between two removals of expired documents of an index. Searches do not find expired documents in
/// the meantime.
const REMOVAL_PAUSE: Duration = Duration::from_secs(60);

/// Asks for the removal of documents that have expired.
pub(super) fn remove_expired(state: &Arc<AppState>) {
    let options = &state.options;
    if options.experimental.experimental_replication_parameters || state.replication.role() == Role::Replica {
        // What keeps several servers the same decides on their tasks.
        return;
    }
    let (queue, instance) = (Arc::clone(&state.queue), Arc::clone(&state.instance));
    tokio::spawn(async move {
        let mut asked: HashMap<String, Instant> = HashMap::new();
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let instance = Arc::clone(&instance);
            let Ok(uids) = tokio::task::spawn_blocking(move || instance.with_expired()).await else { return };
            asked.retain(|_, at| at.elapsed() < REMOVAL_PAUSE);
            for uid in uids {
                if asked.contains_key(&uid) {
                    continue;
                }
                if let Err(error) = queue.enqueue(NewTask::for_index(uid.clone(), Content::DeleteExpired)).await {
                    tracing::error!(index = uid, error = %error.message, "cannot enqueue the removal of expired documents");
                }
                asked.insert(uid, Instant::now());
            }
        }
    });
}
