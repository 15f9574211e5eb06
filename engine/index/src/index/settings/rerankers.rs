//! `rerankers`: what puts the first hits of a search into another order, by name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::SettingsError;
use super::definition::{Definition, Effect};
use super::patch::Setting;

/// `rerankers`: in a change, an object is merged field by field, and `null` removes its reranker. The engine keeps them as
/// they were sent, and asks none.
#[derive(Debug)]
pub struct Rerankers;

impl Definition for Rerankers {
    const NAME: &'static str = "rerankers";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Map<String, Value>;
    type Patch = BTreeMap<String, Setting<Value>>;

    fn default_value() -> Map<String, Value> {
        Map::new()
    }

    fn applied(
        current: &Map<String, Value>,
        sent: &BTreeMap<String, Setting<Value>>,
    ) -> Result<Map<String, Value>, SettingsError> {
        let mut rerankers = current.clone();
        for (name, change) in sent {
            match change {
                Setting::Unset => {}
                Setting::Reset => drop(rerankers.shift_remove(name)),
                Setting::Set(change) => {
                    let stored = rerankers.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
                    merge(stored, change);
                }
            }
        }
        Ok(rerankers)
    }
}

fn merge(stored: &mut Value, change: &Value) {
    let (Value::Object(stored), Value::Object(change)) = (stored, change) else { return };
    for (field, value) in change {
        match value {
            Value::Null => drop(stored.shift_remove(field)),
            value => drop(stored.insert(field.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rerankers_merge_by_name_then_by_field() {
        let applied = |current: &Map<String, Value>, sent: Value| {
            let sent: BTreeMap<String, Setting<Value>> = serde_json::from_value(sent).unwrap();
            Rerankers::applied(current, &sent).unwrap()
        };
        let first = applied(&Map::new(), json!({"a": {"url": "u", "apiKey": "k"}, "b": {"url": "v"}}));
        let second = applied(&first, json!({"a": {"url": "w", "apiKey": null, "model": "m"}, "b": null}));
        assert_eq!(Value::Object(second), json!({"a": {"url": "w", "model": "m"}}));
    }
}
