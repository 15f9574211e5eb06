//! The postings of a mapped segment.

use lamina_text::id::{DocId, FIRST_TERM, TermOrdinal};

use super::field_sets::FieldSets;
use super::grouped::{Groups, is_grouped};
use super::infos::{TermInfo, TermInfos};
use super::list::{List, put_list};
use super::unions::{PrefixUnion, Unions};
use crate::bits::{BitsetBuilder, DocSet};
use crate::segment::error::Damage;
use crate::storage::OwnedBytes;
use std::ops::Range;

/// The postings of a segment.
pub struct Postings {
    infos: TermInfos,
    lists: OwnedBytes,
    field_sets: FieldSets,
    unions: Unions,
    doc_count: u32,
    term_count: u32,
}

impl Postings {
    pub fn open(
        infos: OwnedBytes,
        lists: OwnedBytes,
        field_sets: &[u8],
        unions: OwnedBytes,
        doc_count: u32,
        term_count: u32,
    ) -> Result<Postings, Damage> {
        let infos =
            TermInfos::open(infos, term_count).ok_or(Damage("the number of term infos is not the number of terms"))?;
        let field_sets = FieldSets::open(field_sets).ok_or(Damage("the field sets are cut or out of order"))?;
        let unions = Unions::open(unions, doc_count).ok_or(Damage("the prefix unions are cut or out of order"))?;
        Ok(Postings { infos, lists, field_sets, unions, doc_count, term_count })
    }

    #[inline]
    fn info(&self, ordinal: TermOrdinal) -> Option<TermInfo> {
        self.infos.get(ordinal.checked_sub(FIRST_TERM)?)
    }

