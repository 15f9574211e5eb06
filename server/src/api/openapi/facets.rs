//! Schemas of ranges, histograms and statistics of facets, as answers have them.

use lamina_protocol::wire::schema::{count, exactly, list, map_of, number, or_null, text};
use serde_json::{Value, json};

/// The answer to a facet that is measured.
pub(super) fn details() -> Value {
    let bound = || json!({ "type": ["number", "string"] });
    let range = exactly([("label", text()), ("from", bound()), ("to", bound()), ("count", count())], &["count"]);
    let bucket = exactly([("from", bound()), ("to", bound()), ("count", count())], &["from", "to", "count"]);
    let some = || or_null(number());
    let statistics = exactly(
        [
            ("count", count()),
            ("sum", number()),
            ("mean", some()),
            ("min", some()),
            ("max", some()),
            ("percentiles", map_of(some())),
        ],
        &["count", "sum", "mean", "min", "max"],
    );
    exactly(
        [("facet", text()), ("ranges", list(range)), ("histogram", list(bucket)), ("statistics", statistics)],
        &["facet"],
    )
}
