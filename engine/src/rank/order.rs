//! The order of entries of all segments, whatever ranked them.

use std::cmp::Ordering;

use lamina_segment::bits::DocSet;
use lamina_text::id::{DocId, InternalId};

use crate::rank::context::SegmentInput;
use crate::rank::key::Key;
use crate::rank::top_k::{Entry, KeyPart};

/// Level of entries that complete a degraded answer, unsorted.
const UNSORTED: u16 = u16::MAX;

/// An entry that there was no time to rank: it comes last.
pub(super) fn is_unsorted(entry: &Entry) -> bool {
    entry.level == UNSORTED
}

/// After the time budget: adds matching documents in document order until each segment has as many as are wanted.
pub(super) fn complete_unsorted(entries: &mut [Vec<Entry>], matching: &[DocSet], wanted: usize) {
    for (entries, matching) in entries.iter_mut().zip(matching) {
        let known: hashbrown::HashSet<DocId> = entries.iter().map(|entry| entry.doc).collect();
        let missing = wanted.saturating_sub(known.len());
        let unsorted = matching.iter().filter(|doc| !known.contains(doc)).take(missing);
        entries.extend(unsorted.map(|doc| Entry { key: Key::MAX, sorts: Vec::new(), level: UNSORTED, doc }));
    }
}

/// Order of entries. Within a segment the sort keys of its columns are compared; across segments, the values.
pub(crate) struct EntryOrder<'a> {
    pub(super) segments: &'a [SegmentInput<'a>],
    pub(super) parts: Vec<KeyPart>,
}

impl EntryOrder<'_> {
    /// Compares entries of any two segments, best first; ties go to the document that was added first.
    pub(crate) fn compare(&self, one: (usize, &Entry), other: (usize, &Entry)) -> Ordering {
        if is_unsorted(one.1) || is_unsorted(other.1) {
            let order = is_unsorted(one.1).cmp(&is_unsorted(other.1));
            return order.then_with(|| self.insertion(one).cmp(&self.insertion(other)));
        }
        for part in &self.parts {
            let order = match *part {
                KeyPart::Graph(mask) => (one.1.key & mask).cmp(&(other.1.key & mask)),
                KeyPart::Sort(index) if one.0 == other.0 => one.1.sorts[index].cmp(&other.1.sorts[index]),
                KeyPart::Sort(index) => {
                    let (sort, other_sort) = (&self.segments[one.0].sort, &self.segments[other.0].sort);
                    sort.compare_across(index, one.1.doc, other_sort, other.1.doc)
                }
            };
            if order.is_ne() {
                return order;
            }
        }
        self.insertion(one).cmp(&self.insertion(other))
    }

    fn insertion(&self, entry: (usize, &Entry)) -> InternalId {
        self.segments[entry.0].query.reader().internal_id(entry.1.doc)
    }
}
