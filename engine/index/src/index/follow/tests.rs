//! One index follows another: states, shared segments, histories that part.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::*;
use crate::index::{
    At, CommitNote, IndexOptions, Operation, Payload, Progress, SettingsPatch, Upsert, WriteMethod, first_number,
};

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

/// The follower comes to a published state in its folder.
fn goes_on(follower: &Index, manifest: &[u8]) {
    assert!(matches!(follower.way_to(manifest, true).unwrap(), Way::On { .. }));
    follower.follow(manifest, true).unwrap();
    assert_eq!(follower.way_to(manifest, true).unwrap(), Way::Here);
}

/// The state of `other` has no place in the folder of the index.
fn parts(index: &Index, other: &Index) {
    let manifest = other.snapshot().to_manifest().unwrap();
    assert_eq!(index.way_to(&manifest, true).unwrap(), Way::Apart);
    assert!(matches!(index.follow(&manifest, true), Err(IndexError::OtherHistory)));
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
    goes_on(&follower, &manifest);
    assert_eq!(follower.way_to(&manifest, true).unwrap(), Way::Here);
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
    assert_eq!(writer.way_to(&manifest, false).unwrap(), Way::Here, "a writer that follows has its own last state");
    goes_on(&follower, &manifest);
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
    parts(&follower, &stranger);
    add(&stranger, &[film(3, "casablanca")]);
    parts(&follower, &stranger);
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
    assert!(follower.follow(&manifest, true).is_err(), "its segment is not there");
    for cut in [0, 10, manifest.len() - 1] {
        assert!(ManifestContents::read(&manifest[..cut]).is_err());
        assert!(follower.follow(&manifest[..cut], true).is_err());
    }
    let mut flipped = manifest.clone();
    flipped[40] ^= 1;
    assert!(follower.follow(&flipped, true).is_err());
    assert_eq!(documents(&follower).len(), 1);
    let contents = ManifestContents::read(&manifest).unwrap();
    let present: Vec<bool> = contents.files.iter().map(|file| two.join(&file.name).exists()).collect();
    assert_eq!((contents.generation, present), (writer.snapshot().generation, vec![true, false]));
}

/// A server that takes over from what `writer` has published, in a folder of its own: its numbers are those of `epoch`.
fn taken_over(writer: &Index, from: &Path, folder: &Path, epoch: u64, options: IndexOptions) -> Index {
    fs::create_dir(folder).unwrap();
    place_manifest(folder, &send(writer, from, folder)).unwrap();
    options.first_number.raise(first_number(epoch).unwrap());
    Index::open(folder, options).unwrap()
}

fn apply(index: &Index, operation: Operation) {
    let batch = index.snapshot().last_outcome().map_or(0, |(batch, _)| batch + 1);
    let note = CommitNote::new(batch, |_| Vec::new());
    let results = index.apply(&[operation], note, &Progress::new(), &AtomicBool::new(false)).unwrap();
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

fn names(folder: &Path, beginning: &str) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(beginning)).collect();
    names.sort();
    names
}

#[test]
fn a_former_writer_goes_on_from_what_it_published_and_parts_with_what_it_did_not() {
    let folders = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folders.path().join(name));
    let writer = Index::create(&one, options()).unwrap();
    add(&writer, &[film(1, "alien")]);
    let next = taken_over(&writer, &one, &two, 2, options());
    add(&next, &[film(2, "brazil")]);
    let manifest = send(&next, &two, &one);
    assert!(next.snapshot().generation >= first_number(2).unwrap());
    assert!(matches!(writer.way_to(&manifest, false).unwrap(), Way::On { in_use } if in_use.len() == 1));
    add(&writer, &[film(3, "casablanca")]);
    parts(&writer, &next);
    // However far the other one gets.
    (4..20).for_each(|id| add(&next, &[film(id, "others")]));
    parts(&writer, &next);
    assert_eq!(documents(&writer).len(), 2);
}

