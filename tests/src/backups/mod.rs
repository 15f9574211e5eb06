//! Snapshots and dumps: what a server that starts from one holds, and what is left when making one is interrupted.

pub(crate) mod dumps;
mod fields;
mod form;
mod form_of_tasks;
mod way_back;

use dumps::dump_of;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::formats::version_of;
use crate::server::{Server, command, until};

/// Everything that a client can read of a server.
#[derive(Debug, PartialEq)]
struct Everything {
    indexes: Value,
    contents: Vec<(String, Value, Value)>,
    tasks: Value,
    batches: Value,
    features: Value,
    network: Value,
}

/// An answer without the port of its server, which the links of errors name.
fn without_port(server: &Server, answer: &Value) -> Value {
    let text = answer.to_string().replace(&format!("{}/docs", server.url), "/docs");
    serde_json::from_str(&text).expect("JSON")
}

fn everything(server: &Server) -> Everything {
    let indexes = server.get("/indexes?limit=1000").ok();
    let uids = indexes["results"].as_array().expect("results").iter().map(|index| index["uid"].as_str().unwrap());
    let contents = uids
        .map(|uid| {
            let documents = server.get(&format!("/indexes/{uid}/documents?limit=100000&retrieveVectors=true")).ok();
            (uid.to_owned(), documents, server.get(&format!("/indexes/{uid}/settings")).ok())
        })
        .collect();
    Everything {
        contents,
        tasks: without_port(server, &server.get("/tasks?limit=100000").ok()),
        batches: without_port(server, &server.get("/batches?limit=100000").ok()),
        features: server.get("/experimental-features").ok(),
        network: server.get("/network").ok(),
        indexes,
    }
}

fn filled() -> Server {
    let server = Server::start();
    let film = |id: u32| json!({"id": id, "title": format!("Film {id}"), "year": 1950 + id % 70, "_geo": {"lat": 1, "lng": id % 90}});
    server.add("films", (0..3000).map(film).collect());
    server.set(
        "films",
        json!({
            "filterableAttributes": ["year", "_geo"],
            "sortableAttributes": ["year"],
            "synonyms": {"movie": ["film"]},
            "typoTolerance": {"minWordSizeForTypos": {"oneTypo": 4}},
        }),
    );
    server.done(&server.post("/indexes/films/documents/delete-batch", (0..500).collect::<Vec<u32>>().into()));
    server.add("people", json!([{"name_id": "ä/b".len(), "name": "Ünal"}]));
    server.set("vectors", json!({"embedders": {"own": {"source": "userProvided", "dimensions": 2}}}));
    let vector = |id: u32| json!({"id": id, "_vectors": {"own": [id, 1], "other": [1, 2, 3]}});
    server.add("vectors", (0..50).map(vector).collect());
    server.done(&server.post("/indexes", json!({"uid": "empty", "primaryKey": "key"})));
    server.fails(&server.post("/indexes", json!({"uid": "empty"})), "index_already_exists");
    server.patch("/experimental-features", json!({"containsFilter": true, "network": true})).ok();
    let remotes = json!({"self": "one", "remotes": {"two": {"url": "http://example.org", "searchApiKey": "a key"}}});
    server.patch("/network", remotes).ok();
    server
}

fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    found
}

