//! Numbers and truth values that change alone, against an index whose documents are written anew as a whole.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lamina_segment::segment::{MergeStep, MergeWatch};
use lamina_segment::storage::MemoryDirectory;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::super::{At, Change};
use super::*;

fn values(lines: &[Value]) -> Operation {
    Operation::UpdateValues(payload(lines))
}

/// An update as the server writes it.
fn line(id: u32, increment: Value, set: Value) -> Value {
    json!({"id": id.to_string(), "increment": increment, "set": set})
}

/// Settings under which `views`, `stock` and `isNew` have no words.
fn counters() -> Operation {
    settings(json!({
        "searchableAttributes": ["title"], "filterableAttributes": ["views", "isNew", "tags"], "sortableAttributes": ["views"],
    }))
}

/// Reads the values of the live documents from the columns, by id and field.
fn in_columns(snapshot: &Snapshot) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for (name, segment) in snapshot.fields.names().flat_map(|name| snapshot.segments.iter().map(move |s| (name, s))) {
        let field = snapshot.fields.get(name).expect("known");
        let Some(column) = segment.reader.columns().get(field).filter(|_| snapshot.settings.needs_column(name)) else {
            continue;
        };
        let mut ordinals = Vec::new();
        for doc in (0..segment.reader.doc_count()).filter(|doc| segment.is_live(*doc)) {
            let mut json = Vec::new();
            segment.reader.store().get(doc, &mut json).expect("readable");
            let document: Value = serde_json::from_slice(&json).expect("an object");
            column.ordinals_of(doc, &mut ordinals);
            let values: Vec<String> =
                ordinals.iter().map(|o| format!("{}{}", column.number(*o), column.string(*o))).collect();
            let sets = [column.null(), column.empty(), column.exists()].map(|set| set.contains(doc));
            if !values.is_empty() || sets.contains(&true) {
                found.insert((document["id"].to_string(), name.to_owned()), format!("{values:?} {sets:?}"));
            }
        }
    }
    found
}

fn whole(index: &Index) {
    for segment in &index.snapshot().segments {
        segment.reader.verify().expect("whole");
    }
}

#[test]
fn values_are_put_beside_segments() {
    let directory = MemoryDirectory::new();
    let index = create(&directory);
    let all: Vec<Value> = (0..20).map(|id| json!({"id": id, "title": format!("film {id}"), "views": id})).collect();
    apply(&index, &[counters(), add(&all)]);
    let before = index.snapshot();
    let outcome = apply_one(
        &index,
        values(&[
            line(3, json!({"views": 100}), json!({"isNew": true})),
            line(3, json!({"views": 1}), json!({})),
            line(4, json!({"stock": 2.5}), json!({})),
            line(99, json!({"views": 1}), json!({})),
        ]),
    );
    assert_eq!(outcome.expect("done"), Outcome::Upserted { received: 4, indexed: 3 });
    let snapshot = index.snapshot();
    assert_eq!(snapshot.segments.len(), before.segments.len(), "no document was written anew");
    assert_eq!(snapshot.segments[0].deleted_count(), 0);
    let document = |id: &str| -> Value {
        serde_json::from_slice(&snapshot.get_document(id).expect("readable").expect("there")).expect("JSON")
    };
    assert_eq!(document("3"), json!({"id": 3, "title": "film 3", "views": 104, "isNew": true}));
    assert_eq!(document("4"), json!({"id": 4, "title": "film 4", "views": 4, "stock": 2.5}));
    assert_eq!(snapshot.field_distribution["isNew"], 1);
    assert_eq!((snapshot.field_distribution["views"], snapshot.field_distribution["stock"]), (20, 1));
    let columns = in_columns(&snapshot);
    assert_eq!(columns[&("3".to_owned(), "views".to_owned())], "[\"104\"] [false, false, true]");
    assert_eq!(columns[&("3".to_owned(), "isNew".to_owned())], "[\"NaNtrue\"] [false, false, true]");
    // The state before is what it was.
    assert_eq!(documents(&before)[3], all[3].as_object().cloned().expect("an object"));
    assert_eq!(in_columns(&before)[&("3".to_owned(), "views".to_owned())], "[\"3\"] [false, false, true]");

    whole(&index);
    let seen = observe(&snapshot);
    drop((index, snapshot, before));
    let names = directory.list().expect("listed");
    assert_eq!(names.iter().filter(|name| name.contains("-c")).count(), 1, "{names:?}");
    let index = Index::open_in(Arc::new(directory), options()).expect("whole");
    assert_eq!(observe(&index.snapshot()), seen);
    index.compact(&AtomicBool::new(false)).expect("merges");
    let snapshot = index.snapshot();
    assert_eq!((observe(&snapshot), in_columns(&snapshot)), (seen, columns));
    assert!(snapshot.segments.iter().all(|segment| segment.reader.patches().is_none()), "folded in");
    whole(&index);
}

