//! A segment: one write-once file that holds a share of an index's documents in every form the engine needs.
//!
//! | question | section | good for |
//! |---|---|---|
//! | which terms start with, or look like this | [`Terms`]: an fst from term to ordinal, in order | prefixes (a range of ordinals), typos (an automaton walks it) |
//! | which documents hold a term, in which fields | [`Postings`]: bit-packed blocks of 128 documents, with a code for the set of fields | candidates; not where in the text |
//! | which documents hold these frequent words near each other | `word_pairs`: lists for the most frequent words | phrases and `proximity`, without reading tokens |
//! | what does a document say, word by word | [`TokenColumn`]: ordinals in reading order | proximity, position, exactness; not finding documents |
//! | which values does a field have | [`Columns`]: one space of ordinals per field, both directions | filters, sorting, facets, distinct |
//! | which documents are in a region | [`Geo`], [`Shapes`]: along a space-filling curve | regions of any form: only documents at their border are examined |
//! | which vectors has a document | [`Vectors`]: per embedder, `f32` or a bit a dimension | exact similarity, under any filter |
//! | which vectors may be near another one | [`VectorCodes`]: codes of four bits in lists | candidates among very many |
//! | what was the document | [`Store`]: its JSON text in compressed blocks | returning documents |
//! | what did it get since | [`Patches`]: numbers and booleans in files beside the segment | counters, without rewriting documents |
//! | which document has this primary key | [`Keys`]: an fst and a small bloom filter | upserts, deletes, `GET` |
//!
//! [`SegmentWriter`] gathers documents in memory and writes the file once; [`SegmentReader`] is a view over the mapped
//! file that keeps almost nothing on the heap; [`merge()`] streams several segments into one. The byte layout is
//! described in `segment-format.md`.
//!
//! Documents are numbered `0..doc_count` in ascending order of their [`InternalId`](lamina_text::id::InternalId), the order of their
//! first insertion, so breaking ties needs no column.
//!
//! Words used here: an *ordinal* is the number of a term, or of a column's value, in the sorted order of its segment. A *field set* is the
//! set of fields in which a term occurs in a document. The *zone* of a posting says how early the term occurs in the field (0 to 7). A
//! *union* is the documents of all terms with a crowded prefix. A *cell* is a range of terms, mostly those that begin with the same
//! letters; *followers* are, by frequent word and cell, the documents in which a term of the cell comes right after the word. *Skip data*
//! is the last document and the end of each block of a list. *Health* is the known damage of an open segment.
//!
//! **Damage.** Opening checks structure and the checksums of what other crates walk unchecked (the fst dictionaries).
//! Accessors are total functions: bytes that were damaged later give wrong, missing or cut values, or an error where
//! they return one, but no panic; [`SegmentReader::verify`] re-reads everything and names the damaged section.

mod boxes;
mod checked_blocks;
mod columns;
mod comparison;
#[cfg(test)]
mod damage_tests;
mod error;
mod format;
#[cfg(test)]
mod format_tests;
mod geo;
mod health;
mod info;
mod keys;
mod merge;
mod meta;
#[cfg(test)]
mod number_tests;
mod patches;
mod postings;
mod reader;
mod salvage;
mod shapes;
mod store;
mod terms;
#[cfg(test)]
mod tests;
mod thresholds;
mod tokens;
mod vector_codes;
mod vectors;
mod verify;
mod word_pairs;
mod writer;

/// Version of the format that is written, and the newest that is read.
pub const FORMAT: u32 = format::VERSION;
pub use format::{COMPARED_AT_OPENING_MAX, DOCS_MAX};

pub use boxes::{BoxRelation, GeoBox};
pub use columns::ColumnsBuilder;
pub use columns::{Column, ColumnFileWriter, Columns};
pub use columns::{write_patch_file, write_vector_file};
pub use comparison::{ComparedFile, Comparison, Piece, PieceSum};
pub use error::SegmentError;
pub use geo::Geo;
pub use health::{Damaged, Health};
pub use keys::Keys;
pub use merge::{DocMap, MergeInput, MergeOptions, MergeStep, MergeWatch, Merged, merge};
pub use meta::{ColumnFileMeta, FileMeta, SegmentMeta, TextFields};
pub use patches::{Layer, is_plain_number};
pub use patches::{NewLayer, NewPatches, PatchValue, Patches};
pub use postings::{FieldSets, Postings};
pub use postings::{GROUPED_ZONE_MAX, Groups, PrefixUnion, ZONE_COUNT, ZONE_NOT_ALONE, ZONE_STARTS};
pub use reader::SegmentReader;
pub use reader::store_bytes_of_file;
pub use salvage::Salvage;
pub use salvage::meta_of_files;
pub use shapes::Shapes;
pub use store::{Store, StoreDictionary};
pub use terms::Terms;
pub use terms::{Beginning, NearBeginnings};
pub use thresholds::ListThresholds;
pub use tokens::{FieldLength, FieldLengths, Run, TokenColumn, TokensOfDoc};
pub use tokens::{Nearest, Sequence, Span, WantedTerms};
pub use vector_codes::{CodedQuery, VectorCodes};
pub use vectors::fragments_hash;
pub use vectors::{DIMENSIONS_MAX, StoredVectors, VectorShape, VectorState, Vectors, VectorsBuilder};
pub use word_pairs::Known;
pub use writer::{SegmentWriter, SegmentWriterOptions, TwoThreads};
