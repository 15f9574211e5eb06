//! Settings of the caller, which the engine stores with the others.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SettingsError;
use super::value::SettingValue;

/// An object of JSON that the engine stores and never reads. A change is merged into it: null removes a field, and objects are
/// merged down to `LEVELS`, below which they are replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Opaque<const LEVELS: usize>(Map<String, Value>);

impl<const LEVELS: usize> Deref for Opaque<LEVELS> {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<const LEVELS: usize> SettingValue for Opaque<LEVELS> {
    type Change = Map<String, Value>;

    fn changed(&self, sent: &Map<String, Value>) -> Result<Self, SettingsError> {
        let mut merged = self.0.clone();
        merge(&mut merged, sent, LEVELS);
        Ok(Opaque(merged))
    }
}

fn merge(stored: &mut Map<String, Value>, change: &Map<String, Value>, levels: usize) {
    for (field, value) in change {
        match (stored.get_mut(field), value) {
            (_, Value::Null) => drop(stored.shift_remove(field)),
            (Some(Value::Object(stored)), Value::Object(change)) if levels > 1 => merge(stored, change, levels - 1),
            (_, Value::Object(change)) if levels > 1 => {
                let mut new = Map::new();
                merge(&mut new, change, levels - 1);
                stored.insert(field.clone(), Value::Object(new));
            }
            _ => drop(stored.insert(field.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed<const LEVELS: usize>(current: &Opaque<LEVELS>, sent: &Value) -> Opaque<LEVELS> {
        current.changed(sent.as_object().expect("an object")).unwrap()
    }

    #[test]
    fn fields_are_merged_and_removed() {
        let first: Opaque<{ usize::MAX }> = changed(
            &Opaque::default(),
            &json!({"description": "films", "searchParameters": {"limit": 5, "sort": null}}),
        );
        assert_eq!(json!(first), json!({"description": "films", "searchParameters": {"limit": 5}}));
        let second =
            changed(&first, &json!({"description": null, "searchParameters": {"limit": null, "distinct": "a"}}));
        assert_eq!(json!(second), json!({"searchParameters": {"distinct": "a"}}));
    }

    #[test]
    fn objects_below_the_last_level_are_replaced() {
        let first: Opaque<2> = changed(
            &Opaque::default(),
            &json!({"a": {"url": "u", "apiKey": "k", "headers": {"x": "1", "y": null}}, "b": {"url": "v"}}),
        );
        assert_eq!(first["a"]["headers"], json!({"x": "1", "y": null}));
        let second = changed(
            &first,
            &json!({"a": {"url": "w", "apiKey": null, "model": "m", "headers": {"z": "2"}}, "b": null}),
        );
        assert_eq!(json!(second), json!({"a": {"url": "w", "headers": {"z": "2"}, "model": "m"}}));
    }
}
