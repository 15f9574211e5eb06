//! Documents are written first and get their vectors later, from a model that may refuse or be away.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use lamina_segment::storage::{Fault, FaultyDirectory, MemoryDirectory, Survival};
use parking_lot::Mutex;
use serde_json::json;

use super::super::embedding::{Asking, EmbedFailure, Embedded, Embedder, EmbedderProvider};
use super::super::settings::EmbedderSettings;
use super::*;

/// Refuses texts that hold a `!`, unless it is tolerant.
const PICKY: u8 = 0;
const TOLERANT: u8 = 1;
const AWAY: u8 = 2;
/// Answers when it is something else.
const SILENT: u8 = 3;

/// Remembers what it has made.
#[derive(Clone, Debug, Default)]
struct Model {
    manner: Arc<AtomicU8>,
    asked: Arc<AtomicUsize>,
    made: Arc<Mutex<HashSet<String>>>,
}

impl EmbedderProvider for Model {
    fn open(&self, _: &EmbedderSettings, asking: Option<Asking<'_>>) -> Result<Arc<dyn Embedder>, EmbedFailure> {
        if asking.is_some() && self.manner.load(Ordering::Relaxed) == AWAY {
            return Err(EmbedFailure::runtime("away"));
        }
        Ok(Arc::new(self.clone()))
    }
}

impl Embedder for Model {
    fn dimensions(&self) -> u32 {
        1
    }

    fn embed(&self, texts: &[String], _: Asking<'_>) -> Vec<Result<Vec<f32>, EmbedFailure>> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        while self.manner.load(Ordering::Relaxed) == SILENT {
            // It says nothing for so long as it is silent.
            std::thread::sleep(Duration::from_millis(1));
        }
        let answer = |text: &String| match self.manner.load(Ordering::Relaxed) {
            AWAY => Err(EmbedFailure::runtime("away")),
            PICKY if text.contains('!') => Err(EmbedFailure::user("no").of_text()),
            _ => {
                self.made.lock().insert(text.clone());
                Ok(vec![text.len() as f32])
            }
        };
        texts.iter().map(answer).collect()
    }

    fn known(&self, texts: &[String]) -> Vec<Option<Vec<f32>>> {
        let made = self.made.lock();
        texts.iter().map(|text| made.contains(text).then(|| vec![text.len() as f32])).collect()
    }
}

impl Model {
    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }

    fn be(&self, manner: u8) {
        self.manner.store(manner, Ordering::Relaxed);
    }

    fn options(&self) -> IndexOptions {
        IndexOptions { embedders: Arc::new(self.clone()), ..options() }
    }
}

