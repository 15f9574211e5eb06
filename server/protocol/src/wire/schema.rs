//! Words to build JSON schemas of: what `/openapi.json` says of the shapes here.

use serde_json::{Map, Value, json};

/// A schema of the components.
pub fn named(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

pub fn anything() -> Value {
    json!({})
}

pub fn text() -> Value {
    json!({ "type": "string" })
}

pub fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// An integer of at least 0.
pub fn count() -> Value {
    at_least(0)
}

pub fn at_least(minimum: u64) -> Value {
    json!({ "type": "integer", "minimum": minimum })
}

/// The address of an HTTP server.
pub fn url() -> Value {
    json!({ "type": "string", "format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?:" })
}

/// A number from 0 to 1.
pub fn share() -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": 1 })
}

pub fn number() -> Value {
    json!({ "type": "number" })
}

/// RFC 3339.
pub fn instant() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// A state of an index: its number, or a time.
pub fn state() -> Value {
    let time = r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$";
    json!({ "type": ["integer", "string"], "minimum": 0, "pattern": time })
}

pub fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

pub fn list(element: Value) -> Value {
    json!({ "type": "array", "items": element })
}

pub fn texts() -> Value {
    list(text())
}

/// A text that can name an index.
pub fn index_uid() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,400}$" })
}

/// The uid of an index, or the first part of several with a star.
pub fn index_pattern() -> Value {
    json!({ "type": "string", "pattern": "^([A-Za-z0-9_-]{1,400}|[A-Za-z0-9_-]{0,400}\\*)$" })
}

/// The same, or null.
pub fn or_null(mut schema: Value) -> Value {
    match &schema["type"] {
        Value::String(kind) if schema.get("enum").is_none() => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

/// An object with free keys.
pub fn map_of(value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": value })
}

/// An object with these fields and no others; the names of those that must be there.
pub fn exactly<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>, required: &[&str]) -> Value {
    let mut schema = open(fields, required);
    schema["additionalProperties"] = json!(false);
    schema
}

/// An object with these fields, all of them, and no others.
pub fn all_of<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let fields: Vec<(&str, Value)> = fields.into_iter().collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    exactly(fields.clone(), &required)
}

/// An object with these fields and maybe others.
pub fn open<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>, required: &[&str]) -> Value {
    let properties: Map<String, Value> = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_joins_a_type_or_an_alternative() {
        assert_eq!(or_null(at_least(1)), json!({ "type": ["integer", "null"], "minimum": 1 }));
        assert_eq!(or_null(named("Task"))["anyOf"][1]["type"], "null");
        assert_eq!(or_null(one_of(&["a"]))["anyOf"][0]["enum"], json!(["a"]), "an enumeration would not admit null");
    }
}