#[test]
fn no_name_and_no_number_is_given_twice() {
    let folders = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folders.path().join(name));
    let keeping = || IndexOptions { keep: std::time::Duration::from_secs(3600), inline_tombstones_max: 0, ..options() };
    let writer = Index::create(&one, keeping()).unwrap();
    add(&writer, &(0..9).map(|id| film(id, "alien")).collect::<Vec<_>>());
    // What the next writer has: nothing, beside a kept state.
    fs::create_dir(&two).unwrap();
    place_manifest(&two, &send(&writer, &one, &two)).unwrap();
    let (old, follower) = (writer.snapshot().contents(), Index::open(&two, keeping()).unwrap());
    apply(&writer, Operation::Clear);
    goes_on(&follower, &send(&writer, &one, &two));
    drop(follower);
    let options = keeping();
    options.first_number.raise(first_number(3).unwrap());
    let next = Index::open(&two, options).unwrap();
    // Neither knows of what the other one does from here on.
    for index in [&writer, &next] {
        add(index, &(0..9).map(|id| film(id, "aliens")).collect::<Vec<_>>());
        add(index, &[film(3, "brazil")]);
    }
    for kind in ["seg-", "del-", "manifest-"] {
        let (own, other) = (names(&one, kind), names(&two, kind));
        let shared: Vec<&String> = own.iter().filter(|name| other.contains(name)).collect();
        let is_of_before = |name: &&&String| fs::read(one.join(name)).unwrap() == fs::read(two.join(name)).unwrap();
        assert!(shared.iter().all(|name| is_of_before(&name)), "{kind}: {shared:?}");
        assert!(own.len() > shared.len(), "{kind}: {own:?} {other:?}");
        assert!(other.len() > shared.len(), "{kind}: {own:?} {other:?}");
    }
    // The kept state is as it was, and what only the other one had is not known here.
    assert_eq!(next.generation(At::Generation(old)).unwrap().document_count(), 9);
    for number in writer.snapshot().contents() - 1..=writer.snapshot().generation {
        assert!(
            matches!(next.generation(At::Generation(number)), Err(IndexError::GenerationNotFound { .. })),
            "{number}"
        );
    }
}

#[test]
fn a_merge_of_the_next_writer_makes_no_number_of_the_one_before_known() {
    let folders = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folders.path().join(name));
    let writer = Index::create(&one, options()).unwrap();
    (0..3).for_each(|id| add(&writer, &[film(id, "alien")]));
    let published = writer.snapshot().contents();
    let next = taken_over(&writer, &one, &two, 3, options());
    add(&writer, &[film(7, "brazil")]);
    next.compact(&AtomicBool::new(false)).unwrap();
    assert_eq!(next.snapshot().contents(), published);
    assert!(next.generation(At::Generation(published)).is_ok());
    let unpublished = writer.snapshot().contents();
    assert!(matches!(next.generation(At::Generation(unpublished)), Err(IndexError::GenerationNotFound { .. })));
}

#[test]
fn a_folder_has_one_state_that_is_placed() {
    let folders = tempfile::tempdir().unwrap();
    let [one, two, own] = ["one", "two", "own"].map(|name| folders.path().join(name));
    let (writer, other) = (Index::create(&one, options()).unwrap(), Index::create(&own, options()).unwrap());
    add(&writer, &[film(1, "alien")]);
    let first = writer.snapshot().to_manifest().unwrap();
    add(&writer, &[film(2, "brazil")]);
    fs::create_dir(&two).unwrap();
    let second = send(&writer, &one, &two);
    place_manifest(&two, &second).unwrap();
    place_manifest(&two, &second).unwrap();
    assert!(matches!(place_manifest(&two, &first), Err(IndexError::AlreadyExists)), "an older one");
    add(&writer, &[film(3, "casablanca")]);
    let third = send(&writer, &one, &two);
    assert!(matches!(place_manifest(&two, &third), Err(IndexError::AlreadyExists)), "a newer one");
    // A folder with a history of its own, whose newest state is ahead of what is placed.
    (0..9).for_each(|id| add(&other, &[film(id, "other")]));
    drop(other);
    assert!(matches!(place_manifest(&own, &second), Err(IndexError::AlreadyExists)));
    assert_eq!(documents(&Index::open(&two, options()).unwrap()).len(), 2);
    assert_eq!(documents(&Index::open(&own, options()).unwrap()).len(), 9);
}