/// An index whose embedder `m` looks at the field `t`.
fn index(directory: &(impl Directory + Clone + 'static), model: &Model) -> Index {
    let index = Index::create_in(Arc::new(directory.clone()), model.options()).unwrap();
    let embedder = json!({"source": "rest", "url": "u", "documentTemplate": "{{ doc.t }}"});
    apply_one(&index, settings(json!({"embedders": {"m": embedder}}))).unwrap();
    index
}

fn apply_first(index: &Index, documents: &[Value]) {
    let batch = index.snapshot().last_outcome().map_or(0, |(batch, _)| batch + 1);
    let note = CommitNote::new(batch, move |_| batch.to_le_bytes().to_vec());
    let results = index.apply_and_embed_later(&[add(documents)], note, &Progress::new(), &AtomicBool::new(false));
    results.unwrap().remove(0).unwrap();
}

fn embed(index: &Index) -> Embedded {
    index.embed_waiting(&Progress::new(), &AtomicBool::new(false)).unwrap()
}

/// Documents with a vector of `m`.
fn embedded_ids(snapshot: &Snapshot) -> Vec<String> {
    let addresses = snapshot.documents(0, u64::MAX).into_iter();
    let embedded = addresses.filter(|address| {
        let vectors = snapshot.segments[address.segment as usize].reader.vectors_of("m");
        vectors.is_some_and(|vectors| !vectors.of(address.doc).is_empty())
    });
    embedded.map(|address| id_of(&serde_json::from_slice(&snapshot.document(address).unwrap()).unwrap())).collect()
}

#[test]
fn documents_wait_for_their_vectors() {
    let (directory, model) = (MemoryDirectory::default(), Model::default());
    let index = index(&directory, &model);
    apply_first(
        &index,
        &[
            json!({"id": 1, "t": "one"}),
            json!({"id": 2, "t": "three"}),
            json!({"id": 3, "_vectors": {"m": null}, "t": "x"}),
        ],
    );
    let written = index.snapshot();
    assert_eq!((model.asked(), written.waits_for_vectors()), (0, true));
    assert_eq!(ids_with_word(&written, "three"), ["2"]);
    drop(index);

    // As after a crash between both commits.
    let index = Index::open_in(Arc::new(directory), model.options()).unwrap();
    assert_eq!(embed(&index), Embedded { made: 2, ..Embedded::default() });
    let embedded = index.snapshot();
    assert_eq!(embedded_ids(&embedded), ["1", "2"]);
    assert_eq!((model.asked(), embedded.waits_for_vectors()), (2, false));
    assert_eq!(embedded.last_outcome().map(|(batch, _)| batch), written.last_outcome().map(|(batch, _)| batch));
    assert_eq!(embedded.updated_at(), written.updated_at());
    index.verify().unwrap();

    assert_eq!(embed(&index), Embedded::default());
    assert_eq!(index.snapshot().generation, embedded.generation, "nothing to do, nothing done");
    // The same text keeps its vector, wherever it goes.
    apply_first(&index, &[json!({"id": 1, "t": "one", "seen": true}), json!({"id": 4, "t": "four"})]);
    assert_eq!(embedded_ids(&index.snapshot()), ["1", "2"]);
    assert_eq!((embed(&index).made, model.asked()), (1, 1));
    index.compact(&AtomicBool::new(false)).unwrap();
    assert_eq!(embedded_ids(&index.snapshot()), ["1", "2", "4"]);
}

#[test]
fn refused_texts_are_reported_and_tried_again() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    let documents: Vec<Value> =
        (0..3000).map(|i| json!({"id": i, "t": if i % 1000 == 7 { "no!" } else { "yes" }})).collect();
    apply_first(&index, &documents);
    let report = embed(&index);
    assert_eq!((report.made, report.failed, report.lasting.len()), (2997, 3, 0));
    let ids: Vec<&str> = report.documents.iter().map(|failed| failed.document_id.as_str()).collect();
    assert_eq!(ids, ["7", "1007", "2007"]);
    assert_eq!(report.documents[0].failure.to_string(), "user error: no");
    assert!(index.snapshot().waits_for_vectors());
    model.asked();
    model.be(TOLERANT);
    assert_eq!((embed(&index).made, model.asked()), (3, 3));
    assert_eq!(embedded_ids(&index.snapshot()).len(), 3000);
}

#[test]
fn a_model_that_is_away_keeps_no_document_from_being_written() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    apply_first(&index, &[json!({"id": 1, "t": "one"})]);
    embed(&index);
    model.be(AWAY);
    apply_first(&index, &[json!({"id": 2, "t": "two"}), json!({"id": 3, "t": "three"})]);
    let before = index.snapshot();
    let report = embed(&index);
    assert_eq!((report.made, report.failed), (0, 2));
    assert_eq!(report.lasting["m"].to_string(), "runtime error: away");
    assert_eq!(index.snapshot().generation, before.generation);
    model.be(PICKY);
    assert_eq!(embed(&index).made, 2);
    assert_eq!(embedded_ids(&index.snapshot()), ["1", "2", "3"]);
}

