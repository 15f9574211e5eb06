//! The vectors of one embedder in the making.

use lamina_text::id::DocId;

use super::write::write_section;
use super::{StoredVectors, VectorShape, VectorState};
use crate::segment::format::SectionWriter;
use crate::segment::vector_codes::{CodedRows, are_coded, write_codes};
use crate::segment::{ListThresholds, SegmentError};
use crate::storage::{Directory, OwnedBytes};
use std::io::{self, Write};

/// Gathers the vectors of one embedder for a new segment, or for a file beside one that is there. Documents may come
/// in any order; of several calls for one document the last counts.
#[derive(Debug)]
pub struct VectorsBuilder {
    name: String,
    shape: VectorShape,
    entries: Vec<DocVectors>,
    /// The first rows, in files.
    aside: Vec<Aside>,
    /// The rows after those.
    rows: Vec<u8>,
    /// Little-endian `f32`, one for each of `rows`; none for binary rows.
    inverse_norms: Vec<u8>,
    row_count: usize,
}

/// Rows that were put into a file.
#[derive(Debug)]
struct Aside {
    /// The number of the first.
    first: usize,
    rows: OwnedBytes,
    inverse_norms: OwnedBytes,
}

#[derive(Clone, Copy, Debug, Default)]
struct DocVectors {
    state: VectorState,
    count: u16,
    first: u32,
    text_hash: u64,
}

impl VectorsBuilder {
    /// For the embedder `name`.
    pub fn new(name: &str, shape: VectorShape) -> VectorsBuilder {
        VectorsBuilder {
            name: name.to_owned(),
            shape,
            entries: Vec::new(),
            aside: Vec::new(),
            rows: Vec::new(),
            inverse_norms: Vec::new(),
            row_count: 0,
        }
    }

    /// The embedder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reports whether no document has a vector state.
    pub fn is_empty(&self) -> bool {
        !self.entries.iter().any(|entry| entry.state.is_present())
    }

    /// Returns the storage format of its vectors.
    pub fn shape(&self) -> VectorShape {
        self.shape
    }

    /// Sets the vectors of a document; each has the dimensions of the shape, and there are less than 65,536.
    pub fn set<V: AsRef<[f32]>>(&mut self, doc: DocId, state: VectorState, text_hash: u64, vectors: &[V]) {
        let first = self.row_count;
        for vector in vectors {
            self.shape.encode(vector.as_ref(), &mut self.rows);
            if !self.shape.binary {
                self.inverse_norms.extend_from_slice(&inverse_norm(vector.as_ref()).to_le_bytes());
            }
        }
        self.put(doc, state, text_hash, first, vectors.len());
    }

    /// Takes the vectors of a document over from another segment. Vectors of `from` that are stored in full become
    /// bits where this builder stores bits.
    pub fn copy(&mut self, doc: DocId, stored: StoredVectors<'_>, from: VectorShape) {
        debug_assert_eq!(from.dimensions, self.shape.dimensions, "vectors of one embedder have one size");
        if from != self.shape {
            let rows = stored.rows.chunks_exact(from.row_bytes().max(1));
            let vectors: Vec<Vec<f32>> = rows.map(|row| from.decode(row)).collect();
            self.set(doc, stored.state, stored.text_hash, &vectors);
            return;
        }
        let first = self.row_count;
        self.rows.extend_from_slice(stored.rows);
        self.inverse_norms.extend_from_slice(stored.inverse_norms);
        self.put(doc, stored.state, stored.text_hash, first, stored.count as usize);
    }

    fn put(&mut self, doc: DocId, state: VectorState, text_hash: u64, first: usize, count: usize) {
        let doc = doc as usize;
        if self.entries.len() <= doc {
            self.entries.resize(doc + 1, DocVectors::default());
        }
        self.row_count = first + count;
        let first = u32::try_from(first).expect("a writer is full long before 2^32 vectors");
        let count = u16::try_from(count).expect("a document has at most 256 vectors");
        let text_hash = if state.has_hash() { text_hash } else { 0 };
        self.entries[doc] = DocVectors { state, count, first, text_hash };
    }

