//! One damaged index of a group: the others are published, followed and served all the same.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::replication::{Group, KEY, after, film};
use crate::server::{Server, soon, soon_as};

pub(crate) fn films(count: u64) -> Value {
    (0..count).map(|id| film(id, &format!("Film number {id}"))).collect()
}

fn generation(server: &Server) -> Option<String> {
    let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("{}/health", server.url)).send().unwrap();
    answer.headers().get("lamina-generation").map(|value| value.to_str().unwrap().to_owned())
}

/// Waits until an index has so many documents, or the code of its refusal is this.
#[track_caller]
pub(crate) fn until_count(server: &Server, uid: &str, wanted: u64) {
    soon_as(|| count(server, uid), |found| *found == wanted);
}

pub(crate) fn count(server: &Server, uid: &str) -> Value {
    let answer = server.get(&format!("/indexes/{uid}/stats"));
    if answer.status == 200 { answer.body["numberOfDocuments"].clone() } else { answer.body["code"].clone() }
}

/// Waits until the store has what the writer has: the newest segment of `group` besides those that were there `before`.
fn new_segment(group: &Group, before: &[PathBuf]) -> PathBuf {
    let is_new =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("seg-") && !before.contains(path);
    soon(|| group.objects("i/").into_iter().find(is_new))
}

/// Turns a byte of an object around; what it was before.
fn damage(object: &Path) -> Vec<u8> {
    let sound = std::fs::read(object).unwrap();
    let mut damaged = sound.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(object, damaged).unwrap();
    sound
}

#[test]
fn an_index_that_is_damaged_in_the_store_keeps_no_other_one_from_its_replicas() {
    let group = Group::new();
    let (mut writer, mut replica) = (group.writer(), group.replica());
    writer.add("films", films(3));
    let task = writer.add("books", json!([{"id": 1}]));
    after(&replica, &task, "/indexes");
    assert!(replica.terminate().success());
    let before = group.objects("i/");
    writer.add("films", json!([film(7, "Brazil")]));
    let segment = new_segment(&group, &before);
    let sound = damage(&segment);
    writer.done(&writer.delete("/indexes/books"));
    let key = writer.post("/keys", json!({"actions": ["search"], "indexes": ["*"], "expiresAt": null})).body;
    writer.add("small", json!([{"id": 1}]));
    writer.add("large", films(300));
    let task = writer.done(&writer.put("/aliases/all", json!({"indexUid": "large"})));
    assert!(writer.terminate().success());
    // One that has what was published before, and one that has nothing.
    replica.start_again();
    let empty = group.replica();
    for (replica, films) in [(&replica, json!(3)), (&empty, json!("index_not_here_yet"))] {
        until_count(replica, "large", 300);
        assert_eq!((count(replica, "small"), count(replica, "films")), (json!(1), films));
        replica.wait_for_log("is damaged: its checksum does not match");
        let uid = key["uid"].as_str().unwrap();
        assert_eq!(replica.get(&format!("/keys/{uid}")).ok()["key"], key["key"], "keys came too");
        assert_eq!(replica.get("/indexes/all/stats").ok()["numberOfDocuments"], 300, "aliases came too");
        // What is not whole has no generation.
        assert_ne!(generation(replica), Some(task["batchUid"].to_string()));
    }
    assert_eq!(count(&replica, "books"), "index_not_found");
    assert_eq!(empty.get("/health").ok()["indexesComing"], 1);
    std::fs::write(&segment, sound).unwrap();
    for replica in [&replica, &empty] {
        assert_eq!(after(replica, &task, "/indexes/films/stats")["numberOfDocuments"], 4);
        assert_eq!(replica.get("/health").ok(), json!({"status": "available"}));
    }
    // A manifest that is lost.
    let is_manifest = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("manifest-");
    let of_films = |path: &PathBuf| path.parent() == segment.parent();
    let lost = group.objects("i/").into_iter().rfind(|path| of_films(path) && is_manifest(path));
    std::fs::remove_file(lost.expect("a manifest")).unwrap();
    let empty = group.replica();
    until_count(&empty, "large", 300);
    assert_eq!(count(&empty, "small"), 1);
}

/// An alias goes on to an index that cannot be fetched, and the one before is removed.
#[test]
fn what_takes_the_place_of_an_index_takes_it_when_it_is_here() {
    let group = Group::new();
    let (writer, mut replica) = (group.writer(), group.replica());
    writer.add("films-1", films(3));
    let task = writer.done(&writer.put("/aliases/films", json!({"indexUid": "films-1"})));
    after(&replica, &task, "/indexes");
    assert!(replica.terminate().success());
    let before = group.objects("i/");
    writer.add("films-2", films(5));
    let segment = new_segment(&group, &before);
    let sound = damage(&segment);
    writer.done(&writer.put("/aliases/films", json!({"indexUid": "films-2"})));
    writer.done(&writer.delete("/indexes/films-1"));
    let task = writer.add("books", json!([{"id": 1}]));
    drop(writer);
    replica.start_again();
    until_count(&replica, "books", 1);
    let counts = || ["films", "films-1", "films-2"].map(|uid| count(&replica, uid));
    assert_eq!(counts(), [json!(3), json!(3), json!("index_not_here_yet")]);
    std::fs::write(&segment, sound).unwrap();
    assert_eq!(after(&replica, &task, "/indexes/films/stats")["numberOfDocuments"], 5);
    assert_eq!(counts(), [json!(5), json!("index_not_found"), json!(5)]);
}

