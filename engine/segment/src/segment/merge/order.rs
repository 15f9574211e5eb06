//! Where each document goes: the inputs' documents by internal id, without the deleted ones.

use lamina_text::id::{DocId, InternalId};

use crate::bits::DocSet;
use crate::segment::SegmentReader;

/// A segment to merge.
#[derive(Clone, Copy, Debug)]
pub struct MergeInput<'a> {
    /// Reader of the segment.
    pub segment: &'a SegmentReader,
    /// Deleted documents of the segment.
    pub deleted: Option<&'a DocSet>,
}

/// Mapping from the documents of one input to their new ids.
#[derive(Clone, Debug)]
pub struct DocMap {
    new_docs: Vec<DocId>,
}

impl DocMap {
    const DROPPED: DocId = DocId::MAX;

    /// New id of a document, or `None` when it was deleted.
    #[inline]
    pub fn get(&self, doc: DocId) -> Option<DocId> {
        self.new_docs.get(doc as usize).copied().filter(|&new| new != Self::DROPPED)
    }
}

/// Documents that follow each other before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocRun {
    pub input: usize,
    pub start: DocId,
    pub count: u32,
}

pub(super) struct DocOrder {
    pub(super) runs: Vec<DocRun>,
    pub(super) doc_maps: Vec<DocMap>,
    pub(super) doc_count: u64,
}

/// The next document of an input that is not deleted.
struct Cursor<'a> {
    input: &'a MergeInput<'a>,
    doc: DocId,
    id: InternalId,
}

impl Cursor<'_> {
    /// Moves to `doc` or the next one that is not deleted; false at the end.
    fn seek(&mut self, mut doc: DocId) -> bool {
        let count = self.input.segment.doc_count();
        while doc < count && self.input.deleted.is_some_and(|deleted| deleted.contains(doc)) {
            doc += 1;
        }
        self.doc = doc;
        if doc < count {
            self.id = self.input.segment.internal_id(doc);
        }
        doc < count
    }
}

impl DocOrder {
    pub(super) fn new(inputs: &[MergeInput<'_>]) -> DocOrder {
        let dropped =
            |input: &MergeInput<'_>| DocMap { new_docs: vec![DocMap::DROPPED; input.segment.doc_count() as usize] };
        let mut order = DocOrder { runs: Vec::new(), doc_maps: inputs.iter().map(dropped).collect(), doc_count: 0 };
        let mut open: Vec<(usize, Cursor<'_>)> = Vec::new();
        for (number, input) in inputs.iter().enumerate() {
            let mut cursor = Cursor { input, doc: 0, id: 0 };
            if cursor.seek(0) {
                open.push((number, cursor));
            }
        }
        while let Some(nearest) = open.iter().map(|(_, cursor)| cursor.id).min() {
            // The later input wins; the others skip their document.
            let winner = open.iter().rposition(|(_, cursor)| cursor.id == nearest).expect("it is the smallest");
            let limit = open.iter().enumerate().filter(|&(i, _)| i != winner).map(|(_, (_, cursor))| cursor.id).min();
            let limit = limit.unwrap_or(InternalId::MAX);
            let (number, cursor) = &mut open[winner];
            let number = *number;
            // All documents up to the next one of another input.
            loop {
                order.push(number, cursor.doc);
                let next = cursor.doc + 1;
                if !cursor.seek(next) || cursor.id >= limit {
                    break;
                }
            }
            let last = order.runs.last().map_or(0, |run| run.start + run.count - 1);
            let last_id = inputs[number].segment.internal_id(last);
            open.retain_mut(|(_, cursor)| {
                let mut alive = cursor.doc < cursor.input.segment.doc_count();
                while alive && cursor.id <= last_id {
                    let next = cursor.doc + 1;
                    alive = cursor.seek(next);
                }
                alive
            });
        }
        order
    }

    fn push(&mut self, input: usize, doc: DocId) {
        self.doc_maps[input].new_docs[doc as usize] = self.doc_count as DocId;
        self.doc_count += 1;
        match self.runs.last_mut() {
            Some(run) if run.input == input && run.start + run.count == doc => run.count += 1,
            _ => self.runs.push(DocRun { input, start: doc, count: 1 }),
        }
    }
}