#[test]
fn settings_take_effect_with_their_vectors_or_not_at_all() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    apply_first(
        &index,
        &[json!({"id": 1, "t": "a"}), json!({"id": 2, "t": "b", "_vectors": {"late": {"regenerate": false}}})],
    );
    embed(&index);
    let change = || settings(json!({"embedders": {"m": {"documentTemplate": "{{ doc.t }}{{ doc.id }}"}}}));
    model.be(AWAY);
    try_apply(&index, 100, &[change()]).unwrap_err();
    assert!(!index.snapshot().waits_for_vectors());
    model.be(PICKY);
    let template =
        settings(json!({"embedders": {"m": {"documentTemplate": "{{ doc.t }}{% if doc.id == 2 %}!{% endif %}"}}}));
    try_apply(&index, 101, &[template]).unwrap();
    assert_eq!(embedded_ids(&index.snapshot()), ["1"], "a text that is refused for itself waits");
    assert_eq!(embed(&index).failed, 1);
    // Who wants no vector of an embedder does not wait for it.
    model.be(TOLERANT);
    try_apply(&index, 102, &[settings(json!({"embedders": {"m": null, "late": {"source": "rest", "url": "u"}}}))])
        .unwrap();
    assert!(!index.snapshot().waits_for_vectors());
}

#[test]
fn giving_up_changes_nothing() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    apply_first(&index, &[json!({"id": 1, "t": "one"})]);
    let before = index.snapshot().generation;
    let given_up = index.embed_waiting(&Progress::new(), &AtomicBool::new(true));
    assert!(matches!(given_up, Err(IndexError::Cancelled)));
    assert_eq!(index.snapshot().generation, before);
}

#[test]
fn a_text_that_is_refused_again_costs_its_neighbours_no_copy() {
    let (directory, model) = (FaultyDirectory::new(Fault::None), Model::default());
    let index = index(&directory, &model);
    let documents: Vec<Value> = (0..50).map(|i| json!({"id": i, "t": if i == 7 { "no!" } else { "yes" }})).collect();
    apply_first(&index, &documents);
    assert_eq!(embed(&index).made, 49);
    let writes = directory.write_count();
    assert_eq!((embed(&index).failed, directory.write_count()), (1, writes), "nothing new, nothing written");
    // An embedder whose text is refused takes nothing from the one beside it.
    let other = json!({"source": "rest", "url": "v", "documentTemplate": "{{ doc.t }}!"});
    model.be(TOLERANT);
    apply_one(&index, settings(json!({"embedders": {"other": other}}))).unwrap();
    model.be(PICKY);
    apply_first(&index, &[json!({"id": 50, "t": "new"}), json!({"id": 3, "t": "more!"})]);
    let report = embed(&index);
    assert_eq!((report.made, report.failed), (1, 4), "`m` of document 50; both of 3, `other` of 50, `m` of 7");
    model.be(TOLERANT);
    assert_eq!(embed(&index).made, 4);
    index.compact(&AtomicBool::new(false)).unwrap();
    index.verify().unwrap();
    let snapshot = index.snapshot();
    let reader = &snapshot.segments[0].reader;
    for (name, mark) in [("m", 0.0), ("other", 1.0)] {
        let vectors = reader.vectors_of(name).unwrap();
        for (id, length) in [("7", 3.0), ("8", 3.0), ("50", 3.0), ("3", 5.0)] {
            let doc = snapshot.find(id).unwrap().doc;
            assert_eq!(vectors.decoded(doc).unwrap(), [[length + mark]], "{name} of {id}");
        }
    }
}

