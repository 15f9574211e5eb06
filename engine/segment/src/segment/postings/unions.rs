//! Unions of crowded prefixes, computed when the segment is written.
//!
//! While a query is typed, the first letters match thousands of terms whose lists hold most of the documents. Joining them
//! takes longer than the rest of the query. For the prefixes of one to three characters that would be the dearest to
//! join, the union is stored, in a share of the segment that is bounded by bytes per document.
//!
//! The documents of a union are [`Groups`] by their fields and the first zone of all terms.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::DocId;

use super::field_sets::FieldSets;
use super::grouped::{GroupWriter, Groups};
use super::posting::{Mark, Posting};
use super::writer::FieldSetTable;
use crate::bits::varint::{put_varint, read_varint};
use crate::segment::ListThresholds;
use crate::storage::OwnedBytes;

/// Unions are kept for prefixes of up to this many characters.
const PREFIX_CHARS_MAX: usize = 3;
/// Cost of joining one term into a union, in postings.
const TERM_COST: u64 = 16;
/// All unions together take at most this many bytes per document.
const BYTES_PER_DOC_MAX: u64 = 24;

/// Collects the unions while terms are written in order: at any time there is one open prefix per length.
pub(crate) struct UnionsBuilder {
    doc_count: u32,
    /// A union is kept when joining costs so much.
    cost_min: u64,
    field_sets: FieldSetTable,
    open: Vec<OpenPrefix>,
    /// Closed prefixes, for their buffers.
    spare: Vec<OpenPrefix>,
    done: Vec<Union>,
    done_bytes: u64,
    groups: GroupWriter,
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

impl OpenPrefix {
    fn push(&mut self, postings: &[Posting], sets: &mut FieldSetTable, docs: u32, cost_min: u64) {
        let was_crowded = self.cost >= cost_min;
        self.cost += postings.len() as u64 + TERM_COST;
        if self.cost < cost_min {
            return self.list.extend_from_slice(postings);
        }
        if !was_crowded {
            self.marks.clear();
            self.marks.resize(docs as usize, Mark::NONE);
            let list = std::mem::take(&mut self.list);
            self.mark(&list, sets);
            self.list = list;
        }
        self.mark(postings, sets);
    }

    fn mark(&mut self, postings: &[Posting], sets: &mut FieldSetTable) {
        for &Posting { doc, mark } in postings {
            let have = &mut self.marks[doc as usize];
            *have = match *have {
                Mark::NONE => mark,
                same if same == mark => continue,
                other => Mark::new(sets.join(other.code(), mark.code()), other.zone().min(mark.zone())),
            };
        }
    }
}

struct Union {
    prefix: Vec<u8>,
    cost: u64,
    doc_freq: u32,
    bytes: Vec<u8>,
}

impl UnionsBuilder {
    /// `field_sets`: the sets of the codes that will come.
    pub(crate) fn new(doc_count: u32, field_sets: FieldSetTable, thresholds: &ListThresholds) -> UnionsBuilder {
        UnionsBuilder {
            doc_count,
            cost_min: thresholds.union_cost_min,
            field_sets,
            open: Vec::new(),
            spare: Vec::new(),
            done: Vec::new(),
            done_bytes: 0,
            groups: GroupWriter::default(),
        }
    }

    /// The next term, and its postings.
    pub(crate) fn push(&mut self, term: &[u8], postings: &[Posting]) {
        // With few documents even joining everything is cheap.
        if u64::from(self.doc_count) * 8 < self.cost_min {
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
        for open in &mut self.open {
            open.push(postings, &mut self.field_sets, self.doc_count, self.cost_min);
        }
    }

    fn close_from(&mut self, from: usize) {
        for open in self.open.drain(from..) {
            if open.cost >= self.cost_min {
                let (prefix, cost) = (open.prefix.clone(), open.cost);
                let marked = |(doc, &mark): (DocId, &Mark)| (mark != Mark::NONE).then_some((doc, mark));
                let (docs, marks): (Vec<DocId>, Vec<Mark>) = (0..).zip(&open.marks).filter_map(marked).unzip();
                let (doc_freq, mut bytes) = (docs.len() as u32, Vec::new());
                self.groups.put(&mut bytes, &docs, marks.into_iter(), self.doc_count);
                self.done_bytes += bytes.len() as u64;
                self.done.push(Union { prefix, cost, doc_freq, bytes });
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

    /// Drops the unions that save the least work per byte: people type a prefix about as often as words begin with it.
    fn keep_best(&mut self) {
        self.done.sort_by(|a, b| {
            let gain = |union: &Union| u128::from(union.cost).pow(2) / (union.bytes.len() as u128 + 1);
            gain(b).cmp(&gain(a)).then_with(|| a.prefix.cmp(&b.prefix))
        });
        let mut left = self.bytes_max();
        self.done.retain(|union| {
            let bytes = union.bytes.len() as u64;
            let keep = bytes <= left;
            left -= if keep { bytes } else { 0 };
            keep
        });
        self.done_bytes = self.bytes_max() - left;
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
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
            offset += union.bytes.len() as u64;
        }
        if !self.done.is_empty() {
            section.extend_from_slice(&self.field_sets.table());
        }
        self.done.iter().for_each(|union| section.extend_from_slice(&union.bytes));
        section
    }
}

/// Returns the end of each character of `term`. Terms are UTF-8; in anything else each byte counts as a character.
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

    fn union(&self, index: usize) -> Option<PrefixUnion<'_>> {
        let (_, doc_freq, offset) = self.entries[index];
        let bytes = self.bytes.get(self.lists_at.checked_add(offset)?..)?;
        Some(PrefixUnion { groups: Groups::open(bytes, doc_freq, self.doc_count)?, field_sets: &self.field_sets })
    }

    pub(super) fn get(&self, prefix: &[u8]) -> Option<PrefixUnion<'_>> {
        let index = self.entries.binary_search_by(|entry| entry.0.as_ref().cmp(prefix)).ok()?;
        self.union(index)
    }

    pub(super) fn prefixes(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| &*entry.0)
    }

    pub(super) fn is_valid(&self) -> bool {
        (0..self.entries.len())
            .all(|index| self.union(index).is_some_and(|union| union.groups.is_valid(union.field_sets.len() as u32)))
    }
}

/// A stored union of the postings of all terms with a prefix.
pub struct PrefixUnion<'a> {
    /// Cut by the fields and the first zone of all terms.
    pub groups: Groups<'a>,
    /// All fields of a document that hold any of the terms, by code.
    pub field_sets: &'a FieldSets,
}
