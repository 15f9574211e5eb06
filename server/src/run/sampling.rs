//! Takes the steps of the history.

use std::sync::Arc;

use lamina_data::observe::History;
use tokio::time::{Instant, MissedTickBehavior};

use crate::api::end_step;
use crate::app::AppState;

/// Ends a step each time that one is over.
pub(super) fn keep_history(state: &Arc<AppState>) {
    let state = Arc::downgrade(state);
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval_at(Instant::now() + History::STEP, History::STEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(state) = state.upgrade() else { return };
            let ended = tokio::task::spawn_blocking(move || end_step(&state));
            match ended.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(error = %error.message, "cannot measure the server"),
                // The runtime ends.
                Err(_) => return,
            }
        }
    });
}