#[test]
fn given_vectors_stay_as_long_as_they_are_to() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    let given = |vectors: Value, regenerate: bool| json!({"m": {"embeddings": vectors, "regenerate": regenerate}});
    let vector = |id: &str| {
        embed(&index);
        let snapshot = index.snapshot();
        let address = snapshot.find(id).unwrap();
        let vectors = snapshot.segments[address.segment as usize].reader.vectors_of("m").unwrap();
        vectors.decoded(address.doc).unwrap().concat()
    };
    let write = |operation: Operation| apply_one(&index, operation).map(drop).unwrap();
    write(add(&[
        json!({"id": 1, "t": "text", "_vectors": given(json!([100]), true)}),
        json!({"id": 2, "t": "text", "_vectors": given(json!([100]), false)}),
        json!({"id": 3, "t": "text", "_vectors": given(json!(null), true)}),
        json!({"id": 4, "t": "text", "_vectors": {"m": {"regenerate": true}}}),
    ]));
    assert_eq!(["1", "2", "3", "4"].map(vector), [vec![100.0], vec![100.0], vec![4.0], vec![4.0]]);
    // The text stays: so do they, whether the document is updated or replaced.
    write(update(&[json!({"id": 1, "seen": true}), json!({"id": 2, "seen": true})]));
    write(add(&[json!({"id": 1, "t": "text"})]));
    assert_eq!(["1", "2"].map(vector), [[100.0], [100.0]]);
    // It changes: only what asked for it is made anew.
    write(update(&[json!({"id": 1, "t": "longer"}), json!({"id": 2, "t": "longer"})]));
    assert_eq!(["1", "2"].map(vector), [[6.0], [100.0]]);
    // What is never to change goes with its document, and can be handed over to the model or kept from it.
    write(add(&[json!({"id": 2, "t": "longer"})]));
    assert_eq!(vector("2"), [6.0]);
    write(update(&[json!({"id": 2, "_vectors": {"m": {"regenerate": false}}})]));
    write(update(&[json!({"id": 2, "t": "of another length"})]));
    assert_eq!(vector("2"), [6.0]);
    write(update(&[json!({"id": 2, "_vectors": {"m": {"regenerate": true}}})]));
    assert_eq!(vector("2"), [17.0]);
    // Another model makes all that may be made.
    write(update(&[json!({"id": 1, "_vectors": given(json!([5]), true)})]));
    write(update(&[json!({"id": 3, "_vectors": given(json!([7]), false)})]));
    write(settings(json!({"embedders": {"m": {"url": "another"}}})));
    assert_eq!(["1", "2", "3"].map(vector), [[6.0], [17.0], [7.0]]);
}

#[test]
fn vectors_that_do_not_fit_into_memory_are_put_into_files() {
    let vector = |number: usize| -> Vec<f32> { (0..64).map(|place| ((number * 64 + place) % 1000) as f32).collect() };
    let syncs = |memory_bytes: usize| {
        let directory = FaultyDirectory::new(Fault::None);
        let options = |memory_bytes| IndexOptions { indexing_memory_bytes: memory_bytes, ..options() };
        // One segment, whose vectors are plain data of an embedder that the settings do not know yet.
        let roomy = Index::create_in(Arc::new(directory.clone()), options(64 << 20)).unwrap();
        let documents: Vec<Value> = (0..1000).map(|id| json!({"id": id, "_vectors": {"e": vector(id)}})).collect();
        apply_one(&roomy, add(&documents)).unwrap();
        roomy.compact(&AtomicBool::new(false)).unwrap();
        drop(roomy);
        let index = Index::open_in(Arc::new(directory.clone()), options(memory_bytes)).unwrap();
        let before = directory.sync_count();
        let embedder = json!({"embedders": {"e": {"source": "userProvided", "dimensions": 64}}});
        apply_one(&index, settings(embedder)).unwrap();
        let syncs = directory.sync_count() - before;
        let snapshot = index.snapshot();
        for id in [0, 1, 499, 998, 999] {
            let address = snapshot.find(&id.to_string()).unwrap();
            let vectors = snapshot.segments[address.segment as usize].reader.vectors_of("e").unwrap();
            assert_eq!(vectors.decoded(address.doc).unwrap(), [vector(id)], "{id}");
        }
        index.verify().unwrap();
        assert!(!directory.list().unwrap().iter().any(|name| name.starts_with("rows-")), "what was put aside is gone");
        syncs
    };
    // 260 bytes each, and a quarter of the memory for them.
    assert_eq!(syncs(4 * 50_000), syncs(64 << 20) + 5);
}

