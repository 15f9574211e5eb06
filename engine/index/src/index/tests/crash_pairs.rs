//! The power goes at each sync in turn while segments with pairs of frequent words are written and merged. What the pairs
//! say afterwards is what the documents hold.

use std::collections::{BTreeMap, BTreeSet};

use lamina_segment::storage::{Fault, FaultyDirectory, MemoryDirectory, Survival};
use serde_json::json;

use super::*;

const WORDS: [&str; 7] = ["sea", "king", "house", "horse", "tower", "light", "moon"];
/// A segment of that many documents has pairs of the words above, each in few enough documents to be listed.
const DOCUMENTS: usize = 4_200;

/// Three of the words each; which ones follows from the id.
fn some(ids: std::ops::Range<usize>) -> Operation {
    let text = |id: usize| [id, id / 7, id / 49].map(|n| WORDS[n % 7]).join(" ");
    add(&ids.map(|id| json!({"id": id, "text": text(id)})).collect::<Vec<_>>())
}

/// A segment with pairs, on a disk that is about to suffer `fault`.
fn start(fault: Fault) -> FaultyDirectory {
    static FILES: std::sync::LazyLock<MemoryDirectory> = std::sync::LazyLock::new(|| {
        let directory = MemoryDirectory::default();
        let index = create(&directory);
        apply(&index, &[some(0..DOCUMENTS)]);
        assert_eq!(check(&index.snapshot()).segments_with_pairs, 1);
        directory
    });
    let directory = FaultyDirectory::holding(&FILES).expect("readable");
    directory.set_fault(fault);
    directory
}

/// A second segment with pairs, a deletion, and both merged. `observed` sees every state that was reached.
fn live(directory: &FaultyDirectory, mut observed: impl FnMut(&Snapshot)) -> Result<(), IndexError> {
    let index = Index::open_in(Arc::new(directory.clone()), options())?;
    observed(&index.snapshot());
    try_apply(&index, 1, &[some(DOCUMENTS..2 * DOCUMENTS)])?;
    observed(&index.snapshot());
    try_apply(&index, 2, &[delete(&["3", "4000", "5000"])])?;
    observed(&index.snapshot());
    index.compact(&AtomicBool::new(false))?;
    observed(&index.snapshot());
    Ok(())
}

#[derive(Clone, Debug, PartialEq)]
struct Checked {
    documents: u64,
    segments: usize,
    segments_with_pairs: usize,
}

/// Compares the documents that each listed pair names with those that hold it.
fn check(snapshot: &Snapshot) -> Checked {
    let mut counts =
        Checked { documents: snapshot.document_count(), segments: snapshot.segments.len(), segments_with_pairs: 0 };
    for segment in &snapshot.segments {
        let (reader, word_pairs) = (&segment.reader, segment.reader.word_pairs());
        counts.segments_with_pairs += usize::from(!word_pairs.words().is_empty());
        let mut held: BTreeMap<[String; 2], BTreeSet<u32>> = BTreeMap::new();
        for doc in 0..reader.doc_count() {
            let mut json = Vec::new();
            reader.store().get(doc, &mut json).expect("readable");
            let document: Map<String, Value> = serde_json::from_slice(&json).expect("object");
            let words: Vec<&str> = document["text"].as_str().expect("a text").split(' ').collect();
            for pair in words.windows(2) {
                held.entry([pair[0].to_owned(), pair[1].to_owned()]).or_default().insert(doc);
            }
        }
        let mut listed = 0;
        for &left in word_pairs.words() {
            for &right in word_pairs.words() {
                let Some(docs) = word_pairs.next([left, right]) else { continue };
                listed += 1;
                let pair = [left, right].map(|word| String::from_utf8(reader.terms().term(word)).expect("a word"));
                let expected = held.get(&pair).cloned().unwrap_or_default();
                assert_eq!(docs.documents.iter().collect::<BTreeSet<_>>(), expected, "{pair:?}");
            }
        }
        assert!(word_pairs.words().is_empty() || listed >= 40, "{listed} pairs: the test shows little");
    }
    counts
}

#[test]
fn pairs_are_those_of_the_documents_after_a_power_loss_at_any_sync() {
    let whole = start(Fault::None);
    let mut states = Vec::new();
    live(&whole, |snapshot| states.push(check(snapshot))).expect("no fault");
    let last = Checked { documents: 2 * DOCUMENTS as u64 - 3, segments: 1, segments_with_pairs: 1 };
    assert_eq!(states.last(), Some(&last));
    assert_eq!(states[2].segments_with_pairs, 2);
    let sync_count = whole.sync_count();
    assert!(sync_count > 5, "{sync_count} syncs");
    for step in 0..sync_count {
        let directory = start(Fault::PowerLossAtSync(step));
        let mut reached = 0;
        live(&directory, |_| reached += 1).expect_err("the power is gone");
        for survival in [Survival::SyncedOnly, Survival::Everything] {
            let files: MemoryDirectory = directory.after_crash(survival);
            let index = Index::open_in(Arc::new(files), options()).expect("a state to return to");
            index.verify().expect("whole");
            let found = check(&index.snapshot());
            let before = reached.max(1) - 1;
            assert!(
                found == states[before] || Some(&found) == states.get(reached),
                "power lost at sync {step} ({survival:?}) after {reached} states: found {found:?}"
            );
        }
    }
}

#[test]
fn a_full_disk_at_any_write_of_pairs_changes_nothing() {
    let whole = start(Fault::None);
    live(&whole, |_| ()).expect("no fault");
    let write_count = whole.write_count();
    // Most writes are pieces of the same file: every third is enough, and the last ones, the pairs among them.
    for step in (0..write_count).filter(|step| step % 3 == 0 || step + 4 > write_count) {
        let directory = start(Fault::NoSpaceAtWrite(step));
        let mut last = None;
        let error = live(&directory, |snapshot| last = Some(check(snapshot))).expect_err("the disk is full");
        assert!(error.is_out_of_space(), "{error}");
        directory.set_fault(Fault::None);
        let index = Index::open_in(Arc::new(directory.clone()), options()).expect("opens");
        assert_eq!(Some(check(&index.snapshot())), last, "disk full at write {step}");
    }
}
