//! The postings of a mapped segment.

use lamina_text::id::{DocId, FIRST_TERM, TermOrdinal};

use super::ZONE_COUNT;
use super::field_sets::FieldSets;
use super::infos::{TermInfo, TermInfos};
use super::list::{BlockCodes, List, MarkNumbers, PostingBlock, put_list};
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

    fn list(&self, doc_freq: u32, offset: u64) -> List<'_> {
        let bytes = self.lists.as_slice().get(offset as usize..).unwrap_or_default();
        List::new(bytes, doc_freq.min(self.doc_count), self.doc_count)
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

    /// Sum of [`Postings::doc_freq`] over a range, cut short once it reaches `stop_at`.
    pub fn doc_freq_sum(&self, range: Range<TermOrdinal>, stop_at: u64) -> u64 {
        let mut sum = 0;
        for ordinal in range {
            sum += u64::from(self.doc_freq(ordinal));
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
        self.for_each_block(ordinal, |block| block.for_each(|doc, code, _| f(doc, code)));
    }

    /// Calls `f(doc, field set code, zone)` in ascending order of documents.
    pub fn for_each_with_zone(&self, ordinal: TermOrdinal, mut f: impl FnMut(DocId, u32, u8)) {
        self.for_each_block(ordinal, |block| block.for_each(&mut f));
    }

    /// Calls `f` with the postings in ascending order of documents, up to 128 at a time.
    pub fn for_each_block(&self, ordinal: TermOrdinal, mut f: impl FnMut(PostingBlock<'_>)) {
        match self.info(ordinal) {
            None => {}
            Some(TermInfo::Single { doc, .. }) if doc >= self.doc_count => {}
            Some(TermInfo::Single { doc, code, zone }) => {
                f(PostingBlock { docs: &[doc], codes: BlockCodes::All(code), zones: &[zone] });
            }
            Some(TermInfo::List { doc_freq, offset }) => self.list(doc_freq, offset).for_each_block(f),
        }
    }

    /// Calls `f` for each document that holds the term with its slot and the number that the table has for its posting.
    pub fn for_each_number(
        &self,
        ordinal: TermOrdinal,
        table: &MarkNumbers,
        slots: &mut [u16],
        f: impl Fn(&mut u16, u16),
    ) {
        match self.info(ordinal) {
            None => {}
            Some(TermInfo::Single { doc, code, zone }) => {
                let number = table.get(code as usize).map_or(0, |row| row[usize::from(zone) % ZONE_COUNT]);
                slots.get_mut(doc as usize).into_iter().for_each(|slot| f(slot, number));
            }
            Some(TermInfo::List { doc_freq, offset }) => self.list(doc_freq, offset).for_each_number(table, slots, f),
        }
    }

    /// Adds the documents of the term.
    pub fn add_to(&self, ordinal: TermOrdinal, set: &mut BitsetBuilder) {
        match self.info(ordinal) {
            None => {}
            Some(TermInfo::Single { doc, .. }) => set.insert(doc),
            Some(TermInfo::List { doc_freq, offset }) => self.list(doc_freq, offset).add_to(set),
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
            Some(TermInfo::List { doc_freq, offset }) => self.list(doc_freq, offset).to_set(),
        }
    }

    /// The documents of `among` that hold the term; skips blocks without candidates when `among` is a short list.
    pub fn docs_among(&self, ordinal: TermOrdinal, among: &DocSet) -> DocSet {
        match (self.info(ordinal), among) {
            (Some(TermInfo::List { doc_freq, offset }), DocSet::Sorted(wanted)) => {
                let mut docs = Vec::with_capacity(wanted.len().min(doc_freq as usize));
                self.list(doc_freq, offset).docs_among(wanted, &mut docs);
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
                    doc_freq <= self.doc_count && doc_freq >= 2 && self.list(doc_freq, offset).is_valid(codes)
                }
            };
            if !valid {
                return Err(Damage("a posting list is cut, out of order or out of range"));
            }
        }
        if self.unions.is_valid() { Ok(()) } else { Err(Damage("a prefix union is cut, out of order or out of range")) }
    }
}

impl std::fmt::Debug for Postings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Postings({} terms, {} field sets)", self.term_count, self.field_sets.len())
    }
}
