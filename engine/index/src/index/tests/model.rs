//! Random histories against a plain list of documents.

use std::collections::{BTreeMap, BTreeSet};

use lamina_segment::bits::DocSet;
use lamina_segment::storage::MemoryDirectory;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::index::{Selector, Settings};

/// Words of titles. `onezztwo` is cut in two while `zz` is a separator.
const WORDS: [&str; 5] = ["red", "green", "blue", "onezztwo", "two"];

#[derive(Clone, Debug)]
enum Step {
    Batch(Vec<Action>),
    Compact,
    Reopen,
}

#[derive(Clone, Debug)]
enum Action {
    Upsert {
        method: WriteMethod,
        skip_creation: bool,
        documents: Vec<Value>,
    },
    Delete(Vec<u8>),
    /// Documents whose `n` is this number.
    DeleteMatching(u8),
    Clear,
    Settings(Value),
}

/// Expected contents of the index.
#[derive(Clone, Debug, Default)]
struct Model {
    documents: Vec<Map<String, Value>>,
    settings: Settings,
}

impl Model {
    fn position(&self, id: &str) -> Option<usize> {
        self.documents.iter().position(|document| id_of(document) == id)
    }

    fn apply(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Upsert { method, skip_creation, documents } => {
                let mut distinct = BTreeSet::new();
                for document in documents {
                    let document = document.as_object().expect("object");
                    let id = id_of(document);
                    match (self.position(&id), method) {
                        (Some(position), WriteMethod::Replace) => self.documents[position] = document.clone(),
                        (Some(position), WriteMethod::Update) => {
                            for (name, value) in document {
                                self.documents[position].insert(name.clone(), value.clone());
                            }
                        }
                        (None, _) if *skip_creation => {}
                        (None, _) => self.documents.push(document.clone()),
                    }
                    distinct.insert(id);
                }
                Outcome::Upserted { received: documents.len() as u64, indexed: distinct.len() as u64 }
            }
            Action::Delete(ids) => {
                let ids: BTreeSet<String> = ids.iter().map(u8::to_string).collect();
                self.retain(|document| !ids.contains(&id_of(document)))
            }
            Action::DeleteMatching(number) => self.retain(|document| document.get("n") != Some(&json!(number))),
            Action::Clear => self.retain(|_| false),
            Action::Settings(patch) => {
                let patch = serde_json::from_value(patch.clone()).expect("valid patch");
                self.settings = self.settings.patched(&patch).expect("consistent");
                Outcome::SettingsChanged
            }
        }
    }

    fn retain(&mut self, keep: impl FnMut(&Map<String, Value>) -> bool) -> Outcome {
        let before = self.documents.len();
        self.documents.retain(keep);
        Outcome::Deleted { deleted: (before - self.documents.len()) as u64 }
    }

    fn field_distribution(&self) -> Vec<(String, u64)> {
        let mut counts = BTreeMap::new();
        for name in self.documents.iter().flat_map(|document| document.keys()) {
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// Ids of documents with the word in a searchable field.
    fn ids_with_word(&self, word: &str) -> Vec<String> {
        let splits = self.settings.separator_tokens.contains("zz");
        let says = |text: &str| {
            text.split(' ').any(|found| if splits { found.split("zz").any(|part| part == word) } else { found == word })
        };
        let searchable = &self.settings.searchable_attributes;
        let matches = |document: &&Map<String, Value>| {
            let title = document.get("title").and_then(Value::as_str);
            let deep = document.get("deep").and_then(|deep| deep.get("name")).and_then(Value::as_str);
            (searchable.selects("title") && title.is_some_and(says))
                || (searchable.selects("deep.name") && deep.is_some_and(says))
        };
        let mut ids: Vec<String> = self.documents.iter().filter(matches).map(id_of).collect();
        ids.sort();
        ids
    }

    /// Values of the column of `n`, by id.
    fn numbers(&self) -> Vec<(String, Vec<String>)> {
        let mut values: Vec<_> = self
            .documents
            .iter()
            .filter_map(|document| Some((id_of(document), vec![document.get("n")?.to_string()])))
            .collect();
        values.sort();
        values
    }
}

impl Action {
    fn to_operation(&self) -> Operation {
        match self {
            Action::Upsert { method, skip_creation, documents } => Operation::Upsert(Upsert {
                payload: payload(documents),
                method: *method,
                primary_key: Some("id".to_owned()),
                skip_creation: *skip_creation,
            }),
            Action::Delete(ids) => Operation::DeleteIds(ids.iter().map(u8::to_string).collect()),
            Action::DeleteMatching(number) => {
                let number = json!(number);
                Operation::DeleteMatching(Selector::new(move |snapshot, _| Ok(select(snapshot, &number))))
            }
            Action::Clear => Operation::Clear,
            Action::Settings(patch) => settings(patch.clone()),
        }
    }
}

/// Documents (also deleted ones: those are to be ignored) whose `n` is `number`.
fn select(snapshot: &Snapshot, number: &Value) -> Vec<DocSet> {
    let matching = |segment: &crate::index::SegmentView| {
        (0..segment.reader.doc_count())
            .filter(|&doc| {
                let mut json = Vec::new();
                segment.reader.store().get(doc, &mut json).expect("readable");
                serde_json::from_slice::<Value>(&json).expect("object").get("n") == Some(number)
            })
            .collect::<DocSet>()
    };
    snapshot.segments.iter().map(matching).collect()
}

fn document() -> impl Strategy<Value = Value> {
    let title = proptest::option::of(proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..4));
    let deep = proptest::option::of(proptest::sample::select(&WORDS[..]));
    (0_u8..12, any::<bool>(), title, proptest::option::of(0_u8..4), deep).prop_map(|(id, as_text, title, n, deep)| {
        let mut document = Map::new();
        document.insert("id".to_owned(), if as_text { json!(id.to_string()) } else { json!(id) });
        if let Some(words) = title {
            document.insert("title".to_owned(), json!(words.join(" ")));
        }
        if let Some(n) = n {
            document.insert("n".to_owned(), json!(n));
        }
        if let Some(name) = deep {
            document.insert("deep".to_owned(), json!({"name": name, "list": [name, {"x": null}]}));
        }
        Value::Object(document)
    })
}

