//! `federation.distinct`: no value of an attribute twice in the merged list.

use std::collections::HashSet;

use lamina_engine::text::normalize_facet;
use serde_json::Value;

/// The values already used.
#[derive(Debug)]
pub(crate) struct DistinctValues<'a> {
    attribute: &'a str,
    seen: HashSet<String>,
}

impl<'a> DistinctValues<'a> {
    pub(crate) fn new(attribute: &'a str) -> DistinctValues<'a> {
        DistinctValues { attribute, seen: HashSet::new() }
    }

    /// Whether `document` (a JSON object) has no value that was used; its values are used then. Documents without a
    /// value always pass.
    pub(crate) fn insert(&mut self, document: &[u8]) -> bool {
        let mut values = Vec::new();
        if let Ok(document) = serde_json::from_slice::<Value>(document) {
            collect(&document, self.attribute, &mut values);
        }
        if values.iter().any(|value| self.seen.contains(value)) {
            return false;
        }
        self.seen.extend(values);
        true
    }
}

/// The values at a dotted path, through objects and arrays, compared as facets are: a number is no string.
fn collect(value: &Value, path: &str, values: &mut Vec<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, path, values)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match path.strip_prefix(name.as_str()) {
                    Some("") => leaf(value, values),
                    Some(rest) if rest.starts_with('.') => collect(value, &rest[1..], values),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn leaf(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| leaf(element, values)),
        Value::Number(number) => values.extend(number.as_f64().map(|number| format!("n{number}"))),
        Value::String(text) if !text.trim().is_empty() => values.push(format!("s{}", normalize_facet(text))),
        Value::Bool(flag) => values.push(format!("s{flag}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_used_once() {
        let mut values = DistinctValues::new("a.b");
        for (document, passes) in [
            (r#"{"a":{"b":["Red","blue"]}}"#, true),
            (r#"{"a":[{"b":"red"}]}"#, false),
            (r#"{"a.b":"BLUE"}"#, false),
            (r#"{"a":{"b":1}}"#, true),
            (r#"{"a":{"b":"1"}}"#, true),
            (r#"{"a":{"b":1.0}}"#, false),
            (r#"{"a":{"b":null}}"#, true),
            (r#"{"a":{"b":null}}"#, true),
            (r#"{"ab":"red"}"#, true),
        ] {
            assert_eq!(values.insert(document.as_bytes()), passes, "{document}");
        }
    }
}
