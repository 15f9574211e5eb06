//! `/openapi.json`: what this server answers, for tools. Made from the table of routes, so it describes neither more nor
//! less than there is.

mod answers;
mod bodies;
mod describe;
mod examples;
mod facets;
#[cfg(test)]
mod nulls;
mod searches;
mod settings;
mod tags;

use lamina_protocol::wire::schema;
use serde_json::{Map, Value, json};

use crate::http::requests::Endpoint;
use crate::http::routing::Table;
use describe::{Answer, Body, Description, WRITE, describe};

/// Stands for the name of a setting in the table of routes.
const SETTING: &str = "{setting}";

/// The whole document, OpenAPI 3.1.
pub(super) fn document(table: Table) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in table.routes().map(|route| route.endpoint) {
        let Endpoint { method, pattern, .. } = endpoint;
        let Some(description) = describe(method, pattern) else { continue };
        let mut add = |pattern: &str, operation: Value| {
            let path = paths.entry(pattern).or_insert_with(|| json!({}));
            path[method.to_ascii_lowercase()] = operation;
        };
        if !pattern.ends_with(SETTING) {
            add(pattern, operation(endpoint, pattern, &description));
            continue;
        }
        // A route for each setting: they have different values, and some are replaced where others are merged.
        for setting in settings::written_by(method) {
            let pattern = pattern.replace(SETTING, setting.route);
            let mut operation = operation(endpoint, &pattern, &description);
            if description.body == Body::Json {
                let example = examples::of_setting(setting);
                operation["requestBody"]["content"]["application/json"] =
                    json!({ "schema": settings::of(setting), "example": example });
            } else if method == "GET" {
                operation["responses"]["200"]["content"]["application/json"]["schema"] = settings::of(setting);
            }
            add(&pattern, operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Lamina",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A search engine with an HTTP API.",
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "security": [{ "key": [] }, {}],
        "tags": tags::all(),
        "paths": paths,
        "components": {
            "securitySchemes": { "key": {
                "type": "http",
                "scheme": "bearer",
                "description": "The master key, an API key, or (for searches) a tenant token. Not needed without a master key.",
            }},
            "schemas": answers::schemas(),
        },
    })
}

fn json_content(name: &str) -> Value {
    json!({ "application/json": { "schema": schema::named(name) } })
}

fn text_answer(description: &str, content_type: &str) -> Value {
    json!({ "description": description, "content": { content_type: { "schema": { "type": "string" } } } })
}

/// `pattern` is that of the endpoint, or of one setting.
fn operation(endpoint: Endpoint, pattern: &str, description: &Description) -> Value {
    let method = endpoint.method;
    let in_path = pattern.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path =
        in_path.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": bodies::in_path(name) }));
    let of_writes: &[&str] = if matches!(description.answer, Answer::Task(_)) { &WRITE } else { &[] };
    let in_query = description
        .parameters
        .iter()
        .chain(of_writes)
        .map(|name| json!({ "name": name, "in": "query", "schema": bodies::parameter(name) }));
    let (status, answer) = match description.answer {
        Answer::Ok(name) => (200, json!({ "description": "Done", "content": json_content(name) })),
        Answer::Created(name) => (201, json!({ "description": "Created", "content": json_content(name) })),
        Answer::Task(status) => {
            (status, json!({ "description": "Registered", "content": json_content("SummarizedTask") }))
        }
        Answer::Nothing => (204, json!({ "description": "Done" })),
        Answer::Text => (200, text_answer("Text", "text/plain")),
        Answer::Page => {
            let mut answer = text_answer("A page, or a greeting in production", "text/html");
            answer["content"]["application/json"] = json!({ "schema": schema::named("Greeting") });
            (200, answer)
        }
        Answer::Message => {
            let mut answer = text_answer("The answer to the message", "text/event-stream");
            answer["content"]["application/json"] = json!({ "schema": { "type": ["object", "array"] } });
            (200, answer)
        }
        Answer::Html => (200, text_answer("A page", "text/html")),
        Answer::Events => (200, text_answer("A JSON object an event", "text/event-stream")),
        Answer::Lines => (200, text_answer("A JSON object a line", "application/x-ndjson")),
    };
    let mut responses = Map::new();
    responses.insert(status.to_string(), answer);
    let mut refused = json!({ "description": "Refused", "content": json_content("Error") });
    if description.answer == Answer::Message {
        responses.insert("202".to_owned(), json!({ "description": "A notification, which has no answer" }));
        refused["content"]["application/json"]["schema"] = json!({ "type": "object" });
    }
    responses.insert("default".to_owned(), refused);
    let mut operation = json!({
        "operationId": operation_id(method, pattern),
        "tags": [tags::of(pattern)],
        "summary": description.summary,
        "description": needs(endpoint),
        "parameters": in_path.chain(in_query).collect::<Vec<Value>>(),
        "responses": responses,
    });
    if let Some(content) = body(method, pattern, description.body) {
        operation["requestBody"] = json!({ "required": is_needed(pattern), "content": content });
    }
    operation
}

