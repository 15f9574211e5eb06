//! Bodies with something wrong in one place, made from the schemas of `/openapi.json`.

use serde_json::{Map, Value, json};

use super::routes::Route;
use crate::described::{Schemas, example};

/// Texts that are shown in full.
const SHOWN_BYTES_MAX: usize = 80;

/// A body, and what is special in it.
pub(super) type Probe = (String, Value);

/// Values put in the place of every value: most of it belongs elsewhere.
fn candidates() -> [Value; 4] {
    [json!(null), json!(-1), json!([true]), json!({"doggo": 1})]
}

/// Values put in the place of a body and of its fields besides.
fn other_candidates() -> [Value; 3] {
    [json!(true), json!(1.5), json!("a b")]
}

/// Values just outside the bounds of a schema, and words next to those that it lists.
fn beyond(schema: &Value) -> Vec<Value> {
    let mut values = Vec::new();
    for (bound, step) in [("minimum", -1.0), ("maximum", 1.0), ("exclusiveMinimum", 0.0), ("exclusiveMaximum", 0.0)] {
        match &schema[bound] {
            Value::Number(limit) if limit.is_i64() => {
                values.push(json!(limit.as_i64().expect("an integer") + step as i64))
            }
            Value::Number(limit) => values.push(json!(limit.as_f64().expect("a number") + step)),
            _ => {}
        }
    }
    if let Some(most) = schema["maxItems"].as_u64().filter(|most| *most < 2000) {
        values.push(vec![json!("films"); most as usize + 1].into());
    }
    let words = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    values.extend(words.take(1).map(|word| json!(format!("{word}x"))));
    values
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= SHOWN_BYTES_MAX { text } else { format!("{} bytes of JSON", text.len()) }
}

/// Makes bodies of schemas.
struct Maker<'a> {
    schemas: Schemas<'a>,
    /// The schemas around the present one: an embedder may have embedders inside.
    around: Vec<&'a Value>,
}

impl<'a> Maker<'a> {
    fn new(document: &'a Value) -> Maker<'a> {
        Maker { schemas: Schemas(document), around: Vec::new() }
    }

    /// The bodies of a schema.
    fn probes(&mut self, schema: &'a Value) -> Vec<Probe> {
        let mut found: Vec<Probe> = candidates().into_iter().map(named).collect();
        if self.around.len() <= 1 {
            found.extend(other_candidates().map(named));
        }
        let alternatives = self.schemas.alternatives(schema);
        let forms = alternatives.iter().filter(|schema| schema["properties"].is_object()).count();
        for (form, schema) in (1..).zip(alternatives) {
            found.extend(beyond(schema).into_iter().map(named));
            if self.around.iter().any(|outer| std::ptr::eq(*outer, schema)) {
                continue;
            }
            self.around.push(schema);
            if let Some(fields) = schema["properties"].as_object() {
                let inner = self.of_fields(schema, fields).into_iter();
                let form = if forms > 1 { format!("({form})") } else { String::new() };
                found.extend(inner.map(|(name, value)| (format!("{form}{name}"), value)));
            }
            if schema["items"].is_object() {
                let inner = self.inner(&schema["items"]).into_iter();
                found.extend(inner.map(|(name, value)| (format!("[0]{name}"), json!([value]))));
            }
            if schema["additionalProperties"].is_object() {
                let inner = self.inner(&schema["additionalProperties"]).into_iter();
                found.extend(inner.map(|(name, value)| (format!(".films{name}"), json!({ "films": value }))));
            }
            self.around.pop();
        }
        found
    }

    /// Values for an element or an entry: all of them only for objects.
    fn inner(&mut self, schema: &'a Value) -> Vec<Probe> {
        let alternatives = self.schemas.alternatives(schema);
        if alternatives.iter().any(|schema| schema["properties"].is_object()) {
            self.probes(schema)
        } else {
            alternatives.into_iter().flat_map(beyond).map(named).collect()
        }
    }

    /// Objects in which one field is wrong, unknown or missing.
    fn of_fields(&mut self, schema: &Value, fields: &'a Map<String, Value>) -> Vec<Probe> {
        let required = required(schema).into_iter();
        let least: Vec<(String, Value)> =
            required.map(|name| (name.to_owned(), valid(&self.schemas, name, &fields[name]))).collect();
        let with = |name: &str, value: Option<Value>| {
            let others = least.iter().filter(|(other, _)| other != name).cloned();
            Value::Object(others.chain(value.map(|value| (name.to_owned(), value))).collect())
        };
        let missing = least.iter().map(|(name, _)| (format!(" without {name}"), with(name, None)));
        let mut found: Vec<Probe> = missing.collect();
        for (name, schema) in fields {
            let near = format!("{name}z");
            found.push((format!(".{near} = 1"), with(&near, Some(json!(1)))));
            let values = self.probes(schema).into_iter();
            found.extend(values.map(|(rest, value)| (format!(".{name}{rest}"), with(name, Some(value)))));
        }
        found
    }
}

/// The names of fields that must be there.
fn required(schema: &Value) -> Vec<&str> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.map(|name| name.as_str().expect("a name")).collect()
}

/// A value that a field accepts.
fn valid(schemas: &Schemas<'_>, name: &str, schema: &Value) -> Value {
    let mut values =
        vec![example(name), json!("films"), json!(1), json!(true), json!([]), json!({}), json!("30d"), json!("now")];
    for schema in schemas.alternatives(schema) {
        values.extend(schema.get("const").cloned());
        values.extend(schema["enum"].as_array().into_iter().flatten().take(1).cloned());
        if let Some(fields) = schema["properties"].as_object() {
            let least = required(schema).into_iter().map(|name| (name.to_owned(), valid(schemas, name, &fields[name])));
            values.push(Value::Object(least.collect()));
        }
    }
    let value = values.into_iter().find(|value| schemas.admits(schema, value));
    value.unwrap_or_else(|| panic!("no value for `{name}`: {schema}"))
}

fn named(value: Value) -> Probe {
    (format!(" = {}", shown(&value)), value)
}

/// All bodies of the schema of a route.
pub(super) fn probes(route: &Route, document: &Value) -> Vec<Probe> {
    let found = route.schema().map(|schema| Maker::new(document).probes(schema)).unwrap_or_default();
    found.into_iter().map(|(name, body)| (name.trim_start_matches('.').to_owned(), body)).collect()
}
