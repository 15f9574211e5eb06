//! The table of growth rules, cell by cell.

use lamina_data::tasks::content::{Method, PayloadPlace};
use lamina_engine::index::SettingsPatch;
use serde_json::json;

use super::*;

const NO_LIMITS: Limits =
    Limits { tasks: None, bytes: u64::MAX, inline_bytes: u64::MAX, cleans_up: true, is_held: false };

fn facts(exists: bool, primary_key: Option<&str>) -> IndexFacts {
    IndexFacts { exists, primary_key: primary_key.map(str::to_owned) }
}

fn upsert(primary_key: Option<&str>, may_create_index: bool, payload_bytes: u64) -> Content {
    Content::Upsert(Upsert {
        method: Method::Replace,
        primary_key: primary_key.map(str::to_owned),
        skip_creation: false,
        may_create_index,
        received: 1,
        payload: PayloadPlace::Inline,
        payload_bytes,
        payload_checksum: 0,
        mark: None,
    })
}

fn content(name: &str) -> Content {
    match name {
        "add" => upsert(None, true, 1),
        "add!" => upsert(None, false, 1),
        "delI" => Content::DeleteIds { ids: vec!["1".into()], mark: None },
        "delF" => Content::DeleteByFilter { filter: json!("a = 1") },
        "clr" => Content::Clear { mark: None },
        "set" => Content::Settings { patch: Box::new(SettingsPatch::default()), may_create_index: true },
        "set!" => Content::Settings { patch: Box::new(SettingsPatch::default()), may_create_index: false },
        "iDel" => Content::DeleteIndex,
        "create" => Content::CreateIndex { primary_key: None },
        "update" => Content::UpdateIndex { primary_key: None, new_uid: None },
        key => upsert(Some(key.strip_prefix("add:").expect("a name of this table")), true, 1),
    }
}

fn queued(uid: u32, content: Content) -> Queued {
    Queued { uid, index_uid: Some("x".into()), content }
}

/// Returns the number of tasks that share the first batch, and the reason why no more do.
fn grow(names: &[&str], facts: &IndexFacts, limits: Limits) -> (usize, Option<Strategy>) {
    let tasks: Vec<Queued> =
        names.iter().enumerate().map(|(uid, name)| queued(u32::try_from(uid).unwrap(), content(name))).collect();
    let mut batch = match Growing::start(&tasks[0], facts, limits) {
        Ok(batch) => batch,
        Err(strategy) => return (1, Some(strategy)),
    };
    for (index, task) in tasks.iter().enumerate().skip(1) {
        match batch.offer(task) {
            Offer::Joined => {}
            Offer::JoinedLast(strategy) => return (index + 1, Some(strategy)),
            Offer::Stopped(strategy) => return (index, Some(strategy)),
        }
    }
    (tasks.len(), None)
}

#[test]
fn the_table_of_growth_rules() {
    // Rows: what the batch holds. Columns: add, delI, delF, clr, set, iDel. j: joins, e: joins and ends, s: stops.
    let rows: [(&[&str], &str); 9] = [
        (&["add"], "jjsjse"),
        (&["add", "delI"], "jjsjse"),
        (&["delI"], "jjjjse"),
        (&["delF"], "jjjjse"),
        (&["delF", "delI"], "jjjjse"),
        (&["delF", "add"], "jjsjse"),
        (&["clr"], "sjjjse"),
        (&["set"], "sssjje"),
        (&["set", "clr"], "sjjjje"),
    ];
    let exists = facts(true, Some("id"));
    for (before, expected) in rows {
        for (next, expected) in ["add", "delI", "delF", "clr", "set", "iDel"].into_iter().zip(expected.chars()) {
            let names: Vec<&str> = before.iter().copied().chain([next, next]).collect();
            let (count, strategy) = grow(&names, &exists, NO_LIMITS);
            let found = match (count - before.len(), strategy) {
                (0, Some(_)) => 's',
                (1, Some(Strategy::IndexDeletion { .. })) => 'e',
                _ => 'j',
            };
            assert_eq!(found, expected, "{before:?} then {next}");
        }
    }
}

#[test]
fn some_types_never_share() {
    for name in ["create", "update"] {
        let (count, strategy) = grow(&[name, "add"], &facts(true, None), NO_LIMITS);
        assert_eq!(count, 1);
        assert!(matches!(strategy, Some(Strategy::Alone { uid: 0, .. })));
        let (count, strategy) = grow(&["add", name], &facts(true, None), NO_LIMITS);
        assert_eq!(count, 1);
        assert!(matches!(strategy, Some(Strategy::BeforeShared { uid: 1, .. })));
    }
}

