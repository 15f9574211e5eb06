//! The documents of a frequent term, or of all terms of a prefix, grouped by fields and zone.
//!
//! Fields and zone decide what a posting is worth in a ranking, so a document that can be among the best is in one of a few groups, and the lists of the others need not be read. The largest group, often nine documents of ten, has no list: it is what
//! the others leave.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::DocId;

use super::list::{List, put_set_list};
use super::posting::Mark;
use super::{ZONE_COUNT, ZONE_MAX};
use crate::bits::varint::{put_varint, read_varint};
use crate::bits::{BitsetBuilder, DocSet};

/// Terms in one document of this many are grouped, ...
const SHARE: u32 = 2048;
/// ... from this many documents on: fewer are one block of a list.
const DOCS_MIN: u32 = 128;

/// The last zone that groups distinguish from those before it: of a frequent term, enough documents have it further in front.
pub const GROUPED_ZONE_MAX: u8 = 4;

/// Reports whether the postings of a term in `doc_freq` documents are grouped.
pub(super) fn is_grouped(doc_freq: u32, doc_count: u32) -> bool {
    doc_freq >= DOCS_MIN && u64::from(doc_freq) * u64::from(SHARE) >= u64::from(doc_count)
}

/// Writes grouped postings; keeps its buffers from one to the next.
#[derive(Debug, Default)]
pub(super) struct GroupWriter {
    /// By mark: the place of its group.
    places: Vec<u32>,
    groups: Vec<(Mark, Vec<DocId>)>,
    /// Lists of groups before, for their memory.
    spare: Vec<Vec<DocId>>,
    lists: Vec<u8>,
}

impl GroupWriter {
    const NOWHERE: u32 = u32::MAX;

    /// Appends the groups of `docs`, strictly ascending and at least one, with a mark each.
    pub(super) fn put(&mut self, out: &mut Vec<u8>, docs: &[DocId], marks: impl Iterator<Item = Mark>, doc_count: u32) {
        let grouped = |mark: Mark| Mark::new(mark.code(), mark.zone().min(GROUPED_ZONE_MAX));
        for (&doc, mark) in docs.iter().zip(marks.map(grouped)) {
            let at = mark.code() as usize * ZONE_COUNT + usize::from(mark.zone());
            if at >= self.places.len() {
                self.places.resize(at + 1, GroupWriter::NOWHERE);
            }
            let place = &mut self.places[at];
            if *place == GroupWriter::NOWHERE {
                *place = self.groups.len() as u32;
                self.groups.push((mark, self.spare.pop().unwrap_or_default()));
            }
            self.groups[*place as usize].1.push(doc);
        }
        for (mark, _) in &self.groups {
            self.places[mark.code() as usize * ZONE_COUNT + usize::from(mark.zone())] = GroupWriter::NOWHERE;
        }
        self.groups.sort_unstable_by_key(|(mark, docs)| (std::cmp::Reverse(docs.len()), mark.code(), mark.zone()));
        self.lists.clear();
        put_varint(out, self.groups.len() as u64);
        for (index, (mark, group)) in self.groups.iter().enumerate() {
            let start = self.lists.len();
            put_set_list(&mut self.lists, if index == 0 { docs } else { group }, doc_count);
            put_varint(out, u64::from(mark.code()));
            out.push(mark.zone());
            put_varint(out, group.len() as u64);
            put_varint(out, (self.lists.len() - start) as u64);
        }
        out.extend_from_slice(&self.lists);
        for (_, mut group) in self.groups.drain(..) {
            group.clear();
            self.spare.push(group);
        }
    }
}

/// Grouped postings in the bytes of their section.
pub struct Groups<'a> {
    docs: List<'a>,
    /// The first one has the documents that are in no other.
    groups: Vec<Group<'a>>,
    doc_count: u32,
}

/// The documents with the same fields and zone.
struct Group<'a> {
    code: u32,
    zone: u8,
    len: u32,
    /// The documents; those of the whole term in the first group.
    list: List<'a>,
}

impl<'a> Groups<'a> {
    /// Opens groups. Returns `None` for bytes that are cut or contradict the number of documents. Cost: a few bytes a group.
    pub(super) fn open(bytes: &'a [u8], doc_freq: u32, doc_count: u32) -> Option<Groups<'a>> {
        let mut at = 0;
        let count = read_varint(bytes, &mut at)?;
        let mut heads: Vec<((u32, u8), u32, usize)> = Vec::new();
        let (mut end, mut left) = (0usize, doc_freq);
        for _ in 0..count {
            let code = u32::try_from(read_varint(bytes, &mut at)?).ok()?;
            let zone = bytes.get(at).copied().filter(|&zone| zone <= ZONE_MAX)?;
            at += 1;
            let len = u32::try_from(read_varint(bytes, &mut at)?).ok()?;
            left = left.checked_sub(len)?;
            heads.push(((code, zone), len, end));
            end = end.checked_add(usize::try_from(read_varint(bytes, &mut at)?).ok()?)?;
        }
        let lists = bytes.get(at..).filter(|lists| left == 0 && !heads.is_empty() && end <= lists.len())?;
        let group = |(index, ((code, zone), len, start)): (usize, ((u32, u8), u32, usize))| {
            let bytes = lists.get(start..).unwrap_or_default();
            let list = List::set(bytes, if index == 0 { doc_freq } else { len }, doc_count);
            Group { code, zone, len, list }
        };
        let groups: Vec<Group<'_>> = heads.into_iter().enumerate().map(group).collect();
        Some(Groups { docs: groups.first()?.list, groups, doc_count })
    }

    /// The list of all documents.
    pub(super) fn list(&self) -> List<'a> {
        self.docs
    }

    /// All documents.
    pub fn docs(&self) -> DocSet {
        self.docs.to_set()
    }

