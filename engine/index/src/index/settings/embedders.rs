//! `embedders`: configurations by name, and how changes are merged into them.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SettingsError;
use super::embedder::{INDEXING_FRAGMENTS, SEARCH_FRAGMENTS};
use super::patch::Setting;
use super::value::SettingValue;

/// Embedders: in a change, an object is merged field by field, and `null` removes its embedder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Embedders(Map<String, Value>);

impl Deref for Embedders {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl SettingValue for Embedders {
    type Change = BTreeMap<String, Setting<Value>>;

    fn changed(&self, sent: &BTreeMap<String, Setting<Value>>) -> Result<Embedders, SettingsError> {
        let mut embedders = self.0.clone();
        for (name, change) in sent {
            match change {
                Setting::Unset => {}
                Setting::Reset => {
                    embedders.remove(name);
                }
                Setting::Set(Value::Object(fields)) => {
                    let stored = embedders.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
                    if let Value::Object(stored) = stored {
                        follow_source(stored, fields);
                        merge(stored, fields);
                    }
                }
                Setting::Set(other) => {
                    embedders.insert(name.clone(), other.clone());
                }
            }
        }
        Ok(Embedders(embedders))
    }
}

/// The fields that belong to one provider.
const OF_SOURCE: [&str; 12] = [
    "model",
    "revision",
    "pooling",
    "dimensions",
    "url",
    "request",
    "response",
    "headers",
    "indexingFragments",
    "searchFragments",
    "searchEmbedder",
    "indexingEmbedder",
];

/// The embedder of a composite one that makes the vectors of documents.
const INDEXING_EMBEDDER: &str = "indexingEmbedder";
/// The embedder of a composite one that makes the vectors of queries.
const SEARCH_EMBEDDER: &str = "searchEmbedder";

/// Puts `change` over a stored configuration: field by field, fragments by their names; `null` takes away. The vectors of a
/// document are in the order of the fragments: new ones come last, by their names.
///
/// The nested embedder for indexing is merged in the same way. The one for searching is replaced, as the protocol has it:
/// no stored vector depends on it.
fn merge(stored: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (field, value) in change {
        match value {
            Value::Null => drop(stored.remove(field)),
            Value::Object(fragments) if [INDEXING_FRAGMENTS, SEARCH_FRAGMENTS].contains(&field.as_str()) => {
                let merged = stored.entry(field.clone()).or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(merged) = merged else { continue };
                let mut fragments: Vec<_> = fragments.iter().collect();
                fragments.sort_by_key(|(name, _)| *name);
                for (name, fragment) in fragments {
                    if fragment.is_null() {
                        merged.shift_remove(name);
                    } else {
                        merged.insert(name.clone(), fragment.clone());
                    }
                }
                if merged.is_empty() {
                    stored.remove(field);
                }
            }
            Value::Object(nested) if [INDEXING_EMBEDDER, SEARCH_EMBEDDER].contains(&field.as_str()) => {
                let kept = stored.entry(field.clone()).or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(kept) = kept else { continue };
                if field == SEARCH_EMBEDDER {
                    kept.clear();
                }
                follow_source(kept, nested);
                merge(kept, nested);
            }
            value => drop(stored.insert(field.clone(), value.clone())),
        }
    }
}

/// Forgets what belonged to the source of `stored` when `change` names another.
fn follow_source(stored: &mut Map<String, Value>, change: &Map<String, Value>) {
    const DEFAULT_SOURCE: &str = "openAi";
    let Some(new) = change.get("source").map(|source| source.as_str().unwrap_or(DEFAULT_SOURCE)) else { return };
    if new == stored.get("source").and_then(Value::as_str).unwrap_or(DEFAULT_SOURCE) {
        return;
    }
    stored.retain(|field, _| !OF_SOURCE.contains(&field.as_str()));
    if matches!(new, "userProvided" | "composite") {
        stored.retain(|field, _| !field.starts_with("documentTemplate") && field != "chunks");
    }
    // It would be refused beside a source that takes none.
    if !matches!(new, "openAi" | "ollama" | "rest") {
        stored.remove("apiKey");
    }
}

#[cfg(test)]
mod tests {
    use super::super::embedder::fragments_of;
    use super::*;
    use serde_json::json;

