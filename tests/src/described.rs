//! What `/openapi.json` says of bodies, against what is done with them: bodies made from it, right ones and ones with
//! something wrong in one place.

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex};

use regex::Regex;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::server::{Server, UNREACHABLE};

/// Returns a valid value of a mandatory field, regardless of its place.
pub(crate) fn example(field: &str) -> Value {
    match field {
        "indexes" => json!(["films", "books"]),
        "id" => json!(1),
        "queries" => json!([]),
        "actions" => json!(["search"]),
        "expiresAt" => Value::Null,
        "url" => json!(UNREACHABLE),
        "attributePatterns" => json!(["year"]),
        "locales" => json!(["eng"]),
        "mean" | "sigma" => json!(0.5),
        "filter" => json!("year = 1"),
        "function" => json!("doc.year = 1"),
        "facetName" => json!("year"),
        // Names of indexes, fields and embedders.
        _ => json!("films"),
    }
}

/// Returns the values that replace every value: some of them are valid there, most are not.
fn candidates() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(300),
        json!(1.5),
        json!(""),
        json!("films"),
        json!(" films "),
        json!("a b/c"),
        json!("year:asc"),
        json!("2 MiB"),
        json!("info,warp=off"),
        json!("2999-12-31"),
        json!(UNREACHABLE),
        json!([]),
        json!(["films"]),
        json!([1]),
        json!([null]),
        json!([[]]),
        json!([["films"]]),
        json!([[["films"]]]),
        json!({}),
        json!({"films": "films"}),
        json!({"films": null}),
        json!({"films": ["films"]}),
        json!({"films": 1}),
    ]
}

/// JSON Schema, as much of it as the description uses.
pub(crate) struct Schemas<'a>(pub(crate) &'a Value);

impl<'a> Schemas<'a> {
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(reference) => {
                let place = reference.strip_prefix('#').expect("references stay inside");
                self.resolved(self.0.pointer(place).unwrap_or_else(|| panic!("nothing at {reference}")))
            }
            None => schema,
        }
    }

    /// Reports whether `value` conforms to `schema`. Constraints that it cannot check, such as the validity of a date,
    /// count as met.
    pub(crate) fn admits(&self, schema: &'a Value, value: &Value) -> bool {
        let schema = self.resolved(schema);
        schema.as_object().expect("a schema").iter().all(|(keyword, says)| match keyword.as_str() {
            "type" => self.is_of(says, value),
            "const" => says == value,
            "enum" => says.as_array().expect("values").contains(value),
            "anyOf" => says.as_array().expect("schemas").iter().any(|schema| self.admits(schema, value)),
            "minimum" => value.as_f64().is_none_or(|number| number >= says.as_f64().expect("a number")),
            "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > says.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|number| number <= says.as_f64().expect("a number")),
            "exclusiveMaximum" => value.as_f64().is_none_or(|number| number < says.as_f64().expect("a number")),
            "pattern" => value.as_str().is_none_or(|text| is_match(says.as_str().expect("a text"), text)),
            "format" if says == "uuid" => value.as_str().is_none_or(|text| text.len() == 36),
            "format" | "description" => true,
            "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= says.as_u64().expect("a count")),
            "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= says.as_u64().expect("a count")),
            "items" => value.as_array().is_none_or(|list| list.iter().all(|element| self.admits(says, element))),
            "contains" => value.as_array().is_none_or(|list| list.iter().any(|element| self.admits(says, element))),
            "required" => value.as_object().is_none_or(|fields| {
                says.as_array().expect("names").iter().all(|name| fields.contains_key(name.as_str().expect("a name")))
            }),
            "propertyNames" => {
                value.as_object().is_none_or(|fields| fields.keys().all(|name| self.admits(says, &json!(name))))
            }
            "properties" => value.as_object().is_none_or(|fields| {
                fields.iter().all(|(name, value)| says.get(name).is_none_or(|schema| self.admits(schema, value)))
            }),
            "additionalProperties" => value.as_object().is_none_or(|fields| {
                let mut others = fields.iter().filter(|(name, _)| schema["properties"].get(*name).is_none());
                others.all(|(_, value)| if says.is_boolean() { says == true } else { self.admits(says, value) })
            }),
            other => panic!("the keyword `{other}` is new: teach it to this test"),
        })
    }

    fn is_of(&self, kinds: &Value, value: &Value) -> bool {
        let is = |kind: &Value| match kind.as_str().expect("the name of a type") {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("the type `{other}` is unknown"),
        };
        kinds.as_array().map_or_else(|| is(kinds), |kinds| kinds.iter().any(is))
    }

    /// The schema and its alternatives, resolved.
    pub(crate) fn alternatives(&self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolved(schema);
        let others = schema["anyOf"].as_array().into_iter().flatten();
        std::iter::once(schema).chain(others.flat_map(|other| self.alternatives(other))).collect()
    }

    /// Bodies for `schema`, as JSON: all of a small one, every third of a large one, whose neighbours differ in one value.
    fn bodies(&self, schema: &'a Value, shown: &Value) -> Vec<String> {
        let all: BTreeSet<String> = self.values(schema, 0).iter().chain([shown]).map(Value::to_string).collect();
        let step = if all.len() > 200 { 3 } else { 1 };
        all.into_iter().step_by(step).collect()
    }

    /// Values for the place of `schema`, which is `depth` levels below the body: the candidates, and the right values
    /// with something wrong inside.
    fn values(&self, schema: &'a Value, depth: usize) -> Vec<Value> {
        let mut values = candidates();
        // An embedder may have embedders inside, and so on.
        if depth > 3 {
            return values;
        }
        for schema in self.alternatives(schema) {
            values.extend(schema["enum"].as_array().into_iter().flatten().take(2).cloned());
            if let Some(fields) = schema["properties"].as_object() {
                let names = schema["required"].as_array().into_iter().flatten();
                let least: Map<String, Value> = names
                    .map(|name| name.as_str().expect("a name"))
                    .map(|name| (name.to_owned(), example(name)))
                    .collect();
                let with = |name: &str, value: Value| {
                    let mut fields = least.clone();
                    fields.insert(name.to_owned(), value);
                    Value::Object(fields)
                };
                values.push(Value::Object(least.clone()));
                values.push(with("doggo", json!(1)));
                for name in least.keys() {
                    let mut fields = least.clone();
                    fields.shift_remove(name);
                    values.push(Value::Object(fields));
                }
                for (name, schema) in fields {
                    values.extend(self.values(schema, depth + 1).into_iter().map(|value| with(name, value)));
                }
            }
            let inner = |schema: &'a Value| {
                let has_fields = self.alternatives(schema).iter().any(|schema| schema["properties"].is_object());
                if has_fields { self.values(schema, depth + 1) } else { Vec::new() }
            };
            if schema["items"].is_object() {
                values.extend(inner(&schema["items"]).into_iter().map(|value| json!([value])));
            }
            if schema["additionalProperties"].is_object() {
                let all = inner(&schema["additionalProperties"]);
                values.extend(all.into_iter().map(|value| json!({ "films": value })));
            }
        }
        values
    }
}