#[test]
fn a_server_started_from_a_snapshot_holds_the_same() {
    let server = filled();
    let answer = server.post("/snapshots", json!(null));
    let keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!((answer.status, keys.len(), &answer.body["type"]), (202, 5, &json!("snapshotCreation")));
    let task = server.done(&answer);
    assert!(task.get("details").is_none(), "{task}");
    let expected = ["copying the task queue", "linking the documents of waiting tasks", "linking the indexes"];
    assert_eq!(steps(&server, &task), expected);
    let before = everything(&server);
    // What happens later is not in the snapshot.
    server.add("films", json!([{"id": 9999}]));
    server.done(&server.delete("/indexes/people"));

    let snapshot = server.folder().join("snapshots/data.snapshot");
    let restored = Server::with_options(&["--import-snapshot", snapshot.to_str().unwrap()]);
    let after = everything(&restored);
    assert_eq!(after.contents, before.contents);
    assert_eq!(after, before);
    assert_eq!(restored.ids("films", json!({"q": "movie 700", "filter": "year > 1900"})).first(), Some(&json!(700)));
    // Both go their own ways, and task numbers go on.
    let added = restored.add("films", json!([{"id": 1, "title": "new"}]));
    assert_eq!(added["uid"], task["uid"].as_u64().unwrap() + 1);
    restored.done(&restored.post("/indexes/films/compact", json!(null)));
    assert_eq!((restored.document_count("films"), server.document_count("films")), (2501, 2501));
    assert_eq!(server.get("/indexes/films/documents/1").status, 404);
}

#[test]
fn indexes_with_the_longest_names_come_back_from_a_dump() {
    let server = Server::start();
    // Longer than the name of a file may be, and the same for as long as one may be.
    let names = ["a", "b"].map(|last| "x".repeat(399) + last);
    for (id, name) in (1..).zip(&names) {
        server.add(name, json!([{"id": id}]));
    }
    let dump = dump_of(&server);
    let restored = Server::with_options(&["--import-dump", dump.to_str().unwrap()]);
    for (id, name) in (1..).zip(&names) {
        assert_eq!(restored.get(&format!("/indexes/{name}/documents/{id}")).ok(), json!({"id": id}));
    }
}

#[test]
fn tasks_that_wait_are_carried_out_by_who_starts_from_the_snapshot() {
    let server = Server::start();
    server.add("films", json!([{"id": 0}]));
    // A snapshot overtakes documents. The large payload is a file, the small one is stored with its task.
    let text = "words ".repeat(40);
    let large: Vec<Value> = (0..3000).map(|id| json!({"id": id, "text": text})).collect();
    let mut waiting = Vec::new();
    for _round in 0..3 {
        waiting.push(server.post("/indexes/films/documents", large.clone().into()));
        waiting.push(server.post("/indexes/films/documents", json!([{"id": 7000}])));
    }
    let made = server.post("/snapshots", json!(null));
    waiting.push(server.post("/indexes/films/documents", json!([{"id": 8000}])));
    server.done(&made);
    for answer in &waiting {
        server.done(answer);
    }
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let restored = Server::with_options(&["--import-snapshot", snapshot.to_str().unwrap()]);
    let last = restored.get("/tasks?limit=1").ok()["results"][0]["uid"].as_u64().unwrap();
    for uid in 0..=last {
        assert_eq!(restored.wait_for(uid)["status"], "succeeded");
    }
    assert!(last >= made.body["taskUid"].as_u64().unwrap());
    assert!(restored.document_count("films") >= 3001);
}

#[test]
fn snapshots_are_made_on_schedule_and_the_newest_are_kept() {
    let patient = Server::with_options(&["--schedule-snapshot", "3600"]);
    patient.add("films", json!([{"id": 1}]));
    assert_eq!(patient.get("/tasks").ok()["total"], 1, "the first one comes after an interval");
    let mut server =
        Server::with_options(&["--schedule-snapshot", "1", "--snapshots-kept", "2", "--snapshot-dir", "copies"]);
    server.add("films", json!([{"id": 1}]));
    let of_type = "/tasks?types=snapshotCreation&statuses=succeeded";
    until(|| server.get(of_type).ok()["total"].as_u64().unwrap() >= 4);
    // In order, so that none is half made.
    server.terminate();
    let folders = snapshots(&server.folder().join("copies"));
    assert_eq!(folders.len(), 3, "two and the link: {folders:?}");
}

