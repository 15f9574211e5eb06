//! The `details` object of a task, derived from its content and what came of it.

use lamina_base::options::human_size;
use lamina_base::secret::{redacted, shown_url};
use serde_json::{Map, Value, json};

use super::content::{Content, Export, Swap};

/// Progress of the work that `details` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing to say yet: counters are null.
    Waiting,
    /// The counter of the type; null when the work was absorbed by another task of the batch.
    Done(Option<u64>),
    /// Failed or canceled: counters are 0.
    Undone,
}

impl Progress {
    fn count(self) -> Value {
        match self {
            Progress::Waiting | Progress::Done(None) => Value::Null,
            Progress::Done(Some(count)) => count.into(),
            Progress::Undone => 0.into(),
        }
    }
}

/// Reports whether the tasks of a type have `details`. Those that do always have an object, even an empty one, for
/// example for settings that change nothing.
pub(crate) fn has_details(content: &Content) -> bool {
    !matches!(content, Content::CreateSnapshot)
}

/// The `details` of a task; empty for types that have none.
pub fn details(content: &Content, progress: Progress) -> Map<String, Value> {
    let details = match content {
        Content::Upsert(upsert) => {
            json!({ "receivedDocuments": upsert.received, "indexedDocuments": progress.count() })
        }
        Content::DeleteIds { ids, .. } => {
            json!({ "providedIds": ids.len(), "deletedDocuments": progress.count(), "originalFilter": null })
        }
        Content::DeleteByFilter { filter } => {
            json!({ "providedIds": 0, "deletedDocuments": progress.count(), "originalFilter": filter.to_string() })
        }
        Content::DeleteExpired => {
            json!({ "providedIds": 0, "deletedDocuments": progress.count(), "originalFilter": null })
        }
        Content::Edit(edit) => json!({
            "editedDocuments": progress.count(),
            "deletedDocuments": progress.count(),
            "context": edit.context,
            "function": edit.function,
            "originalFilter": edit.filter.as_ref().map(Value::to_string),
        }),
        Content::Clear { .. } | Content::DeleteIndex | Content::ClearRules => {
            json!({ "deletedDocuments": progress.count() })
        }
        Content::Settings { patch, .. } => Value::Object(lamina_protocol::wire::settings::details(patch)),
        Content::CreateIndex { primary_key } => json!({ "primaryKey": primary_key }),
        Content::UpdateIndex { primary_key, .. } => json!({ "primaryKey": primary_key }),
        Content::SwapIndexes { swaps } => json!({ "swaps": swaps.iter().map(swap).collect::<Vec<_>>() }),
        Content::CloneIndex { new_uid } => json!({ "newIndexUid": new_uid }),
        Content::AttachIndex { folder } => json!({ "folder": folder }),
        Content::RestoreIndex { at } => json!({ "at": at }),
        Content::UpdateAliases { moves } => json!({ "aliases": moves }),
        Content::UpgradeDatabase { from, to } => {
            json!({ "upgradeFrom": format!("v{from}"), "upgradeTo": format!("v{to}") })
        }
        Content::UpdateRule { patch: Some(patch), .. } => json!({ "rule": patch, "updatedRules": progress.count() }),
        Content::UpdateRule { patch: None, .. } => json!({ "updatedRules": progress.count() }),
        Content::CreateDump { .. } => json!({ "dumpUid": null }),
        Content::Export(asked) => export(asked),
        Content::CompactIndex | Content::CreateSnapshot => return Map::new(),
        Content::CancelTasks { filter, tasks } => {
            json!({ "matchedTasks": tasks.len(), "canceledTasks": progress.count(), "originalFilter": filter })
        }
        Content::DeleteTasks { filter, tasks } => {
            json!({ "matchedTasks": tasks.len(), "deletedTasks": progress.count(), "originalFilter": filter })
        }
    };
    match details {
        Value::Object(details) => details,
        _ => Map::new(),
    }
}

/// `details` of a renaming `indexUpdate` also has both names; only the task knows the old one.
pub(crate) fn add_rename(details: &mut Map<String, Value>, old_uid: &str, new_uid: &str) {
    details.insert("oldIndexUid".to_owned(), old_uid.into());
    details.insert("newIndexUid".to_owned(), new_uid.into());
}

