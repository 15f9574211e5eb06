//! A list of documents that is collected while they are written.

use lamina_text::id::DocId;

use crate::bits::varint::{put_varint, read_varint};

/// Documents of a list that grows, as distances.
#[derive(Clone, Default)]
pub(super) struct OpenList {
    /// The document after the last one.
    next: DocId,
    count: u32,
    gaps: Vec<u8>,
}

impl OpenList {
    /// Adds a document, unless there are more than `listed_max`; answers how many bytes were written.
    #[inline]
    pub(super) fn push(&mut self, doc: DocId, listed_max: u32) -> usize {
        if self.next == doc + 1 || self.count > listed_max {
            return 0;
        }
        let before = self.gaps.len();
        put_varint(&mut self.gaps, u64::from(doc - self.next));
        self.next = doc + 1;
        self.count += 1;
        let written = self.gaps.len() - before;
        if self.count > listed_max {
            self.gaps = Vec::new();
        }
        written
    }

    /// Forgets the documents, and all that come.
    pub(super) fn close(&mut self) {
        *self = OpenList { count: u32::MAX, ..OpenList::default() };
    }

    pub(super) fn bytes(&self) -> usize {
        self.gaps.len()
    }

    /// Returns the gaps of the documents as varints: each is the distance from the id after that of the previous
    /// document.
    pub(super) fn gaps(&self) -> &[u8] {
        &self.gaps
    }

    /// Returns the number of documents that were added.
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    /// `None` when there are more than `listed_max`, or it was closed.
    pub(super) fn docs(&self, listed_max: u32) -> Option<Vec<DocId>> {
        if self.count > listed_max {
            return None;
        }
        let mut docs = Vec::with_capacity(self.count as usize);
        let (mut at, mut next) = (0, 0);
        while let Some(gap) = read_varint(&self.gaps, &mut at) {
            let doc = next + gap as DocId;
            docs.push(doc);
            next = doc + 1;
        }
        Some(docs)
    }
}
