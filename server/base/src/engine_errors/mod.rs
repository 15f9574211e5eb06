//! What the engine's errors are called in public: the one place that knows both.

mod documents;
mod filter;
mod search;
mod sentence;

use lamina_engine::condition::{ConditionError, OutOfTime};
use lamina_engine::document::{DocumentError, FieldLimit, IdError, InferError, PayloadError, VectorsError};
use lamina_engine::filter::FilterError;
use lamina_engine::index::embedding::EmbeddingError;
use lamina_engine::index::settings::SettingsError;
use lamina_engine::index::{GeoCoordinates, GeoError, IndexError, OperationError, is_momentary};
use lamina_engine::segment::SegmentError;

pub use search::limit_name;
pub use sentence::Sentence;

use crate::error::{ApiError, Code};

impl From<IndexError> for ApiError {
    fn from(error: IndexError) -> ApiError {
        let is_momentary = error.is_momentary();
        translated(error).momentary(is_momentary)
    }
}

fn translated(error: IndexError) -> ApiError {
    if error.is_out_of_space() {
        return ApiError::new(
            Code::NoSpaceLeftOnDevice,
            "There is no more space left on the device. Consider increasing the size of the disk/partition.",
        );
    }
    match error {
        IndexError::Io(error) => error.into(),
        // No damage: the system refused something.
        IndexError::Segment(SegmentError::Io { file, source }) if is_momentary(&source) => {
            ApiError::from(source).prefixed(format_args!("{file}: "))
        }
        IndexError::Fields(limit) => too_many_fields(limit),
        IndexError::DocumentTooLarge { bytes_max, .. } => document_too_large(bytes_max),
        IndexError::DocumentMemory { bytes_max } => document_memory(bytes_max),
        IndexError::Geo(error) => ApiError::new(Code::InvalidDocumentGeoField, geo_message(&error)),
        IndexError::Shape(error) => ApiError::new(
            Code::InvalidDocumentGeojsonField,
            format!(
                "Malformed geojson of the document with the id: `{}`: {}.",
                error.document_id,
                error.reason.sentence()
            ),
        ),
        IndexError::Vectors(error) => {
            let code = match error {
                VectorsError::Dimensions { .. } | VectorsError::Stored { .. } => Code::InvalidVectorDimensions,
                VectorsError::TooMany { .. } => Code::TooManyVectors,
                _ => Code::InvalidVectorsType,
            };
            ApiError::new(code, error.sentence())
        }
        IndexError::Embedding(error) => {
            let code = match error {
                EmbeddingError::Template { .. } => Code::InvalidSettingsEmbedders,
                EmbeddingError::Render { .. } | EmbeddingError::RenderLimit { .. } => Code::InvalidDocumentFields,
                _ => Code::VectorEmbeddingError,
            };
            ApiError::new(code, error.sentence())
        }
        IndexError::Document(_) | IndexError::StoredDocumentId(_) => {
            ApiError::new(Code::UnretrievableDocument, error.to_string())
        }
        IndexError::Payload { path, source } => {
            tracing::error!(path = %path.display(), error = %source, "a payload cannot be read");
            source.into()
        }
        IndexError::GenerationNotFound { .. } => ApiError::new(Code::GenerationNotFound, error.to_string()),
        IndexError::DamagedSegment { .. }
        | IndexError::DamagedGeneration { .. }
        | IndexError::CorruptTombstones { .. }
        | IndexError::CorruptManifest { .. }
        | IndexError::ManifestTooNew { .. }
        | IndexError::WrongFileLength { .. }
        | IndexError::Segment(_) => ApiError::new(Code::InvalidStoreFile, error.to_string()),
        _ => ApiError::internal(error.to_string()),
    }
}

