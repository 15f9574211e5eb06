//! `/openapi.json`: what this server answers, for tools. Made from the table of routes, so it describes neither more nor
//! less than there is.

mod answers;
mod bodies;
mod facets;
#[cfg(test)]
mod nulls_tests;
pub(super) mod searches;
pub(super) mod settings;
pub(super) mod tags;

use lamina_protocol::wire::schema;
use serde_json::{Map, Value, json};

use crate::http::requests::Endpoint;
use crate::http::routing::{Answer, Body, Route, Table};

/// Stands for the name of a setting in the table of routes.
const SETTING: &str = "{setting}";
/// Parameters of every route that registers a task.
const WRITE: [&str; 3] = ["customMetadata", "wait", "waitMs"];

/// The whole document, OpenAPI 3.1.
pub(super) fn document(table: Table) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (tag, routes) in table.0 {
        for route in routes.iter().filter(|route| route.is_listed()) {
            let Endpoint { method, pattern, .. } = route.endpoint;
            let mut add = |pattern: &str, operation: Value| {
                let path = paths.entry(pattern).or_insert_with(|| json!({}));
                path[method.to_ascii_lowercase()] = operation;
            };
            if !pattern.ends_with(SETTING) {
                add(pattern, operation(tag, route, pattern));
                continue;
            }
            // A route for each setting: they have different values, and some are replaced where others are merged.
            for setting in settings::written_by(method) {
                let pattern = pattern.replace(SETTING, setting.route);
                add(&pattern, settings::operation(route, setting, operation(tag, route, &pattern)));
            }
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

/// Describes a route. `pattern` is its own, or that of one setting.
fn operation(tag: &str, route: &Route, pattern: &str) -> Value {
    let in_path = pattern.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path =
        in_path.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": bodies::in_path(name) }));
    let of_writes: &[&str] = if matches!(route.answer, Answer::Task(_)) { &WRITE } else { &[] };
    let in_query = (route.query)()
        .iter()
        .chain(of_writes)
        .map(|name| json!({ "name": name, "in": "query", "schema": bodies::parameter(name) }));
    let mut operation = json!({
        "operationId": operation_id(route.endpoint.method, pattern),
        "tags": [tag],
        "summary": route.summary,
        "description": needs(route.endpoint),
        "parameters": in_path.chain(in_query).collect::<Vec<Value>>(),
        "responses": responses(route.answer),
    });
    if let Some(body) = body(route.body) {
        operation["requestBody"] = body;
    }
    operation
}

/// Returns the responses of a route by their statuses.
fn responses(answer: Answer) -> Map<String, Value> {
    let (status, body) = match answer {
        Answer::Ok(name) => (200, json!({ "description": "Done", "content": json_content(name) })),
        Answer::Created(name) => (201, json!({ "description": "Created", "content": json_content(name) })),
        Answer::Task(status) => {
            (status, json!({ "description": "Registered", "content": json_content("SummarizedTask") }))
        }
        Answer::Nothing => (204, json!({ "description": "Done" })),
        Answer::Text => (200, text_answer("Text", "text/plain")),
        Answer::Page => {
            let mut page = text_answer("A page, or a greeting in production", "text/html");
            page["content"]["application/json"] = json!({ "schema": schema::named("Greeting") });
            (200, page)
        }
        Answer::Message => {
            let mut message = text_answer("The answer to the message", "text/event-stream");
            message["content"]["application/json"] = json!({ "schema": { "type": ["object", "array"] } });
            (200, message)
        }
        Answer::Html => (200, text_answer("A page", "text/html")),
        Answer::Events => (200, text_answer("A JSON object an event", "text/event-stream")),
        Answer::Lines => (200, text_answer("A JSON object a line", "application/x-ndjson")),
    };
    let mut responses = Map::new();
    responses.insert(status.to_string(), body);
    let mut refused = json!({ "description": "Refused", "content": json_content("Error") });
    if answer == Answer::Message {
        responses.insert("202".to_owned(), json!({ "description": "A notification, which has no answer" }));
        refused["content"]["application/json"]["schema"] = json!({ "type": "object" });
    }
    responses.insert("default".to_owned(), refused);
    responses
}

/// Returns the accepted bodies of a route, by content type.
fn body(body: Body) -> Option<Value> {
    let (content, is_required) = match body {
        Body::None => return None,
        Body::Json { schema, example, is_required } => {
            let mut content = json!({ "schema": schema() });
            if !example.is_empty() {
                content["example"] = serde_json::from_str(example).expect("examples are JSON");
            }
            (json!({ "application/json": content }), is_required)
        }
        Body::Documents => {
            let example = json!([
                { "id": 1, "title": "Alien", "genre": ["Horror"], "year": 1979 },
                { "id": 2, "title": "Up", "genre": ["Animation"], "year": 2009 },
            ]);
            let content = json!({
                "application/json": { "schema": bodies::documents(), "example": example },
                "application/x-ndjson": { "schema": { "type": "string" } },
                "text/csv": { "schema": { "type": "string" } },
            });
            (content, true)
        }
    };
    Some(json!({ "required": is_required, "content": content }))
}

/// Describes the key that a route needs.
fn needs(endpoint: Endpoint) -> String {
    match endpoint.needed {
        Some(needed) => format!("A key needs the action `{}`.", needed.action.name()),
        None => "Needs no key.".to_owned(),
    }
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
    use lamina_protocol::wire::search;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_has_its_operation() {
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
    fn bodies_have_types_and_bounds() {
        let document = document(ROUTES);
        let body = |method: &str, path: &str| {
            document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"].clone()
        };
        let of_search = body("post", "/indexes/{indexUid}/search");
        let limit = &of_search["properties"]["limit"];
        assert_eq!((&limit["type"], &limit["minimum"]), (&json!(["integer", "null"]), &json!(0)));
        assert_eq!(of_search["properties"].as_object().unwrap().len(), search::fields().len());
        assert_eq!(body("post", "/keys")["required"], json!(["actions", "indexes", "expiresAt"]));
        let settings = body("patch", "/indexes/{indexUid}/settings");
        let fields = &settings["properties"];
        assert_eq!(fields["pagination"]["properties"]["maxTotalHits"]["minimum"], 1);
        assert_eq!(fields["proximityPrecision"]["anyOf"][0]["enum"], json!(["byWord", "byAttribute"]));
        assert_eq!(settings["additionalProperties"], false);
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
