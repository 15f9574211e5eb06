//! What a view hides, against a scan.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use lamina_segment::storage::MemoryDirectory;
use lamina_text::text::Moment;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::index::{
    CommitNote, Index, IndexOptions, Operation, Payload, Progress, Selector, Snapshot, Upsert, WriteMethod, expired,
};

fn apply(index: &Index, operation: Operation) {
    let note = CommitNote::new(0, |_| Vec::new());
    let results = index.apply(&[operation], note, &Progress::new(), &AtomicBool::new(false));
    assert!(results.unwrap().iter().all(Result::is_ok));
}

fn add(index: &Index, documents: &[Value]) {
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    let payload = Payload::Bytes(lines.into_bytes().into());
    let primary_key = Some("id".to_owned());
    apply(
        index,
        Operation::Upsert(Upsert { payload, method: WriteMethod::Replace, primary_key, skip_creation: false }),
    );
}

fn set(index: &Index, settings: Value) {
    apply(index, Operation::Settings(Box::new(serde_json::from_value(settings).unwrap())));
}

fn index() -> Index {
    let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
    Index::create_in(Arc::new(MemoryDirectory::new()), options).unwrap()
}

fn after(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The ids of the documents that are not deleted, ascending.
fn ids(snapshot: &Snapshot) -> Vec<u64> {
    let id = |address| {
        let document: Value = serde_json::from_slice(&snapshot.document(address).unwrap()).unwrap();
        document["id"].as_u64().unwrap()
    };
    let mut ids: Vec<u64> = snapshot.documents(0, u64::MAX).into_iter().map(id).collect();
    ids.sort_unstable();
    assert_eq!(ids.len() as u64, snapshot.document_count());
    ids
}

#[test]
fn a_view_serves_until_the_next_document_expires() {
    let index = index();
    add(
        &index,
        &[json!({ "id": 1, "until": 100 }), json!({ "id": 2, "until": "1970-01-01T00:05:00Z" }), json!({ "id": 3 })],
    );
    assert!(Arc::ptr_eq(&index.view(after(1000)), &index.snapshot()), "no view without the setting");
    set(&index, json!({ "expiryAttribute": "until" }));
    let first = index.view(after(99));
    assert!(Arc::ptr_eq(&first, &index.snapshot()), "nothing has expired");
    let second = index.view(after(100));
    assert_eq!((ids(&second), index.expired_count(after(100))), (vec![2, 3], 1));
    assert!(Arc::ptr_eq(&second, &index.view(after(299))), "it is made once");
    assert!(second.find("1").is_none());
    assert!(index.snapshot().find("1").is_some());
    assert_eq!(ids(&index.view(after(300))), [3]);
    assert_eq!(ids(&index.view(after(50))), [1, 2, 3], "where clocks go back");
    add(&index, &[json!({ "id": 1, "until": 500 })]);
    assert_eq!(ids(&index.view(after(300))), [1, 3], "a commit makes another one");
    drop((first, second));
    let held = index.view(after(300));
    assert!(!index.is_idle());
    drop(held);
    assert!(index.is_idle());
    set(&index, json!({ "expiryAttribute": null }));
    assert_eq!(ids(&index.view(after(1000))), [1, 2, 3]);
}

#[test]
fn removal_looks_again() {
    let index = index();
    set(&index, json!({ "expiryAttribute": "until" }));
    add(
        &index,
        &[json!({ "id": 1, "until": 100 }), json!({ "id": 2, "until": 100 }), json!({ "id": 3, "until": "soon" })],
    );
    assert_eq!(index.expired_count(after(100)), 2);
    add(&index, &[json!({ "id": 2, "until": 200 })]);
    apply(&index, Operation::DeleteMatching(Selector::new(|snapshot, _| Ok(expired(snapshot, after(100))))));
    assert_eq!((ids(&index.snapshot()), index.expired_count(after(100))), (vec![2, 3], 0));
}

/// A date in one of the ways to write it, or something else.
fn date() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0u32..100).prop_map(|seconds| json!(seconds)),
        2 => (0u32..100).prop_map(|seconds| json!(f64::from(seconds) + 0.5)),
        4 => (0u32..100, -3i32..=3).prop_map(|(seconds, hours)| {
            let local = i64::from(seconds) + 7200 + i64::from(hours) * 3600;
            let (days, of_day) = (local.div_euclid(86_400), local.rem_euclid(86_400));
            let day = if days < 0 { "1969-12-31" } else { "1970-01-01" };
            let clock = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
            let offset = hours + 2;
            let sign = if offset < 0 { '-' } else { '+' };
            json!(format!("{day}T{clock}{sign}{:02}:00", offset.abs()))
        }),
        1 => prop::sample::select(vec![json!("1970-01-01"), json!("1970-01-01T00:00:50"), json!("1970-01-01 00:01:10.5")]),
        1 => prop::sample::select(vec![json!("soon"), json!(null), json!(1e300), json!(-1e300), json!("2024"), json!(true)]),
    ]
}

/// The last of its dates.
fn expires_at(value: &Value) -> Option<i128> {
    let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let moment = |value: &Value| match value {
        Value::String(text) => Moment::parse(text).map(Moment::nanos),
        Value::Number(number) => number.as_f64().filter(|n| n.abs() < 1e11).map(|n| (n * 1e9) as i128),
        _ => None,
    };
    values.iter().filter_map(moment).max()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At any time: what a scan leaves, whatever is deleted, however often the index was written.
    #[test]
    fn views_hide_what_a_scan_says(
        batches in vec(vec((0u64..30, prop_oneof![date(), vec(date(), 0..4).prop_map(Value::from)]), 1..12), 1..4),
        deleted in vec(0u64..30, 0..4),
        set_first in any::<bool>(),
        times in vec(0u64..105, 1..8),
    ) {
        let index = index();
        if set_first {
            set(&index, json!({ "expiryAttribute": "until" }));
        }
        let mut documents = std::collections::BTreeMap::new();
        for batch in &batches {
            let lines: Vec<Value> = batch.iter().map(|(id, until)| json!({ "id": id, "until": until })).collect();
            add(&index, &lines);
            documents.extend(batch.iter().cloned());
        }
        apply(&index, Operation::DeleteIds(deleted.iter().map(u64::to_string).collect()));
        documents.retain(|id, _| !deleted.contains(id));
        if !set_first {
            set(&index, json!({ "expiryAttribute": "until" }));
        }
        for time in times {
            let now = i128::from(time) * 1_000_000_000;
            let left = documents.iter().filter(|(_, until)| expires_at(until).is_none_or(|at| at > now));
            let expected: Vec<u64> = left.map(|(id, _)| *id).collect();
            prop_assert_eq!(ids(&index.view(after(time))), &expected[..], "at {}", time);
            let removed: u64 = expired(&index.snapshot(), after(time))
                .iter()
                .zip(&index.snapshot().segments)
                .map(|(docs, segment)| docs.iter().filter(|doc| segment.is_live(*doc)).count() as u64)
                .sum();
            prop_assert_eq!(removed, documents.len() as u64 - expected.len() as u64);
        }
    }
}
