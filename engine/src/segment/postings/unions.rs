//! Unions of crowded prefixes, computed when the segment is written.
//!
//! While somebody types, the first letters match thousands of terms whose lists hold most of the documents. Joining them
//! takes longer than the rest of the query. For the prefixes of one to three characters that would be the dearest to
//! join, the union is stored: as a posting list, with the fields and the first zone of all terms of a document, in a share
//! of the segment that is bounded by bytes per document.
//!
//! The layout is in `segment-format.md`.
//! Entries are in byte order of the prefixes.

use super::ZONE_MAX;
use super::list::{List, put_list};
use super::reader::FieldSets;
use super::writer::FieldSetTable;
use crate::bits::varint::{put_varint, read_varint};
use crate::id::DocId;
use crate::storage::OwnedBytes;

/// Unions are kept for prefixes of up to this many characters.
const PREFIX_CHARS_MAX: usize = 3;
/// A union is kept when joining would touch more than this many postings and terms (a term weighs 16).
const COST_MIN: u64 = 50_000;
const TERM_COST: u64 = 16;
/// All unions together take at most this many bytes per document.
const BYTES_PER_DOC_MAX: u64 = 12;

/// Collects the unions while terms are written in order: at any time there is one open prefix per length.
pub(crate) struct UnionsBuilder {
    doc_count: u32,
    field_sets: FieldSetTable,
    open: Vec<OpenPrefix>,
    /// Closed prefixes, for their buffers.
    spare: Vec<OpenPrefix>,
    done: Vec<Union>,
    done_bytes: u64,
}

/// A prefix whose terms are being written. Its postings are a list with repeats until it proves to be crowded: most
/// prefixes never do, and then nothing but a few copies was spent on them.
#[derive(Default)]
struct OpenPrefix {
    prefix: Vec<u8>,
    cost: u64,
    list: Vec<Posting>,
    /// Per document of a crowded prefix.
    marks: Vec<Mark>,
}

#[derive(Clone, Copy)]
struct Posting {
    doc: DocId,
    mark: Mark,
}

/// Fields and zone of one document; field sets have codes below 2^24 by far.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    code: u32,
    zone: u8,
}

const NO_MARK: Mark = Mark { code: FieldSetTable::NONE, zone: ZONE_MAX };

impl OpenPrefix {
    fn push(
        &mut self,
        postings: impl Iterator<Item = Posting> + Clone,
        count: usize,
        sets: &mut FieldSetTable,
        docs: u32,
    ) {
        let was_crowded = self.cost >= COST_MIN;
        self.cost += count as u64 + TERM_COST;
        if self.cost < COST_MIN {
            return self.list.extend(postings);
        }
        if !was_crowded {
            self.marks.clear();
            self.marks.resize(docs as usize, NO_MARK);
            let list = std::mem::take(&mut self.list);
            self.mark(list.iter().copied(), sets);
            self.list = list;
        }
        self.mark(postings, sets);
    }

    fn mark(&mut self, postings: impl Iterator<Item = Posting>, sets: &mut FieldSetTable) {
        for Posting { doc, mark } in postings {
            let have = &mut self.marks[doc as usize];
            if *have == NO_MARK {
                *have = mark;
            } else {
                have.zone = have.zone.min(mark.zone);
                if have.code != mark.code {
                    have.code = sets.join(have.code, mark.code);
                }
            }
        }
    }
}

struct Union {
    prefix: Vec<u8>,
    cost: u64,
    doc_freq: u32,
    list: Vec<u8>,
}

impl UnionsBuilder {
    pub(super) fn new(doc_count: u32, field_sets: FieldSetTable) -> UnionsBuilder {
        UnionsBuilder { doc_count, field_sets, open: Vec::new(), spare: Vec::new(), done: Vec::new(), done_bytes: 0 }
    }

    pub(super) fn push(&mut self, term: &[u8], docs: &[DocId], codes: &[u32], zones: &[u8]) {
        // With few documents even joining everything is cheap.
        if u64::from(self.doc_count) * 8 < COST_MIN {
            return;
        }
        let same = self.open.iter().take_while(|open| term.starts_with(&open.prefix)).count();
        self.close_from(same);
        let mut ends = char_ends(term).skip(same);
        while self.open.len() < PREFIX_CHARS_MAX {
            let Some(end) = ends.next() else { break };
            let mut open = self.spare.pop().unwrap_or_default();
            open.prefix.clear();
            open.prefix.extend_from_slice(&term[..end]);
            open.cost = 0;
            open.list.clear();
            self.open.push(open);
        }
        let postings = docs.iter().zip(codes).zip(zones);
        let postings = postings.map(|((&doc, &code), &zone)| Posting { doc, mark: Mark { code, zone } });
        for open in &mut self.open {
            open.push(postings.clone(), docs.len(), &mut self.field_sets, self.doc_count);
        }
    }