    #[test]
    fn another_source_forgets_the_fields_of_the_one_before() {
        let after = |change: Value| {
            let mut stored = json!({"source": "rest", "url": "a", "documentTemplate": "t", "apiKey": "k"});
            follow_source(stored.as_object_mut().unwrap(), change.as_object().unwrap());
            stored
        };
        let all = json!({"source": "rest", "url": "a", "documentTemplate": "t", "apiKey": "k"});
        assert_eq!(after(json!({"source": "rest", "url": "b"})), all);
        assert_eq!(after(json!({"url": "b"})), all);
        assert_eq!(after(json!({"source": null})), json!({"source": "rest", "documentTemplate": "t", "apiKey": "k"}));
        assert_eq!(after(json!({"source": "userProvided"})), json!({"source": "rest"}));
        assert_eq!(after(json!({"source": "huggingFace"})), json!({"source": "rest", "documentTemplate": "t"}));
    }

    #[test]
    fn the_nested_embedder_for_indexing_is_merged_and_that_for_searching_replaced() {
        let mut stored = Map::new();
        let mut change = |change: Value| {
            follow_source(&mut stored, change.as_object().unwrap());
            merge(&mut stored, change.as_object().unwrap());
            Value::from(stored.clone())
        };
        let fragments = json!({"b": {"value": 2}, "a": {"value": 1}});
        let after = change(json!({
            "source": "composite",
            "indexingEmbedder": {"source": "rest", "url": "u", "headers": null, "indexingFragments": fragments},
            "searchEmbedder": {"source": "rest", "url": "u", "apiKey": "k"},
        }));
        let indexing = after["indexingEmbedder"].as_object().unwrap();
        let names: Vec<String> = fragments_of(indexing, INDEXING_FRAGMENTS).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b"], "by their names, as outside of a composite embedder");
        assert!(!indexing.contains_key("headers"), "{indexing:?}");
        let after = change(json!({
            "indexingEmbedder": {"source": "rest", "apiKey": "k", "indexingFragments": {"a": null, "c": {"value": 3}}},
            "searchEmbedder": {"source": "rest", "url": "v"},
        }));
        assert_eq!(
            after,
            json!({
                "source": "composite",
                "indexingEmbedder": {
                    "source": "rest", "url": "u", "apiKey": "k",
                    "indexingFragments": {"b": {"value": 2}, "c": {"value": 3}}
                },
                "searchEmbedder": {"source": "rest", "url": "v"}
            })
        );
        let after = change(json!({"indexingEmbedder": {"source": "ollama", "model": "m"}}));
        assert_eq!(after["indexingEmbedder"], json!({"source": "ollama", "apiKey": "k", "model": "m"}));
    }

    #[test]
    fn fragments_are_merged_by_name() {
        let mut stored = json!({"url": "u"});
        let stored = stored.as_object_mut().unwrap();
        let change = |change: Value, stored: &mut Map<String, Value>| merge(stored, change.as_object().unwrap());
        change(json!({"indexingFragments": {"b": {"value": 2}, "a": {"value": 1}}}), stored);
        let names = fragments_of(stored, INDEXING_FRAGMENTS);
        assert_eq!(names, [("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))], "new ones by their names");
        change(json!({"indexingFragments": {"a": null, "c": {"value": 3}}, "url": null, "apiKey": "k"}), stored);
        assert_eq!(
            Value::from(stored.clone()),
            json!({"indexingFragments": {"b": {"value": 2}, "c": {"value": 3}}, "apiKey": "k"})
        );
        assert_eq!(fragments_of(stored, INDEXING_FRAGMENTS), [("b".to_owned(), json!(2)), ("c".to_owned(), json!(3))]);
        change(json!({"indexingFragments": {"b": null, "c": null}, "searchFragments": {"x": null}}), stored);
        assert_eq!(Value::from(stored.clone()), json!({"apiKey": "k"}));
    }
}