    /// Field set code, zone and number of documents of each group, the largest first.
    pub fn heads(&self) -> impl ExactSizeIterator<Item = (u32, u8, u32)> + '_ {
        self.groups.iter().map(|group| (group.code, group.zone, group.len))
    }

    /// Adds the documents of a group but the largest, by its place in [`heads`](Self::heads).
    pub fn add_small_group(&self, place: usize, docs: &mut BitsetBuilder) {
        self.groups.get(place).filter(|_| place > 0).into_iter().for_each(|group| group.list.add_to(docs));
    }

    /// The documents of a group but the largest.
    pub fn small_group(&self, place: usize) -> DocSet {
        self.groups.get(place).filter(|_| place > 0).map_or_else(DocSet::empty, |group| group.list.to_set())
    }

    /// Returns those of some documents, ascending, that are in a group but the largest.
    pub fn small_group_among(&self, place: usize, among: &[DocId]) -> DocSet {
        let mut docs = Vec::new();
        self.groups
            .get(place)
            .filter(|_| place > 0)
            .into_iter()
            .for_each(|group| group.list.docs_among(among, &mut docs));
        DocSet::from_sorted(docs)
    }

    /// Returns those of some documents, ascending, that are in any group.
    pub fn docs_among(&self, among: &[DocId]) -> DocSet {
        let mut docs = Vec::new();
        self.docs.docs_among(among, &mut docs);
        DocSet::from_sorted(docs)
    }

    /// The documents of the largest group. Cost: all lists are read.
    pub fn largest_group(&self) -> DocSet {
        self.docs().and_not(&self.outside_largest())
    }

    /// The documents that are not in the largest group. Cost: their lists are read.
    pub fn outside_largest(&self) -> DocSet {
        let mut docs = BitsetBuilder::new(self.doc_count);
        (1..self.groups.len()).for_each(|place| self.add_small_group(place, &mut docs));
        docs.finish()
    }

    /// Calls `f(doc, code, zone)` in ascending order of documents. Cost: all lists are read, those of small groups sorted.
    pub(super) fn for_each(&self, mut f: impl FnMut(DocId, u32, u8)) {
        let Some(largest) = self.groups.first() else { return };
        let mut others: Vec<(DocId, u32, u8)> = Vec::new();
        for group in &self.groups[1..] {
            group.list.for_each(|doc, _, _| others.push((doc, group.code, group.zone)));
        }
        others.sort_unstable();
        let mut others = others.into_iter().peekable();
        self.docs.for_each(|doc, _, _| {
            let (code, zone) = match others.next_if(|other| other.0 == doc) {
                Some((_, code, zone)) => (code, zone),
                None => (largest.code, largest.zone),
            };
            f(doc, code, zone);
        });
    }

    /// Calls `f(code, zone, documents)` with every group. Cost: every list is read, once.
    pub fn for_each_group(&self, mut f: impl FnMut(u32, u8, &DocSet)) {
        let mut rest = self.docs();
        for Group { code, zone, list, .. } in self.groups.iter().skip(1) {
            let docs = list.to_set();
            rest.and_not_assign(&docs);
            f(*code, *zone, &docs);
        }
        self.groups.iter().take(1).for_each(|largest| f(largest.code, largest.zone, &rest));
    }

    /// Reports whether all lists are as announced, and each document is in one group of a known field set.
    pub(super) fn is_valid(&self, code_count: u32) -> bool {
        let mut valid = self.docs.is_valid(1) && self.groups.iter().all(|group| group.code < code_count);
        let mut left = self.docs();
        for group in self.groups.iter().skip(1) {
            let docs = group.list.to_set();
            valid &= group.list.is_valid(1) && docs.and_len(&left) == docs.len();
            left.and_not_assign(&docs);
        }
        valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_come_back(postings in prop::collection::btree_map(0u32..5000, (0u32..5, 0..=GROUPED_ZONE_MAX), 1..900)) {
            let docs: Vec<DocId> = postings.keys().copied().collect();
            let mut writer = GroupWriter::default();
            for _ in 0..2 {
                let mut bytes = Vec::new();
                writer.put(&mut bytes, &docs, postings.values().map(|&(code, zone)| Mark::new(code, zone)), 5000);
                let groups = Groups::open(&bytes, docs.len() as u32, 5000).unwrap();
                prop_assert!(groups.is_valid(5));
                prop_assert!(!groups.is_valid(0));
                let mut read = Vec::new();
                groups.for_each(|doc, code, zone| read.push((doc, (code, zone))));
                prop_assert_eq!(read, postings.iter().map(|(&doc, &mark)| (doc, mark)).collect::<Vec<_>>());
                prop_assert_eq!(groups.docs().to_vec(), docs.clone());
                for (place, (code, zone, len)) in groups.heads().enumerate().skip(1) {
                    let (group, mut added) = (groups.small_group(place), BitsetBuilder::new(5000));
                    groups.add_small_group(place, &mut added);
                    prop_assert_eq!(&group, &added.finish());
                    prop_assert_eq!(group.len(), len);
                    prop_assert!(group.iter().all(|doc| postings[&doc] == (code, zone)));
                }
                for cut in 0..bytes.len() {
                    if let Some(groups) = Groups::open(&bytes[..cut], docs.len() as u32, 5000) {
                        groups.for_each(|_, _, _| {});
                        groups.is_valid(5);
                    }
                }
            }
        }

        #[test]
        fn damaged_groups_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), doc_freq in 1u32..2000) {
            if let Some(groups) = Groups::open(&bytes, doc_freq, 5000) {
                groups.for_each(|_, _, _| {});
                groups.for_each_group(|_, _, _| {});
                prop_assert!(groups.docs().len() <= 5000);
                groups.is_valid(9);
            }
        }
    }
}
