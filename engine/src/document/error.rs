//! What can be wrong with a payload or a document. Codes and statuses are not known here.

use std::io;

use thiserror::Error;

/// Why a payload could not be read. The first problem ends the reading: nothing of the payload is used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Reading the input or writing the output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The payload is not what its format asks for.
    #[error(transparent)]
    Malformed(PayloadReason),
}

/// What is wrong with a payload, worded for the person who sent it.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadReason {
    /// Broken JSON: the parser's words with line and column, shortened when long.
    #[error("Couldn't serialize document value: {reason}")]
    Json { reason: String },
    /// Rows of different lengths, text that is not UTF-8…
    #[error("{reason}")]
    Csv { reason: String },
    /// A cell of a `:number` column; `row` counts data rows from 1.
    #[error("Error parsing number {cell:?} at line {row}: {reason}")]
    CsvNumber { cell: String, row: u64, reason: String },
    /// A cell of a `:boolean` column; `row` counts data rows from 1.
    #[error("Error parsing boolean {cell:?} at line {row}: provided string was not `true` or `false`")]
    CsvBoolean { cell: String, row: u64 },
}

/// Why a document has no usable id. `document` is the document as compact JSON.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdError {
    #[error("Document doesn't have a `{primary_key}` attribute: `{document}`.")]
    Missing { primary_key: String, document: String },
    /// A dotted key that is there twice: literally and nested.
    #[error("Document have too many matching `{primary_key}` attribute: `{document}`.")]
    Ambiguous { primary_key: String, document: String },
    /// `value` as JSON.
    #[error(
        "Document identifier `{value}` is invalid. A document identifier can be of type integer or string, only \
         composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and underscores (_), and can not be more than \
         511 bytes."
    )]
    Invalid { value: String },
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// Why no primary key can be inferred from a document.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InferError {
    #[error(
        "The primary key inference failed as the engine did not find any field ending with `id` in its name. Please \
         specify the primary key manually using the `primaryKey` query parameter."
    )]
    NoCandidate,
    #[error(
        "The primary key inference failed as the engine found {} fields ending with `id` in their names: '{}' and \
         '{}'. Please specify the primary key manually using the `primaryKey` query parameter.",
        candidates.len(), candidates[0], candidates[1]
    )]
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
    #[error("values nested deeper than {max} levels")]
    TooDeep { max: usize },
}
