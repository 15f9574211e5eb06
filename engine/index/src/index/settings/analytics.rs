//! `analytics`: what is kept of searches in the index. The engine keeps nothing of it.

use super::value::object;

object! {
    /// Recording of searches.
    #[derive(Copy, Eq)]
    Analytics changed by AnalyticsPatch {
        /// True if searches are recorded.
        searches: bool = false,
        /// Days after which what was recorded expires.
        retention_days: u32 = 90,
    }
}
