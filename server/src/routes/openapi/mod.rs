//! `/openapi.json`: what this server answers, for tools. Made from the table of routes, so it describes neither more nor
//! less than there is.

mod types;

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use warp::Filter;

use super::table::ROUTES;
use crate::app::AppState;
use crate::http::{Routes, json_text, request};
use crate::wire::{search, tasks};
use types::{body_of, kind_of};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    // Open to everybody, like the documentation that it is.
    let get = warp::path!("openapi.json").and(warp::get()).and(request(state));
    get.map(|_| {
        static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
        let text = TEXT.get_or_init(|| document().to_string().into_bytes());
        json_text(text.clone())
    })
    .boxed()
}

/// What a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    None,
    /// Any JSON value; the text says which.
    Json,
    /// An object.
    Object,
    /// An array.
    Array,
    /// JSON, lines of JSON, or CSV.
    Documents,
}

/// What a route answers when all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// 200 with this schema of the components.
    Ok(&'static str),
    /// 201 with this schema.
    Created(&'static str),
    /// 200 or 202 with a registered task.
    Task(u16),
    /// 204
    Nothing,
    /// 200 with text.
    Text,
    /// 200 with a JSON object a line.
    Lines,
}

struct Description {
    summary: &'static str,
    body: Body,
    answer: Answer,
    /// Query parameters.
    parameters: &'static [&'static str],
}

const PAGE: &[&str] = &["offset", "limit"];
const TASK_FILTERS: &[&str] = &tasks::FILTERS;
const TASK_LIST: &[&str] = &tasks::LIST;
const STATS: &[&str] = &["showInternalDatabaseSizes", "sizeFormat"];
const ADDITION: &[&str] = &["primaryKey", "csvDelimiter", "skipCreation", "customMetadata", "wait"];
const DELETION: &[&str] = &["customMetadata", "wait"];
const WAIT: &[&str] = &["wait"];
const SEARCH: &[&str] = &search::PARAMETERS;

