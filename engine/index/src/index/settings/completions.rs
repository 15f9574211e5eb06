//! `completions`: what completions of queries come from, beside the words of the index.

use super::value::object;

object! {
    /// Sources of completions.
    #[derive(Copy, Eq)]
    Completions changed by CompletionsPatch {
        /// Also from earlier queries. The engine keeps nothing of it.
        from_queries: bool = false,
        /// Number of times that a query must have been sent before it completes others.
        min_count: u32 = 3,
    }
}
