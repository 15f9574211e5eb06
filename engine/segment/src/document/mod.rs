//! Documents: payload readers, ids, merging, and the visit of every leaf of a document. No text processing.
//!
//! A payload of any format becomes *lines* first ([`normalize_payload`]): one JSON object each, checked once. All
//! that follows reads lines: [`document_id`], [`infer_primary_key`], [`merge_documents`] and [`DocumentParser`].

mod check;
mod error;
mod field_map;
mod members;
mod merge;
mod number;
mod paths;
mod payload;
mod primary_key;
mod scan;
mod shape;
#[cfg(test)]
mod throughput;
mod vectors;
mod visit;

pub use error::{DocumentError, IdError, InferError, PayloadError, PayloadReason};
pub use field_map::{FieldLimit, FieldMap, FieldMapSnapshot};
pub use members::{Member, Members, members, text_of};
pub use merge::merge_documents;
pub use merge::top_level_value;
pub use number::Number;
pub use payload::{DocumentBytesMax, PayloadFormat, PayloadMemory, normalize_payload};
pub use primary_key::{DocumentId, ID_BYTES_MAX, document_id, infer_primary_key};
pub use scan::string_end;
pub use shape::{GeoJsonError, Part, Position, Ring, Shape};
pub use vectors::{SuppliedVectors, VECTORS_MAX, VectorsError, VectorsFault, VectorsPart};
pub use vectors::{append_member, append_vectors, merge_with_vectors, split_vectors, write_embedders};
pub use visit::{DocumentParser, DocumentVisitor, Leaf, PathId};
