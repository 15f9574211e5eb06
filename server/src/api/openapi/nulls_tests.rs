//! Clients that always send all fields send null for those that they do not use: every optional field of every body takes it.
//! What is described here is what is done: an end-to-end test sends null, and an empty text, for each of these fields.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document;
use crate::api::ROUTES;

/// Places where the protocol refuses null.
const NEVER_NULL: [&str; 6] = [
    "patch /dynamic-search-rules/{ruleUid}.conditions.filter.values",
    "patch /network.remotes.*.url",
    "patch /webhooks/{uuid}.url",
    "post /dynamic-search-rules.limit",
    "post /dynamic-search-rules.offset",
    "post /export.url",
];

struct Walk<'d> {
    document: &'d Value,
    fields: usize,
    without_null: BTreeSet<String>,
}

impl<'d> Walk<'d> {
    fn resolved(&self, schema: &'d Value) -> &'d Value {
        match schema["$ref"].as_str() {
            Some(reference) => self.resolved(self.document.pointer(reference.trim_start_matches('#')).unwrap()),
            None => schema,
        }
    }

    fn alternatives(&self, schema: &'d Value) -> Vec<&'d Value> {
        let schema = self.resolved(schema);
        let others = schema["anyOf"].as_array().into_iter().flatten();
        std::iter::once(schema).chain(others.flat_map(|other| self.alternatives(other))).collect()
    }

    fn admits_null(&self, schema: &'d Value) -> bool {
        let has = |list: &Value, wanted: &Value| list.as_array().is_some_and(|list| list.contains(wanted));
        let says = |name: &String| name != "description";
        self.alternatives(schema).into_iter().any(|one| {
            let says_nothing = one.as_object().is_some_and(|members| !members.keys().any(says));
            says_nothing
                || one["type"] == "null"
                || has(&one["type"], &"null".into())
                || has(&one["enum"], &Value::Null)
        })
    }

    fn visit(&mut self, schema: &'d Value, place: &str, inside: &[&'d Value]) {
        for one in self.alternatives(schema) {
            if inside.iter().any(|outer| std::ptr::eq(*outer, one)) {
                continue;
            }
            let inside: Vec<&Value> = inside.iter().copied().chain([one]).collect();
            for (name, field) in one["properties"].as_object().into_iter().flatten() {
                let place = format!("{place}.{name}");
                let is_required = one["required"].as_array().is_some_and(|names| names.contains(&name.as_str().into()));
                self.fields += 1;
                if !is_required && !self.admits_null(field) {
                    self.without_null.insert(place.clone());
                }
                self.visit(field, &place, &inside);
            }
            for (keyword, mark) in [("items", "[]"), ("additionalProperties", ".*")] {
                if one[keyword].is_object() {
                    self.visit(&one[keyword], &format!("{place}{mark}"), &inside);
                }
            }
        }
    }
}

#[test]
fn every_optional_field_of_every_body_takes_null() {
    let document = document(ROUTES);
    let mut walk = Walk { document: &document, fields: 0, without_null: BTreeSet::new() };
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            walk.visit(
                &operation["requestBody"]["content"]["application/json"]["schema"],
                &format!("{method} {path}"),
                &[],
            );
        }
    }
    assert!(walk.fields > 300, "too few fields: {}", walk.fields);
    let found: Vec<&str> = walk.without_null.iter().map(String::as_str).collect();
    assert_eq!(found, NEVER_NULL);
}