/// The public sentence about a malformed `_geo`.
fn geo_message(error: &GeoError) -> String {
    match error {
        GeoError::NotAnObject { document_id, value } => format!(
            "The `_geo` field in the document with the id: `{document_id}` is not an object. Was expecting an object \
             with the `_geo.lat` and `_geo.lng` fields but instead got `{value}`."
        ),
        GeoError::UnexpectedFields { document_id, fields } => format!(
            "The `_geo` field in the document with the id: `{document_id}` contains the following unexpected fields: \
             `{fields}`."
        ),
        GeoError::Missing { document_id, missing } => match missing {
            GeoCoordinates::Both => format!(
                "Could not find latitude nor longitude in the document with the id: `{document_id}`. Was expecting \
                 `_geo.lat` and `_geo.lng` fields."
            ),
            one => format!(
                "Could not find {} in the document with the id: `{document_id}`. Was expecting a `{}` field.",
                coordinate(*one).0,
                coordinate(*one).1
            ),
        },
        GeoError::BadNumber { document_id, bad, values } => match (bad, values.as_slice()) {
            (GeoCoordinates::Both, [lat, lng, ..]) => format!(
                "Could not parse latitude nor longitude in the document with the id: `{document_id}`. Was expecting \
                 finite numbers but instead got `{lat}` and `{lng}`."
            ),
            (one, values) => format!(
                "Could not parse {} in the document with the id: `{document_id}`. Was expecting a finite number but \
                 instead got `{}`.",
                coordinate(*one).0,
                values.first().map_or("", String::as_str)
            ),
        },
        other => other.to_string(),
    }
}

fn coordinate(which: GeoCoordinates) -> (&'static str, &'static str) {
    match which {
        GeoCoordinates::Longitude => ("longitude", "_geo.lng"),
        GeoCoordinates::Latitude | GeoCoordinates::Both => ("latitude", "_geo.lat"),
    }
}

