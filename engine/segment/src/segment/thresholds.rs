//! From which sizes on a segment has lists that only save time.

use lamina_text::id::DocId;

/// Sizes that decide which lists of word pairs and which unions of prefixes a new segment has. They decide which bytes are
/// written and how fast a search is, never what it finds: segments written with different ones may be mixed.
///
/// The default is what ships. Tests pass [`SMALL`](ListThresholds::SMALL) ones, so that small corpora have some of every list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListThresholds {
    /// A union of a prefix is stored when joining would touch so many postings and terms (a term weighs 16).
    pub union_cost_min: u64,
    /// Segments of fewer documents list no followers: their documents are soon read, and an entry for each list would take
    /// more room than it is worth.
    pub followers_docs_min: u32,
    /// So many documents near each other are enough for a search: what costs more is not listed.
    pub near_enough: u32,
    /// Fewer documents with both words of a near pair are soon read without a list.
    pub near_holding_min: u32,
    /// Fewer documents with both pairs of a triple are soon read without a list.
    pub triple_candidates_min: u32,
    /// Triples met for the first time after so many others are unknown.
    pub open_triples_max: usize,
    /// After so many documents triples that cannot be asked for are closed for the first time; then whenever the number has
    /// doubled.
    pub triples_first_look: DocId,
    /// Bytes that the open lists of one kind may take while a segment is written, for each of its documents.
    pub open_bytes_per_doc: usize,
    /// Fewer vectors are scanned as they are, without codes.
    pub coded_vectors_min: usize,
    /// Fewer vectors are one list.
    pub listed_vectors_min: usize,
}

impl Default for ListThresholds {
    fn default() -> ListThresholds {
        ListThresholds {
            union_cost_min: 50_000,
            followers_docs_min: 16_384,
            near_enough: 64,
            near_holding_min: 2048,
            triple_candidates_min: 512,
            open_triples_max: 1 << 16,
            triples_first_look: 4096,
            open_bytes_per_doc: 8,
            coded_vectors_min: 8192,
            listed_vectors_min: 32_768,
        }
    }
}

impl ListThresholds {
    /// For tests: some thousand documents have some of every list, and meet every bound.
    pub const SMALL: ListThresholds = ListThresholds {
        union_cost_min: 2_000,
        followers_docs_min: 4096,
        near_enough: 12,
        near_holding_min: 64,
        triple_candidates_min: 16,
        open_triples_max: 56,
        triples_first_look: 64,
        open_bytes_per_doc: 4,
        coded_vectors_min: 1024,
        listed_vectors_min: 4096,
    };
}