    fn close_from(&mut self, from: usize) {
        for open in self.open.drain(from..) {
            if open.cost >= COST_MIN {
                let marked = || (0..).zip(&open.marks).filter(|(_, mark)| **mark != NO_MARK);
                let docs: Vec<DocId> = marked().map(|(doc, _)| doc).collect();
                let codes: Vec<u32> = marked().map(|(_, mark)| mark.code).collect();
                let zones: Vec<u8> = marked().map(|(_, mark)| mark.zone).collect();
                let mut list = Vec::new();
                put_list(&mut list, &docs, &codes, &zones, self.doc_count);
                let (prefix, cost) = (open.prefix.clone(), open.cost);
                self.done_bytes += list.len() as u64;
                self.done.push(Union { prefix, cost, doc_freq: docs.len() as u32, list });
            }
            self.spare.push(open);
        }
        // Memory is bounded all the time, not only what is written in the end.
        if self.done_bytes > 4 * self.bytes_max() {
            self.keep_best();
        }
    }

    fn bytes_max(&self) -> u64 {
        u64::from(self.doc_count) * BYTES_PER_DOC_MAX
    }

    /// Drops the unions that save the least work per byte.
    fn keep_best(&mut self) {
        self.done.sort_by(|a, b| {
            let gain = |union: &Union| union.cost / (union.list.len() as u64 + 1);
            gain(b).cmp(&gain(a)).then_with(|| a.prefix.cmp(&b.prefix))
        });
        let mut left = self.bytes_max();
        self.done.retain(|union| {
            let bytes = union.list.len() as u64;
            let keep = bytes <= left;
            left -= if keep { bytes } else { 0 };
            keep
        });
        self.done_bytes = self.bytes_max() - left;
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.close_from(0);
        self.keep_best();
        self.done.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        let mut section = Vec::new();
        put_varint(&mut section, self.done.len() as u64);
        let mut offset = 0;
        for union in &self.done {
            section.push(union.prefix.len() as u8);
            section.extend_from_slice(&union.prefix);
            put_varint(&mut section, u64::from(union.doc_freq));
            put_varint(&mut section, offset);
            offset += union.list.len() as u64;
        }
        if !self.done.is_empty() {
            section.extend_from_slice(&self.field_sets.table());
        }
        self.done.iter().for_each(|union| section.extend_from_slice(&union.list));
        section
    }
}

/// Where the characters of `term` end. Terms are UTF-8; for anything else each byte counts.
fn char_ends(term: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (1..=term.len()).filter(|&end| term.get(end).is_none_or(|&next| next & 0xc0 != 0x80))
}

/// The stored unions: a few hundred entries on the heap, the lists in the file.
pub(super) struct Unions {
    bytes: OwnedBytes,
    lists_at: usize,
    entries: Vec<(Box<[u8]>, u32, usize)>,
    field_sets: FieldSets,
    doc_count: u32,
}

impl Unions {
    pub(super) fn open(bytes: OwnedBytes, doc_count: u32) -> Option<Unions> {
        let mut at = 0;
        let count = read_varint(&bytes, &mut at)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let len = usize::from(*bytes.get(at)?);
            let prefix = bytes.get(at + 1..at + 1 + len)?.into();
            at += 1 + len;
            let doc_freq = u32::try_from(read_varint(&bytes, &mut at)?).ok()?;
            let offset = usize::try_from(read_varint(&bytes, &mut at)?).ok()?;
            if doc_freq == 0 || doc_freq > doc_count {
                return None;
            }
            entries.push((prefix, doc_freq, offset));
        }
        let field_sets = if entries.is_empty() { FieldSets::default() } else { FieldSets::read(&bytes, &mut at)? };
        entries.is_sorted_by(|a, b| a.0 < b.0).then_some(Unions { bytes, lists_at: at, entries, field_sets, doc_count })
    }

    fn list(&self, index: usize) -> List<'_> {
        let (_, doc_freq, offset) = self.entries[index];
        let bytes = self.lists_at.checked_add(offset).and_then(|at| self.bytes.get(at..)).unwrap_or_default();
        List::new(bytes, doc_freq, self.doc_count)
    }

    pub(super) fn get(&self, prefix: &[u8]) -> Option<List<'_>> {
        let index = self.entries.binary_search_by(|entry| entry.0.as_ref().cmp(prefix)).ok()?;
        Some(self.list(index))
    }

    /// Field sets of the unions by code.
    pub(super) fn field_sets(&self) -> &FieldSets {
        &self.field_sets
    }

    #[cfg(test)]
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| &*entry.0)
    }

    pub(super) fn is_valid(&self) -> bool {
        let codes = self.field_sets.len() as u32;
        (0..self.entries.len()).all(|index| self.list(index).is_valid(codes))
    }
}