fn action() -> impl Strategy<Value = Action> {
    let method = proptest::sample::select(vec![WriteMethod::Replace, WriteMethod::Update]);
    let patch = proptest::sample::select(vec![
        json!({"filterableAttributes": ["n"]}),
        json!({"filterableAttributes": [{"attributePatterns": ["*"]}]}),
        json!({"filterableAttributes": null}),
        json!({"separatorTokens": ["zz"]}),
        json!({"separatorTokens": null, "synonyms": {"a": ["b"]}}),
        json!({"searchableAttributes": ["title"]}),
        json!({"searchableAttributes": ["deep", "title"], "sortableAttributes": ["n"]}),
        json!({"searchableAttributes": null, "sortableAttributes": null}),
        json!({"searchableAttributes": []}),
    ]);
    prop_oneof![
        8 => (method, proptest::bool::weighted(0.2), proptest::collection::vec(document(), 0..8))
            .prop_map(|(method, skip_creation, documents)| Action::Upsert { method, skip_creation, documents }),
        2 => proptest::collection::vec(0_u8..14, 0..4).prop_map(Action::Delete),
        1 => (0_u8..4).prop_map(Action::DeleteMatching),
        1 => Just(Action::Clear),
        3 => patch.prop_map(Action::Settings),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => proptest::collection::vec(action(), 1..5).prop_map(Step::Batch),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

fn check(index: &Index, model: &Model) {
    let snapshot = index.snapshot();
    assert_eq!(documents(&snapshot), model.documents);
    assert_eq!(snapshot.document_count(), model.documents.len() as u64);
    assert_eq!(*snapshot.settings, model.settings);
    assert_eq!(observe(&snapshot).field_distribution, model.field_distribution());
    for id in 0..14_u8 {
        let found = snapshot.get_document(&id.to_string()).expect("readable");
        let found: Option<Map<String, Value>> = found.map(|json| serde_json::from_slice(&json).expect("object"));
        assert_eq!(found.as_ref(), model.position(&id.to_string()).map(|position| &model.documents[position]));
    }
    for word in WORDS.into_iter().chain(["one"]) {
        assert_eq!(ids_with_word(&snapshot, word), model.ids_with_word(word), "documents with `{word}`");
    }
    if model.settings.needs_column("n") && snapshot.fields.get("n").is_some() {
        assert_eq!(column_values(&snapshot, "n"), model.numbers());
    }
    assert!(snapshot.segments.iter().all(|segment| segment.live_count() > 0), "no segment without live documents");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_history_gives_what_a_plain_list_gives(steps in proptest::collection::vec(step(), 1..12)) {
        let directory = MemoryDirectory::default();
        let mut index = create(&directory);
        let mut model = Model::default();
        for step in &steps {
            match step {
                Step::Batch(actions) => {
                    let operations: Vec<Operation> = actions.iter().map(Action::to_operation).collect();
                    let outcomes: Vec<Outcome> =
                        apply(&index, &operations).into_iter().map(|result| result.expect("no refusal")).collect();
                    let expected: Vec<Outcome> = actions.iter().map(|action| model.apply(action)).collect();
                    prop_assert_eq!(outcomes, expected);
                }
                Step::Compact => index.compact(&AtomicBool::new(false)).expect("merges"),
                Step::Reopen => {
                    drop(index);
                    index = Index::open_in(Arc::new(directory.clone()), options()).expect("opens");
                }
            }
            check(&index, &model);
        }
        index.verify().expect("whole");
    }
}
