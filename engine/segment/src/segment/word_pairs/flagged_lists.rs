//! Lists of documents by number, each with a bit that says what they are.

use lamina_text::id::DocId;

use crate::bits::DocSet;
use crate::bits::varint::{put_varint, read_varint};
use crate::segment::error::Damage;
use crate::segment::postings::{List, put_plain_list};
use crate::storage::OwnedBytes;

/// The section of entries of different numbers, in any order; `None` when there are none.
pub(super) fn put_flagged_lists(mut entries: Vec<(u32, bool, Vec<DocId>)>, doc_count: u32) -> Option<Vec<u8>> {
    if entries.is_empty() {
        return None;
    }
    entries.sort_unstable_by_key(|entry| entry.0);
    let (mut section, mut lists) = (Vec::new(), Vec::new());
    put_varint(&mut section, entries.len() as u64);
    let mut next = 0;
    for (number, flag, docs) in &entries {
        put_varint(&mut section, u64::from(number - next));
        next = number + 1;
        put_varint(&mut section, 2 * docs.len() as u64 + u64::from(*flag));
        if !docs.is_empty() {
            let start = lists.len();
            put_plain_list(&mut lists, docs, doc_count);
            put_varint(&mut section, (lists.len() - start) as u64);
        }
    }
    section.extend_from_slice(&lists);
    Some(section)
}

/// A section of a mapped segment: 16 bytes of heap for each entry, the lists in the file.
pub(super) struct FlaggedLists {
    bytes: OwnedBytes,
    /// Ascending.
    entries: Vec<ListEntry>,
    lists_at: usize,
    doc_count: u32,
}

struct ListEntry {
    number: u32,
    doc_freq: u32,
    flag: bool,
    /// Behind the entries.
    at: u32,
}

impl FlaggedLists {
    /// Returns the lists of a segment that has none.
    pub(super) fn none() -> FlaggedLists {
        FlaggedLists { bytes: OwnedBytes::from(Vec::new()), entries: Vec::new(), lists_at: 0, doc_count: 0 }
    }

    /// `numbers`: above all of them.
    pub(super) fn open(bytes: OwnedBytes, numbers: u64, doc_count: u32) -> Result<FlaggedLists, Damage> {
        FlaggedLists::parse(bytes, numbers, doc_count).ok_or(Damage("the entries of the lists are cut or out of range"))
    }

    fn parse(bytes: OwnedBytes, numbers: u64, doc_count: u32) -> Option<FlaggedLists> {
        let mut at = 0;
        let entry_count = read_varint(&bytes, &mut at)?;
        let mut entries = Vec::new();
        let (mut next, mut list_at) = (0u64, 0u32);
        for _ in 0..entry_count {
            let number = next.checked_add(read_varint(&bytes, &mut at)?).filter(|&number| number < numbers)?;
            next = number + 1;
            let head = read_varint(&bytes, &mut at)?;
            let doc_freq = u32::try_from(head / 2).ok().filter(|&docs| docs <= doc_count)?;
            entries.push(ListEntry { number: u32::try_from(number).ok()?, doc_freq, flag: head % 2 == 1, at: list_at });
            if doc_freq > 0 {
                list_at = list_at.checked_add(u32::try_from(read_varint(&bytes, &mut at)?).ok()?)?;
            }
        }
        (bytes.len() - at == list_at as usize).then_some(FlaggedLists { bytes, entries, lists_at: at, doc_count })
    }

    fn list(&self, entry: &ListEntry) -> List<'_> {
        let at = self.lists_at + entry.at as usize;
        List::plain(self.bytes.get(at..).unwrap_or_default(), entry.doc_freq, self.doc_count)
    }

    /// The bit and the documents of a number; `None` when it has no entry.
    pub(super) fn get(&self, number: u32) -> Option<(bool, DocSet)> {
        let entry = &self.entries[self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?];
        let docs = if entry.doc_freq > 0 { self.list(entry).to_set() } else { DocSet::empty() };
        Some((entry.flag, docs))
    }

    /// Returns the numbers that have an entry.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|entry| entry.number)
    }

    /// Checks every list.
    pub(super) fn validate(&self) -> Result<(), Damage> {
        let mut listed = self.entries.iter().filter(|entry| entry.doc_freq > 0);
        if listed.all(|entry| self.list(entry).is_valid(1)) {
            Ok(())
        } else {
            Err(Damage("a list is cut, out of order or out of range"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const DOCS: u32 = 50;
    const NUMBERS: u32 = 20;

    fn entries() -> impl Strategy<Value = Vec<(u32, bool, Vec<DocId>)>> {
        let docs =
            prop::collection::btree_set(0..DOCS, 0..30).prop_map(|docs: BTreeSet<DocId>| docs.into_iter().collect());
        prop::collection::btree_map(0..NUMBERS, (any::<bool>(), docs), 1..8).prop_map(|all: BTreeMap<_, _>| {
            all.into_iter().map(|(number, (flag, docs))| (number, flag, docs)).collect()
        })
    }

    proptest! {
        #[test]
        fn entries_come_back(entries in entries()) {
            let bytes = OwnedBytes::from(put_flagged_lists(entries.clone(), DOCS).unwrap());
            let lists = FlaggedLists::open(bytes.clone(), NUMBERS.into(), DOCS).unwrap();
            lists.validate().unwrap();
            for number in 0..NUMBERS {
                let entry = entries.iter().find(|entry| entry.0 == number);
                let expected = entry.map(|(_, flag, docs)| (*flag, docs.clone()));
                prop_assert_eq!(lists.get(number).map(|(flag, docs)| (flag, docs.to_vec())), expected);
            }
            prop_assert!(lists.numbers().eq(entries.iter().map(|entry| entry.0)));
            if let Some((last, ..)) = entries.last() {
                prop_assert!(FlaggedLists::open(bytes, u64::from(*last), DOCS).is_err(), "no such number");
            }
        }

        #[test]
        fn damaged_sections_are_survived(
            entries in entries(),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            at in any::<prop::sample::Index>(),
        ) {
            let mut damaged = put_flagged_lists(entries, DOCS).unwrap();
            let at = at.index(damaged.len());
            damaged[at] = bytes.first().copied().unwrap_or(0);
            for bytes in [bytes, damaged] {
                if let Ok(lists) = FlaggedLists::open(OwnedBytes::from(bytes), NUMBERS.into(), DOCS) {
                    let _ = lists.validate();
                    prop_assert!((0..NUMBERS).all(|number| lists.get(number).is_none_or(|(_, docs)| docs.len() <= DOCS)));
                }
            }
        }
    }
}
