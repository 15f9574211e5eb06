//! What a batch wrote, as its `stats` show it.

use std::collections::BTreeSet;

use lamina_base::options::human_size;
use serde_json::{Map, Value, json};

use super::content::Content;
use super::live::PartBytes;
use super::store::{FinishedBatch, Queued, TaskResult};

/// Members of `stats`: none where nothing was written. `before` is known of batches that went as far as to write to their
/// index, `after` is asked of those.
pub fn shown(
    tasks: &[Queued],
    done: &FinishedBatch,
    before: Option<&PartBytes>,
    after: impl FnOnce() -> Option<PartBytes>,
) -> Map<String, Value> {
    let mut shown = Map::new();
    let documents: u64 = tasks.iter().map(|task| documents_written(task, done)).sum();
    if documents > 0 {
        // Nothing to block on: what a thread indexes it writes itself, without a channel to another one.
        let congestion = json!({ "attempts": documents, "blocking_attempts": 0, "blocking_ratio": 0.0 });
        shown.insert("writeChannelCongestion".to_owned(), congestion);
    }
    if let Some(before) = before
        && let Some(after) = after()
    {
        let changed = changed(before, &after);
        if !changed.is_empty() {
            shown.insert("internalDatabaseSizes".to_owned(), Value::Object(changed));
        }
    }
    shown
}

/// Documents that a task added, changed or deleted.
fn documents_written(task: &Queued, done: &FinishedBatch) -> u64 {
    let writes = matches!(
        task.content,
        Content::Upsert(_)
            | Content::DeleteIds { .. }
            | Content::DeleteByFilter { .. }
            | Content::DeleteExpired
            | Content::Clear { .. }
            | Content::Edit(_)
    );
    let ended = done.tasks.iter().find(|ended| ended.uid == task.uid).filter(|_| writes);
    match ended.map(|ended| &ended.result) {
        Some(TaskResult::Succeeded(count) | TaskResult::Unembedded { count, .. }) => count.unwrap_or(0),
        // An edition.
        Some(TaskResult::Reported(report)) => {
            ["editedDocuments", "deletedDocuments"].iter().filter_map(|name| report.get(*name)?.as_u64()).sum()
        }
        _ => 0,
    }
}

/// The parts whose size has changed: the size, and by how much.
fn changed(before: &PartBytes, after: &PartBytes) -> Map<String, Value> {
    let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let of = |bytes: &PartBytes, name| bytes.get(name).copied().unwrap_or(0);
    names
        .into_iter()
        .map(|name| (name, of(before, name), of(after, name)))
        .filter(|(_, before, after)| before != after)
        .map(|(name, before, after)| {
            let sign = if after > before { '+' } else { '-' };
            let text = format!("{} ({sign}{})", human_size(after), human_size(after.abs_diff(before)));
            (name.to_owned(), text.into())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_that_changed_are_named() {
        let before = PartBytes::from([("store", 2048), ("terms", 100), ("keys", 7)]);
        let after = PartBytes::from([("store", 4096), ("terms", 100), ("postings", 50)]);
        let shown = Value::Object(changed(&before, &after));
        assert_eq!(shown, json!({"keys": "0 B (-7 B)", "postings": "50 B (+50 B)", "store": "4.00 KiB (+2.00 KiB)"}));
        assert!(changed(&after, &after).is_empty());
    }
}
