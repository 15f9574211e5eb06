//! The vectors of one embedder: for each document what is known of its vectors, then the vectors themselves.
//!
//! A section stands on its own: it names its embedder, has the shape of its vectors and can be read without the
//! settings. Vectors of a document follow each other, and those of the documents stand in their order, so a scan over
//! all documents reads memory front to back. With `f32` vectors stand the inverses of their lengths, which turn a
//! product into a cosine; vectors of one bit a dimension all have the same length and need none.
//!
//! The layout is in `segment-format.md`.

mod builder;
mod merge;
mod reader;
mod write;

pub use builder::VectorsBuilder;
pub(crate) use merge::merge_vectors;
pub use reader::Vectors;

/// Numbers of a vector, at most.
pub const DIMENSIONS_MAX: u32 = 65_536;

/// Storage format of the vectors of an embedder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorShape {
    /// Numbers of a vector, at least 1.
    pub dimensions: u32,
    /// One bit a dimension, its sign, instead of an `f32`.
    pub binary: bool,
}

/// A bit of a binary row stands for a dimension; rows are whole words, so that they can be compared word by word.
const WORD_BYTES: usize = 8;

impl VectorShape {
    /// Bytes of one vector.
    pub fn row_bytes(self) -> usize {
        let dimensions = self.dimensions as usize;
        if self.binary { dimensions.div_ceil(8 * WORD_BYTES) * WORD_BYTES } else { dimensions * size_of::<f32>() }
    }

    /// Appends `vector` as a row. A bit is set where the number is positive.
    pub fn encode(self, vector: &[f32], out: &mut Vec<u8>) {
        debug_assert_eq!(vector.len(), self.dimensions as usize, "the caller checked the size");
        if self.binary {
            let start = out.len();
            out.resize(start + self.row_bytes(), 0);
            for (index, _) in vector.iter().enumerate().filter(|(_, value)| **value > 0.0) {
                out[start + index / 8] |= 1 << (index % 8);
            }
        } else {
            out.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        }
    }

    /// The numbers of a row; bits give 1 and 0.
    pub fn decode(self, row: &[u8]) -> Vec<f32> {
        if self.binary {
            let bit = |index: usize| row.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
            (0..self.dimensions as usize).map(|index| if bit(index) { 1.0 } else { 0.0 }).collect()
        } else {
            let (values, _) = row.as_chunks::<4>();
            values.iter().map(|value| f32::from_le_bytes(*value)).collect()
        }
    }
}

/// State of the vectors of one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorState(u8);

impl VectorState {
    const PRESENT: u8 = 1;
    const REGENERATE: u8 = 2;
    const USER: u8 = 4;
    const HASHED: u8 = 8;
    const ALL: u8 = 15;

    /// Nothing was ever said about the document's vectors.
    pub(crate) const ABSENT: VectorState = VectorState(0);

    /// Vectors that came with the document, or the wish to have none.
    pub fn supplied(regenerate: bool) -> VectorState {
        VectorState(Self::PRESENT | Self::USER | if regenerate { Self::REGENERATE } else { 0 })
    }

    /// Vectors that were made from the document's text.
    pub fn generated() -> VectorState {
        VectorState(Self::PRESENT | Self::REGENERATE)
    }

    /// The same, with the hash of the text that they were made of, or that was there when they came.
    pub fn hashed(self) -> VectorState {
        VectorState(self.0 | Self::HASHED)
    }

    /// The same, kept when the text changes.
    pub fn kept(self) -> VectorState {
        VectorState(self.0 & !Self::REGENERATE)
    }

    /// Reports whether the document has a vector state.
    pub fn is_present(self) -> bool {
        self.0 & Self::PRESENT != 0
    }

    /// Reports whether the vectors are replaced when the text changes.
    pub fn regenerates(self) -> bool {
        self.0 & Self::REGENERATE != 0
    }

    /// Reports whether the vectors came with the document.
    pub fn is_user_provided(self) -> bool {
        self.0 & Self::USER != 0
    }

    /// Reports whether the hash of a text is known.
    pub fn has_hash(self) -> bool {
        self.0 & Self::HASHED != 0
    }
}

/// Bits of a text's hash that say which fragments there were texts of.
const FRAGMENT_BITS: u32 = 24;

/// The hash of the texts of a document that is made of fragments: a bit for each that there was a text of, by its position
/// (below 24), and the rest of `hash`.
pub fn fragments_hash(hash: u64, fragments: u32) -> u64 {
    let mask = (1 << FRAGMENT_BITS) - 1;
    hash & !mask | u64::from(fragments) & mask
}

impl StoredVectors<'_> {
    /// Reports whether the vectors were made from fragments, including the one at `position`.
    pub fn are_of_fragment(&self, position: usize) -> bool {
        let is_made = self.state.has_hash() && !self.state.is_user_provided();
        is_made && position < FRAGMENT_BITS as usize && self.text_hash >> position & 1 == 1
    }
}

/// The vectors of one document as they are stored.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoredVectors<'a> {
    pub state: VectorState,
    /// Hash of the text; see [`VectorState::has_hash`].
    pub text_hash: u64,
    /// One row after the other.
    pub rows: &'a [u8],
    /// Little-endian `f32`, one a row; none for binary rows.
    pub inverse_norms: &'a [u8],
    /// Number of rows.
    pub count: u32,
}

#[cfg(test)]
mod tests;