/// Summary, body, answer and query parameters of a route of the table.
fn describe(method: &str, pattern: &str) -> Option<Description> {
    use Answer::{Created, Lines, Nothing, Ok, Task, Text};
    let (summary, body, answer, parameters): (_, _, _, &'static [&'static str]) = match (method, pattern) {
        ("GET", "/") => ("The search page, or a greeting", Body::None, Text, &[]),
        ("GET", "/health") => ("Whether the server is well", Body::None, Ok("Object"), &[]),
        ("GET", "/version") => ("The version", Body::None, Ok("Object"), &[]),
        ("GET", "/openapi.json") => ("This description", Body::None, Ok("Object"), &[]),
        ("GET", "/stats") => ("Statistics of all indexes", Body::None, Ok("Object"), STATS),
        ("GET", "/indexes") => ("List indexes", Body::None, Ok("Page"), PAGE),
        ("POST", "/indexes") => ("Create an index", Body::Object, Task(202), WAIT),
        ("GET", "/indexes/{indexUid}") => ("Get an index", Body::None, Ok("Index"), &[]),
        ("PATCH", "/indexes/{indexUid}") => {
            ("Set the primary key of an index, or rename it", Body::Object, Task(202), WAIT)
        }
        ("DELETE", "/indexes/{indexUid}") => ("Delete an index", Body::None, Task(202), WAIT),
        ("POST", "/indexes/{indexUid}/compact") => {
            ("Write an index anew without what is deleted", Body::None, Task(202), &[])
        }
        ("POST", "/indexes/{indexUid}/fields") => ("List the fields of an index", Body::Object, Ok("Page"), &[]),
        ("GET", "/indexes/{indexUid}/stats") => ("Statistics of an index", Body::None, Ok("Object"), STATS),
        ("POST", "/swap-indexes") => ("Exchange or rename indexes", Body::Array, Task(202), WAIT),
        ("GET", "/indexes/{indexUid}/documents") => (
            "List documents",
            Body::None,
            Ok("Page"),
            &["offset", "limit", "fields", "retrieveVectors", "ids", "filter", "sort"],
        ),
        ("POST", "/indexes/{indexUid}/documents") => ("Add or replace documents", Body::Documents, Task(202), ADDITION),
        ("PUT", "/indexes/{indexUid}/documents") => ("Add or update documents", Body::Documents, Task(202), ADDITION),
        ("DELETE", "/indexes/{indexUid}/documents") => ("Delete all documents", Body::None, Task(202), DELETION),
        ("POST", "/indexes/{indexUid}/documents/fetch") => ("List documents", Body::Object, Ok("Page"), &[]),
        ("POST", "/indexes/{indexUid}/documents/delete") => {
            ("Delete documents that match a filter", Body::Object, Task(202), DELETION)
        }
        ("POST", "/indexes/{indexUid}/documents/delete-batch") => {
            ("Delete documents by their ids", Body::Array, Task(202), DELETION)
        }
        ("POST", "/indexes/{indexUid}/documents/edit") => {
            ("Change documents by a function; feature `editDocumentsByFunction`", Body::Object, Task(202), DELETION)
        }
        ("GET", "/indexes/{indexUid}/documents/{documentId}") => {
            ("Get a document", Body::None, Ok("Object"), &["fields", "retrieveVectors"])
        }
        ("DELETE", "/indexes/{indexUid}/documents/{documentId}") => {
            ("Delete a document", Body::None, Task(202), DELETION)
        }
        ("GET", "/indexes/{indexUid}/settings") => ("Get all settings", Body::None, Ok("Object"), &[]),
        ("PATCH", "/indexes/{indexUid}/settings") => ("Change settings", Body::Object, Task(202), WAIT),
        ("DELETE", "/indexes/{indexUid}/settings") => ("Reset all settings", Body::None, Task(202), WAIT),
        ("GET", "/indexes/{indexUid}/settings/{setting}") => ("Get a setting", Body::None, Ok("Value"), &[]),
        ("PUT" | "PATCH", "/indexes/{indexUid}/settings/{setting}") => {
            ("Change a setting", Body::Json, Task(202), WAIT)
        }
        ("DELETE", "/indexes/{indexUid}/settings/{setting}") => ("Reset a setting", Body::None, Task(202), WAIT),
        ("GET", "/indexes/{indexUid}/search") => ("Search", Body::None, Ok("Object"), SEARCH),
        ("POST", "/indexes/{indexUid}/search") => ("Search", Body::Object, Ok("Object"), &[]),
        ("POST", "/indexes/{indexUid}/facet-search") => {
            ("Search among the values of a facet", Body::Object, Ok("Object"), &[])
        }
        ("GET", "/indexes/{indexUid}/similar") => (
            "Documents like another one",
            Body::None,
            Ok("Object"),
            &["id", "embedder", "offset", "limit", "filter", "attributesToRetrieve", "showRankingScore"],
        ),
        ("POST", "/indexes/{indexUid}/similar") => ("Documents like another one", Body::Object, Ok("Object"), &[]),
        ("POST", "/multi-search") => ("Several searches, one by one or merged", Body::Object, Ok("Object"), &[]),
        ("GET", "/tasks") => ("List tasks", Body::None, Ok("Page"), TASK_LIST),
        ("DELETE", "/tasks") => ("Delete finished tasks", Body::None, Task(200), TASK_FILTERS),
        ("POST", "/tasks/cancel") => ("Cancel tasks", Body::None, Task(200), TASK_FILTERS),
        ("GET", "/tasks/{taskUid}") => ("Get a task", Body::None, Ok("Task"), &[]),
        ("POST", "/tasks/compact") => {
            ("Give the room of deleted tasks back; feature `taskQueueCompactionRoute`", Body::None, Ok("Object"), &[])
        }
        ("GET", "/tasks/{taskUid}/documents") => (
            "The documents of an addition that is not finished; feature `getTaskDocumentsRoute`",
            Body::None,
            Lines,
            &[],
        ),
        ("GET", "/batches") => ("List batches", Body::None, Ok("Page"), TASK_LIST),
        ("GET", "/batches/{batchUid}") => ("Get a batch", Body::None, Ok("Object"), &[]),
        ("GET", "/experimental-features") => {
            ("Get the switches of experimental features", Body::None, Ok("Object"), &[])
        }
        ("PATCH", "/experimental-features") => ("Switch experimental features", Body::Object, Ok("Object"), &[]),
        ("POST", "/snapshots") => ("Copy the database folder", Body::None, Task(202), &[]),
        ("POST", "/dumps") => ("Write everything to an archive", Body::None, Task(202), &[]),
        ("POST", "/export") => ("Send indexes to another server", Body::Object, Task(200), WAIT),
        ("GET", "/keys") => ("List API keys", Body::None, Ok("Page"), PAGE),
        ("POST", "/keys") => ("Create an API key", Body::Object, Created("Object"), &[]),
        ("GET", "/keys/{key}") => ("Get an API key by its uid or value", Body::None, Ok("Object"), &[]),
        ("PATCH", "/keys/{key}") => ("Change name or description of an API key", Body::Object, Ok("Object"), &[]),
        ("DELETE", "/keys/{key}") => ("Delete an API key", Body::None, Nothing, &[]),
        ("GET", "/webhooks") => ("List webhooks", Body::None, Ok("Page"), PAGE),
        ("POST", "/webhooks") => ("Create a webhook", Body::Object, Created("Object"), &[]),
        ("GET", "/webhooks/{uuid}") => ("Get a webhook", Body::None, Ok("Object"), &[]),
        ("PATCH", "/webhooks/{uuid}") => ("Change a webhook", Body::Object, Ok("Object"), &[]),
        ("DELETE", "/webhooks/{uuid}") => ("Delete a webhook", Body::None, Nothing, &[]),
        ("GET", "/network") => ("Servers that searches can be spread over", Body::None, Ok("Object"), &[]),
        ("PATCH", "/network") => ("Change the network", Body::Object, Ok("Object"), &[]),
        ("GET", "/metrics") => ("State of the server for Prometheus; feature `metrics`", Body::None, Text, &[]),
        ("POST", "/logs/stream") => ("Read the logs as they come; feature `logsRoute`", Body::Object, Text, &[]),
        ("DELETE", "/logs/stream") => ("End the stream of logs; feature `logsRoute`", Body::None, Nothing, &[]),
        ("POST", "/logs/stderr") => {
            ("Choose what is logged on the console; feature `logsRoute`", Body::Object, Nothing, &[])
        }
        _ => return None,
    };
    Some(Description { summary, body, answer, parameters })
}

