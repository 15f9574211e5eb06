//! Schemas of rules.

use serde_json::{Value, json};

use crate::wire::schema::{
    all_of, anything, at_least, count, exactly, flag, index_uid, instant, list, map_of, open, or_null, text,
};

/// The body of a change.
pub fn patch_schema() -> Value {
    exactly(
        [
            ("description", or_null(text())),
            ("precedence", or_null(at_least(0))),
            ("active", or_null(flag())),
            ("conditions", or_null(conditions())),
            ("actions", or_null(list(action()))),
        ],
        &[],
    )
}

/// A rule in answers.
pub fn answer() -> Value {
    exactly(
        [
            ("uid", text()),
            ("description", text()),
            ("lastUpdatedAt", instant()),
            ("precedence", at_least(0)),
            ("active", flag()),
            ("conditions", conditions()),
            ("actions", list(action())),
        ],
        &["uid", "lastUpdatedAt", "active", "conditions", "actions"],
    )
}

/// The body of a list.
pub fn list_schema() -> Value {
    let filter = exactly([("query", or_null(text())), ("active", or_null(flag()))], &[]);
    exactly([("offset", count()), ("limit", count()), ("filter", or_null(filter))], &[])
}

fn conditions() -> Value {
    let at = || {
        let pattern = r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$";
        or_null(json!({ "type": "string", "format": "date-time", "pattern": pattern }))
    };
    // Further fields are passed over.
    let time = open([("start", at()), ("end", at())], &[]);
    let is_empty = exactly([("isEmpty", or_null(flag())), ("words", json!({ "type": "null" }))], &[]);
    let not_empty = json!({ "anyOf": [{ "const": false }, { "type": "null" }] });
    let has_words = exactly([("isEmpty", not_empty), ("words", or_null(text()))], &[]);
    let query = json!({ "anyOf": [is_empty, has_words, { "type": "null" }] });
    let filter = exactly([("values", map_of(anything()))], &[]);
    exactly([("time", or_null(time)), ("query", query), ("filter", or_null(filter))], &[])
}

fn action() -> Value {
    let selector = exactly([("indexUid", or_null(index_uid())), ("id", text())], &["id"]);
    let position = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    let action = all_of([("type", json!({ "const": "pin" })), ("position", position)]);
    all_of([("selector", selector), ("action", action)])
}
