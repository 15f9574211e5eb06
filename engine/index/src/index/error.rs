//! What can go wrong with an index as a whole, and with one operation of a batch.

use std::io;
use std::path::PathBuf;

use lamina_segment::document::{DocumentError, FieldLimit, GeoJsonError, IdError, InferError, VectorsError};
use lamina_segment::segment::SegmentError;
use thiserror::Error;

use super::embedding::EmbeddingError;
use super::settings::SettingsError;

/// Fails a whole call; nothing has changed then.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IndexError {
    #[error("the index at {folder} is in use by another process")]
    Locked { folder: PathBuf },
    #[error("there is already an index at this place")]
    AlreadyExists,
    #[error("the state is of another history than the index")]
    OtherHistory,
    #[error("there is no index at this place")]
    NotFound,
    #[error("manifest {file} is damaged: {reason}; stop the server; `lamina repair` reports what can be recovered")]
    CorruptManifest { file: String, reason: &'static str },
    /// `part`: `format`, or `settings` for the form in which the settings are stored.
    #[error("manifest {file} has {part} version {found}; this program reads up to {supported}")]
    ManifestTooNew { file: String, part: &'static str, found: u32, supported: u32 },
    #[error("the length of file {file} is {found} instead of {expected}")]
    WrongFileLength { file: String, expected: u64, found: u64 },
    #[error("tombstones {file} cannot be read")]
    CorruptTombstones { file: String },
    /// `reason` names the file and the section.
    #[error("a segment is damaged: {reason}")]
    DamagedSegment { file: String, reason: String },
    #[error("this state is not kept; the oldest kept state has number {oldest}")]
    GenerationNotFound { oldest: u64 },
    /// One before the present state, which is not touched by it.
    #[error("generation {generation}, which is kept beside the present one, is damaged: {reason}")]
    DamagedGeneration { generation: u64, reason: String },
    #[error(transparent)]
    Fields(#[from] FieldLimit),
    #[error(transparent)]
    Geo(#[from] GeoError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// A line of a payload, or a stored document, that is no JSON object: payload normalisation writes none.
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("a stored document has no id")]
    StoredDocumentId(#[source] IdError),
    #[error("a document of {bytes} bytes is longer than {bytes_max}, the most that the memory for indexing allows")]
    DocumentTooLarge { bytes: usize, bytes_max: usize },
    #[error(
        "the words and values of a document take more than {bytes_max} bytes, the most that the memory for indexing allows"
    )]
    DocumentMemory { bytes_max: usize },
    #[error("payload {path} cannot be read")]
    Payload { path: PathBuf, source: io::Error },
    #[error("the call was cancelled")]
    Cancelled,
    #[error(transparent)]
    Segment(#[from] SegmentError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl IndexError {
    /// Reports whether the disk is full. The same call may succeed once there is space.
    pub fn is_out_of_space(&self) -> bool {
        self.refusal().is_some_and(|io| matches!(io.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }

    /// Reports whether the operating system refused something that it may grant a moment later, see [`is_momentary`].
    pub fn is_momentary(&self) -> bool {
        // Embedders try again themselves, and what they meet is the network.
        !matches!(self, IndexError::Embedding(_)) && self.refusal().is_some_and(is_momentary)
    }

    /// Returns the error of the operating system, if that is the cause.
    fn refusal(&self) -> Option<&io::Error> {
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = source {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                return Some(io);
            }
            // A transparent variant has no source of its own kind.
            if let Some(IndexError::Io(io)) = error.downcast_ref::<IndexError>() {
                return Some(io);
            }
            if let Some(IndexError::Segment(segment)) = error.downcast_ref::<IndexError>() {
                source = Some(segment);
                continue;
            }
            source = error.source();
        }
        None
    }
}

/// Reports whether an error of the operating system may be transient: no space, no descriptors, no memory, a device
/// that did not answer, or something that is busy. Errors for what is missing or forbidden are not transient.
pub fn is_momentary(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    // Numbers for what has no stable kind: EIO, ENFILE, EMFILE.
    matches!(error.raw_os_error(), Some(5 | 23 | 24))
        || matches!(
            error.kind(),
            Kind::StorageFull
                | Kind::QuotaExceeded
                | Kind::OutOfMemory
                | Kind::Interrupted
                | Kind::WouldBlock
                | Kind::ResourceBusy
        )
}

/// Fails one operation of a batch; the others are applied as if it had not been there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OperationError {
    #[error("index already has a primary key: `{current}`")]
    PrimaryKeyAlreadyExists { current: String },
    /// No primary key is set and none can be inferred.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// A document without a usable id.
    #[error(transparent)]
    Id(#[from] IdError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A line of [`Operation::UpdateValues`](super::Operation::UpdateValues) that says no update.
    #[error("this is not an update of values: {line}")]
    NoUpdate { line: String },
    /// The value to increment is not a number. `value` is JSON.
    #[error("field `{field}` of document {document_id} is not a number and cannot be incremented: {value}")]
    NotANumber { document_id: String, field: String, value: String },
    /// The primary key of a document can't change.
    #[error("`{field}` holds the primary key")]
    KeyUpdate { field: String },
    /// Only clearing an index is possible while a segment is damaged: what is written might be in it already.
    #[error("nothing can be written: {0}")]
    Damaged(#[source] Box<IndexError>),
    /// Another client has written since, or the index is another one.
    #[error("the mark of the index is not `{expected}`")]
    Mark { expected: String, present: Option<String> },
    /// The caller's selector failed with this error.
    #[error("documents could not be selected")]
    Selection(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A malformed `_geo`. Values are JSON text; so is `document_id`: string ids keep their quotes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GeoError {
    #[error("`_geo` of document {document_id} is not an object: {value}")]
    NotAnObject { document_id: String, value: String },
    #[error("`_geo` of document {document_id} has unexpected fields: {fields}")]
    UnexpectedFields { document_id: String, fields: String },
    #[error("`_geo` of document {document_id} lacks {missing:?}")]
    Missing { document_id: String, missing: GeoCoordinates },
    #[error("`_geo` of document {document_id} has a bad {bad:?}: {values:?}")]
    BadNumber {
        document_id: String,
        bad: GeoCoordinates,
        /// Bad coordinates, latitude first.
        values: Vec<String>,
    },
}

/// A malformed `_geojson`. `document_id` is JSON text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`_geojson` of document {document_id} is malformed: {reason}")]
pub struct ShapeError {
    pub document_id: String,
    #[source]
    pub reason: GeoJsonError,
}

/// Coordinates that an error concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeoCoordinates {
    Latitude,
    Longitude,
    Both,
}
