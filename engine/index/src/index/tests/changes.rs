//! What became of documents between two states.

use std::collections::BTreeMap;
use std::time::Duration;

use lamina_segment::storage::MemoryDirectory;
use serde_json::json;

use super::super::{At, Change};
use super::*;

fn keeping() -> Index {
    let options = IndexOptions { keep: Duration::from_secs(3600), ..options() };
    Index::create_in(Arc::new(MemoryDirectory::new()), options).expect("new")
}

fn changes(index: &Index, from: u64, to: u64) -> Vec<(Change, String)> {
    let state = |number| index.generation(At::Generation(number)).expect("kept");
    let mut found = Vec::new();
    let mut see = |change, key: &str| {
        found.push((change, key.to_owned()));
        true
    };
    state(to).changes_since(&state(from), &mut see).expect("whole");
    found.sort_by(|one, other| one.1.cmp(&other.1));
    found
}

fn expected(pairs: &[(Change, &str)]) -> Vec<(Change, String)> {
    pairs.iter().map(|(change, key)| (*change, (*key).to_owned())).collect()
}

#[test]
fn documents_are_added_replaced_and_deleted() {
    use Change::{Added, Deleted, Replaced};
    let index = keeping();
    apply(&index, &[add(&[json!({"id": 1, "n": 1}), json!({"id": 2, "n": 2}), json!({"id": 3, "n": 3})])]);
    apply(&index, &[add(&[json!({"id": 2, "n": 20}), json!({"id": 4})]), delete(&["1"])]);
    apply(&index, &[settings(json!({"filterableAttributes": ["n"]})), add(&[json!({"id": 3, "n": 3})])]);
    assert_eq!(changes(&index, 0, 1), expected(&[(Added, "1"), (Added, "2"), (Added, "3")]));
    assert_eq!(changes(&index, 1, 2), expected(&[(Deleted, "1"), (Replaced, "2"), (Added, "4")]));
    assert_eq!(changes(&index, 2, 3), [], "the same document was sent again");
    assert_eq!(changes(&index, 1, 3), changes(&index, 1, 2));
    assert_eq!(changes(&index, 2, 1), expected(&[(Added, "1"), (Replaced, "2"), (Deleted, "4")]), "backwards");
    // Merges change nothing, whichever documents they move.
    index.compact(&AtomicBool::new(false)).expect("merges");
    assert_eq!(changes(&index, 3, 3), []);
    assert_eq!(changes(&index, 1, 3), expected(&[(Deleted, "1"), (Replaced, "2"), (Added, "4")]));
    apply(&index, &[Operation::Clear]);
    assert_eq!(changes(&index, 3, 5), expected(&[(Deleted, "2"), (Deleted, "3"), (Deleted, "4")]));
    let mut seen = 0;
    let state = |number| index.generation(At::Generation(number)).expect("kept");
    let mut see = |_, _: &str| {
        seen += 1;
        false
    };
    state(5).changes_since(&state(3), &mut see).expect("whole");
    assert_eq!(seen, 1, "it ends when it is asked to");
}

/// Random writes, merges and restorations: the changes between any two states are those of their documents.
#[test]
fn changes_are_those_of_the_documents() {
    let index = keeping();
    let mut random = 1_u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut numbers = vec![0];
    for _ in 0..40 {
        match next(6) {
            0 => index.compact(&AtomicBool::new(false)).expect("merges"),
            1 => drop(apply(&index, &[delete(&[&next(12).to_string(), &next(12).to_string()])])),
            2 => {
                let number = numbers[next(numbers.len() as u64) as usize];
                let batch = index.snapshot().last_outcome().map_or(0, |(batch, _)| batch + 1);
                let note = CommitNote::new(batch, |_| Vec::new());
                index.restore(At::Generation(number), note).expect("kept");
            }
            _ => {
                let documents = (0..3).map(|_| json!({"id": next(12), "n": next(3)})).collect::<Vec<_>>();
                apply(&index, &[add(&documents)]);
            }
        }
        numbers.push(index.snapshot().contents());
    }
    let documents_of = |number: u64| -> BTreeMap<String, Value> {
        let state = index.generation(At::Generation(number)).expect("kept");
        documents(&state).into_iter().map(|one| (one["id"].to_string(), Value::Object(one))).collect()
    };
    for (position, &from) in numbers.iter().enumerate().step_by(3) {
        for &to in numbers[position..].iter().step_by(5) {
            let (before, after) = (documents_of(from), documents_of(to));
            let mut all: Vec<(Change, String)> = Vec::new();
            for key in before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))) {
                let change = match (before.get(key), after.get(key)) {
                    (None, _) => Change::Added,
                    (_, None) => Change::Deleted,
                    (one, other) if one != other => Change::Replaced,
                    _ => continue,
                };
                all.push((change, key.clone()));
            }
            all.sort_by(|one, other| one.1.cmp(&other.1));
            assert_eq!(changes(&index, from, to), all, "from {from} to {to}");
        }
    }
}

#[test]
fn segments_of_two_indexes_are_not_the_same_because_their_ids_are() {
    let (one, other) = (keeping(), keeping());
    apply(&one, &[add(&[json!({"id": 1, "n": 1}), json!({"id": 2, "n": 2})])]);
    apply(&other, &[add(&[json!({"id": 2, "n": 2}), json!({"id": 3, "n": 3})])]);
    let (one, other) = (one.snapshot(), other.snapshot());
    assert_eq!(one.segments[0].id(), other.segments[0].id());
    let mut found = Vec::new();
    let mut see = |change, key: &str| {
        found.push((change, key.to_owned()));
        true
    };
    other.changes_since(&one, &mut see).expect("whole");
    assert_eq!(found, expected(&[(Change::Added, "3"), (Change::Deleted, "1")]));
}