#[test]
fn a_reader_that_ends_removes_the_file_that_it_had_and_no_other_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::create(folder.path(), options()).unwrap();
    add(&index, &(0..20).map(|id| film(id, "alien")).collect::<Vec<_>>());
    let (reader, name) = (index.snapshot(), names(folder.path(), "seg-")[0].clone());
    let path = folder.path().join(&name);
    apply(&index, Operation::Clear);
    assert!(path.exists(), "the reader has it");
    let other = folder.path().join("other.tmp");
    fs::write(&other, "another file").unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(reader.documents(0, 100).len(), 20);
    drop(reader);
    assert_eq!(fs::read(&path).unwrap(), b"another file");
}

#[test]
fn a_state_that_names_a_file_in_use_otherwise_goes_apart() {
    let folders = tempfile::tempdir().unwrap();
    let [one, two, three] = ["one", "two", "three"].map(|name| folders.path().join(name));
    let keeping = || IndexOptions { keep: std::time::Duration::from_secs(3600), ..options() };
    let writer = Index::create(&one, options()).unwrap();
    add(&writer, &[film(1, "alien")]);
    fs::create_dir(&two).unwrap();
    place_manifest(&two, &send(&writer, &one, &two)).unwrap();
    let follower = Index::open(&two, keeping()).unwrap();
    apply(&writer, Operation::Clear);
    goes_on(&follower, &send(&writer, &one, &two));
    // Another history of the index, in which the first name was written once more.
    fs::create_dir(&three).unwrap();
    let mut manifest = Manifest::from_bytes("m", &writer.snapshot().to_manifest().unwrap()).unwrap();
    manifest.body.next_segment_id = 0;
    place_manifest(&three, &manifest.to_bytes()).unwrap();
    let earlier = Index::open(&three, options()).unwrap();
    add(&earlier, &[film(2, "brazil")]);
    let coming = earlier.snapshot().named_files().unwrap();
    assert_eq!(coming[0].name, names(&two, "seg-")[0], "the kept state has a file of the name");
    let manifest = earlier.snapshot().to_manifest().unwrap();
    assert_eq!(follower.way_to(&manifest, true).unwrap(), Way::Apart);
    // What was put over it is found all the same.
    drop(follower);
    fs::copy(three.join(&coming[0].name), two.join(&coming[0].name)).unwrap();
    let found = crate::index::verify_folder(&two, true, &()).unwrap().damages;
    assert!(matches!(found.as_slice(), [IndexError::DamagedGeneration { .. }, ..]), "{found:?}");
    // Also where the present state has that file.
    for path in names(&two, "manifest-") {
        fs::remove_file(two.join(path)).unwrap();
    }
    fs::write(two.join(manifest_name(earlier.snapshot().generation)), &manifest).unwrap();
    let found = crate::index::verify_folder(&two, true, &()).unwrap().damages;
    assert!(matches!(found.as_slice(), [IndexError::DamagedGeneration { .. }, ..]), "{found:?}");
}

#[test]
fn files_beside_a_segment_of_both_have_names_of_their_own() {
    let folders = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folders.path().join(name));
    let writer = Index::create(&one, options()).unwrap();
    let searchable: SettingsPatch = serde_json::from_value(json!({"searchableAttributes": ["title"]})).unwrap();
    apply(&writer, Operation::Settings(Box::new(searchable)));
    add(&writer, &[json!({"id": 1, "title": "alien", "views": 1})]);
    let next = taken_over(&writer, &one, &two, 2, options());
    for (index, views) in [(&writer, 5), (&next, 7)] {
        let line = format!("{}\n", json!({"id": "1", "increment": {}, "set": {"views": views}}));
        apply(index, Operation::UpdateValues(Payload::Bytes(line.into_bytes().into())));
    }
    let beside = |folder: &Path| -> Vec<String> {
        names(folder, "seg-").into_iter().filter(|name| name.contains("-c")).collect()
    };
    let (own, other) = (beside(&one), beside(&two));
    assert_eq!((own.len(), other.len()), (1, 1));
    assert_ne!(own, other);
    assert!(documents(&next)[0].contains('7'));
    assert!(documents(&writer)[0].contains('5'));
}
