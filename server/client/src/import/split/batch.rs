//! One request body, and parts of it.

use std::ops::Range;

use bytes::Bytes;

use crate::import::place::Place;

/// One request body.
#[derive(Clone, Debug)]
pub(in crate::import) struct Batch {
    pub(in crate::import) body: Bytes,
    pub(in crate::import) content_type: &'static str,
    /// Between the cells of CSV.
    pub(in crate::import) delimiter: u8,
    pub(in crate::import) place: Place,
    /// Length of the body before its documents, which is the header of a CSV file.
    pub(super) header_bytes: usize,
    pub(super) documents: Vec<DocumentStart>,
}

/// Place of a document: offset in the body in bytes, and position in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocumentStart {
    pub(super) offset: usize,
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) last_line: u64,
}

impl Batch {
    /// The first half of its documents and the rest; `None` when it has but one.
    pub(in crate::import) fn halves(&self) -> Option<(Batch, Batch)> {
        let count = self.documents.len();
        (count > 1).then(|| (self.part(0..count / 2), self.part(count / 2..count)))
    }

    /// The `count` documents from number `first` of the file on, if it has them all.
    pub(in crate::import) fn documents_of_file(&self, first: u64, count: u64) -> Option<Batch> {
        let start = usize::try_from(first.checked_sub(self.place.first_document)?).ok()?;
        let end = start.checked_add(usize::try_from(count).ok()?)?;
        (start < end && end <= self.documents.len()).then(|| self.part(start..end))
    }

    /// Returns a range of the documents. Cost: a copy, when each body needs a header.
    fn part(&self, range: Range<usize>) -> Batch {
        let documents = &self.documents[range.clone()];
        let start = documents[0].offset;
        let end = self.documents.get(range.end).map_or(self.body.len(), |next| next.offset);
        let body = match self.header_bytes {
            0 => self.body.slice(start..end),
            header => [&self.body[..header], &self.body[start..end]].concat().into(),
        };
        let moved = |document: &DocumentStart| DocumentStart {
            offset: document.offset - start + self.header_bytes,
            ..*document
        };
        let place = Place {
            first_document: self.place.first_document + range.start as u64,
            document_count: documents.len() as u64,
            first_line: documents[0].line,
            last_line: documents[documents.len() - 1].last_line,
            column: documents[0].column,
            ..self.place.clone()
        };
        let documents = documents.iter().map(moved).collect();
        Batch { body, place, documents, ..self.clone() }
    }
}