/// The largest segment file of a database.
fn segment(server: &Server) -> PathBuf {
    segments(server).into_iter().max_by_key(|path| path.metadata().unwrap().len()).expect("a segment")
}

fn cut(file: &Path) {
    let whole = std::fs::read(file).unwrap();
    std::fs::write(file, &whole[..whole.len() / 2]).unwrap();
}

#[test]
fn an_index_that_is_damaged_at_the_writer_holds_no_other_one_back() {
    let group = Group::new();
    let (mut writer, replica) = (group.writer(), group.replica());
    writer.add("books", json!([{"id": 1}]));
    let first = writer.add("films", films(300));
    after(&replica, &first, "/indexes");
    assert!(writer.terminate().success());
    cut(&segment(&writer));
    writer.start_again();
    writer.add("books", json!([{"id": 2}]));
    writer.add("new", json!([{"id": 1}]));
    until_count(&replica, "new", 1);
    writer.wait_for_log("publishing: index `films`: a segment is damaged");
    assert_eq!((count(&replica, "books"), count(&replica, "films")), (json!(2), json!(300)));
    assert_eq!(generation(&replica), Some(first["batchUid"].to_string()));
    let task = writer.done(&writer.delete("/indexes/films"));
    assert_eq!(after(&replica, &task, "/indexes")["total"], 2);
}

/// The segment files of a database.
pub(crate) fn segments(server: &Server) -> BTreeSet<PathBuf> {
    let indexes = std::fs::read_dir(server.data_folder().join("indexes")).expect("a folder of indexes");
    let files = indexes.flat_map(|index| std::fs::read_dir(index.unwrap().path()).expect("a folder of an index"));
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("seg-");
    files.map(|file| file.unwrap().path()).filter(is_segment).collect()
}

