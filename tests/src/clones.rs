//! Clones: another index of the same files.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::keys::{MASTER, ask, finish, make, start, value};
use crate::server::Server;

fn original(options: &[&str]) -> Server {
    let server = Server::with_options(options);
    server.set("films", json!({"filterableAttributes": ["year"], "stopWords": ["the"]}));
    server.add("films", (0..300).map(|id| json!({"id": id, "title": format!("film {id}"), "year": id % 7})).collect());
    server.done(&server.delete("/indexes/films/documents/7"));
    server
}

#[test]
fn a_clone_is_an_index_of_its_own() {
    let mut server = original(&[]);
    let task = server.done(&server.post("/indexes/films/clone", json!({"uid": "copy"})));
    assert_eq!((&task["type"], &task["indexUid"]), (&json!("indexClone"), &json!("films")));
    assert_eq!(task["details"], json!({"newIndexUid": "copy"}));
    assert_eq!(server.get("/indexes/copy/settings").ok(), server.get("/indexes/films/settings").ok());
    assert_eq!(server.search("copy", json!({"q": "film 30", "filter": "year = 2"}))["hits"][0]["id"], 30);
    assert_eq!(server.document_count("copy"), 299);
    // Each goes its way.
    server.add("copy", json!([{"id": 7, "title": "new"}]));
    server.done(&server.delete("/indexes/films/documents/1"));
    assert_eq!((server.document_count("copy"), server.document_count("films")), (300, 298));
    assert_ne!(server.get("/indexes/copy").ok()["createdAt"], server.get("/indexes/films").ok()["createdAt"]);
    server.done(&server.delete("/indexes/films"));
    server.kill();
    server.start_again();
    assert_eq!(server.document_count("copy"), 300);
    assert_eq!(server.search("copy", json!({"q": "film 1"}))["hits"][0]["id"], 1);
    server.terminate();
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
}

/// The lengths of all files below `folder`, by their numbers.
fn lengths(folder: &Path, found: &mut BTreeMap<u64, u64>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            lengths(&entry.path(), found);
        } else {
            found.insert(metadata.ino(), metadata.len());
        }
    }
}

#[test]
fn no_byte_of_a_segment_is_copied() {
    let server = original(&[]);
    server.done(&server.post("/indexes/films/compact", Value::Null));
    server.done(&server.post("/indexes/films/clone", json!({"uid": "copy"})));
    let mut names_by_file: BTreeMap<u64, usize> = BTreeMap::new();
    for folder in std::fs::read_dir(server.data_folder().join("indexes")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let file = file.unwrap();
            if file.file_name().to_string_lossy().starts_with("seg-") {
                *names_by_file.entry(file.metadata().unwrap().ino()).or_default() += 1;
            }
        }
    }
    assert!(!names_by_file.is_empty(), "{names_by_file:?}");
    assert!(names_by_file.values().all(|&count| count == 2), "{names_by_file:?}");
    // Nor does it count twice. The log of the tasks may still change.
    let is_counted_once = || {
        let mut files = BTreeMap::new();
        lengths(&server.data_folder(), &mut files);
        server.get("/stats").ok()["databaseSize"] == files.values().sum::<u64>()
    };
    assert!((0..100).any(|_| is_counted_once()), "{}", server.get("/stats").body);
}

#[test]
fn a_clone_needs_an_index_and_a_free_name() {
    let server = original(&[]);
    server.add("other", json!([{"id": 1}]));
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    server.fails(&server.post("/indexes/films/clone", json!({"uid": "other"})), "index_already_exists");
    server.fails(&server.post("/indexes/films/clone", json!({"uid": "films"})), "index_already_exists");
    server.fails(&server.post("/indexes/films/clone", json!({"uid": "movies"})), "alias_already_exists");
    server.fails(&server.post("/indexes/none/clone", json!({"uid": "new"})), "index_not_found");
    server.post("/indexes/films/clone", json!({})).refused(400, "missing_index_uid");
    server.post("/indexes/films/clone", json!({"uid": "a b"})).refused(400, "invalid_index_uid");
    server.post("/indexes/films/clone", json!({"uid": "a", "x": 1})).refused(400, "bad_request");
    let task = server.done(&server.post("/indexes/movies/clone", json!({"uid": "by-alias"})));
    assert_eq!(task["indexUid"], "films");
    assert_eq!(server.document_count("by-alias"), 299);
    // In the order of the queue: what is sent to the new index waits for it, and makes none of its own.
    let held = server.hold_queue();
    let cloned = server.post("/indexes/films/clone", json!({"uid": "later"}));
    let added = server.post("/indexes/later/documents", json!([{"id": 1000}]));
    server.release_queue(held);
    server.done(&cloned);
    server.done(&added);
    assert_eq!(server.document_count("later"), 300);
}

#[test]
fn a_clone_needs_both_names_in_the_key() {
    let server = start(&[]);
    for uid in ["a1", "b1"] {
        finish(&server, &ask(&server, MASTER, "POST", &format!("/indexes/{uid}/documents"), &json!([{"id": 1}])));
    }
    let key = value(&make(&server, &["indexes.create"], &["a*"]));
    let clone =
        |from: &str, to: &str| ask(&server, &key, "POST", &format!("/indexes/{from}/clone"), &json!({"uid": to}));
    clone("b1", "a2").refused(403, "invalid_api_key");
    clone("a1", "b2").refused(403, "invalid_api_key");
    assert_eq!(finish(&server, &clone("a1", "a2"))["status"], "succeeded");
}