/// Kills the server while it makes snapshots: the newest one is always whole.
#[test]
fn kill_9_while_making_snapshots_leaves_whole_ones() {
    let mut server = Server::start();
    let documents: Vec<Value> = (0..2000).map(|id| json!({"id": id, "text": format!("text {id}")})).collect();
    server.add("films", documents.into());
    server.done(&server.post("/snapshots", json!(null)));
    for round in 0..5u64 {
        for _request in 0..3 {
            server.post("/snapshots", json!(null));
        }
        // Each round is killed at another moment of the work.
        std::thread::sleep(Duration::from_millis(3 + round * 4));
        server.kill();
        let snapshot = server.folder().join("snapshots/data.snapshot");
        let restored = Server::with_options(&["--import-snapshot", snapshot.to_str().unwrap()]);
        assert_eq!(restored.document_count("films"), 2000);
        assert_eq!(restored.get("/indexes/films/documents?limit=5000").ok()["total"], 2000);
        server.start_again();
    }
    let last = server.post("/snapshots", json!(null));
    server.done(&last);
    let unfinished = snapshots(&server.folder().join("snapshots"));
    assert!(unfinished.iter().all(|path| path.extension().is_some_and(|end| end == "snapshot")), "{unfinished:?}");
}

/// Starts a server that must refuse to start; what it said.
#[track_caller]
fn refused(folder: &Path, options: &[&str]) -> String {
    let options: Vec<String> = options.iter().map(|option| option.to_string()).collect();
    let output = command(folder, &options).stdin(Stdio::null()).output().expect("the binary starts");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn imports_are_careful_with_what_is_there() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    server.done(&server.post("/snapshots", json!(null)));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let snapshot = snapshot.to_str().unwrap();
    let folder = tempfile::tempdir().expect("a temporary folder");

    let said = refused(folder.path(), &["--import-snapshot", "absent.snapshot"]);
    assert!(said.contains("snapshot doesn't exist at `absent.snapshot`"), "{said}");
    let said = refused(folder.path(), &["--ignore-missing-snapshot"]);
    assert!(said.contains("`--ignore-missing-snapshot` needs `--import-snapshot`"), "{said}");
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/VERSION"), "0.1.0").unwrap();
    let said = refused(folder.path(), &["--import-snapshot", snapshot]);
    assert!(said.contains("database already exists at `"), "{said}");
    assert!(said.contains("delete it or rename it"), "{said}");
    let copy = folder.path().join("copy");
    let copied = Command::new("cp").args(["-rL", snapshot]).arg(&copy).status().expect("cp runs");
    assert!(copied.success());
    std::fs::write(copy.join("VERSION"), version_of("99.0.0", 1)).unwrap();
    std::fs::remove_dir_all(folder.path().join("data")).unwrap();
    let said = refused(folder.path(), &["--import-snapshot", copy.to_str().unwrap()]);
    assert!(said.contains("was written by version 99.0.0"), "{said}");
    assert!(!folder.path().join("data").exists(), "{said}");

    // A folder with the marker of an import is no database.
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/import-unfinished"), "").unwrap();
    let said = refused(folder.path(), &[]);
    assert!(said.contains("was interrupted"), "{said}");

    // Of a dump just the same.
    std::fs::remove_dir_all(folder.path().join("data")).unwrap();
    let said = refused(folder.path(), &["--import-dump", "absent.dump"]);
    assert!(said.contains("dump doesn't exist at \"absent.dump\""), "{said}");
    let said = refused(folder.path(), &["--import-dump", "a", "--import-snapshot", "b"]);
    assert!(said.contains("cannot be used with"), "{said}");
    std::fs::write(folder.path().join("bad.dump"), "no archive").unwrap();
    let said = refused(folder.path(), &["--import-dump", "bad.dump"]);
    assert!(said.contains("cannot unpack the dump"), "{said}");
    assert!(!folder.path().join("data").exists(), "{said}");

    let mut lenient = Server::with_options(&["--import-snapshot", "absent.snapshot", "--ignore-missing-snapshot"]);
    assert_eq!(lenient.get("/indexes").ok()["total"], 0);
    lenient.add("own", json!([{"id": 1}]));
    lenient.terminate();
    let mut again = lenient.with_other_options(&["--import-snapshot", snapshot, "--ignore-snapshot-if-db-exists"]);
    assert_eq!(again.get("/indexes").ok()["results"][0]["uid"], "own");
    again.kill();
}

