//! One index follows another: states, shared segments, histories that part.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::*;
use crate::index::{CommitNote, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};

fn options() -> IndexOptions {
    IndexOptions { indexing_threads: 1, background_merges: false, inline_tombstones_max: 16, ..IndexOptions::default() }
}

fn add(index: &Index, documents: &[Value]) {
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    let upsert = Upsert {
        payload: Payload::Bytes(lines.into_bytes().into()),
        method: WriteMethod::Replace,
        primary_key: None,
        skip_creation: false,
    };
    let batch = index.snapshot().last_outcome().map_or(0, |(batch, _)| batch + 1);
    let note = CommitNote::new(batch, |_| Vec::new());
    let results = index.apply(&[Operation::Upsert(upsert)], note, &Progress::new(), &AtomicBool::new(false));
    assert!(results.unwrap().iter().all(Result::is_ok));
}

/// Copies what the state of `writer` needs into `folder`, and answers its manifest.
fn send(writer: &Index, from: &Path, folder: &Path) -> Vec<u8> {
    let snapshot = writer.snapshot();
    for file in snapshot.named_files().unwrap() {
        let target = folder.join(&file.name);
        if !target.exists() {
            fs::copy(from.join(&file.name), target).unwrap();
        }
    }
    snapshot.to_manifest().unwrap()
}

fn documents(index: &Index) -> Vec<String> {
    let snapshot = index.snapshot();
    let read = |address| String::from_utf8(snapshot.document(address).unwrap()).unwrap();
    snapshot.documents(0, u64::MAX).into_iter().map(read).collect()
}

fn film(id: u32, title: &str) -> Value {
    json!({"id": id, "title": title})
}

#[test]
fn a_follower_has_each_state_and_shares_what_stays() {
    let folders = tempfile::tempdir().unwrap();
    let (one, two) = (folders.path().join("one"), folders.path().join("two"));
    let writer = Index::create(&one, options()).unwrap();
    add(&writer, &(0..50).map(|id| film(id, "alien")).collect::<Vec<_>>());
    fs::create_dir(&two).unwrap();
    place_manifest(&two, &send(&writer, &one, &two)).unwrap();
    let follower = Index::open(&two, options()).unwrap();
    assert_eq!(documents(&follower), documents(&writer));
    let before = follower.snapshot();

    // New documents, and tombstones that are too long for the manifest.
    add(&writer, &(40..60).map(|id| film(id, "aliens")).collect::<Vec<_>>());
    let manifest = send(&writer, &one, &two);
    assert_eq!(follower.follow(&manifest).unwrap(), Followed::Advanced);
    assert_eq!(follower.follow(&manifest).unwrap(), Followed::Unchanged);
    assert_eq!(documents(&follower), documents(&writer));
    assert_eq!(before.document_count(), 50, "a reader keeps what it has");
    let after = follower.snapshot();
    assert!(
        Arc::ptr_eq(&before.segments[0].reader, &after.segments[0].reader),
        "a segment that stays is not opened again"
    );

    // A merge on the other side.
    writer.compact(&AtomicBool::new(false)).unwrap();
    let manifest = send(&writer, &one, &two);
    assert_eq!(writer.follow(&manifest).unwrap(), Followed::Unchanged, "a writer that follows has its own last state");
    assert_eq!(follower.follow(&manifest).unwrap(), Followed::Advanced);
    drop((before, after));
    assert_eq!(documents(&follower), documents(&writer));
    let segments = fs::read_dir(&two)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with("seg-"));
    assert_eq!(segments.count(), 1, "what no state needs is removed");

    // All of it is durable.
    drop(follower);
    assert_eq!(documents(&Index::open(&two, options()).unwrap()), documents(&writer));
}

#[test]
fn another_history_changes_nothing() {
    let folders = tempfile::tempdir().unwrap();
    let [one, other, two] = ["one", "other", "two"].map(|name| folders.path().join(name));
    let (writer, stranger) = (Index::create(&one, options()).unwrap(), Index::create(&other, options()).unwrap());
    add(&writer, &[film(1, "alien")]);
    add(&stranger, &[film(2, "brazil")]);
    fs::create_dir(&two).unwrap();
    place_manifest(&two, &send(&writer, &one, &two)).unwrap();
    let follower = Index::open(&two, options()).unwrap();
    // The same generation, then a later one whose first segment has the name of one that is there.
    assert_eq!(follower.follow(&stranger.snapshot().to_manifest().unwrap()).unwrap(), Followed::Diverged);
    add(&stranger, &[film(3, "casablanca")]);
    assert_eq!(follower.follow(&stranger.snapshot().to_manifest().unwrap()).unwrap(), Followed::Diverged);
    assert_eq!(documents(&follower), documents(&writer));
}

#[test]
fn bad_manifests_and_missing_files_change_nothing() {
    let folders = tempfile::tempdir().unwrap();
    let (one, two) = (folders.path().join("one"), folders.path().join("two"));
    let writer = Index::create(&one, options()).unwrap();
    add(&writer, &[film(1, "alien")]);
    fs::create_dir(&two).unwrap();
    place_manifest(&two, &send(&writer, &one, &two)).unwrap();
    let follower = Index::open(&two, options()).unwrap();
    add(&writer, &[film(2, "brazil")]);
    let manifest = writer.snapshot().to_manifest().unwrap();
    assert!(follower.follow(&manifest).is_err(), "its segment is not there");
    for cut in [0, 10, manifest.len() - 1] {
        assert!(ManifestContents::read(&manifest[..cut]).is_err());
        assert!(follower.follow(&manifest[..cut]).is_err());
    }
    let mut flipped = manifest.clone();
    flipped[40] ^= 1;
    assert!(follower.follow(&flipped).is_err());
    assert_eq!(documents(&follower).len(), 1);
    let contents = ManifestContents::read(&manifest).unwrap();
    let present: Vec<bool> = contents.files.iter().map(|file| two.join(&file.name).exists()).collect();
    assert_eq!((contents.generation, present), (writer.snapshot().generation, vec![true, false]));
}
