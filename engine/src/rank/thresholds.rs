//! From how many documents on a search does more than scan them.

/// Sizes that decide how a search by words gets at its hits, never which: what is cut before it is read, and what is shared out
/// to threads.
///
/// The default is what ships. Tests pass [`SMALL`](SearchThresholds::SMALL) ones, so that small corpora take every way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchThresholds {
    /// Groups of at most this many documents, in all segments together, are scanned without a look at the postings.
    pub scanned_whole_max: u32,
    /// So many postings are worth another thread.
    pub postings_per_job: u64,
    /// What is left of larger groups is scanned on two threads.
    pub scanned_alone_max: usize,
    /// Documents of the first group that are scanned before the others are looked at, and of each later one, for which the
    /// bar is up already.
    pub scanned_first: [usize; 2],
    /// After so many documents, small groups are taken together.
    pub taken_alone: usize,
}

impl Default for SearchThresholds {
    fn default() -> SearchThresholds {
        SearchThresholds {
            scanned_whole_max: 1024,
            postings_per_job: 1 << 15,
            scanned_alone_max: 768,
            scanned_first: [512, 64],
            taken_alone: 512,
        }
    }
}

impl SearchThresholds {
    /// For tests: some thousand documents are cut, shared out and taken together.
    pub const SMALL: SearchThresholds = SearchThresholds {
        scanned_whole_max: 16,
        postings_per_job: 1 << 10,
        scanned_alone_max: 512,
        scanned_first: [128, 32],
        taken_alone: 128,
    };
}
