//! Names of indexes that a key may not know of. It sees the tasks of its own indexes, and some of these name another one: what an index
//! was cloned or renamed to, and what stood in the way.

use lamina_data::access::Rights;
use lamina_data::tasks::{Batch, Task};
use serde_json::Value;

/// Details that name an index.
const NAMES: [&str; 2] = ["oldIndexUid", "newIndexUid"];
/// Kinds of tasks whose filter was written by who may have seen more.
const SELECTING: [&str; 2] = ["taskCancelation", "taskDeletion"];
/// Replacement for a name in a sentence.
const MASK: &str = "`…`";

/// The task as those with these rights may see it.
pub(super) fn hide_in_task(mut task: Task, rights: &Rights) -> Task {
    if rights.visible().is_none() {
        return task;
    }
    let mut hidden = Vec::new();
    if let Some(details) = &task.details
        && NAMES.iter().any(|name| details.get().contains(name))
        && let Ok(mut shown) = serde_json::from_str::<Value>(details.get())
    {
        hidden = hide_names(&mut shown, rights);
        task.details = serde_json::value::to_raw_value(&shown).ok();
    }
    if let Some(error) = &mut task.error {
        error.message = without_names(&error.message, &hidden, rights);
    }
    task
}

/// The batch as those with these rights may see it.
pub(super) fn hide_in_batch(mut batch: Batch, rights: &Rights) -> Batch {
    if rights.visible().is_some() {
        batch.reshow(|details, stats| {
            hide_names(details, rights);
            if let Some(Value::Object(indexes)) = stats.get_mut("indexUids") {
                indexes.retain(|uid, _| rights.admits(uid));
            }
            let selects = SELECTING.iter().any(|kind| stats["types"].get(*kind).is_some());
            if let Some(filter) = details.get_mut("originalFilter").filter(|_| selects) {
                *filter = Value::Null;
            }
        });
    }
    batch
}

/// Hides names in details; which they were.
fn hide_names(details: &mut Value, rights: &Rights) -> Vec<String> {
    let mut hidden = Vec::new();
    for name in NAMES {
        let Some(shown) = details.get_mut(name) else { continue };
        if let Some(uid) = shown.as_str().filter(|uid| !rights.admits(uid)) {
            hidden.push(uid.to_owned());
            *shown = Value::Null;
        }
    }
    hidden
}

/// A sentence without the names that are hidden, and without those that it calls an index.
fn without_names(message: &str, hidden: &[String], rights: &Rights) -> String {
    let (mut shown, mut rest) = (String::with_capacity(message.len()), message);
    while let Some((before, behind)) = rest.split_once('`') {
        let Some((name, after)) = behind.split_once('`') else { break };
        let is_index = before.ends_with("Index ") || before.ends_with("index ");
        shown.push_str(before);
        if hidden.iter().any(|one| one == name) || (is_index && !rights.admits(name)) {
            shown.push_str(MASK);
        } else {
            shown.push_str(&rest[before.len()..before.len() + name.len() + 2]);
        }
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use crate::answer::tests::rights_of;

    use super::*;

    #[test]
    fn sentences_are_left_as_they_are_but_for_hidden_names() {
        let rights = rights_of(&["films*"]);
        for (message, shown) in [
            ("Index `secret` already exists.", "Index `…` already exists."),
            ("Index `films`: the field `secret` has no value.", "Index `films`: the field `secret` has no value."),
            ("`new` is an alias of the index `other`, and", "`…` is an alias of the index `…`, and"),
            ("Index `films-2` and `one", "Index `films-2` and `one"),
            ("é `x` é", "é `x` é"),
        ] {
            assert_eq!(without_names(message, &["new".to_owned()], &rights), shown);
        }
    }
}