    fn postings(&self, doc_freq: u32, offset: u64) -> TermPostings<'_> {
        let bytes = self.lists.as_slice().get(offset as usize..).unwrap_or_default();
        let doc_freq = doc_freq.min(self.doc_count);
        if !is_grouped(doc_freq, self.doc_count) {
            return TermPostings::List(List::new(bytes, doc_freq, self.doc_count));
        }
        // Only damaged ones cannot be opened: they have no documents.
        Groups::open(bytes, doc_freq, self.doc_count).map_or(TermPostings::Damaged, TermPostings::Grouped)
    }

    /// The groups of a term, if its postings are grouped: those of frequent terms are.
    pub fn groups(&self, ordinal: TermOrdinal) -> Option<Groups<'_>> {
        match self.info(ordinal) {
            Some(TermInfo::List { doc_freq, offset }) => match self.postings(doc_freq, offset) {
                TermPostings::Grouped(groups) => Some(groups),
                _ => None,
            },
            _ => None,
        }
    }

    /// Number of documents that hold the term; 0 for reserved and unknown ordinals. One load.
    #[inline]
    pub fn doc_freq(&self, ordinal: TermOrdinal) -> u32 {
        match self.info(ordinal) {
            None => 0,
            Some(TermInfo::Single { .. }) => 1,
            Some(TermInfo::List { doc_freq, .. }) => doc_freq,
        }
    }

    /// Sum of [`Postings::doc_freq`] over the terms of a range whose postings are not grouped, cut short once it reaches `stop_at`.
    pub fn listed_sum(&self, range: Range<TermOrdinal>, stop_at: u64) -> u64 {
        let mut sum = 0;
        for ordinal in range {
            let doc_freq = self.doc_freq(ordinal);
            sum += if is_grouped(doc_freq, self.doc_count) { 0 } else { u64::from(doc_freq) };
            if sum >= stop_at {
                break;
            }
        }
        sum
    }

    /// Appends the list of `docs` (strictly ascending, below `doc_count`, at least one) as a segment has it; one code each.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn encode_list(docs: &[DocId], codes: &[u32], doc_count: u32, out: &mut Vec<u8>) {
        assert_eq!(docs.len(), codes.len());
        put_list(out, docs, codes, &vec![0; docs.len()], doc_count);
    }

    /// Calls `f(doc, field set code)` in ascending order of documents.
    pub fn for_each(&self, ordinal: TermOrdinal, mut f: impl FnMut(DocId, u32)) {
        self.for_each_with_zone(ordinal, |doc, code, _| f(doc, code));
    }

    /// Calls `f(doc, field set code, zone)` in ascending order of documents.
    pub fn for_each_with_zone(&self, ordinal: TermOrdinal, mut f: impl FnMut(DocId, u32, u8)) {
        match self.info(ordinal) {
            None => {}
            Some(TermInfo::Single { doc, .. }) if doc >= self.doc_count => {}
            Some(TermInfo::Single { doc, code, zone }) => f(doc, code, zone),
            Some(TermInfo::List { doc_freq, offset }) => match self.postings(doc_freq, offset) {
                TermPostings::List(list) => list.for_each(f),
                TermPostings::Grouped(groups) => groups.for_each(f),
                TermPostings::Damaged => {}
            },
        }
    }

    /// Calls `f` with the field set codes of the postings of a term, some of them more than once. Cost: a few for a frequent term.
    pub fn for_each_code(&self, ordinal: TermOrdinal, mut f: impl FnMut(u32)) {
        match self.groups(ordinal) {
            Some(groups) => groups.heads().for_each(|(code, ..)| f(code)),
            None => self.for_each(ordinal, |_, code| f(code)),
        }
    }

    /// Adds the documents of the term.
    pub fn add_to(&self, ordinal: TermOrdinal, set: &mut BitsetBuilder) {
        match self.info(ordinal) {
            None => {}
            Some(TermInfo::Single { doc, .. }) => set.insert(doc),
            Some(TermInfo::List { doc_freq, offset }) => {
                self.postings(doc_freq, offset).docs().into_iter().for_each(|list| list.add_to(set))
            }
        }
    }

    /// Adds the documents that hold the term in an allowed field set (`allowed[code]`).
    pub fn add_to_filtered(&self, ordinal: TermOrdinal, allowed: &[bool], set: &mut BitsetBuilder) {
        self.for_each(ordinal, |doc, code| {
            if allowed.get(code as usize).copied().unwrap_or(false) {
                set.insert(doc);
            }
        });
    }

    /// The documents of the term as a set in the smaller form.
    pub fn docs(&self, ordinal: TermOrdinal) -> DocSet {
        match self.info(ordinal) {
            None => DocSet::empty(),
            Some(TermInfo::Single { doc, .. }) if doc < self.doc_count => DocSet::from_sorted(vec![doc]),
            Some(TermInfo::Single { .. }) => DocSet::empty(),
            Some(TermInfo::List { doc_freq, offset }) => {
                self.postings(doc_freq, offset).docs().map_or_else(DocSet::empty, List::to_set)
            }
        }
    }

    /// The documents of `among` that hold the term; skips blocks without candidates when `among` is a short list.
    pub fn docs_among(&self, ordinal: TermOrdinal, among: &DocSet) -> DocSet {
        match (self.info(ordinal), among) {
            (Some(TermInfo::List { doc_freq, offset }), DocSet::Sorted(wanted)) => {
                let mut docs = Vec::with_capacity(wanted.len().min(doc_freq as usize));
                let list = self.postings(doc_freq, offset).docs();
                list.into_iter().for_each(|list| list.docs_among(wanted, &mut docs));
                DocSet::from_sorted(docs)
            }
            (Some(_), _) => self.docs(ordinal).and(among),
            (None, _) => DocSet::empty(),
        }
    }

    /// Field sets of the segment by code.
    pub fn field_sets(&self) -> &FieldSets {
        &self.field_sets
    }

    /// The union of the postings of all terms with this prefix, when it was computed at writing time (crowded prefixes
    /// only; all fields).
    pub fn prefix_union(&self, prefix: &[u8]) -> Option<PrefixUnion<'_>> {
        self.unions.get(prefix)
    }

    /// Prefixes with a stored union, in byte order.
    pub(crate) fn union_prefixes(&self) -> impl Iterator<Item = &[u8]> {
        self.unions.prefixes()
    }

    /// Checks every list.
    pub(crate) fn validate(&self) -> Result<(), Damage> {
        let codes = self.field_sets.len() as u32;
        for ordinal in FIRST_TERM..FIRST_TERM + self.term_count {
            let valid = match self.info(ordinal) {
                None => false,
                Some(TermInfo::Single { doc, code, .. }) => doc < self.doc_count && code < codes,
                Some(TermInfo::List { doc_freq, offset }) => {
                    doc_freq <= self.doc_count && doc_freq >= 2 && self.postings(doc_freq, offset).is_valid(codes)
                }
            };
            if !valid {
                return Err(Damage("a posting list is cut, out of order or out of range"));
            }
        }
        if self.unions.is_valid() { Ok(()) } else { Err(Damage("a prefix union is cut, out of order or out of range")) }
    }
}

/// The postings of a term in several documents.
enum TermPostings<'a> {
    List(List<'a>),
    Grouped(Groups<'a>),
    /// Groups that are cut.
    Damaged,
}

impl<'a> TermPostings<'a> {
    /// The list that has all documents.
    fn docs(&self) -> Option<List<'a>> {
        match self {
            TermPostings::List(list) => Some(*list),
            TermPostings::Grouped(groups) => Some(groups.list()),
            TermPostings::Damaged => None,
        }
    }

    fn is_valid(&self, code_count: u32) -> bool {
        match self {
            TermPostings::List(list) => list.is_valid(code_count),
            TermPostings::Grouped(groups) => groups.is_valid(code_count),
            TermPostings::Damaged => false,
        }
    }
}

impl std::fmt::Debug for Postings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Postings({} terms, {} field sets)", self.term_count, self.field_sets.len())
    }
}
