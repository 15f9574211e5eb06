//! Schemas of ranges, histograms and statistics of facets.

use lamina_engine::facet::{Calendar, RANGES_MAX};
use lamina_protocol::wire::schema::{count, exactly, list, map_of, number, one_of, or_null, text};
use lamina_protocol::wire::search::PERCENTILES_MAX;
use serde_json::{Value, json};

/// A facet whose values are measured. Its parts must go together, too.
pub(super) fn measured() -> Value {
    let facet = json!({ "type": "string", "pattern": "^[^*]*$" });
    let degrees = |most: i64| json!({ "type": "number", "minimum": -most, "maximum": most });
    let origin = exactly([("lat", degrees(90)), ("lng", degrees(180))], &["lat", "lng"]);
    let date = json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$" });
    let bound = || json!({ "anyOf": [{ "type": ["number", "null"] }, date.clone()] });
    let range = exactly([("from", bound()), ("to", bound()), ("label", or_null(text()))], &[]);
    let mut ranges = list(range);
    ranges["maxItems"] = json!(RANGES_MAX);
    let length = json!({ "type": "number", "exclusiveMinimum": 0 });
    let interval = json!({ "anyOf": [length, one_of(&Calendar::units())] });
    let histogram = exactly([("interval", interval), ("timeZone", or_null(text()))], &["interval"]);
    let mut percentiles = list(number());
    percentiles["maxItems"] = json!(PERCENTILES_MAX);
    let statistics = exactly([("percentiles", or_null(percentiles))], &[]);
    exactly(
        [
            ("facet", facet),
            ("origin", or_null(origin)),
            ("ranges", or_null(ranges)),
            ("histogram", or_null(histogram)),
            ("statistics", json!({ "anyOf": [{ "type": ["boolean", "null"] }, statistics] })),
        ],
        &["facet"],
    )
}

/// What is answered to one of them.
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
