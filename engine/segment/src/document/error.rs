//! What can be wrong with a payload or a document. Codes and statuses are not known here.

use std::io;

use thiserror::Error;

/// Reason for which a payload could not be read. The first problem ends the reading, and nothing of the payload is
/// used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Reading the input or writing the output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The payload is not what its format asks for.
    #[error(transparent)]
    Malformed(PayloadReason),
    /// One of its documents needs more memory than one may take.
    #[error("a document is longer than {bytes_max} bytes, the most that the memory for indexing allows")]
    DocumentTooLarge { bytes_max: usize },
    /// Other payloads need it.
    #[error("no memory is left for long documents")]
    NoMemory,
}

/// Syntax error or type error in a payload.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadReason {
    /// Broken JSON: the parser's words with line and column, shortened when long.
    #[error("broken JSON: {reason}")]
    Json { reason: String },
    /// Rows of different lengths, text that is not UTF-8…
    #[error("{reason}")]
    Csv { reason: String },
    /// A cell of a `:number` column; `row` counts data rows from 1.
    #[error("{cell:?} in row {row} is no number: {reason}")]
    CsvNumber { cell: String, row: u64, reason: String },
    /// A cell of a `:boolean` column; `row` counts data rows from 1.
    #[error("{cell:?} in row {row} is no boolean")]
    CsvBoolean { cell: String, row: u64 },
}

/// Reason for which a document has no usable id. `document` is the document as compact JSON.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdError {
    #[error("no field `{primary_key}` in {document}")]
    Missing { primary_key: String, document: String },
    /// A dotted key that is there twice: literally and nested.
    #[error("more than one field `{primary_key}` in {document}")]
    Ambiguous { primary_key: String, document: String },
    /// `value` as JSON.
    #[error("{value} is no document id")]
    Invalid { value: String },
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// Reason for which no primary key can be inferred from a document.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InferError {
    #[error("no name of a field ends with `id`")]
    NoCandidate,
    #[error("several names of fields end with `id`: {candidates:?}")]
    /// At least two, sorted.
    ManyCandidates { candidates: Vec<String> },
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// A line that is not one JSON object. Lines written by [`super::normalize_payload`] never are.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentError {
    #[error("broken JSON at byte {at} of the document")]
    Syntax { at: usize },
    #[error("the document is not UTF-8 from byte {at}")]
    Utf8 { at: usize },
    #[error("a number beyond those of 64 bits at byte {at} of the document")]
    NumberTooLarge { at: usize },
    #[error("values nested deeper than {max} levels")]
    TooDeep { max: usize },
}