/// The whole document, OpenAPI 3.1.
fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (method, pattern) in ROUTES {
        let Some(description) = describe(method, pattern) else { continue };
        let path = paths.entry(*pattern).or_insert_with(|| json!({}));
        path[method.to_ascii_lowercase()] = operation(method, pattern, &description);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Lamina",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A search engine with an HTTP interface.",
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "security": [{ "key": [] }, {}],
        "paths": paths,
        "components": {
            "securitySchemes": { "key": {
                "type": "http",
                "scheme": "bearer",
                "description": "The master key, an API key, or (for searches) a tenant token. Not needed without a master key.",
            }},
            "schemas": schemas(),
        },
    })
}

fn schemas() -> Value {
    let nullable = |kind: &str| json!({ "type": [kind, "null"] });
    json!({
        "Value": {},
        "Object": { "type": "object" },
        "Page": {
            "type": "object",
            "properties": {
                "results": { "type": "array", "items": { "type": "object" } },
                "offset": { "type": "integer" },
                "limit": { "type": "integer" },
                "total": { "type": "integer" },
                "from": nullable("integer"),
                "next": nullable("integer"),
            },
            "required": ["results"],
        },
        "Index": {
            "type": "object",
            "properties": {
                "uid": { "type": "string" },
                "createdAt": { "type": "string", "format": "date-time" },
                "updatedAt": { "type": "string", "format": "date-time" },
                "primaryKey": nullable("string"),
            },
            "required": ["uid", "createdAt", "updatedAt", "primaryKey"],
        },
        "SummarizedTask": {
            "type": "object",
            "properties": {
                "taskUid": { "type": "integer" },
                "indexUid": nullable("string"),
                "status": { "type": "string" },
                "type": { "type": "string" },
                "enqueuedAt": { "type": "string", "format": "date-time" },
                "customMetadata": { "type": "string" },
            },
            "required": ["taskUid", "indexUid", "status", "type", "enqueuedAt"],
        },
        "Task": {
            "type": "object",
            "properties": {
                "uid": { "type": "integer" },
                "batchUid": nullable("integer"),
                "indexUid": nullable("string"),
                "status": { "enum": ["enqueued", "processing", "succeeded", "failed", "canceled"] },
                "type": { "type": "string" },
                "canceledBy": nullable("integer"),
                "details": { "type": "object" },
                "error": { "anyOf": [{ "$ref": "#/components/schemas/Error" }, { "type": "null" }] },
                "duration": nullable("string"),
                "enqueuedAt": { "type": "string", "format": "date-time" },
                "startedAt": nullable("string"),
                "finishedAt": nullable("string"),
                "customMetadata": { "type": "string" },
            },
            "required": ["uid", "batchUid", "indexUid", "status", "type", "canceledBy", "error", "duration", "enqueuedAt"],
        },
        "Error": {
            "type": "object",
            "properties": {
                "message": { "type": "string" },
                "code": { "type": "string" },
                "type": { "enum": ["invalid_request", "auth", "internal", "system"] },
                "link": { "type": "string" },
            },
            "required": ["message", "code", "type", "link"],
        },
    })
}

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn json_content(name: &str) -> Value {
    json!({ "application/json": { "schema": schema(name) } })
}