/// Both flags of dumps, each with and without what it is about, and both together.
#[test]
fn dumps_may_be_missing_or_unneeded() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let dump = dump_of(&server);
    let dump = dump.to_str().unwrap();
    let uids = |server: &Server| server.get("/indexes").ok()["results"].as_array().expect("results").len();

    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = refused(folder.path(), &["--import-dump", "absent.dump", "--ignore-dump-if-db-exists"]);
    assert!(said.contains("dump doesn't exist at"), "no database and no dump: {said}");
    for (flag, needed) in [("--ignore-missing-dump", "--import-dump"), ("--ignore-dump-if-db-exists", "--import-dump")]
    {
        let said = refused(folder.path(), &[flag]);
        assert!(said.contains(&format!("`{flag}` needs `{needed}`")), "{said}");
    }

    let mut fresh = Server::with_options(&["--import-dump", "absent.dump", "--ignore-missing-dump"]);
    assert_eq!(uids(&fresh), 0);
    fresh.add("own", json!([{"id": 1}]));
    fresh.terminate();
    let said = refused(fresh.folder(), &["--import-dump", dump]);
    assert!(said.contains("database already exists at `"), "{said}");
    let said = refused(fresh.folder(), &["--import-dump", dump, "--ignore-missing-dump"]);
    assert!(said.contains("database already exists at `"), "the dump is there: {said}");
    let both = ["--ignore-missing-dump", "--ignore-dump-if-db-exists"];
    for path in [dump, "absent.dump"] {
        fresh = fresh.with_other_options(&[&["--import-dump", path], &both[..]].concat());
        assert_eq!(fresh.get("/indexes").ok()["results"][0]["uid"], "own", "{path}");
        fresh.terminate();
    }
    let other = Server::with_options(&[&["--import-dump", dump], &both[..]].concat());
    assert_eq!((uids(&other), other.document_count("films")), (1, 1), "there was no database");
}

impl Everything {
    /// Without the tasks of this type, which know more later than when they ran.
    fn without(mut self, kind: &str) -> Everything {
        let results = |list: &mut Value| list["results"].as_array_mut().expect("results").to_owned();
        let tasks: Vec<Value> = results(&mut self.tasks).into_iter().filter(|task| task["type"] != kind).collect();
        let of_kind = |batch: &Value| batch["stats"]["types"].get(kind).is_some();
        let batches: Vec<Value> = results(&mut self.batches).into_iter().filter(|batch| !of_kind(batch)).collect();
        (self.tasks, self.batches) = (tasks.into(), batches.into());
        self
    }
}

/// The steps that a finished batch went through.
fn steps(server: &Server, task: &Value) -> Vec<String> {
    let batch = server.get(&format!("/batches/{}", task["batchUid"])).ok();
    let trace = batch["stats"]["progressTrace"].as_object().unwrap_or_else(|| panic!("no trace: {batch}"));
    trace.keys().map(|step| step.trim_start_matches("processing tasks > ").to_owned()).collect()
}

#[test]
fn files_are_private_to_the_user_of_the_server() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    server.done(&server.post("/dumps", Value::Null));
    server.done(&server.post("/snapshots", Value::Null));
    let mut open = vec![server.data_folder(), server.folder().join("dumps"), server.folder().join("snapshots")];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let metadata = path.metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o077, 0, "{}", path.display());
        seen += 1;
        if metadata.is_dir() {
            open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert!(seen > 10, "{seen}");
}
