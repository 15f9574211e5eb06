//! Dumps: made, started from, interrupted, and those of other programs.

use super::*;

pub(crate) fn dump_of(server: &Server) -> PathBuf {
    let task = server.done(&server.post("/dumps", json!(null)));
    let expected = ["writing keys and switches", "writing indexes", "writing tasks", "making the archive durable"];
    assert_eq!(steps(server, &task), expected);
    let uid = task["details"]["dumpUid"].as_str().unwrap_or_else(|| panic!("{task}"));
    assert_eq!(uid.len(), 18, "{uid}");
    assert_eq!(uid.as_bytes()[8], b'-', "{uid}");
    server.folder().join(format!("dumps/{uid}.dump"))
}

#[test]
fn a_server_started_from_a_dump_holds_the_same() {
    let server = filled();
    let answer = server.post("/dumps", json!(null));
    assert_eq!((answer.status, &answer.body["type"]), (202, &json!("dumpCreation")));
    server.done(&answer);
    let dump = dump_of(&server);
    let before = everything(&server).without("dumpCreation");
    server.add("films", json!([{"id": 9999}]));

    let restored = Server::with_options(&["--import-dump", dump.to_str().unwrap()]);
    let after = everything(&restored).without("dumpCreation");
    assert_eq!(after.indexes, before.indexes);
    assert_eq!(after.contents, before.contents);
    assert_eq!(after, before);
    assert_eq!(restored.ids("films", json!({"q": "movie 700", "filter": "year > 1900"})).first(), Some(&json!(700)));
    let uid = |server: &Server| std::fs::read_to_string(server.data_folder().join("instance-uid")).unwrap();
    assert_eq!(uid(&restored), uid(&server));
    restored.add("films", json!([{"id": 1, "title": "new"}]));
    assert_eq!(restored.document_count("films"), 2501);
    // The folder is an ordinary database now.
    assert!(!restored.data_folder().join("dump-import").exists());
    let mut restored = restored;
    restored.kill();
    let again = restored.with_other_options(&[]);
    assert_eq!(again.document_count("films"), 2501);
}

#[test]
fn tasks_that_wait_are_carried_out_by_who_starts_from_the_dump() {
    let server = Server::start();
    server.add("films", json!([{"id": 0}]));
    let text = "words ".repeat(40);
    let large: Vec<Value> = (0..3000).map(|id| json!({"id": id, "text": text})).collect();
    server.post("/indexes/films/documents", large.into());
    let made = server.post("/dumps", json!(null));
    let waiting = [
        server.post("/indexes/films/documents", json!([{"id": 7000}])),
        server.patch("/indexes/films/settings", json!({"stopWords": ["the"]})),
        server.delete("/indexes/films/documents/0"),
    ];
    let task = server.done(&made);
    waiting.iter().for_each(|answer| drop(server.done(answer)));
    let dump = format!("dumps/{}.dump", task["details"]["dumpUid"].as_str().unwrap());
    let restored = Server::with_options(&["--import-dump", server.folder().join(dump).to_str().unwrap()]);
    let tasks = restored.get("/tasks?limit=100").ok()["results"].as_array().unwrap().clone();
    for task in &tasks {
        assert_eq!(restored.wait_for(task["uid"].as_u64().unwrap())["status"], "succeeded");
    }
    assert!(restored.document_count("films") >= 2999);
}

const MASTER: &str = "a master key of sixteen bytes";

#[test]
fn keys_are_the_same_after_a_dump_and_a_snapshot() {
    let server = Server::with_options(&["--master-key", MASTER]).with_key(MASTER);
    let key = json!({"name": "loader", "actions": ["documents.*"], "indexes": ["films*"], "expiresAt": "2090-01-01T00:00:00Z"});
    let key = server.post("/keys", key).ok();
    server.done(&server.post("/indexes", json!({"uid": "films"})));
    let before = server.get("/keys?limit=100").ok();
    assert_eq!(before["total"], 5);
    let dump = dump_of(&server);
    server.done(&server.post("/snapshots", json!(null)));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    for (option, path) in [("--import-dump", dump), ("--import-snapshot", snapshot)] {
        let options = [option, path.to_str().unwrap(), "--master-key", MASTER];
        let restored = Server::with_options(&options).with_key(MASTER);
        assert_eq!(restored.get("/keys?limit=100").ok(), before, "{option}");
        let limited = restored.with_key(key["key"].as_str().unwrap());
        limited.get("/indexes/films/documents").ok();
        limited.get("/keys").refused(403, "invalid_api_key");
    }
}

/// Writes a dump like those of another program of the protocol.
pub(crate) fn foreign_dump(path: &Path, files: &[(&str, &str)]) {
    let file = std::fs::File::create(path).unwrap();
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(file, flate2::Compression::default()));
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
}