    /// Heap in use, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.rows.capacity() + self.inverse_norms.capacity() + self.entries.capacity() * size_of::<DocVectors>()
    }

    /// Bytes of heap that [`VectorsBuilder::put_aside`] would free.
    pub fn movable_bytes(&self) -> usize {
        self.rows.len() + self.inverse_norms.len()
    }

    /// Moves the vectors so far into a file called `name` and frees the heap they took. The file has lost its name when this
    /// returns, and its space is freed with this builder.
    ///
    /// # Errors
    /// [`SegmentError::Io`]; nothing is lost.
    pub fn put_aside(&mut self, directory: &dyn Directory, name: &str) -> Result<(), SegmentError> {
        let write = || -> io::Result<OwnedBytes> {
            let mut file = directory.create(name)?;
            file.write_all(&self.rows)?;
            file.write_all(&self.inverse_norms)?;
            file.sync()?;
            drop(file);
            directory.open_read(name)
        };
        let written = write();
        // What was opened stays readable. Where nothing was written there may be nothing to remove.
        let removed = directory.delete(name);
        let bytes = written.and_then(|bytes| removed.map(|()| bytes));
        let bytes = bytes.map_err(|source| SegmentError::Io { file: name.to_owned(), source })?;
        let parts = (bytes.slice(0..self.rows.len()), bytes.slice(self.rows.len()..bytes.len()));
        let (Some(rows), Some(inverse_norms)) = parts else {
            return Err(SegmentError::NotASegment { file: name.to_owned(), what: "the vectors that were written" });
        };
        let first = self.row_count - self.rows.len() / self.shape.row_bytes();
        self.aside.push(Aside { first, rows, inverse_norms });
        (self.rows, self.inverse_norms) = (Vec::new(), Vec::new());
        Ok(())
    }

    fn get(&self, doc: DocId) -> StoredVectors<'_> {
        let Some(entry) = self.entries.get(doc as usize) else { return StoredVectors::default() };
        let (first, count) = (entry.first as usize, usize::from(entry.count));
        let row_bytes = self.shape.row_bytes();
        // Rows of a document are never torn apart.
        let in_memory = self.row_count - self.rows.len() / row_bytes;
        let (start, rows, inverse_norms): (usize, &[u8], &[u8]) = if first >= in_memory {
            (first - in_memory, &self.rows, &self.inverse_norms)
        } else {
            let file = &self.aside[self.aside.partition_point(|file| file.first <= first) - 1];
            (first - file.first, &file.rows, &file.inverse_norms)
        };
        StoredVectors {
            state: entry.state,
            text_hash: entry.text_hash,
            rows: &rows[start * row_bytes..(start + count) * row_bytes],
            inverse_norms: if self.shape.binary { &[] } else { &inverse_norms[start * 4..(start + count) * 4] },
            count: u32::from(entry.count),
        }
    }

    /// Writes the section for `doc_count` documents: those numbered in `order`, or all in the order of their numbers.
    pub fn finish(
        &self,
        file: &mut SectionWriter,
        number: u16,
        order: Option<&[u32]>,
        doc_count: u32,
        thresholds: &ListThresholds,
    ) -> Result<(), SegmentError> {
        let stored = |doc: DocId| self.get(order.map_or(doc, |order| order[doc as usize]));
        write_section(file, number, &self.name, self.shape, doc_count, |visit| {
            (0..doc_count).try_for_each(|doc| visit(stored(doc)))
        })?;
        if !are_coded(self.shape, self.row_count, thresholds) {
            return Ok(());
        }
        let rows: Vec<&[u8]> =
            (0..doc_count).flat_map(|doc| stored(doc).rows.chunks_exact(self.shape.row_bytes())).collect();
        write_codes(file, number, CodedRows { shape: self.shape, rows: &rows, thresholds }, None, &|| Ok(()))
    }
}

/// Returns the factor by which a vector must be multiplied to have the length 1, or 0 for the zero vector.
pub(super) fn inverse_norm(vector: &[f32]) -> f32 {
    let squares: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    // Finite also for vectors of nearly nothing: what is multiplied with it stays a number.
    if squares > 0.0 { (1.0 / squares.sqrt()).min(f64::from(f32::MAX)) as f32 } else { 0.0 }
}