/// Turns a bit of a file around in the same place of the disk, as a disk does.
pub(crate) fn flip(file: &Path, share: f64) {
    let file = std::fs::File::options().read(true).write(true).open(file).unwrap();
    let at = (file.metadata().unwrap().len() as f64 * share) as u64;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

/// A writer that compares nothing in the background, so that only a publication can find damage.
fn writer_without_scrubber(group: &Group, options: &[&str]) -> Server {
    let address = group.address();
    let mut all = vec!["--master-key", KEY, "--publish", &address, "--publish-interval", "1s", "--scrub-rate", "0"];
    all.extend(options);
    let writer = Server::with_options(&all).with_key(KEY);
    writer.patch("/experimental-features", json!({"metrics": true})).ok();
    writer
}

/// Adds documents while no index can be published, and has `damage` done to the segment that has them; then does `more`.
fn damaged_before_it_is_sent(
    group: &Group,
    writer: &Server,
    damage: impl FnOnce(&Path),
    more: impl FnOnce(&Server),
) -> String {
    let (objects, away) = (group.folder.path().join("store/i"), group.folder.path().join("away"));
    std::fs::rename(&objects, &away).unwrap();
    let before = segments(writer);
    writer.add("films", films(300));
    let segment = segments(writer).difference(&before).next().expect("a new segment").clone();
    damage(&segment);
    more(writer);
    std::fs::rename(&away, &objects).unwrap();
    segment.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_file_that_is_damaged_between_its_commit_and_its_publication_is_named_and_not_sent() {
    for (place, reason) in [(0.1, "checksum"), (0.5, "checksum"), (0.9, "checksum"), (0.0, "length")] {
        let group = Group::new();
        let (mut writer, replica) = (writer_without_scrubber(&group, &[]), group.replica());
        let first = writer.add("films", films(3));
        after(&replica, &first, "/indexes");
        let damage = |segment: &Path| if reason == "length" { cut(segment) } else { flip(segment, place) };
        let name = damaged_before_it_is_sent(&group, &writer, damage, |_| ());
        writer.add("books", json!([{"id": 1}]));
        until_count(&replica, "books", 1);
        assert_eq!(count(&replica, "films"), 3);
        assert_eq!(generation(&replica), Some(first["batchUid"].to_string()));
        writer.wait_for_log(&format!("publishing: index `films`: the file `{name}` is damaged on this server: "));
        assert!(writer.log().contains("lamina repair"), "{}", writer.log());
        let sent = group.objects("i/").into_iter().find(|path| path.to_str().unwrap().contains(&name));
        assert_eq!(sent, None, "nothing damaged is in the store");
        // It is shown where other damage is.
        let stats = writer.get("/stats").ok();
        let damage = &stats["scrubber"]["damages"][0];
        assert_eq!((&damage["indexUid"], &damage["file"]), (&json!("films"), &json!(name)), "{stats}");
        let metrics = writer.get("/metrics").text;
        assert!(metrics.contains("lamina_replication_failing 1"), "{metrics}");
        assert!(!metrics.contains("lamina_index_damaged_sections{index=\"films\"} 0"), "{metrics}");
        let refused = writer.fails(&writer.post("/indexes/films/documents", json!([{"id": 7}])), "invalid_store_file");
        assert!(refused["error"]["message"].as_str().unwrap().contains("`lamina repair`"), "{refused}");
        // Once it is gone, all is published again.
        let task = writer.done(&writer.delete("/indexes/films/documents"));
        assert_eq!(after(&replica, &task, "/indexes/films/stats")["numberOfDocuments"], 0);
        let task = writer.add("films", films(5));
        assert_eq!(after(&replica, &task, "/indexes/films/stats")["numberOfDocuments"], 5);
        assert!(writer.terminate().success());
    }
}

const IN_STORE: [&str; 2] = ["--durability", "store"];

/// Checks that acknowledged writes of an index that is held back are in the journal: the server that takes over
/// executes them.
#[test]
fn with_a_journal_a_damaged_index_is_held_back_alone_and_loses_nothing() {
    for (place, restarts) in [(0.2, false), (0.7, true)] {
        let group = Group::new();
        let (mut writer, mut replica) = (writer_without_scrubber(&group, &IN_STORE), group.replica());
        let first = writer.add("films", films(3));
        writer.add("books", json!([{"id": 1}]));
        after(&replica, &first, "/indexes");
        let fail = |writer: &Server| {
            drop(writer.fails(&writer.post("/indexes/films/documents", json!([{"no": 1}])), "missing_document_id"));
        };
        let name = damaged_before_it_is_sent(&group, &writer, |segment| flip(segment, place), fail);
        writer.wait_for_log(&format!("publishing: index `films`: the file `{name}` is damaged on this server: "));
        for id in 2..5 {
            writer.add("books", json!([{"id": id}]));
            until_count(&replica, "books", id);
        }
        assert_eq!(count(&replica, "films"), 3);
        writer.fails(&writer.post("/indexes/films/documents", json!([{"id": 1000}])), "invalid_store_file");
        if restarts {
            assert!(writer.terminate().success());
            writer.start_again();
        }
        writer.add("new", json!([{"id": 1}]));
        until_count(&replica, "new", 1);
        writer.done(&writer.delete("/indexes/books/documents/4"));
        until_count(&replica, "books", 3);
        assert_eq!(count(&replica, "films"), 3);
        writer.kill();
        assert!(replica.terminate().success());
        let address = group.address();
        let taker = replica.with_other_options(&["--master-key", KEY, "--publish", &address, "--durability", "store"]);
        until_count(&taker, "films", 300);
        assert_eq!((count(&taker, "books"), count(&taker, "new")), (json!(3), json!(1)));
        let again = taker.get("/tasks?indexUids=films").ok();
        assert_eq!(again["total"], 1, "what failed is not tried again: {again}");
        let task = taker.add("films", json!([film(1000, "Dune")]));
        assert_eq!(after(&group.replica(), &task, "/indexes/films/stats")["numberOfDocuments"], 301);
    }
}

/// The tasks that changed it went by another name: they cannot be distinguished from those of other indexes.
#[test]
fn with_a_journal_a_damaged_index_whose_name_has_changed_holds_all_back() {
    let group = Group::new();
    let (mut writer, mut replica) = (writer_without_scrubber(&group, &IN_STORE), group.replica());
    writer.add("films", films(3));
    let first = writer.add("books", json!([{"id": 1}]));
    after(&replica, &first, "/indexes");
    let swap = |writer: &Server| {
        drop(writer.done(&writer.post("/swap-indexes", json!([{"indexes": ["films", "books"]}]))));
    };
    damaged_before_it_is_sent(&group, &writer, |segment| flip(segment, 0.5), swap);
    writer.wait_for_log("No index is published until then");
    writer.add("films", json!([{"id": 2}]));
    assert_eq!((count(&replica, "films"), count(&replica, "books")), (json!(3), json!(1)));
    writer.kill();
    assert!(replica.terminate().success());
    let address = group.address();
    let taker = replica.with_other_options(&["--master-key", KEY, "--publish", &address, "--durability", "store"]);
    until_count(&taker, "books", 300);
    until_count(&taker, "films", 2);
}

#[test]
fn a_replica_whose_own_files_are_damaged_fetches_them_again() {
    let group = Group::new();
    let (writer, mut replica) = (group.writer(), group.replica());
    writer.add("films", films(300));
    let task = writer.add("books", json!([{"id": 1}]));
    after(&replica, &task, "/indexes");
    assert!(replica.terminate().success());
    cut(&segment(&replica));
    // Not from the store either, for now.
    let object = group.objects("i/").into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let sound = damage(&object);
    let task = writer.add("books", json!([{"id": 2}]));
    replica.start_again();
    until_count(&replica, "books", 2);
    replica.get("/indexes/films/search?q=film").refused(500, "invalid_store_file");
    std::fs::write(&object, sound).unwrap();
    assert_eq!(after(&replica, &task, "/indexes/films/stats")["numberOfDocuments"], 300);
}