/// The key is made unreadable; what was not given is left out.
fn export(asked: &Export) -> Value {
    let mut details = Map::new();
    details.insert("url".to_owned(), shown_url(&asked.url).into());
    if let Some(key) = &asked.api_key {
        details.insert("apiKey".to_owned(), redacted(key).into());
    }
    if asked.shows_payload_size {
        details.insert("payloadSize".to_owned(), human_size(asked.payload_bytes).into());
    }
    let indexes = asked.indexes.iter().map(|index| {
        (index.pattern.clone(), json!({ "filter": index.filter, "overrideSettings": index.override_settings }))
    });
    details.insert("indexes".to_owned(), Value::Object(indexes.collect()));
    Value::Object(details)
}

fn swap(swap: &Swap) -> Value {
    json!({ "indexes": swap.indexes, "rename": swap.rename })
}

/// Adds the details of one more task to those of its batch: integers add up, filters are joined with `&`, the
/// settings of later tasks win, otherwise the first value stays. Of several rules none is shown.
pub fn merge_into(batch: &mut Map<String, Value>, task: &Map<String, Value>, is_settings: bool) {
    const RULE: &str = "rule";
    let is_one_of_several = batch.contains_key("updatedRules");
    if is_one_of_several {
        batch.shift_remove(RULE);
    }
    for (name, value) in task.iter().filter(|(name, _)| !(is_one_of_several && *name == RULE)) {
        match batch.get_mut(name) {
            None => {
                batch.insert(name.clone(), value.clone());
            }
            Some(merged) if is_settings || merged.is_null() => *merged = value.clone(),
            Some(merged) => match (merged.as_u64(), value.as_u64(), name.as_str()) {
                (Some(one), Some(other), _) => *merged = (one + other).into(),
                (_, _, "originalFilter") => {
                    if let (Some(one), Some(other)) = (merged.as_str(), value.as_str()) {
                        *merged = format!("{one}&{other}").into();
                    }
                }
                _ => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_null_while_waiting_and_zero_when_undone() {
        let content = Content::DeleteIds { ids: vec!["1".into(), "2".into()], mark: None };
        let of = |progress| Value::Object(details(&content, progress)).to_string();
        assert_eq!(of(Progress::Waiting), r#"{"providedIds":2,"deletedDocuments":null,"originalFilter":null}"#);
        assert_eq!(of(Progress::Done(Some(1))), r#"{"providedIds":2,"deletedDocuments":1,"originalFilter":null}"#);
        assert_eq!(of(Progress::Undone), r#"{"providedIds":2,"deletedDocuments":0,"originalFilter":null}"#);
    }

    #[test]
    fn settings_that_change_nothing_are_an_empty_object() {
        let content = Content::Settings { patch: Box::default(), may_create_index: false };
        assert!(details(&content, Progress::Waiting).is_empty());
        assert!(has_details(&content));
        assert!(!has_details(&Content::CreateSnapshot));
    }

    #[test]
    fn filters_keep_their_json_quotes() {
        let content = Content::DeleteByFilter { filter: json!("a = 1") };
        assert_eq!(details(&content, Progress::Waiting)["originalFilter"], json!("\"a = 1\""));
    }

    #[test]
    fn batches_add_integers_and_join_filters() {
        let mut batch = Map::new();
        let task = |filter: &str, deleted: Option<u64>| {
            json!({ "deletedDocuments": deleted, "originalFilter": filter }).as_object().cloned().expect("an object")
        };
        merge_into(&mut batch, &task("a", Some(2)), false);
        merge_into(&mut batch, &task("b", Some(3)), false);
        merge_into(&mut batch, &task("c", None), false);
        assert_eq!(Value::Object(batch), json!({ "deletedDocuments": 5, "originalFilter": "a&b&c" }));
    }

    #[test]
    fn later_settings_win() {
        let mut batch = Map::new();
        for order in [json!({"pagination": 1}), json!({"pagination": null})] {
            merge_into(&mut batch, order.as_object().expect("an object"), true);
        }
        assert_eq!(Value::Object(batch), json!({ "pagination": null }));
    }
}
