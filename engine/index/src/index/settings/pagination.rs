//! `pagination`: bounds of paging.

use super::value::object;

object! {
    /// Bounds of paging.
    #[derive(Copy, Eq)]
    Pagination changed by PaginationPatch {
        /// No answer goes further than this many hits; at least 1.
        max_total_hits: usize = 1000,
    }
}

impl Pagination {
    /// Returns the number of hits, of `found`, that pages can reach.
    pub fn reachable(self, found: u64) -> u64 {
        found.min(self.max_total_hits as u64)
    }

    /// The estimate of hits for an answer without pages: [`Pagination::reachable`], but all that were found where an index
    /// keeps the default.
    pub fn estimate(self, found: u64) -> u64 {
        if self == Pagination::default() { found } else { self.reachable(found) }
    }
}
