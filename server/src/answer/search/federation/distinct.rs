//! `federation.distinct`: no value of an attribute twice in the merged list.

use std::collections::HashSet;

use lamina_engine::text::normalize_facet;
use serde_json::Value;

/// The member of `_federation` in which a server sends another one the values of a hit that it may not show.
pub(crate) const DISTINCT_VALUES: &str = "distinctValues";

/// The values already used.
#[derive(Debug, Default)]
pub(crate) struct DistinctValues {
    seen: HashSet<String>,
}

impl DistinctValues {
    /// Reports whether none of the values of a document is in use, and marks them as used. Documents without a value
    /// always pass.
    pub(crate) fn admit(&mut self, values: Vec<String>) -> bool {
        if values.iter().any(|value| self.seen.contains(value)) {
            return false;
        }
        self.seen.extend(values);
        true
    }
}

/// The values of an attribute of `document` (a JSON object), in the form that they are compared in.
pub(crate) fn distinct_values(document: &Value, attribute: &str) -> Vec<String> {
    let mut values = Vec::new();
    collect(document, attribute, &mut values);
    values
}

/// The values at a dotted path, through objects and arrays, compared as facets are.
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
        // Minus zero is zero.
        Value::Number(number) => values.extend(number.as_f64().map(|number| (number + 0.0).to_string())),
        Value::String(text) if !text.trim().is_empty() => values.push(normalize_facet(text).into_owned()),
        Value::Bool(flag) => values.push(flag.to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_used_once() {
        let mut used = DistinctValues::default();
        for (document, passes) in [
            (r#"{"a":{"b":["Red","blue"]}}"#, true),
            (r#"{"a":[{"b":"red"}]}"#, false),
            (r#"{"a.b":"BLUE"}"#, false),
            (r#"{"a":{"b":1}}"#, true),
            (r#"{"a":{"b":"1"}}"#, false),
            (r#"{"a":{"b":"1.0"}}"#, true),
            (r#"{"a":{"b":1.0}}"#, false),
            (r#"{"a":{"b":null}}"#, true),
            (r#"{"a":{"b":null}}"#, true),
            (r#"{"ab":"red"}"#, true),
        ] {
            let values = distinct_values(&serde_json::from_str(document).unwrap(), "a.b");
            assert_eq!(used.admit(values), passes, "{document}");
        }
    }
}
