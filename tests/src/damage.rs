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
        assert!(error["message"].as_str().unwrap().starts_with("Index `films`: a segment is damaged: "), "{error}");
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

/// An index of a large segment and a small one, which is damaged; its file.
fn with_a_damaged_small_segment() -> (Server, String) {
    let mut server = Server::start();
    server.set("films", json!({"filterableAttributes": ["year"]}));
    server.add("films", films());
    server.add("films", json!([{"id": 9001, "title": "Film of the small segment", "year": 1999}, {"id": 9002}]));
    assert!(server.terminate().success());
    let smallest = segments(&server).remove(0);
    let whole = std::fs::read(&smallest).unwrap();
    std::fs::write(&smallest, &whole[..whole.len() / 2]).unwrap();
    server.start_again();
    (server, smallest.file_name().unwrap().to_string_lossy().into_owned())
}

#[test]
fn an_index_with_a_small_damaged_segment_answers_from_the_others() {
    let (mut server, file) = with_a_damaged_small_segment();
    let reasons = json!(["damagedSegment"]);
    let found = server.search("films", json!({"q": "film", "filter": "year = 1999 OR year < 1950", "limit": 1}));
    assert_eq!((&found["degraded"], &found["degradedReasons"]), (&json!(true), &reasons));
    let again = server.search("films", json!({"q": "film", "filter": "year = 1999 OR year < 1950", "limit": 1}));
    assert_eq!(again["degradedReasons"], reasons, "also when it was asked before");
    let both = server.post("/multi-search", json!({"queries": [{"indexUid": "films", "q": "film"}]})).ok();
    assert_eq!(both["results"][0]["degradedReasons"], reasons);
    let federated = json!({"federation": {}, "queries": [{"indexUid": "films", "q": "film"}]});
    assert_eq!(server.post("/multi-search", federated).ok()["degradedReasons"], reasons);
    let facets = server.post("/indexes/films/facet-search", json!({"facetName": "year"})).ok();
    assert_eq!(facets["degradedReasons"], reasons);

    // What may be in the damaged segment is an error that names it, what is not is answered.
    assert_eq!(server.get("/indexes/films/documents/7").ok()["id"], 7);
    for path in ["/indexes/films/documents/9001", "/indexes/films/documents", "/indexes/films/documents?ids=7"] {
        let refused = server.get(path);
        refused.refused(500, "invalid_store_file");
        assert!(refused.body["message"].as_str().unwrap().contains(&file), "{path}: {refused:?}");
    }
    assert_eq!(server.get("/indexes").ok()["results"][0]["uid"], "films");
    server.get("/indexes/films/settings").ok();
    let stats = server.get("/stats").ok()["indexes"]["films"].clone();
    let damaged = &stats["damagedSegments"][0];
    assert_eq!((&damaged["file"], &damaged["numberOfDocuments"]), (&json!(file), &json!(2)));
    assert_eq!(stats["numberOfDocuments"], 502);

    // Nothing is written that might be there twice.
    let task = server.fails(&server.post("/indexes/films/documents", json!([{"id": 9001}])), "invalid_store_file");
    assert!(task["error"]["message"].as_str().unwrap().contains("`lamina repair`"), "{task}");
    server.fails(&server.patch("/indexes/films/settings", json!({"stopWords": ["a"]})), "invalid_store_file");
    server.fails(&server.post("/indexes/films/compact", json!({})), "invalid_store_file");
    server.fails(&server.post("/snapshots", json!({})), "invalid_store_file");
    server.fails(&server.post("/dumps", json!({})), "invalid_store_file");
    server.post("/dumps?skipDamaged=maybe", json!({})).refused(400, "bad_request");
    let dump = server.done(&server.post("/dumps?skipDamaged=true", json!({})));
    assert_eq!(dump["details"]["skippedDocuments"], json!({"films": 2}));
    let uid = dump["details"]["dumpUid"].as_str().unwrap();
    let path = server.folder().join("dumps").join(format!("{uid}.dump"));
    let imported = Server::with_options(&["--import-dump", path.to_str().unwrap()]);
    assert_eq!(imported.document_count("films"), 500);
    drop(imported);

    // A restart finds the same; clearing makes the index whole.
    assert!(server.terminate().success());
    server.start_again();
    assert_eq!(server.search("films", json!({"q": "film"}))["degradedReasons"], reasons);
    let cleared = server.done(&server.delete("/indexes/films/documents"));
    assert_eq!(cleared["details"]["deletedDocuments"], 502);
    server.add("films", json!([{"id": 1, "title": "Film"}]));
    assert_eq!(server.search("films", json!({"q": "film"})).get("degraded"), None);
    assert!(server.terminate().success());
    let verified = Command::new(binary()).args(["verify", "--db-path"]).arg(server.data_folder()).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn a_damaged_index_can_be_deleted() {
    let (server, _) = with_a_damaged_small_segment();
    server.done(&server.delete("/indexes/films"));
    assert_eq!(server.get("/indexes").ok()["total"], 0);
}

/// Another process cuts a segment that the server has mapped: the process ends, and says why.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_is_cut_while_it_is_mapped_is_named() {
    use std::os::unix::process::ExitStatusExt;

    let mut server = Server::start();
    server.add("books", json!([{"id": 1, "title": "Moby Dick"}]));
    server.add("films", films());
    let largest = segments(&server).pop().expect("a segment");
    std::fs::File::options().write(true).open(&largest).unwrap().set_len(100).unwrap();
    // Whatever is read first: the process is gone before there is an answer.
    let search = server.request(reqwest::Method::POST, "/indexes/films/search").json(&json!({"q": "film"}));
    let documents = server.request(reqwest::Method::GET, "/indexes/films/documents");
    assert!(server.try_send(search).is_err() || server.try_send(documents).is_err(), "nothing was read");
    let status = server.ended();
    assert_eq!(status.signal(), Some(7), "SIGBUS: {status:?}");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("(SIGBUS)")).unwrap_or_else(|| panic!("no line in:\n{log}"));
    let name = largest.canonicalize().unwrap();
    assert!(line.starts_with(&format!("error: the file {} became shorter", name.display())), "{line}");

    server.start_again();
    let list = server.get("/indexes").ok();
    assert_eq!(list["unreadable"]["films"]["code"], "invalid_store_file", "{list}");
    assert_eq!(server.ids("books", json!({"q": "moby"})), [1]);
}