/// Writes a dump with an index of two dogs, and a task that waits.
fn dump_of_dogs(path: &Path) {
    let tasks = [
        json!({"uid": 0, "batchUid": 0, "indexUid": "dogs", "status": "succeeded",
            "type": {"documentImport": {"primary_key": null, "method": "ReplaceDocuments", "documents_count": 2, "allow_index_creation": true}},
            "details": {"DocumentAdditionOrUpdate": {"received_documents": 2, "indexed_documents": 2}},
            "enqueuedAt": "2024-01-01T00:00:00Z", "startedAt": "2024-01-01T00:00:01Z", "finishedAt": "2024-01-01T00:00:02Z"}),
        json!({"uid": 1, "indexUid": "dogs", "status": "enqueued",
            "type": {"documentImport": {"primary_key": null, "method": "UpdateDocuments", "documents_count": 1, "allow_index_creation": true}},
            "details": {"DocumentAdditionOrUpdate": {"received_documents": 1, "indexed_documents": null}},
            "enqueuedAt": "2024-01-01T00:00:03Z"}),
    ];
    let queue: String = tasks.iter().map(|task| format!("{task}\n")).collect();
    foreign_dump(
        path,
        &[
            ("metadata.json", r#"{"dumpVersion":"V6","dbVersion":"1.13.0","dumpDate":"2024-01-02T00:00:00Z"}"#),
            ("instance_uid.uuid", "9e15e977-f2ae-4761-943f-1eaf75fd736d"),
            ("keys.jsonl", ""),
            ("tasks/queue.jsonl", &queue),
            ("tasks/update_files/1.jsonl", "{\"id\":2,\"age\":5}\n"),
            (
                "batches/queue.jsonl",
                r#"{"uid":0,"progress":null,"details":{"receivedDocuments":2},"stats":{"totalNbTasks":1,"status":{"succeeded":1},"types":{"documentAdditionOrUpdate":1},"indexUids":{"dogs":1}},"startedAt":"2024-01-01T00:00:01Z","finishedAt":"2024-01-01T00:00:02Z","enqueuedAt":null,"stopReason":"unspecified"}"#,
            ),
            ("experimental-features.json", r#"{"metrics":true,"somethingElse":true}"#),
            (
                "indexes/dogs/metadata.json",
                r#"{"uid":"dogs","primaryKey":"id","createdAt":"2023-01-01T00:00:00Z","updatedAt":"2023-06-01T00:00:00.5Z"}"#,
            ),
            (
                "indexes/dogs/settings.json",
                r#"{"displayedAttributes":["*"],"searchableAttributes":["*"],"filterableAttributes":["race"],"sortableAttributes":[],"rankingRules":["words","typo","proximity","attribute","sort","exactness"],"stopWords":["the"],"synonyms":{},"distinctAttribute":null,"typoTolerance":{"enabled":true,"minWordSizeForTypos":{"oneTypo":5,"twoTypos":9},"disableOnWords":[],"disableOnAttributes":[]},"faceting":{"maxValuesPerFacet":100,"sortFacetValuesBy":{"*":"alpha"}},"pagination":{"maxTotalHits":1000}}"#,
            ),
            (
                "indexes/dogs/documents.jsonl",
                "{\"id\":1,\"race\":\"golden retriever\"}\n{\"id\":2,\"race\":\"bernese mountain\"}\n",
            ),
        ],
    );
}

#[test]
fn dumps_of_other_programs_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.dump");
    dump_of_dogs(&path);
    let server = Server::with_options(&["--import-dump", path.to_str().unwrap()]);
    assert_eq!(server.wait_for(1)["status"], "succeeded");
    assert_eq!(server.get("/indexes/dogs/documents/2").ok(), json!({"id": 2, "race": "bernese mountain", "age": 5}));
    assert_eq!(server.ids("dogs", json!({"q": "retriver", "filter": "race = 'golden retriever'"})), [1]);
    let index = server.get("/indexes/dogs").ok();
    assert_eq!((&index["createdAt"], &index["primaryKey"]), (&json!("2023-01-01T00:00:00Z"), &json!("id")));
    assert_eq!(server.get("/indexes/dogs/settings/stop-words").ok(), json!(["the"]));
    assert_eq!(server.get("/experimental-features").ok()["metrics"], true);
    let task = server.get("/tasks/0").ok();
    assert_eq!(task["details"], json!({"receivedDocuments": 2, "indexedDocuments": 2}));
    assert_eq!(server.get("/batches/0").ok()["stats"]["totalNbTasks"], 1);
    let uid = std::fs::read_to_string(server.data_folder().join("instance-uid")).unwrap();
    assert_eq!(uid, "9e15e977-f2ae-4761-943f-1eaf75fd736d");
}

#[test]
fn dumps_of_other_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.dump");
    foreign_dump(
        &path,
        &[("metadata.json", r#"{"dumpVersion":"V5","dbVersion":"0.30.0","dumpDate":"2024-01-02T00:00:00Z"}"#)],
    );
    let other = tempfile::tempdir().unwrap();
    let said = refused(other.path(), &["--import-dump", path.to_str().unwrap()]);
    assert!(said.contains("the dump has version V5, this program reads V6"), "{said}");
    assert!(!other.path().join("data").exists());
}

/// Kills the server while it writes dumps: what is named like a dump is one.
#[test]
fn kill_9_while_writing_dumps_leaves_whole_ones() {
    let mut server = Server::start();
    let text = "words that compress well ".repeat(20);
    let documents: Vec<Value> = (0..5000).map(|id| json!({"id": id, "text": format!("{text}{id}")})).collect();
    server.add("films", documents.into());
    for round in 0..5u64 {
        server.post("/dumps", json!(null));
        server.post("/dumps", json!(null));
        // Each round is killed at another moment of the work.
        std::thread::sleep(Duration::from_millis(10 + round * 40));
        server.kill();
        server.start_again();
    }
    let dump = dump_of(&server);
    let folder = server.folder().join("dumps");
    let names: Vec<PathBuf> = snapshots(&folder);
    assert!(names.iter().all(|path| path.extension().is_some_and(|end| end == "dump")), "{names:?}");
    for path in [names.first().unwrap(), &dump] {
        let restored = Server::with_options(&["--import-dump", path.to_str().unwrap()]);
        assert_eq!(restored.document_count("films"), 5000);
    }
}
