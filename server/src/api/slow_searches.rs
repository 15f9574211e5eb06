//! Searches that take long reach the log, with what was asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::AppState;

/// Characters that are logged of a text.
const SHOWN_MAX: usize = 200;

/// A search whose response is awaited.
pub(super) struct Watch {
    state: Arc<AppState>,
    begun: Instant,
    index: String,
    q: String,
}

impl Watch {
    /// Begins to watch a search in `index` with the words `q`; `None` if no search is too slow.
    pub(super) fn begin(state: &Arc<AppState>, index: &str, q: Option<&str>) -> Option<Watch> {
        let cut = |text: &str| text.chars().take(SHOWN_MAX).collect();
        let (index, q) = (cut(index), cut(q.unwrap_or_default()));
        let is_wanted = state.options.logging.slow_search_ms > 0;
        is_wanted.then(|| Watch { state: Arc::clone(state), begun: Instant::now(), index, q })
    }

    /// Ends it, with a line if it took too long.
    pub(super) fn end(self) {
        let took = self.begun.elapsed();
        if took < Duration::from_millis(self.state.options.logging.slow_search_ms) {
            return;
        }
        if let Some(unsaid) = self.state.observations.slow.note(Instant::now()) {
            let millis = took.as_millis();
            tracing::warn!(index = self.index, q = ?self.q, millis, others = unsaid, "slow search");
        }
    }
}
