//! Identifiers shared by all modules.

/// A document inside one segment: dense, `0..doc_count`.
pub type DocId = u32;
/// A term inside one segment. Real terms start at [`FIRST_TERM`] and follow the byte order of their text.
pub type TermOrdinal = u32;
/// A field of an index (dotted path), assigned at first sight, never reused.
pub type FieldId = u16;
/// Position of a document's first insertion in its index. Updates keep it; ties in ranking and listings follow it.
pub type InternalId = u64;

/// In the token column: a hard separator or the next array element. Adds 7 to the position and is no word.
pub const GAP: TermOrdinal = 0;
/// In the token column: a word that takes a position but is not indexed (longer than 250 bytes).
pub const HOLE: TermOrdinal = 1;
/// Ordinal of a segment's first term.
pub const FIRST_TERM: TermOrdinal = 2;

/// A segment of an index: grows with each new segment, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId(pub u64);

/// Distance of a word from the previous one of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The next position.
    Soft,
    /// After a hard separator: eight positions on.
    Hard,
}
