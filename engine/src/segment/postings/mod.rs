//! "I have a term: which documents hold it, in which fields?"

use crate::bits::{BitsetBuilder, DocSet};
use crate::id::{DocId, FieldId, TermOrdinal};
use std::ops::Range;

/// The postings of a segment.
#[derive(Debug)]
pub struct Postings {}

impl Postings {
    /// Number of documents that hold the term; 0 for reserved and unknown ordinals. One load.
    pub fn doc_freq(&self, _ordinal: TermOrdinal) -> u32 {
        unimplemented!("postings")
    }
    /// Sum of [`Postings::doc_freq`] over a range, cut short once it reaches `stop_at`.
    pub fn doc_freq_sum(&self, _range: Range<TermOrdinal>, _stop_at: u64) -> u64 {
        unimplemented!("postings")
    }
    /// Calls `f(doc, field set code)` in ascending order of documents.
    pub fn for_each(&self, _ordinal: TermOrdinal, _f: impl FnMut(DocId, u32)) {
        unimplemented!("postings")
    }
    /// Adds the documents of the term.
    pub fn add_to(&self, _ordinal: TermOrdinal, _set: &mut BitsetBuilder) {
        unimplemented!("postings")
    }
    /// Adds the documents of all terms of the range.
    pub fn add_range_to(&self, _range: Range<TermOrdinal>, _set: &mut BitsetBuilder) {
        unimplemented!("postings")
    }
    /// Adds the documents that hold the term in an allowed field set (`allowed[code]`).
    pub fn add_to_filtered(&self, _ordinal: TermOrdinal, _allowed: &[bool], _set: &mut BitsetBuilder) {
        unimplemented!("postings")
    }
    /// The documents of the term as a set in the smaller form.
    pub fn docs(&self, _ordinal: TermOrdinal) -> DocSet {
        unimplemented!("postings")
    }
    /// The documents of `among` that hold the term; skips blocks without candidates when `among` is a short list.
    pub fn docs_among(&self, _ordinal: TermOrdinal, _among: &DocSet) -> DocSet {
        unimplemented!("postings")
    }
    /// Field sets of the segment by code.
    pub fn field_sets(&self) -> &FieldSets {
        unimplemented!("postings")
    }
    /// The union of the documents of all terms with this prefix, when it was computed at writing time (crowded
    /// prefixes only; all fields).
    pub fn prefix_docs(&self, _prefix: &[u8]) -> Option<DocSet> {
        unimplemented!("postings")
    }
}

/// The distinct sets of fields in which terms occur, by code.
#[derive(Debug)]
pub struct FieldSets {}

impl FieldSets {
    /// Number of codes.
    pub fn len(&self) -> usize {
        unimplemented!("postings")
    }
    /// Whether the segment has no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The fields of a code, ascending; empty for an unknown code.
    pub fn fields(&self, _code: u32) -> &[FieldId] {
        unimplemented!("postings")
    }
    /// `allowed[code]`: whether the set of `code` has at least one field that satisfies `allow`.
    pub fn allowed(&self, _allow: impl FnMut(FieldId) -> bool) -> Vec<bool> {
        unimplemented!("postings")
    }
}