#[test]
fn vectors_put_aside_by_a_process_that_was_killed_are_removed() {
    let documents: Vec<Value> = (0..200).map(|id| json!({"id": id, "_vectors": {"e": vec![0.5; 64]}})).collect();
    let embedder = || settings(json!({"embedders": {"e": {"source": "userProvided", "dimensions": 64}}}));
    let rows = |directory: &dyn Directory| {
        let names = directory.list().unwrap();
        names.into_iter().filter(|name| name.starts_with("rows-")).collect::<Vec<_>>()
    };
    let options = || IndexOptions { indexing_memory_bytes: 4 * 20_000, ..options() };
    let filled = |fault: Fault| {
        let directory = FaultyDirectory::new(fault);
        let index = Index::create_in(Arc::new(directory.clone()), options()).unwrap();
        apply_one(&index, add(&documents)).unwrap();
        index.compact(&AtomicBool::new(false)).unwrap();
        (directory, index)
    };
    let (directory, index) = filled(Fault::None);
    let first = directory.sync_count() + 1;
    apply_one(&index, embedder()).unwrap();
    let mut left = 0;
    for sync in first..=directory.sync_count() {
        let (directory, index) = filled(Fault::PowerLossAtSync(sync));
        // It may fail as a whole or only this operation.
        let _ = try_apply(&index, 1, &[embedder()]);
        drop(index);
        let after = directory.after_crash(Survival::Everything);
        left += rows(&after).len();
        let index = Index::open_in(Arc::new(after.clone()), options()).unwrap();
        assert_eq!(rows(&after), [""; 0], "after sync {sync}");
        // Nothing stands in the way of the same names.
        apply_one(&index, embedder()).unwrap();
        index.verify().unwrap();
    }
    assert!(left > 0, "no crash hit a file that was put aside");
}

/// Waits until the model is asked.
fn until_asked(model: &Model) {
    while model.asked.load(Ordering::Relaxed) == 0 {
        // Between looks.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_silent_model_holds_up_no_writer() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    let document = |id: u32, text: &str| json!({"id": id, "t": text});
    apply_first(&index, &[document(1, "one"), document(2, "two"), document(3, "three")]);
    model.be(SILENT);
    let embedded = std::thread::scope(|scope| {
        let embedding = scope.spawn(|| embed(&index));
        until_asked(&model);
        apply_one(&index, Operation::DeleteIds(vec!["2".to_owned()])).unwrap();
        apply_first(&index, &[document(3, "another"), document(4, "four")]);
        assert_eq!(ids_with_word(&index.snapshot(), "another"), ["3"], "they are found by their words");
        model.be(PICKY);
        embedding.join().unwrap()
    });
    assert_eq!(embedded.failed, 0);
    // What was written meanwhile waits, and what was deleted is not there again.
    assert_eq!(embedded_ids(&index.snapshot()), ["1"]);
    assert!(index.snapshot().waits_for_vectors());
    embed(&index);
    assert_eq!(embedded_ids(&index.snapshot()), ["1", "3", "4"]);
    index.verify().unwrap();
}

#[test]
fn vectors_of_segments_that_were_merged_meanwhile_are_not_lost() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    apply_first(&index, &[json!({"id": 1, "t": "one"})]);
    apply_first(&index, &[json!({"id": 2, "t": "two"})]);
    model.be(SILENT);
    std::thread::scope(|scope| {
        let embedding = scope.spawn(|| embed(&index));
        until_asked(&model);
        index.compact(&AtomicBool::new(false)).unwrap();
        model.be(PICKY);
        assert_eq!(embedding.join().unwrap().made, 2);
    });
    assert_eq!(embedded_ids(&index.snapshot()), ["1", "2"]);
    index.verify().unwrap();
}

#[test]
fn settings_that_are_prepared_ask_no_provider_when_they_take_effect() {
    let model = Model::default();
    let index = index(&MemoryDirectory::default(), &model);
    apply_first(&index, &[json!({"id": 1, "t": "one"}), json!({"id": 2, "t": "two"})]);
    embed(&index);
    let Operation::Settings(patch) =
        settings(json!({"embedders": {"m": {"documentTemplate": "{{ doc.t }} {{ doc.id }}"}}}))
    else {
        panic!("settings are settings")
    };
    assert!(index.needs_embedders(&patch));
    let prepare = || index.prepare(&patch, &Progress::new(), &AtomicBool::new(false));
    let before = index.snapshot().generation;
    model.be(AWAY);
    prepare().unwrap_err();
    model.be(PICKY);
    assert!(prepare().unwrap().unwrap().is_empty());
    assert_eq!(index.snapshot().generation, before, "nothing has changed");
    apply_first(&index, &[json!({"id": 3, "t": "three"})]);
    model.asked();
    model.be(AWAY);
    let note = CommitNote::new(100, |_| Vec::new());
    let operations = [Operation::Settings(patch.clone())];
    let results = index.apply_and_embed_later(&operations, note, &Progress::new(), &AtomicBool::new(false)).unwrap();
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(model.asked(), 0);
    assert_eq!(embedded_ids(&index.snapshot()), ["1", "2"], "what was written meanwhile waits");
    assert!(!index.needs_embedders(&patch));
}