#[test]
fn what_cannot_be_incremented_changes_nothing() {
    let index = create(&MemoryDirectory::new());
    apply(
        &index,
        &[counters(), add(&[json!({"id": 1, "views": "many", "tags": [1]}), json!({"id": 2, "isNew": true})])],
    );
    let before = observe(&index.snapshot());
    for wrong in [
        line(1, json!({"views": 1}), json!({})),
        line(1, json!({"tags": 1}), json!({})),
        line(2, json!({"isNew": 1}), json!({})),
        line(2, json!({"id": 1}), json!({})),
        json!({"increment": {}}),
    ] {
        let good = line(2, json!({"views": 1}), json!({}));
        assert!(apply_one(&index, values(&[good, wrong.clone()])).is_err(), "{wrong}");
        let after = observe(&index.snapshot());
        assert_eq!((&after.documents, &after.field_distribution), (&before.documents, &before.field_distribution));
    }
    // What is set may have been anything.
    let set = line(1, json!({}), json!({"views": 6, "tags": false}));
    apply_one(&index, values(&[set, line(1, json!({"views": 1}), json!({}))])).expect("done");
    let document = Value::Object(documents(&index.snapshot())[0].clone());
    assert_eq!(document, json!({"id": 1, "views": 7, "tags": false}));
}

#[test]
fn changes_are_seen_from_state_to_state() {
    let options = IndexOptions { keep: std::time::Duration::from_secs(3600), ..options() };
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).expect("new");
    apply(&index, &[counters(), add(&[json!({"id": 1, "views": 1}), json!({"id": 2, "views": 2})])]);
    let from = index.snapshot().contents();
    apply(&index, &[values(&[line(2, json!({"views": 5}), json!({}))])]);
    let middle = index.snapshot().contents();
    apply(&index, &[values(&[line(2, json!({}), json!({"views": 7})), line(1, json!({}), json!({"views": 1}))])]);
    let changes = |from: u64, to: u64| {
        let state = |number| index.generation(At::Generation(number)).expect("kept");
        let mut found = Vec::new();
        let mut see = |change: Change, key: &str| {
            found.push((change, key.to_owned()));
            true
        };
        state(to).changes_since(&state(from), &mut see).expect("whole");
        found
    };
    assert_eq!(changes(from, middle), [(Change::Replaced, "2".to_owned())]);
    assert_eq!(changes(middle, index.snapshot().contents()), [], "the same values were sent again");
}

