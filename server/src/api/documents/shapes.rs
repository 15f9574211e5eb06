//! The bodies of requests for documents, in the words of JSON Schema.

use lamina_protocol::wire::documents::LIST_FIELDS;
use lamina_protocol::wire::schema::{count, exactly, flag, list as list_of, named, or_null, state, text, texts};
use serde_json::{Value, json};

/// Documents that are asked for.
pub(super) fn list() -> Value {
    let field = |name| match name {
        "offset" | "limit" => or_null(count()),
        "retrieveVectors" | "useNetwork" => or_null(flag()),
        "ids" => or_null(list_of(named("DocumentId"))),
        "at" => or_null(state()),
        "filter" => named("Filter"),
        _ => or_null(texts()),
    };
    exactly(LIST_FIELDS.into_iter().map(|name| (name, field(name))), &[])
}

/// A function that edits documents.
pub(super) fn edition() -> Value {
    let context = json!({ "type": ["object", "null"] });
    exactly([("function", text()), ("context", context), ("filter", or_null(filter()))], &["function"])
}

/// A filter that says something: of others, everything would be deleted or edited.
pub(super) fn filter() -> Value {
    let said = || json!({ "type": "string", "pattern": r"\S" });
    let anywhere = json!({ "anyOf": [said(), { "type": "array", "contains": said() }] });
    let expressions = json!({ "type": "array", "items": { "anyOf": [text(), texts()] }, "contains": anywhere });
    json!({ "anyOf": [said(), expressions] })
}
