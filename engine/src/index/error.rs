//! What can go wrong with an index as a whole, and with one operation of a batch.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::embedding::EmbeddingError;
use super::settings::SettingsError;
use crate::document::{DocumentError, GeoJsonError, IdError, InferError, TooManyFields, VectorsError};
use crate::segment::SegmentError;

/// Fails a whole call; nothing has changed then.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IndexError {
    #[error("the index at {folder} is in use by another process")]
    Locked { folder: PathBuf },
    #[error("there is already an index at this place")]
    AlreadyExists,
    #[error("there is no index at this place")]
    NotFound,
    #[error("manifest {file} is damaged: {reason}")]
    CorruptManifest { file: String, reason: &'static str },
    #[error("manifest {file} has format version {found}; this program reads up to {supported}")]
    ManifestTooNew { file: String, found: u32, supported: u32 },
    #[error("file {file} has {found} bytes instead of {expected}")]
    WrongFileLength { file: String, expected: u64, found: u64 },
    #[error(transparent)]
    TooManyFields(#[from] TooManyFields),
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
    #[error("a stored document has lost its id")]
    StoredDocumentId(#[source] IdError),
    #[error("a document of {bytes} bytes is longer than 4 GB")]
    DocumentTooLarge { bytes: usize },
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
    /// Whether the disk is full: the same call may succeed once there is room.
    pub fn is_out_of_space(&self) -> bool {
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = source {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                return matches!(io.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            }
            // A transparent variant has no source of its own kind.
            if let Some(IndexError::Io(io)) = error.downcast_ref::<IndexError>() {
                return matches!(io.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            }
            if let Some(IndexError::Segment(segment)) = error.downcast_ref::<IndexError>() {
                source = Some(segment);
                continue;
            }
            source = error.source();
        }
        false
    }
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
    /// What the caller's selector answered.
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
        /// Of the bad ones, latitude first.
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

/// Which coordinates an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeoCoordinates {
    Latitude,
    Longitude,
    Both,
}
