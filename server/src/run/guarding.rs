//! Looks at experiments that go on, and stops those that do harm.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::api::check_experiment;
use crate::app::AppState;

/// Longest time between two looks at an experiment that are cheap.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Time between two looks, in the time that one takes: it is a hundredth of a core at most.
const PAUSE_FACTOR: u32 = 100;

/// Stops experiments that do harm, or whose indexes are others.
pub(super) fn guard_experiments(state: &Arc<AppState>) {
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let mut next: HashMap<String, Instant> = HashMap::new();
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(all) = state.experiments.if_running() else { continue };
            next.retain(|id, _| all.contains_key(id));
            for (id, experiment) in all.iter().filter(|(_, experiment)| experiment.stopped.is_none()) {
                let begun = Instant::now();
                if next.get(id).is_some_and(|next| begun < *next) {
                    continue;
                }
                if let Err(error) = check_experiment(&state, id, experiment).await {
                    tracing::error!(experiment = id, error = %error.message, "cannot look at an experiment");
                }
                let window = Duration::from_secs(u64::from(experiment.definition.window_seconds));
                next.insert(id.clone(), begun + window.min(PAUSE_MAX).max(begun.elapsed() * PAUSE_FACTOR));
            }
        }
    });
}
