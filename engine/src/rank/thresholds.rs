//! From how many documents on a search does more than scan them.

/// Sizes that decide how a search gets at its hits, never which: what is cut before it is read, and what is shared out
/// to threads.
///
/// The default is what ships. Tests pass [`SMALL`](SearchThresholds::SMALL) ones, so that small corpora take every way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchThresholds {
    /// Groups of at most this many documents, in all segments together, are scanned without a look at the postings.
    pub scanned_whole_max: u32,
    /// Maximum number of remaining documents of a larger group that one thread scans alone. More are scanned on two
    /// threads.
    pub scanned_alone_max: usize,
    /// Documents of the first group that are scanned before the others are looked at, and of each later one, for which the
    /// bar is up already.
    pub scanned_first: [usize; 2],
    /// After so many documents, small groups are taken together.
    pub taken_alone: usize,
    /// Vectors of at most this many documents of a segment are compared one by one: that is as fast as by codes, and exact.
    pub vectors_compared_max: u32,
    /// Bytes of vectors that one thread compares before it takes more, and the fewest documents.
    pub vector_part_bytes: usize,
    pub vector_part_docs_min: u32,
}

impl Default for SearchThresholds {
    fn default() -> SearchThresholds {
        SearchThresholds {
            scanned_whole_max: 1024,
            scanned_alone_max: 768,
            scanned_first: [512, 64],
            taken_alone: 512,
            vectors_compared_max: 4096,
            vector_part_bytes: 512 << 10,
            vector_part_docs_min: 4096,
        }
    }
}

impl SearchThresholds {
    /// For tests: some thousand documents are cut, shared out and taken together.
    pub const SMALL: SearchThresholds = SearchThresholds {
        scanned_whole_max: 16,
        scanned_alone_max: 512,
        scanned_first: [128, 32],
        taken_alone: 128,
        vectors_compared_max: 600,
        vector_part_bytes: 64,
        vector_part_docs_min: 2,
    };
}
