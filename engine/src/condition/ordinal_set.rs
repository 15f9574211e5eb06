//! Values of a column, and the documents that have one of them.

use std::ops::Range;

use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::Column;

/// Ordinals of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrdinalSet {
    /// Not empty, ascending, apart from each other.
    ranges: Vec<Range<u32>>,
}

/// Below one document in this many a sorted list is gathered instead of a bitset.
const LIST_SHARE: u32 = 32;
/// Looking at the values of a document jumps through the column, gathering the documents of a value does not: how many
/// of these cost as much as one of the former.
const JUMP_COST: u32 = 8;

impl OrdinalSet {
    /// From ranges in any order, which may overlap or be empty.
    pub(super) fn new(mut ranges: Vec<Range<u32>>) -> OrdinalSet {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, kept| {
            let touches = next.start <= kept.end;
            if touches {
                kept.end = kept.end.max(next.end);
            }
            touches
        });
        OrdinalSet { ranges }
    }

    /// The ranges that both have in common.
    pub(super) fn intersection(&self, other: &OrdinalSet) -> Vec<Range<u32>> {
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut common = Vec::new();
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            let range = one.start.max(two.start)..one.end.min(two.end);
            let one_ends_first = one.end < two.end;
            if !range.is_empty() {
                common.push(range);
            }
            if one_ends_first {
                left.next()
            } else {
                right.next()
            };
        }
        common
    }

    fn contains(&self, ordinal: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= ordinal);
        after > 0 && ordinal < self.ranges[after - 1].end
    }

    /// Number of (document, value) pairs of these values: at least the number of documents.
    pub(super) fn pair_count(&self, column: &Column) -> u32 {
        self.ranges.iter().map(|range| column.pair_count_of(range.clone())).fold(0, u32::saturating_add)
    }

    /// The documents of `doc_count` that have one of the values. Cost: the documents of the answer.
    pub(super) fn documents(&self, column: &Column, doc_count: u32) -> DocSet {
        if self.pair_count(column) <= doc_count / LIST_SHARE {
            let mut docs = Vec::new();
            for range in &self.ranges {
                column.for_each_doc(range.clone(), |_, doc| docs.push(doc));
            }
            return docs.into_iter().collect();
        }
        let mut builder = BitsetBuilder::new(doc_count);
        for range in &self.ranges {
            column.add_docs(range.clone(), &mut builder);
        }
        builder.finish()
    }

    /// Keeps the documents of `docs` that have one of the values, or those that have none when `wanted` is false.
    /// Cost: the values of `docs`, or the documents of these values, whichever is less.
    pub(super) fn retain(&self, column: &Column, docs: &mut DocSet, wanted: bool) {
        if docs.len().saturating_mul(JUMP_COST) < self.pair_count(column) {
            docs.retain(|doc| {
                let mut found = false;
                column.for_each_ordinal(doc, |ordinal| found |= self.contains(ordinal));
                found == wanted
            });
        } else {
            let having = self.documents(column, column.doc_count());
            if wanted {
                docs.and_assign(&having);
            } else {
                docs.and_not_assign(&having);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_merged_and_found() {
        let set = OrdinalSet::new(vec![7..9, 3..3, 1..2, 8..10, 2..3, 20..21]);
        assert_eq!(set.ranges, [1..3, 7..10, 20..21]);
        let found: Vec<u32> = (0..30).filter(|&ordinal| set.contains(ordinal)).collect();
        assert_eq!(found, [1, 2, 7, 8, 9, 20]);
        let other = OrdinalSet::new(vec![0..2, 2..8, 9..30]);
        assert_eq!(set.intersection(&other), [1..3, 7..8, 9..10, 20..21]);
        let (start, end) = (5, 2);
        let reversed = Range { start, end };
        assert_eq!(OrdinalSet::new(vec![reversed.clone(), reversed]).ranges, []);
    }
}