/// Reports whether a text matches a pattern. Each pattern is compiled once, for there are few, and thousands of texts.
fn is_match(pattern: &str, text: &str) -> bool {
    static COMPILED: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Default::default);
    let mut compiled = COMPILED.lock().unwrap();
    let new = || Regex::new(pattern).expect("a regular expression");
    compiled.entry(pattern.to_owned()).or_insert_with(new).is_match(text)
}

/// Beginnings of messages that refuse a body for its form, not for the state of the server.
const REFUSALS: [&str; 9] = [
    "Invalid value",
    "Invalid array len",
    "Invalid syntax for the filter parameter",
    "Invalid URL",
    "Unknown field",
    "Unknown value",
    "Missing field",
    "Sending an empty filter",
    "The context must be",
];

const SWITCHED_ON: [&str; 7] = [
    "editDocumentsByFunction",
    "containsFilter",
    "network",
    "compositeEmbedders",
    "multimodal",
    "renderRoute",
    "chatCompletions",
];

/// Documents are no objects that are read; the stream never ends, and a conversation asks another server.
fn is_left_out(method: &str, path: &str) -> bool {
    let has_documents = path.ends_with("/documents") && method != "patch";
    has_documents || path == "/logs/stream" || path.ends_with("/chat/completions")
}

#[test]
fn bodies_are_checked_as_they_are_described() {
    // No task is carried out: thousands of bodies are checked, and hardly one changes what others find.
    let server = Server::with_options(&["--experimental-replication-parameters", "--master-key", "MASTER_KEY"]);
    let server = server.with_key("MASTER_KEY");
    let on: Map<String, Value> = SWITCHED_ON.iter().map(|feature| (feature.to_string(), true.into())).collect();
    server.patch("/experimental-features", Value::Object(on)).ok();
    server.patch("/experimental-features", json!({"logsRoute": true})).ok();
    let embedder = json!({"source": "userProvided", "dimensions": 1});
    server.set("films", json!({"filterableAttributes": ["year", "films"], "embedders": {"films": embedder}}));
    server.add("films", json!([{"id": 1, "year": 1, "_vectors": {"films": [1]}}]));

    let key = server.post("/keys", json!({"actions": [], "indexes": [], "expiresAt": null})).ok();
    let webhook = server.post("/webhooks", json!({"url": UNREACHABLE})).ok();

    let document = server.get("/openapi.json").ok();
    let schemas = Schemas(&document);
    let (mut sent, mut differences) = (0, BTreeSet::new());
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() || is_left_out(method, path) {
                continue;
            }
            let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap();
            let place = path
                .replace("{indexUid}", "films")
                .replace("{alias}", "pictures")
                .replace("{chatUid}", "talk")
                .replace("{key}", key["uid"].as_str().expect("a uid"))
                .replace("{uuid}", webhook["uuid"].as_str().expect("a uuid"));
            let shown = &operation["requestBody"]["content"]["application/json"]["example"];
            assert!(shown.is_null() || schemas.admits(schema, shown), "the example of {method} {path}: {shown}");
            for text in schemas.bodies(schema, shown) {
                let body: Value = serde_json::from_str(&text).unwrap();
                let request = server.request(method.clone(), &place).header("DryRun", "true");
                let answer = server.send(request.json(&body));
                assert!(answer.status < 500, "{method} {path} {text}: {}", answer.text);
                let message = answer.body["message"].as_str().unwrap_or_default();
                // Whether a remote needs an address depends on the remotes that there are.
                let is_malformed = answer.body["code"] != "missing_network_url"
                    && REFUSALS.iter().any(|refusal| message.starts_with(refusal));
                match (schemas.admits(schema, &body), answer.status) {
                    (true, 400..) if is_malformed => {
                        differences.insert(format!("{method} {path} described, but refused: {text}: {message}"));
                    }
                    (false, ..400) => {
                        differences.insert(format!("{method} {path} not described, but accepted: {text}"));
                    }
                    _ => {}
                }
                sent += 1;
            }
        }
    }
    assert!(sent > 2000, "only {sent} bodies");
    let shown: Vec<&String> = differences.iter().take(20).collect();
    assert!(differences.is_empty(), "{} differences of {sent} bodies:\n{shown:#?}", differences.len());
}
