//! A view over the section of an embedder.

use std::ops::Range;
use std::sync::Arc;

use lamina_text::id::DocId;

use super::write::{BINARY, HASHES, HEADER_BYTES, ONE_EACH, PART_ALIGNMENT};
use super::{DIMENSIONS_MAX, StoredVectors, VectorShape, VectorState};
use crate::bits::little_endian::{read_u16, read_u32, read_u64};
use crate::segment::checked_blocks::CheckedBlocks;
use crate::segment::error::Damage;
use crate::segment::{SegmentError, VectorCodes};
use crate::storage::OwnedBytes;

/// The vectors of one embedder in a segment.
#[derive(Clone, Debug)]
pub struct Vectors {
    bytes: OwnedBytes,
    name: String,
    shape: VectorShape,
    doc_count: u32,
    vector_count: u32,
    states_at: usize,
    starts_at: usize,
    hashes_at: Option<usize>,
    /// Unused when binary.
    norms_at: usize,
    rows_at: usize,
    one_each: bool,
    codes: Option<VectorCodes>,
    /// `None`: the blocks have no checksums.
    blocks: Option<Arc<CheckedBlocks>>,
}

impl Vectors {
    pub fn open(bytes: OwnedBytes, doc_count: u32) -> Result<Vectors, Damage> {
        let cut = Damage("it is cut");
        let name_bytes = usize::from(read_u16(&bytes, 0).ok_or(cut)?);
        let flags = *bytes.get(2).ok_or(cut)?;
        let dimensions = read_u32(&bytes, 4).ok_or(cut)?;
        let vector_count = read_u32(&bytes, 8).ok_or(cut)?;
        if read_u32(&bytes, 12).ok_or(cut)? != doc_count {
            return Err(Damage("it is about another number of documents"));
        }
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(Damage("vectors have no such number of dimensions"));
        }
        let name = bytes.get(HEADER_BYTES..HEADER_BYTES + name_bytes).ok_or(cut)?;
        let name = std::str::from_utf8(name).map_err(|_| Damage("the name of the embedder is no text"))?.to_owned();
        let shape = VectorShape { dimensions, binary: flags & BINARY != 0 };
        let (docs, vectors) = (doc_count as usize, vector_count as usize);
        let mut at = HEADER_BYTES + name_bytes;
        let mut part = |bytes: usize| {
            at = at.next_multiple_of(PART_ALIGNMENT);
            let start = at;
            at = at.checked_add(bytes)?;
            Some(start)
        };
        let states_at = part(docs).ok_or(cut)?;
        let starts_at = part((docs + 1) * 4).ok_or(cut)?;
        let hashes_at = if flags & HASHES != 0 { Some(part(docs * 8).ok_or(cut)?) } else { None };
        let norms_at = part(if shape.binary { 0 } else { vectors * 4 }).ok_or(cut)?;
        let rows_at = part(vectors.checked_mul(shape.row_bytes()).ok_or(cut)?).ok_or(cut)?;
        if at != bytes.len() {
            return Err(Damage("its length is not that of its parts"));
        }
        Ok(Vectors {
            bytes,
            name,
            shape,
            doc_count,
            vector_count,
            states_at,
            starts_at,
            hashes_at,
            norms_at,
            rows_at,
            one_each: flags & ONE_EACH != 0 && vector_count == doc_count,
            codes: None,
            blocks: None,
        })
    }

    /// Adds the checksums of the blocks, and compares all but the rows, which are compared when they are read.
    pub(crate) fn add_sums(&mut self, blocks: CheckedBlocks) -> Result<(), SegmentError> {
        blocks.compare(0..self.rows_at);
        blocks.check()?;
        self.blocks = Some(Arc::new(blocks));
        Ok(())
    }

    /// Fails if anything that was read is damaged. Rows are returned even if they are damaged: see [`Vectors::rows`].
    fn check(&self) -> Result<(), SegmentError> {
        self.blocks.as_ref().map_or(Ok(()), |blocks| blocks.check())
    }

    /// Adds their codes.
    pub(crate) fn add_codes(&mut self, codes: VectorCodes) {
        self.codes = Some(codes);
    }

    /// Codes to find candidates with, where there are many vectors.
    pub fn codes(&self) -> Option<&VectorCodes> {
        self.codes.as_ref()
    }

    /// The embedder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the storage format of its vectors.
    pub fn shape(&self) -> VectorShape {
        self.shape
    }

    /// Number of documents, deleted ones included.
    pub fn doc_count(&self) -> u32 {
        self.doc_count
    }

    /// Number of vectors, those of deleted documents included.
    pub fn vector_count(&self) -> u32 {
        self.vector_count
    }

    /// Returns the state of a document's vectors.
    #[inline]
    pub fn state(&self, doc: DocId) -> VectorState {
        if doc >= self.doc_count {
            return VectorState::ABSENT;
        }
        VectorState(self.bytes.get(self.states_at + doc as usize).copied().unwrap_or(0))
    }

    /// The vectors of a document, by number within the section.
    #[inline]
    pub fn of(&self, doc: DocId) -> Range<u32> {
        if doc >= self.doc_count {
            return 0..0;
        }
        let at = self.starts_at + doc as usize * 4;
        let end = read_u32(&self.bytes, at + 4).unwrap_or(0).min(self.vector_count);
        let start = read_u32(&self.bytes, at).unwrap_or(0).min(end);
        start..end
    }

    /// Reports whether each document has exactly one vector, which then has the document's number.
    pub fn is_one_each(&self) -> bool {
        self.one_each
    }

    /// The document of a vector. Costs a binary search, unless each document has exactly one.
    pub fn doc_of(&self, vector: u32) -> DocId {
        if self.one_each {
            return vector;
        }
        let (mut low, mut high) = (0, self.doc_count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.of(middle).end <= vector { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The bytes of consecutive vectors. Where they differ from their checksum, the segment is marked as damaged: who
    /// answers with what was read checks its [`Health`](crate::segment::Health) behind it.
    #[inline]
    pub fn rows(&self, vectors: Range<u32>) -> &[u8] {
        let row_bytes = self.shape.row_bytes();
        let (start, end) = (vectors.start as usize * row_bytes, vectors.end as usize * row_bytes);
        if let Some(blocks) = &self.blocks {
            blocks.compare(self.rows_at + start..self.rows_at + end);
        }
        self.bytes.get(self.rows_at + start..self.rows_at + end).unwrap_or_default()
    }

    /// Returns the factor that turns the product with a vector into the product with its direction. It is 0 for the
    /// zero vector, and 1 if vectors are binary.
    #[inline]
    pub fn inverse_norm(&self, vector: u32) -> f32 {
        if self.shape.binary {
            return 1.0;
        }
        f32::from_bits(read_u32(&self.bytes, self.norms_at + vector as usize * 4).unwrap_or(0))
    }

    /// Everything of a document.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`]
    pub fn get(&self, doc: DocId) -> Result<StoredVectors<'_>, SegmentError> {
        let vectors = self.of(doc);
        let norms = self.norms_at + vectors.start as usize * 4..self.norms_at + vectors.end as usize * 4;
        let stored = StoredVectors {
            state: self.state(doc),
            text_hash: self.text_hash(doc),
            rows: self.rows(vectors.clone()),
            inverse_norms: if self.shape.binary { &[] } else { self.bytes.get(norms).unwrap_or_default() },
            count: vectors.end - vectors.start,
        };
        self.check().map(|()| stored)
    }

    /// Reports whether the vectors of a document were made from the fragment at `position`.
    pub fn are_of_fragment(&self, doc: DocId, position: usize) -> bool {
        let (state, text_hash) = (self.state(doc), self.text_hash(doc));
        StoredVectors { state, text_hash, ..StoredVectors::default() }.are_of_fragment(position)
    }

    fn text_hash(&self, doc: DocId) -> u64 {
        self.hashes_at.and_then(|at| read_u64(&self.bytes, at + doc as usize * 8)).unwrap_or(0)
    }

    /// The vectors of a document as numbers.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`]
    pub fn decoded(&self, doc: DocId) -> Result<Vec<Vec<f32>>, SegmentError> {
        let rows = self.rows(self.of(doc));
        let decoded = rows.chunks_exact(self.shape.row_bytes()).map(|row| self.shape.decode(row)).collect();
        self.check().map(|()| decoded)
    }

    pub(crate) fn validate(&self) -> Result<(), Damage> {
        let starts = |doc: u32| read_u32(&self.bytes, self.starts_at + doc as usize * 4).unwrap_or(u32::MAX);
        if starts(0) != 0 || starts(self.doc_count) != self.vector_count {
            return Err(Damage("the documents do not cover the vectors"));
        }
        if (0..self.doc_count).any(|doc| starts(doc) > starts(doc + 1)) {
            return Err(Damage("the vectors of the documents are out of order"));
        }
        if self.one_each && (0..self.doc_count).any(|doc| starts(doc) != doc) {
            return Err(Damage("a document has not the one vector that each is said to have"));
        }
        for doc in 0..self.doc_count {
            let state = self.state(doc);
            if state.0 & !VectorState::ALL != 0 || (!state.is_present() && !self.of(doc).is_empty()) {
                return Err(Damage("a document has a state that does not exist"));
            }
        }
        Ok(())
    }
}
