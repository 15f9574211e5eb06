//! Damaged files under a running server: what is whole goes on, and nothing damaged passes for sound.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::server::{Server, binary};

/// The segment files of the database, the largest last.
fn segments(server: &Server) -> Vec<PathBuf> {
    let indexes = std::fs::read_dir(server.data_folder().join("indexes")).expect("a folder of indexes");
    let files = indexes.flat_map(|index| std::fs::read_dir(index.unwrap().path()).expect("a folder of an index"));
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("seg-");
    let mut segments: Vec<PathBuf> = files.map(|file| file.unwrap().path()).filter(is_segment).collect();
    segments.sort_by_key(|path| std::fs::metadata(path).unwrap().len());
    segments
}

fn films() -> serde_json::Value {
    (0..500).map(|id| json!({"id": id, "title": format!("Film number {id}"), "year": 1900 + id % 90})).collect()
}

#[test]
fn an_index_that_cannot_be_opened_leaves_the_others_alone() {
    let mut server = Server::start();
    server.add("books", json!([{"id": 1, "title": "Moby Dick"}]));
    server.add("films", films());
    assert!(server.terminate().success());
    let largest = segments(&server).pop().expect("a segment");
    let whole = std::fs::read(&largest).unwrap();
    std::fs::write(&largest, &whole[..whole.len() / 2]).unwrap();
    server.start_again();

    let list = server.get("/indexes").ok();
    assert_eq!((&list["total"], list["results"].as_array().unwrap().len()), (&json!(2), 1));
    assert_eq!(list["results"][0]["uid"], "books");
    let stats = server.get("/stats").ok();
    assert_eq!(stats["indexes"].as_object().unwrap().keys().collect::<Vec<_>>(), ["books"]);
    for told in [&list, &stats] {
        assert_eq!(told["unreadable"].as_object().unwrap().len(), 1);
        let error = &told["unreadable"]["films"];
        assert_eq!(error["code"], "invalid_store_file");
        assert!(error["message"].as_str().unwrap().starts_with("Index `films` cannot be opened: "), "{error}");
    }
    assert_eq!(server.ids("books", json!({"q": "moby"})), [1]);
    server.get("/indexes/films").refused(500, "invalid_store_file");
    server.post("/indexes/films/search", json!({"q": "film"})).refused(500, "invalid_store_file");
    server.fails(&server.post("/indexes/films/documents", json!([{"id": 1}])), "invalid_store_file");
    // A backup without it would look whole.
    server.fails(&server.post("/dumps", json!({})), "invalid_store_file");
    server.done(&server.delete("/indexes/films"));
    let list = server.get("/indexes").ok();
    assert_eq!((&list["total"], list.get("unreadable")), (&json!(1), None));
}

#[test]
fn what_is_damaged_is_not_compacted_into_something_sound() {
    for place in 1..12 {
        let mut server = Server::start();
        server.add("films", films());
        server.done(&server.delete("/indexes/films/documents/7"));
        assert!(server.terminate().success());
        let largest = segments(&server).pop().expect("a segment");
        let mut bytes = std::fs::read(&largest).unwrap();
        let at = bytes.len() * place / 12;
        bytes[at] ^= 8;
        std::fs::write(&largest, bytes).unwrap();
        server.start_again();
        server.fails(&server.post("/indexes/films/compact", json!({})), "invalid_store_file");
        assert!(server.terminate().success());
        let verified = Command::new(binary()).args(["verify", "--db-path"]).arg(server.data_folder()).output().unwrap();
        let said = String::from_utf8_lossy(&verified.stdout);
        assert!(!verified.status.success() && said.contains("DAMAGED"), "{place}: {said}");
    }
}
