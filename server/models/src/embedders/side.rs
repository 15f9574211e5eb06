//! The two sides of an embedder: documents are embedded on one, queries on the other.

use serde_json::{Map, Value};

/// Side of a pair. Without a pair, both sides are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Indexing,
    Search,
}

/// The part of a configuration that is about `side`.
pub(super) fn side_of(configuration: &Map<String, Value>, side: Side) -> &Map<String, Value> {
    let nested = configuration.get(match side {
        Side::Indexing => "indexingEmbedder",
        Side::Search => "searchEmbedder",
    });
    nested.and_then(Value::as_object).unwrap_or(configuration)
}
