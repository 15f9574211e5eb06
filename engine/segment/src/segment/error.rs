//! What can go wrong with a segment.

use std::io;

/// Stands for the section where a checksum covers the whole file.
pub(super) const WHOLE_FILE: &str = "whole file";

/// Reason for which a segment could not be written, opened, read or merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The file system refused.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file in its directory.
        file: String,
        /// The refusal.
        source: io::Error,
    },
    /// The file does not begin or end like a segment file, or is shorter than its manifest says.
    #[error("{file} is not a whole segment file: {what}")]
    NotASegment {
        /// Name of the file.
        file: String,
        /// Missing part.
        what: &'static str,
    },
    /// The file was written by a later version of the format.
    #[error("{file} has format version {found}, this program reads up to {supported}")]
    TooNew {
        /// Name of the file.
        file: String,
        /// Version of the file.
        found: u32,
        /// Newest version that can be read.
        supported: u32,
    },
    /// The bytes of a section differ from what was written.
    #[error("{file}: checksum of section {section} is {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Name of the file.
        file: String,
        /// Name of the section.
        section: &'static str,
        /// Checksum in the section table.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// Bytes that contradict the format.
    #[error("{file}: section {section} is damaged: {what}")]
    Corrupt {
        /// Name of the file.
        file: String,
        /// Name of the section.
        section: &'static str,
        /// The contradiction.
        what: &'static str,
    },
    /// More than the format can hold.
    #[error("a segment holds at most {limit} {what}")]
    Limit {
        /// Kind of the counted items.
        what: &'static str,
        /// Maximum number of them.
        limit: u64,
    },
    /// Two documents of the segment have the same primary key but different internal ids.
    #[error("two documents have the primary key {key}")]
    DuplicateKey {
        /// The id that both documents have.
        key: String,
    },
    /// The merge was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// A contradiction inside one section; the reader of the segment adds the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage(pub(crate) &'static str);

impl Damage {
    pub fn at(self, file: &str, section: &'static str) -> SegmentError {
        SegmentError::Corrupt { file: file.to_owned(), section, what: self.0 }
    }
}
