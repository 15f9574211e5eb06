//! Writes down what was asked before, now and then and at the end.

use std::sync::Arc;
use std::time::Duration;

use lamina_base::error::Code;
use lamina_base::timestamp::Timestamp;
use tokio::time::MissedTickBehavior;

use crate::app::AppState;

/// Interval between two saves. A crash may lose the counts of that time, which are only advice.
const PAUSE: Duration = Duration::from_secs(60);

/// Saves the counts of queries in the background.
pub(super) fn keep_queries(state: &Arc<AppState>) {
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(PAUSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first one comes at once, and nothing was asked yet.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let state = Arc::clone(&state);
            let Ok(()) = tokio::task::spawn_blocking(move || save_queries(&state)).await else { return };
        }
    });
}

/// Saves them now: those of indexes that are there and still want it.
pub(super) fn save_queries(state: &AppState) {
    let is_wanted = |uid: &str, made_at: i64| match state.instance.state(uid) {
        Ok(snapshot) => {
            let is_same = Timestamp::from(snapshot.created_at()).nanos() == made_at;
            is_same && snapshot.settings.completions.from_queries
        }
        // One that cannot be read now may be read again.
        Err(error) => error.code != Code::IndexNotFound,
    };
    if let Err(error) = state.asked.save(is_wanted) {
        tracing::warn!(%error, "cannot save the counts of earlier queries");
    }
}