/// Returns the accepted bodies of a route, by content type.
fn body(method: &str, pattern: &str, body: Body) -> Option<Value> {
    Some(match body {
        Body::None => return None,
        Body::Json => {
            let mut content = json!({ "schema": bodies::body_of(method, pattern) });
            if let Some(example) = examples::of_body(method, pattern) {
                content["example"] = example;
            }
            json!({ "application/json": content })
        }
        Body::Documents => json!({
            "application/json": { "schema": bodies::documents(), "example": examples::documents() },
            "application/x-ndjson": { "schema": { "type": "string" } },
            "text/csv": { "schema": { "type": "string" } },
        }),
    })
}

/// Describes the key that a route needs.
fn needs(endpoint: Endpoint) -> String {
    match endpoint.needed {
        Some(needed) => format!("A key needs the action `{}`.", needed.action.name()),
        None => "Needs no key.".to_owned(),
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
    use crate::api::ROUTES;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_of_the_table_is_described() {
        for route in ROUTES.routes().filter(|route| route.is_listed) {
            let Endpoint { method, pattern, .. } = route.endpoint;
            assert!(describe(method, pattern).is_some(), "{method} {pattern}");
        }
        let document = document(ROUTES);
        let operations =
            document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
        let ids: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
        assert!(ids.len() > ROUTES.routes().count(), "a route for each setting");
        let paths = &document["paths"];
        assert!(paths["/indexes/{indexUid}/settings/stop-words"]["put"].is_object());
        assert!(paths["/indexes/{indexUid}/settings/faceting"]["patch"].is_object());
        assert!(paths["/indexes/{indexUid}/settings/faceting"].get("put").is_none());
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids are unique");
    }

    #[test]
    fn operations_have_groups_rights_and_examples() {
        let document = document(ROUTES);
        let groups: Vec<&Value> = document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
        let paths = document["paths"].as_object().unwrap();
        let mut examples = 0;
        for (path, operation) in
            paths.iter().flat_map(|(path, all)| all.as_object().unwrap().values().map(move |one| (path, one)))
        {
            assert!(groups.contains(&&operation["tags"][0]), "{path}");
            let content = &operation["requestBody"]["content"]["application/json"];
            examples += usize::from(content.get("example").is_some());
        }
        assert!(examples > 60, "only {examples} bodies have an example");
        let search =
            &paths["/indexes/{indexUid}/search"]["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert!(search["properties"]["sort"]["description"].as_str().unwrap().contains("order"), "{search}");
        let settings = &document["components"]["schemas"]["Settings"]["properties"];
        assert!(settings["stopWords"]["description"].is_string(), "{settings}");
    }

    #[test]
    fn references_lead_somewhere() {
        let document = document(ROUTES);
        let text = document.to_string();
        for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(document.pointer(&format!("/components/schemas/{name}")).is_some_and(Value::is_object), "{name}");
        }
    }
}