fn text_answer(description: &str, content_type: &str) -> Value {
    json!({ "description": description, "content": { content_type: { "schema": { "type": "string" } } } })
}

fn operation(method: &str, pattern: &str, description: &Description) -> Value {
    let in_path = pattern.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path =
        in_path.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let in_query = description
        .parameters
        .iter()
        .map(|name| json!({ "name": name, "in": "query", "schema": in_text(kind_of(name)) }));
    let (status, answer) = match description.answer {
        Answer::Ok(name) => (200, json!({ "description": "Done", "content": json_content(name) })),
        Answer::Created(name) => (201, json!({ "description": "Created", "content": json_content(name) })),
        Answer::Task(status) => {
            (status, json!({ "description": "Registered", "content": json_content("SummarizedTask") }))
        }
        Answer::Nothing => (204, json!({ "description": "Done" })),
        Answer::Text => (200, text_answer("Text", "text/plain")),
        Answer::Lines => (200, text_answer("A JSON object a line", "application/x-ndjson")),
    };
    let mut responses = Map::new();
    responses.insert(status.to_string(), answer);
    let refused = json!({ "description": "Refused", "content": json_content("Error") });
    responses.insert("default".to_owned(), refused);
    let mut operation = json!({
        "operationId": operation_id(method, pattern),
        "summary": description.summary,
        "parameters": in_path.chain(in_query).collect::<Vec<Value>>(),
        "responses": responses,
    });
    let content = match description.body {
        Body::None => return operation,
        Body::Json => json!({ "application/json": { "schema": {} } }),
        Body::Object | Body::Array => json!({ "application/json": { "schema": body_of(method, pattern) } }),
        Body::Documents => json!({
            "application/json": { "schema": { "type": ["array", "object"] } },
            "application/x-ndjson": { "schema": { "type": "string" } },
            "text/csv": { "schema": { "type": "string" } },
        }),
    };
    operation["requestBody"] = json!({ "required": is_needed(pattern), "content": content });
    operation
}

/// In a query string lists are texts with commas.
fn in_text(schema: Value) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "boolean" | "number") => schema,
        _ => json!({ "type": "string" }),
    }
}

/// The routes of logs take no body for an empty object.
fn is_needed(pattern: &str) -> bool {
    !pattern.starts_with("/logs/")
}

/// `get_indexes_indexUid_stats`: unique, and a name in most languages.
fn operation_id(method: &str, pattern: &str) -> String {
    let words = pattern.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(method.to_ascii_lowercase().as_str()).chain(words).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_of_the_table_is_described() {
        for (method, pattern) in ROUTES {
            assert!(describe(method, pattern).is_some(), "{method} {pattern}");
        }
        let document = document();
        let operations =
            document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
        let ids: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), ROUTES.len());
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids are unique");
    }

    #[test]
    fn references_lead_somewhere() {
        let document = document();
        let text = document.to_string();
        for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