#[test]
fn numbers_stay_as_they_are_written() {
    let index = create(&MemoryDirectory::new());
    let held =
        ["7", "-0", "-0.0", "5.0", "1e3", "2.50", "9007199254740993", "18446744073709551615", "[5]", "null", "true"];
    for (id, value) in held.iter().enumerate() {
        // Each in a segment of its own: what one holds does not decide on another. Counts of both kinds of field are the same.
        let document: Value =
            serde_json::from_str(&format!(r#"{{"id":{id},"views":{value},"stock":{value}}}"#)).expect("JSON");
        apply(&index, &[counters(), add(&[document, json!({"id": 100 + id, "views": 3, "stock": 3})])]);
    }
    for id in (0..held.len() as u32).chain(100..100 + held.len() as u32) {
        let one = apply_one(&index, values(&[line(id, json!({"views": 1}), json!({}))]));
        let two = apply_one(&index, values(&[line(id, json!({"stock": 1}), json!({}))]));
        assert_eq!(one.is_ok(), two.is_ok());
        let json = index.snapshot().get_document(&id.to_string()).expect("readable").expect("there");
        let document: Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(document["views"].to_string(), document["stock"].to_string());
    }
}

#[test]
fn many_commits_are_few_files() {
    let directory = MemoryDirectory::new();
    let index = create(&directory);
    let film = |id: u32| json!({"id": id, "title": "a film that is long enough for its words to be worth more than numbers", "views": id});
    apply(&index, &[counters(), add(&(0..3_000).map(film).collect::<Vec<_>>())]);
    let mut expected: Vec<u32> = (0..3_000).collect();
    for commit in 0..12_u32 {
        let ids: Vec<u32> = (commit * 251..commit * 251 + 900).map(|id| id % 3_000).collect();
        apply(&index, &[values(&ids.iter().map(|id| line(*id, json!({"views": 1}), json!({}))).collect::<Vec<_>>())]);
        ids.iter().for_each(|id| expected[*id as usize] += 1);
        let names = directory.list().expect("listed");
        assert!(names.iter().filter(|name| name.contains("-c")).count() <= 3, "{names:?}");
    }
    let check = |index: &Index| {
        let found = documents(&index.snapshot());
        let views: Vec<u64> = found.iter().map(|document| document["views"].as_u64().expect("a number")).collect();
        assert_eq!(views, expected.iter().copied().map(u64::from).collect::<Vec<_>>());
        whole(index);
    };
    check(&index);
    let columns = in_columns(&index.snapshot());
    drop(index);
    let index = Index::open_in(Arc::new(directory), options()).expect("whole");
    check(&index);
    assert_eq!(in_columns(&index.snapshot()), columns);
    index.compact(&AtomicBool::new(false)).expect("merges");
    check(&index);
    assert_eq!(in_columns(&index.snapshot()), columns);
}

/// Applies an operation in the middle of a merge.
#[derive(Debug)]
struct Meddler<'a>(&'a Index, Mutex<Option<Operation>>);

impl MergeWatch for Meddler<'_> {
    fn enter(&self, step: MergeStep, _: u64) {
        if matches!(step, MergeStep::Documents)
            && let Some(operation) = self.1.lock().expect("not poisoned").take()
        {
            apply(self.0, &[operation]);
        }
    }

    fn advance(&self, _: u64) {}
}

#[test]
fn values_that_change_during_a_merge_outlive_it() {
    let index = create(&MemoryDirectory::new());
    for part in 0..3 {
        let all: Vec<Value> = (0..5).map(|id| json!({"id": part * 5 + id, "views": 1})).collect();
        apply(&index, &[counters(), add(&all)]);
    }
    apply(&index, &[values(&[line(2, json!({"views": 1}), json!({}))])]);
    let meanwhile =
        values(&[line(2, json!({"views": 10}), json!({})), line(14, json!({"views": 5}), json!({"isNew": false}))]);
    let meddler = Meddler(&index, Mutex::new(Some(meanwhile)));
    index.compact_watched(&AtomicBool::new(false), &meddler).expect("merges");
    let snapshot = index.snapshot();
    assert_eq!(snapshot.segments.len(), 1);
    let views: Vec<Value> = documents(&snapshot).into_iter().map(|document| document["views"].clone()).collect();
    assert_eq!((&views[2], &views[14], &views[0]), (&json!(12), &json!(6), &json!(1)));
    assert_eq!(documents(&snapshot)[14]["isNew"], json!(false));
    whole(&index);
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<(u32, Value)>),
    Update(Vec<(u32, &'static str, Value, bool)>),
    Delete(u32),
    Compact,
    Reopen,
    Search(Vec<&'static str>),
    Filter(Vec<&'static str>),
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-5i64..6).prop_map(Value::from),
        (-3i64..4).prop_map(|n| json!(n as f64 + 0.5)),
        Just(json!(u64::MAX / 2))
    ]
}

fn held() -> impl Strategy<Value = Value> {
    prop_oneof![4 => number(), 1 => any::<bool>().prop_map(Value::from), 1 => Just(Value::Null), 1 => Just(json!("text")), 1 => Just(json!([1, 2]))]
}

fn field() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("views"), Just("stock"), Just("isNew"), Just("title")]
}

fn step() -> impl Strategy<Value = Step> {
    let fields = || vec(field(), 0..3);
    prop_oneof![
        3 => vec((0u32..12, held()), 1..6).prop_map(Step::Add),
        6 => vec((0u32..12, field(), prop_oneof![3 => number(), 1 => any::<bool>().prop_map(Value::from)], any::<bool>()), 1..6)
            .prop_map(Step::Update),
        1 => (0u32..12).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
        1 => fields().prop_map(Step::Search),
        1 => fields().prop_map(Step::Filter),
    ]
}