#[test]
fn additions_join_deletions_by_id_only_when_the_index_exists_or_stays_absent() {
    assert_eq!(grow(&["delI", "add"], &facts(true, None), NO_LIMITS).0, 2);
    assert_eq!(grow(&["delI", "add!"], &facts(false, None), NO_LIMITS).0, 2);
    assert_eq!(grow(&["delI", "add"], &facts(false, None), NO_LIMITS).0, 1);
}

#[test]
fn who_may_create_the_index_does_not_join_those_who_may_not() {
    assert_eq!(grow(&["add!", "add"], &facts(false, None), NO_LIMITS), (1, Some(Strategy::CreationRights { uid: 1 })));
    assert_eq!(grow(&["add!", "add"], &facts(true, None), NO_LIMITS).0, 2);
    assert_eq!(grow(&["add", "add!"], &facts(false, None), NO_LIMITS).0, 2);
    assert_eq!(grow(&["set!", "set"], &facts(false, None), NO_LIMITS).0, 1);
}

#[test]
fn primary_keys_decide() {
    let with_key = facts(true, Some("id"));
    assert_eq!(grow(&["add", "add:id", "add"], &with_key, NO_LIMITS).0, 3);
    let (count, strategy) = grow(&["add", "add:other"], &with_key, NO_LIMITS);
    assert_eq!(count, 1);
    assert_eq!(
        strategy.unwrap().to_string(),
        "stopped batching before task with id 1 because its primary key `other` is different from the primary key of \
         the index `id`"
    );
    // The first one is alone and will fail.
    assert!(matches!(grow(&["add:other", "add"], &with_key, NO_LIMITS), (1, Some(Strategy::KeyOfIndex { .. }))));
    let without_key = facts(true, None);
    assert_eq!(grow(&["add:a", "add:a", "add"], &without_key, NO_LIMITS).0, 3);
    assert!(matches!(grow(&["add:a", "add:b"], &without_key, NO_LIMITS), (1, Some(Strategy::KeyOfBatch { .. }))));
    assert!(matches!(grow(&["add", "add:b"], &without_key, NO_LIMITS), (1, Some(Strategy::KeyInference { .. }))));
    assert_eq!(grow(&["add:a", "add", "add:a"], &without_key, NO_LIMITS).0, 3);
}

#[test]
fn limits_end_a_batch() {
    let exists = facts(true, Some("id"));
    let two = Limits { tasks: NonZeroUsize::new(2), ..NO_LIMITS };
    assert_eq!(grow(&["add"; 4], &exists, two), (2, Some(Strategy::TaskLimit { limit: 2 })));
    let one = Limits { tasks: NonZeroUsize::new(1), ..NO_LIMITS };
    assert_eq!(grow(&["add"; 4], &exists, one), (1, Some(Strategy::TaskLimit { limit: 1 })));
    let bytes = Limits { bytes: 3, ..NO_LIMITS };
    assert_eq!(grow(&["add"; 5], &exists, bytes), (3, Some(Strategy::ByteLimit { limit: 3, total: 3 })));
    let inline = Limits { inline_bytes: 2, cleans_up: true, ..NO_LIMITS };
    assert_eq!(grow(&["add"; 5], &exists, inline).0, 2);
    // The first task always fits.
    assert_eq!(grow(&["add"; 2], &exists, Limits { bytes: 0, ..NO_LIMITS }).0, 1);
}

#[test]
fn texts_of_strategies() {
    assert_eq!(Strategy::QueueExhausted.to_string(), "batched all enqueued tasks");
    assert_eq!(
        Strategy::IndexExhausted { index_uid: "x".into() }.to_string(),
        "batched all enqueued tasks for index `x`"
    );
    assert_eq!(
        Strategy::Alone { uid: 3, kind: Kind::IndexCreation }.to_string(),
        "created batch containing only task with id 3 of type `indexCreation` that cannot be batched with any other \
         task."
    );
}

#[test]
fn lengths_that_a_foreign_task_claims_do_not_wrap() {
    let limits = Limits { bytes: 100, inline_bytes: 100, ..NO_LIMITS };
    let facts = facts(true, None);
    let claims = |bytes: u64| queued(1, upsert(None, true, bytes));
    let mut batch = Growing::start(&claims(u64::MAX), &facts, limits).expect("one task is a batch");
    assert!(matches!(batch.offer(&claims(2)), Offer::Stopped(Strategy::ByteLimit { .. })));
    let mut batch = Growing::start(&claims(2), &facts, limits).expect("one task is a batch");
    assert!(matches!(batch.offer(&claims(u64::MAX)), Offer::Stopped(Strategy::ByteLimit { .. })));
    assert!(matches!(batch.offer(&claims(98)), Offer::Joined));
}
