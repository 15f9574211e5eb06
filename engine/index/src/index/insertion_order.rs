//! Documents of several segments in the order of their first insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lamina_segment::bits::DocSet;
use lamina_text::id::{DocId, InternalId};

use super::snapshot::{DocumentAddress, SegmentView, Snapshot};

/// Room for this many is made beforehand: growing touches pages of many sizes.
const RESERVED_MAX: usize = 1 << 16;

impl Snapshot {
    /// The live documents in order of first insertion, `limit` of them from the `offset`-th on.
    pub fn documents(&self, offset: u64, limit: u64) -> Vec<DocumentAddress> {
        select(&self.segments, |_| None, offset, limit)
    }

    /// Works like [`Snapshot::documents`], restricted to the given sets: one per segment, in order.
    pub fn documents_among(&self, sets: &[DocSet], offset: u64, limit: u64) -> Vec<DocumentAddress> {
        select(&self.segments, |segment| Some(&sets[segment]), offset, limit)
    }
}

/// Live documents of the sets (`None`: all documents), `limit` of them from the `offset`-th on. Documents of a segment
/// are in the order wanted already, so this is a merge of the segments: cost grows with `offset + limit`, at a few
/// nanoseconds each.
fn select<'a>(
    segments: &'a [SegmentView],
    set_of: impl Fn(usize) -> Option<&'a DocSet>,
    offset: u64,
    limit: u64,
) -> Vec<DocumentAddress> {
    let mut sources: Vec<Source<'a>> =
        segments.iter().enumerate().map(|(index, segment)| Source::new(index, segment, set_of(index))).collect();
    let mut heap: BinaryHeap<Reverse<(InternalId, usize)>> = BinaryHeap::with_capacity(sources.len());
    for (index, source) in sources.iter_mut().enumerate() {
        if let Some(id) = source.advance() {
            heap.push(Reverse((id, index)));
        }
    }
    let mut selected = Vec::with_capacity(usize::try_from(limit).unwrap_or(usize::MAX).min(RESERVED_MAX));
    let mut skipped = 0;
    while let Some(Reverse((_, index))) = heap.pop() {
        // Runs of one segment are common: follow it while its documents stay ahead of all others.
        let bound = heap.peek().map(|Reverse((id, _))| *id);
        let source = &mut sources[index];
        loop {
            if skipped < offset {
                skipped += 1;
            } else if selected.len() as u64 >= limit {
                return selected;
            } else {
                selected.push(source.address());
            }
            match source.advance() {
                None => break,
                Some(id) if bound.is_none_or(|bound| id < bound) => {}
                Some(id) => {
                    heap.push(Reverse((id, index)));
                    break;
                }
            }
        }
    }
    selected
}

/// The wanted documents of one segment, ascending.
struct Source<'a> {
    segment_index: u32,
    segment: &'a SegmentView,
    docs: Box<dyn Iterator<Item = DocId> + 'a>,
    current: DocId,
}

impl<'a> Source<'a> {
    fn new(index: usize, segment: &'a SegmentView, set: Option<&'a DocSet>) -> Source<'a> {
        let docs: Box<dyn Iterator<Item = DocId> + 'a> = match (set, &segment.deleted) {
            (None, None) => Box::new(0..segment.reader.doc_count()),
            (None, Some(deleted)) => Box::new((0..segment.reader.doc_count()).filter(|&doc| !deleted.contains(doc))),
            (Some(set), None) => Box::new(set.iter()),
            (Some(set), Some(deleted)) => Box::new(set.iter().filter(|&doc| !deleted.contains(doc))),
        };
        Source { segment_index: u32::try_from(index).expect("few segments"), segment, docs, current: 0 }
    }

    fn advance(&mut self) -> Option<InternalId> {
        self.current = self.docs.next()?;
        Some(self.segment.reader.internal_id(self.current))
    }

    fn address(&self) -> DocumentAddress {
        DocumentAddress { segment: self.segment_index, doc: self.current }
    }
}
