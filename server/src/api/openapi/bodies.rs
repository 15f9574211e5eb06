//! Schemas of parameters in query strings and paths, and of documents.

use lamina_data::observe::Window;
use lamina_data::tasks::{Kind, Status};
use lamina_protocol::wire::schema::{count, flag, index_uid, instant, list, one_of, text};
use lamina_protocol::wire::{analytics, search};
use serde_json::{Value, json};

/// Documents as JSON: one, or several.
pub(super) fn documents() -> Value {
    let document = json!({ "type": "object" });
    json!({ "anyOf": [list(document.clone()), document] })
}

/// The schema of a parameter in the query string, where lists are texts with commas: a name means the same everywhere.
pub(super) fn parameter(name: &str) -> Value {
    let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    if let Some(schema) = search::parameter_schema(name) {
        return schema;
    }
    if let Some(schema) = analytics::parameter_schema(name) {
        return schema;
    }
    match name {
        "from" | "since" | "waitMs" => count(),
        "reverse" | "skipCreation" | "skipDamaged" | "showInternalDatabaseSizes" => flag(),
        "uids" | "batchUids" | "canceledBy" => commas("[0-9]+"),
        "indexUids" => commas("[A-Za-z0-9_-]{1,400}"),
        "statuses" => commas(&format!("({})", statuses.join("|"))),
        "types" => commas(&format!("({})", kinds.join("|"))),
        "beforeEnqueuedAt" | "afterEnqueuedAt" | "beforeStartedAt" | "afterStartedAt" | "beforeFinishedAt"
        | "afterFinishedAt" => {
            json!({ "anyOf": [instant(), { "type": "string", "format": "date" }, { "const": "*" }] })
        }
        "index" => index_uid(),
        "csvDelimiter" => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        "sizeFormat" => one_of(&["raw", "human"]),
        "mark" | "ifMark" => json!({ "type": "string", "minLength": 1, "maxLength": 2000 }),
        "window" => one_of(&Window::ALL.map(|(name, _)| name)),
        "wait" => json!({ "const": "searchable" }),
        _ => text(),
    }
}

/// A star, or values between commas.
fn commas(value: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^(\\*|{value}(,{value})*)$") })
}

/// The schema of a part of a path.
pub(super) fn in_path(name: &str) -> Value {
    match name {
        "indexUid" | "alias" | "ruleUid" => index_uid(),
        "taskUid" | "batchUid" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        "uuid" => json!({ "type": "string", "format": "uuid" }),
        "list" => analytics::list_schema(),
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_their_words() {
        assert!(parameter("statuses")["pattern"].as_str().unwrap().contains("(enqueued|processing|"));
        assert_eq!(in_path("taskUid")["maximum"], u32::MAX);
    }
}