/// The sum as documents have it; `None`: there is none.
fn sum(value: Option<&Value>, by: &Value) -> Option<Value> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Some(by.clone()) };
    let integer = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    if let (Some(value), Some(by)) = (integer(value), integer(by)) {
        let sum = value + by;
        return i64::try_from(sum).map(Value::from).or_else(|_| u64::try_from(sum).map(Value::from)).ok();
    }
    Some(json!(value.as_f64()? + by.as_f64()?))
}

/// An index that is sent values, one that is sent whole documents, and the documents.
struct Pair {
    directory: MemoryDirectory,
    index: Index,
    naive: Index,
    documents: BTreeMap<u32, Map<String, Value>>,
}

impl Pair {
    fn both(&self, operation: impl Fn() -> Operation) {
        for index in [&self.index, &self.naive] {
            apply_one(index, operation()).expect("done");
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Add(all) => {
                let document =
                    |(id, value): &(u32, Value)| json!({"id": id, "title": "a film", "views": value, "stock": 1});
                let all: Vec<Value> = all.iter().map(document).collect();
                self.both(|| add(&all));
                for document in all {
                    let id = document["id"].as_u64().expect("a number");
                    self.documents.insert(id as u32, document.as_object().cloned().expect("an object"));
                }
            }
            Step::Update(changes) => self.update(changes),
            Step::Delete(id) => {
                self.both(|| delete(&[&id.to_string()]));
                self.documents.remove(id);
            }
            Step::Compact => {
                self.index.compact(&AtomicBool::new(false)).expect("merges");
            }
            Step::Reopen => {
                self.index = create(&MemoryDirectory::new());
                self.index = Index::open_in(Arc::new(self.directory.clone()), options()).expect("whole");
            }
            Step::Search(fields) => {
                let searchable: Vec<&str> = ["title"].into_iter().chain(fields.iter().copied()).collect();
                self.both(|| settings(json!({ "searchableAttributes": searchable })));
            }
            Step::Filter(fields) => self.both(|| settings(json!({ "filterableAttributes": fields }))),
        }
    }

    fn update(&mut self, changes: &[(u32, &'static str, Value, bool)]) {
        let before = self.documents.clone();
        let (mut lines, mut changed, mut fails) = (Vec::new(), Vec::new(), false);
        for (id, field, value, is_set) in changes {
            let is_set = *is_set || value.is_boolean();
            let one = json!({ *field: value });
            lines.push(if is_set { line(*id, json!({}), one) } else { line(*id, one, json!({})) });
            let Some(document) = self.documents.get_mut(id) else { continue };
            let new = if is_set { Some(value.clone()) } else { sum(document.get(*field), value) };
            match new {
                Some(new) => drop(document.insert((*field).to_owned(), new)),
                None => fails = true,
            }
            changed.push(*id);
        }
        let outcome = apply_one(&self.index, values(&lines));
        assert!(fails || outcome.is_ok(), "{outcome:?} for {lines:?}");
        // A sum that no integer of 64 bits holds is none of `sum`: what it became is taken over.
        if fails || outcome.is_err() {
            self.documents = before;
            if outcome.is_ok() {
                let now = documents(&self.index.snapshot());
                let id = |document: &Map<String, Value>| document["id"].as_u64().expect("a number") as u32;
                self.documents = now.into_iter().map(|document| (id(&document), document)).collect();
            }
        }
        let all: Vec<Value> =
            changed.iter().filter_map(|id| self.documents.get(id)).cloned().map(Value::Object).collect();
        if !all.is_empty() {
            apply_one(&self.naive, add(&all)).expect("done");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn they_are_what_whole_documents_would_be(steps in vec(step(), 1..25)) {
        let directory = MemoryDirectory::new();
        let mut pair = Pair {
            index: create(&directory),
            naive: create(&MemoryDirectory::new()),
            directory,
            documents: BTreeMap::new(),
        };
        pair.both(counters);
        for step in &steps {
            pair.take(step);
            let (snapshot, naive) = (pair.index.snapshot(), pair.naive.snapshot());
            let (one, two) = (observe(&snapshot), observe(&naive));
            prop_assert_eq!(&one.documents, &two.documents, "after {:?}", step);
            prop_assert_eq!(&one.field_distribution, &two.field_distribution, "after {:?}", step);
            prop_assert_eq!(in_columns(&snapshot), in_columns(&naive), "after {:?}", step);
            for word in ["film", "1", "2", "5", "true", "0.5", "text"] {
                prop_assert_eq!(ids_with_word(&snapshot, word), ids_with_word(&naive, word), "{} after {:?}", word, step);
            }
        }
        whole(&pair.index);
    }
}
