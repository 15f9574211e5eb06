//! Unions of crowded prefixes, computed when the segment is written.
//!
//! While a query is typed, the first letters match thousands of terms whose lists hold most of the documents. Joining them
//! takes longer than the rest of the query. For the prefixes of one to three characters that would be the dearest to
//! join, the union is stored, in a share of the segment that is bounded by bytes per document.
//!
//! The documents of a union are kept by their fields and the first zone of all terms: a document that can be among the
//! best is in one of a few groups, and the lists of the others, nearly all documents, need not be read. The largest group
//! has no list: it is what the others leave.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::DocId;

use super::field_sets::FieldSets;
use super::list::{List, put_plain_list};
use super::posting::{Mark, Posting};
use super::writer::FieldSetTable;
use super::{ZONE_COUNT, ZONE_MAX};
use crate::bits::DocSet;
use crate::bits::varint::{put_varint, read_varint};
use crate::segment::ListThresholds;
use crate::storage::OwnedBytes;

/// Unions are kept for prefixes of up to this many characters.
const PREFIX_CHARS_MAX: usize = 3;
/// Cost of joining one term into a union, in postings.
const TERM_COST: u64 = 16;
/// All unions together take at most this many bytes per document.
const BYTES_PER_DOC_MAX: u64 = 12;

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
                let (doc_freq, bytes) = put_union(&open.marks, self.field_sets.len());
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

/// The number of marked documents, and the bytes of their union. `set_count`: above all codes.
fn put_union(marks: &[Mark], set_count: usize) -> (u32, Vec<u8>) {
    const NOWHERE: u32 = u32::MAX;
    let mut places = vec![NOWHERE; set_count * ZONE_COUNT];
    let mut groups: Vec<(Mark, Vec<DocId>)> = Vec::new();
    let mut docs = Vec::new();
    for (doc, &mark) in (0..).zip(marks).filter(|&(_, &mark)| mark != Mark::NONE) {
        docs.push(doc);
        let place = &mut places[mark.0 as usize];
        if *place == NOWHERE {
            *place = groups.len() as u32;
            groups.push((mark, Vec::new()));
        }
        groups[*place as usize].1.push(doc);
    }
    groups.sort_unstable_by_key(|(mark, docs)| (std::cmp::Reverse(docs.len()), mark.0));
    let mut lists = Vec::new();
    let mut put = |docs: &[DocId]| {
        let start = lists.len();
        put_plain_list(&mut lists, docs, marks.len() as u32);
        (lists.len() - start) as u64
    };
    let mut out = Vec::new();
    put_varint(&mut out, groups.len() as u64);
    for (index, (mark, group)) in groups.iter().enumerate() {
        put_varint(&mut out, u64::from(mark.code()));
        out.push(mark.zone());
        put_varint(&mut out, group.len() as u64);
        put_varint(&mut out, if index == 0 { put(&docs) } else { put(group) });
    }
    out.extend_from_slice(&lists);
    (docs.len() as u32, out)
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
        PrefixUnion::open(bytes, &self.field_sets, doc_freq, self.doc_count)
    }

    pub(super) fn get(&self, prefix: &[u8]) -> Option<PrefixUnion<'_>> {
        let index = self.entries.binary_search_by(|entry| entry.0.as_ref().cmp(prefix)).ok()?;
        self.union(index)
    }

    pub(super) fn prefixes(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| &*entry.0)
    }

    pub(super) fn is_valid(&self) -> bool {
        (0..self.entries.len()).all(|index| self.union(index).is_some_and(|union| union.is_valid()))
    }
}

/// A stored union of the postings of all terms with a prefix.
pub struct PrefixUnion<'a> {
    docs: List<'a>,
    /// The first one has the documents that are in no other.
    groups: Vec<UnionGroup<'a>>,
    field_sets: &'a FieldSets,
}

/// The documents of a union with the same fields and zone.
struct UnionGroup<'a> {
    code: u32,
    zone: u8,
    /// Posting list of the first group: all documents of the union.
    list: List<'a>,
}

impl<'a> PrefixUnion<'a> {
    fn open(bytes: &'a [u8], field_sets: &'a FieldSets, doc_freq: u32, doc_count: u32) -> Option<PrefixUnion<'a>> {
        let mut at = 0;
        let count = read_varint(bytes, &mut at)?;
        let mut heads: Vec<((u32, u8), u32, usize)> = Vec::new();
        let (mut end, mut left) = (0usize, doc_freq);
        for _ in 0..count {
            let code = u32::try_from(read_varint(bytes, &mut at)?).ok()?;
            let zone = bytes.get(at).copied().filter(|&zone| zone <= ZONE_MAX)?;
            at += 1;
            let docs = u32::try_from(read_varint(bytes, &mut at)?).ok()?;
            left = left.checked_sub(docs)?;
            heads.push(((code, zone), docs, end));
            end = end.checked_add(usize::try_from(read_varint(bytes, &mut at)?).ok()?)?;
        }
        let lists = bytes.get(at..).filter(|lists| left == 0 && !heads.is_empty() && end <= lists.len())?;
        let group = |(index, ((code, zone), docs, start))| {
            let docs = if index == 0 { doc_freq } else { docs };
            UnionGroup { code, zone, list: List::plain(lists.get(start..).unwrap_or_default(), docs, doc_count) }
        };
        let groups: Vec<UnionGroup<'_>> = heads.into_iter().enumerate().map(group).collect();
        Some(PrefixUnion { docs: groups.first()?.list, groups, field_sets })
    }

    /// All documents.
    pub fn docs(&self) -> DocSet {
        self.docs.to_set()
    }

    /// All fields of a document that hold any of the terms, by code.
    pub fn field_sets(&self) -> &'a FieldSets {
        self.field_sets
    }

    /// Field set code and zone of each group; the zone is the first of all terms.
    pub fn groups(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        self.groups.iter().map(|group| (group.code, group.zone))
    }

    /// The documents of a group, which are in no other one.
    pub fn group_docs(&self, group: usize) -> DocSet {
        if group > 0 {
            return self.groups.get(group).map_or_else(DocSet::empty, |group| group.list.to_set());
        }
        let mut docs = self.docs();
        self.groups.iter().skip(1).for_each(|other| docs.and_not_assign(&other.list.to_set()));
        docs
    }

    /// Calls `f(code, zone, documents)` with every group. Cost: every list is read, once.
    pub fn for_each_group(&self, mut f: impl FnMut(u32, u8, &DocSet)) {
        let mut rest = self.docs();
        for UnionGroup { code, zone, list } in self.groups.iter().skip(1) {
            let docs = list.to_set();
            rest.and_not_assign(&docs);
            f(*code, *zone, &docs);
        }
        self.groups.iter().take(1).for_each(|largest| f(largest.code, largest.zone, &rest));
    }

    fn is_valid(&self) -> bool {
        let mut left = self.docs();
        let mut valid = self.docs.is_valid(1);
        for group in &self.groups {
            valid &= (group.code as usize) < self.field_sets.len() && group.list.is_valid(1);
        }
        for group in self.groups.iter().skip(1) {
            let docs = group.list.to_set();
            valid &= docs.and_len(&left) == docs.len();
            left.and_not_assign(&docs);
        }
        valid
    }
}
