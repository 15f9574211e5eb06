//! `chat`: what a model in a conversation learns of the index, and how it searches there.

use serde_json::{Map, Value};

use super::SettingsError;
use super::definition::{Definition, Effect};

/// `chat`: in a change, `null` removes a field, and the search parameters are merged, too. The engine keeps it as it was sent.
#[derive(Debug)]
pub struct Chat;

impl Definition for Chat {
    const NAME: &'static str = "chat";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Map<String, Value>;
    type Patch = Map<String, Value>;

    fn default_value() -> Map<String, Value> {
        Map::new()
    }

    fn applied(current: &Map<String, Value>, sent: &Map<String, Value>) -> Result<Map<String, Value>, SettingsError> {
        let mut merged = current.clone();
        merge(&mut merged, sent);
        Ok(merged)
    }
}

/// Objects are merged, whatever else is sent replaces what is stored.
fn merge(stored: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (field, value) in change {
        match (stored.get_mut(field), value) {
            (_, Value::Null) => drop(stored.shift_remove(field)),
            (Some(Value::Object(stored)), Value::Object(change)) => merge(stored, change),
            (_, Value::Object(change)) => {
                let mut new = Map::new();
                merge(&mut new, change);
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

    #[test]
    fn fields_are_merged_and_removed() {
        let applied = |current: &Map<String, Value>, sent: Value| {
            Chat::applied(current, sent.as_object().expect("an object")).unwrap()
        };
        let first =
            applied(&Map::new(), json!({"description": "films", "searchParameters": {"limit": 5, "sort": null}}));
        assert_eq!(json!(first), json!({"description": "films", "searchParameters": {"limit": 5}}));
        let second =
            applied(&first, json!({"description": null, "searchParameters": {"limit": null, "distinct": "a"}}));
        assert_eq!(json!(second), json!({"searchParameters": {"distinct": "a"}}));
    }
}