/// Has its model at hand: the vector of a text is its length, and a text without letters has none.
#[derive(Clone, Debug)]
struct Nearby {
    dimensions: u32,
    made: Arc<AtomicUsize>,
}

impl EmbedderProvider for Nearby {
    fn open(&self, _: &EmbedderSettings, _: Option<Asking<'_>>) -> Result<Arc<dyn Embedder>, EmbedFailure> {
        Ok(Arc::new(self.clone()))
    }

    fn at_hand(&self, _: &EmbedderSettings) -> Option<Arc<dyn Embedder>> {
        Some(Arc::new(self.clone()))
    }
}

impl Embedder for Nearby {
    fn dimensions(&self) -> u32 {
        self.dimensions
    }

    fn embed(&self, _: &[String], _: Asking<'_>) -> Vec<Result<Vec<f32>, EmbedFailure>> {
        panic!("vectors are made at once")
    }

    fn at_once(&self, texts: &[&str]) -> Option<Vec<Option<Vec<f32>>>> {
        self.made.fetch_add(texts.len(), Ordering::Relaxed);
        let vector = |text: &&str| {
            let has_letters = text.contains(char::is_alphabetic);
            has_letters.then(|| vec![text.len() as f32; self.dimensions as usize])
        };
        Some(texts.iter().map(vector).collect())
    }
}

#[test]
fn vectors_of_a_model_at_hand_come_with_the_words() {
    let model = Nearby { dimensions: 1, made: Arc::default() };
    let made = || model.made.swap(0, Ordering::Relaxed);
    let directory = MemoryDirectory::default();
    let options = IndexOptions { embedders: Arc::new(model.clone()), ..options() };
    let index = Index::create_in(Arc::new(directory.clone()), options).unwrap();
    let embedder = json!({"source": "static", "model": "m", "documentTemplate": "{{ doc.t }}"});
    apply_one(&index, settings(json!({"embedders": {"m": embedder}}))).unwrap();
    apply_first(&index, &[json!({"id": 1, "t": "one"}), json!({"id": 2, "t": "..."}), json!({"id": 3, "t": "two"})]);
    let written = index.snapshot();
    assert_eq!((embedded_ids(&written), written.waits_for_vectors()), (vec!["1".into(), "3".into()], false));
    assert_eq!(made(), 3);
    // What says nothing is looked at once, too.
    apply_first(&index, &[json!({"id": 1, "t": "one"}), json!({"id": 2, "t": "..."})]);
    assert_eq!(made(), 0);
    // A change of settings makes each vector once, not beforehand.
    let change = settings(json!({"embedders": {"m": {"model": "other"}}}));
    let Operation::Settings(patch) = &change else { panic!("settings are settings") };
    assert!(index.prepare(patch, &Progress::new(), &AtomicBool::new(false)).unwrap().unwrap().is_empty());
    assert_eq!(made(), 0);
    let note = CommitNote::new(100, |_| Vec::new());
    let results = index.apply_and_embed_later(&[change], note, &Progress::new(), &AtomicBool::new(false)).unwrap();
    assert!(results.iter().all(Result::is_ok));
    assert_eq!((made(), embedded_ids(&index.snapshot())), (3, vec!["1".into(), "3".into()]));
    drop(index);

    // Another model of the same name: its vectors do not go beside those of another size.
    let other = Nearby { dimensions: 2, ..model.clone() };
    let options = IndexOptions { embedders: Arc::new(other), ..super::options() };
    let index = Index::open_in(Arc::new(directory), options).unwrap();
    apply_first(&index, &[json!({"id": 4, "t": "four"})]);
    assert_eq!(ids_with_word(&index.snapshot(), "four"), ["4"]);
    assert!(index.snapshot().waits_for_vectors());
    let embedded = embed(&index);
    assert_eq!((embedded.made, embedded.failed), (0, 1));
    assert!(embedded.lasting["m"].message.contains("stored vectors have"), "{embedded:?}");
}
