//! Rules on their way out of a dump. In one they are the documents of an index that no index can be called as.

use lamina_base::timestamp::Timestamp;
use serde_json::Value;

use super::Rule;
use crate::tasks::{RuleChange, Store, StoreError};

/// The settings that a dump holds beside the rules: the defaults.
pub fn settings_of_rules() -> Value {
    serde_json::json!({})
}

/// Stores rules in a database that has none, in the order in which they come. One that makes no sense is left out.
///
/// # Errors
/// What the store says.
pub fn import_rules(store: &Store, documents: impl Iterator<Item = Value>) -> Result<(), StoreError> {
    let mut changes = Vec::new();
    for mut document in documents {
        if let Some(fields) = document.as_object_mut() {
            // Dumps of other servers may not say it.
            fields.entry("lastUpdatedAt").or_insert_with(|| Timestamp::now().to_string().into());
        }
        match serde_json::from_value::<Rule>(document) {
            Ok(rule) => {
                let text = serde_json::to_string(&rule).expect("a rule is plain JSON");
                changes.push(RuleChange::Set { uid: rule.uid, rule: text });
            }
            Err(error) => tracing::warn!(%error, "left out a dynamic search rule of the dump"),
        }
    }
    store.change_search_rules(&changes)
}
