//! From the text of a query to sets of terms in each segment.
//!
//! [`parser`] cuts the text into terms, [`graph`] adds the alternatives that replace them (concatenations, synonyms),
//! [`expand`] finds the terms of one segment that each alternative stands for, by typo cost, and [`candidates`] turns
//! them into documents.

pub mod candidates;
pub mod expand;
pub mod graph;
mod joined;
pub(crate) mod leading_terms;
pub(crate) mod level;
pub mod options;
pub mod parser;
pub mod phrase;
pub mod resolve;
pub mod split;
mod term_docs;
pub(crate) mod vertex;
mod walk;
pub(crate) mod warm_up;
pub(crate) mod word_forms;

pub use candidates::SegmentQuery;
pub use graph::{Node, QueryGraph};
pub use lamina_index::index::settings::MatchingStrategy;
pub use options::QueryOptions;
pub use parser::{Excluded, ParseOptions, ParsedQuery, QueryTerm, TermKind, parse_query};