/// The sentence about a filter, if the error is about one.
fn of_filter(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<String> {
    let condition = error.downcast_ref::<ConditionError>().map(Sentence::sentence);
    condition.or_else(|| error.downcast_ref::<FilterError>().map(Sentence::sentence))
}

fn value_update_sentence(error: &OperationError) -> String {
    match error {
        OperationError::NotANumber { document_id, field, value } => {
            format!("`{field}` of document `{document_id}` is `{value}`, and only numbers can be incremented.")
        }
        OperationError::KeyUpdate { field } => {
            format!("`{field}` holds the ids of the documents of this index, which cannot change.")
        }
        other => other.to_string(),
    }
}

fn mark_mismatch(expected: &str, present: Option<&str>) -> ApiError {
    let message = match present {
        Some(present) => format!("Its mark is `{present}`, and the write expects `{expected}`."),
        None => format!("It has no mark, and the write expects `{expected}`: documents were written without one."),
    };
    ApiError::new(Code::IndexMarkMismatch, message)
}

/// Converts the failure of a task of index `uid` into an API error. The message begins with the index, except for
/// faults of a payload.
pub fn operation_error(uid: &str, is_payload: bool, error: &OperationError) -> ApiError {
    let named = |error: ApiError| error.prefixed(format_args!("Index `{uid}`: "));
    match error {
        OperationError::PrimaryKeyAlreadyExists { current } => {
            let error = ApiError::new(
                Code::IndexPrimaryKeyAlreadyExists,
                format!("Index already has a primary key: `{current}`."),
            );
            if is_payload { error } else { named(error) }
        }
        OperationError::Infer(InferError::Document(error)) | OperationError::Id(IdError::Document(error)) => {
            named(broken_document(error))
        }
        OperationError::Infer(error) => {
            let code = match error {
                InferError::NoCandidate => Code::IndexPrimaryKeyNoCandidateFound,
                _ => Code::IndexPrimaryKeyMultipleCandidatesFound,
            };
            ApiError::new(code, error.sentence())
        }
        OperationError::Id(error) => {
            let code = match error {
                IdError::Missing { .. } => Code::MissingDocumentId,
                _ => Code::InvalidDocumentId,
            };
            ApiError::new(code, error.sentence())
        }
        OperationError::Settings(error) => named(error.into()),
        OperationError::NoUpdate { .. } | OperationError::NotANumber { .. } | OperationError::KeyUpdate { .. } => {
            named(ApiError::new(Code::InvalidDocumentUpdates, value_update_sentence(error)))
        }
        OperationError::Damaged(reason) => named(ApiError::new(
            Code::InvalidStoreFile,
            format!(
                "Nothing can be written: {reason}. Stop the server and repair the index with `lamina repair`, or delete \
                 the index or all its documents."
            ),
        )),
        OperationError::Mark { expected, present } => named(mark_mismatch(expected, present.as_deref())),
        OperationError::Selection(source) => {
            let about_the_filter = of_filter(&**source);
            let is_damaged = || matches!(source.downcast_ref(), Some(IndexError::Segment(_)));
            named(match about_the_filter {
                Some(sentence) => ApiError::new(Code::InvalidDocumentFilter, sentence),
                None if is_damaged() => ApiError::new(Code::InvalidStoreFile, source.to_string()),
                None => match source.downcast_ref::<OutOfTime>() {
                    Some(late) => ApiError::new(Code::Internal, late.sentence()),
                    None => ApiError::new(Code::Internal, source.to_string()),
                },
            })
        }
        other => named(ApiError::internal(other.to_string())),
    }
}

impl From<&SettingsError> for ApiError {
    fn from(error: &SettingsError) -> ApiError {
        match error {
            SettingsError::TypoSizesInverted { one_typo, two_typos } => {
                ApiError::new(Code::InvalidSettingsTypoTolerance, inverted_typo_sizes(*one_typo, *two_typos))
            }
            other => ApiError::internal(other.to_string()),
        }
    }
}

/// The public sentence about sizes that can't be together.
pub fn inverted_typo_sizes(one: u8, two: u8) -> String {
    format!(
        "`minWordSizeForTypos` setting is invalid. `oneTypo` and `twoTypos` fields should be between `0` and `255`, \
         and `twoTypos` should be greater or equals to `oneTypo` but found `oneTypo: {one}` and twoTypos: {two}`."
    )
}

/// A document that was accepted with its payload and cannot be read now.
fn broken_document(error: &DocumentError) -> ApiError {
    ApiError::new(Code::MalformedPayload, error.to_string())
}

/// The public sentence about a value (as JSON) that is no document id.
pub fn invalid_document_id(value: &str) -> String {
    format!(
        "Document identifier `{value}` is invalid. A document identifier can be of type integer or string, only \
         composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and underscores (_), and can not be more than \
         511 bytes."
    )
}

/// Converts the fault of a payload (`json`, `ndjson`, `csv`) into an API error.
pub fn payload_error(format: &str, error: PayloadError) -> ApiError {
    match error {
        PayloadError::Io(error) => error.into(),
        PayloadError::Malformed(reason) => {
            // The public wording has a colon for CSV only.
            let colon = if format == "csv" { ":" } else { "." };
            let reason = reason.sentence();
            ApiError::new(
                Code::MalformedPayload,
                format!("The `{format}` payload provided is malformed{colon} `{reason}`."),
            )
        }
        PayloadError::DocumentTooLarge { bytes_max } => document_too_large(bytes_max),
        other => ApiError::internal(other.to_string()),
    }
}

fn too_many_fields(limit: FieldLimit) -> ApiError {
    let message = match limit {
        FieldLimit::NamesBytes => {
            "The names of all fields of an index may have 8 MiB together. Move what differs between documents from the names \
             of fields into their values."
        }
        _ => "A document cannot contain more than 65,535 fields.",
    };
    ApiError::new(Code::MaxFieldsLimitExceeded, message)
}

fn document_too_large(bytes_max: usize) -> ApiError {
    ApiError::new(
        Code::PayloadTooLarge,
        format!(
            "A document is longer than the {:.1} MiB that one may have. Split it into several, or start the server with a \
             larger `--max-indexing-memory`.",
            mebibytes(bytes_max)
        ),
    )
}

fn document_memory(bytes_max: usize) -> ApiError {
    ApiError::new(
        Code::PayloadTooLarge,
        format!(
            "The words and values of a document take more than the {:.1} MiB of memory that one may have. Split it into \
             several, or start the server with a larger `--max-indexing-memory`.",
            mebibytes(bytes_max)
        ),
    )
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_payload_errors_stand_alone() {
        let error = OperationError::PrimaryKeyAlreadyExists { current: "id".into() };
        let alone = operation_error("x", true, &error);
        assert_eq!(alone.message, "Index already has a primary key: `id`.");
        assert_eq!(operation_error("x", false, &error).message, format!("Index `x`: {}", alone.message));
        assert_eq!(alone.code, Code::IndexPrimaryKeyAlreadyExists);
    }

    #[test]
    fn a_full_disk_is_distinguished_from_other_failures() {
        let full = IndexError::Io(std::io::Error::from_raw_os_error(28));
        assert_eq!(ApiError::from(full).code, Code::NoSpaceLeftOnDevice);
        let denied = IndexError::Io(std::io::Error::from_raw_os_error(13));
        assert_eq!(ApiError::from(denied).code, Code::IoError);
    }

    #[test]
    fn geo_messages_name_what_is_missing() {
        let missing = GeoError::Missing { document_id: "\"a\"".into(), missing: GeoCoordinates::Longitude };
        assert_eq!(
            ApiError::from(IndexError::Geo(missing)).message,
            "Could not find longitude in the document with the id: `\"a\"`. Was expecting a `_geo.lng` field."
        );
    }
}
