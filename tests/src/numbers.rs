//! A number of a state, and a tag of an answer, mean one state for ever: whatever has the name of the index later.

use std::io::{BufRead, BufReader};
use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, binary};

/// State as a client remembers it: its number, and the tag of a response.
#[derive(Debug)]
struct Seen {
    number: u64,
    tag: String,
}

const KEEPING: [&str; 2] = ["--keep", "1h"];
/// Number of states, which exceeds the number of commits of any import.
const STATES: u64 = 12;

fn search(server: &Server, name: &str, tag: Option<&str>) -> reqwest::blocking::Response {
    let request = server.request(Method::GET, &format!("/indexes/{name}/search?q=film"));
    let request = tag.into_iter().fold(request, |request, tag| request.header("If-None-Match", tag));
    request.send().expect("an answer")
}

fn look(server: &Server, name: &str) -> Seen {
    let number = server.get(&format!("/indexes/{name}/generations")).ok()["results"][0]["generation"].as_u64().unwrap();
    let tag = search(server, name, None).headers()["etag"].to_str().unwrap().to_owned();
    Seen { number, tag }
}

/// Makes states one after the other, and remembers them.
fn states(server: &Server, name: &str, word: &str) -> Vec<Seen> {
    let state = |id| {
        server.add(name, json!([{"id": id, "title": format!("film {word}")}]));
        look(server, name)
    };
    (0..STATES).map(state).collect()
}

/// Nothing that was seen before is what the name stands for now, or for a state that is kept of it.
#[track_caller]
fn all_are_unknown(server: &Server, name: &str, seen: &[Seen]) {
    for Seen { number, tag } in seen {
        server.get(&format!("/indexes/{name}/changes?since={number}")).refused(404, "generation_not_found");
        let at = server.post(&format!("/indexes/{name}/search"), json!({"at": number}));
        at.refused(404, "generation_not_found");
        assert_eq!(search(server, name, Some(tag)).status(), 200, "{number}");
    }
}

/// Checks like [`all_are_unknown`], after each of as many writes as there were before.
#[track_caller]
fn all_stay_unknown(server: &Server, name: &str, seen: &[Seen]) {
    for id in 0..STATES {
        server.add(name, json!([{"id": id, "title": "film of another time"}]));
        all_are_unknown(server, name, seen);
    }
}

#[test]
fn an_index_that_is_made_again_knows_no_numbers_of_the_former_one() {
    let mut server = Server::with_options(&KEEPING);
    let seen = states(&server, "films", "one");
    server.done(&server.delete("/indexes/films"));
    server.terminate();
    server.start_again();
    all_stay_unknown(&server, "films", &seen);
}

#[test]
fn names_that_are_exchanged_take_no_numbers_along() {
    let server = Server::with_options(&KEEPING);
    let (films, books) = (states(&server, "films", "one"), states(&server, "books", "two"));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["films", "books"]}])));
    all_are_unknown(&server, "films", &films);
    all_are_unknown(&server, "books", &books);
    // They are numbers of what they were given for.
    let last = films.last().unwrap();
    assert_eq!(server.get(&format!("/indexes/books/changes?since={}", last.number)).status, 200);
    server.done(&server.patch("/indexes/films", json!({"uid": "papers"})));
    all_stay_unknown(&server, "films", &books);
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["papers", "old"], "rename": true}])));
    all_stay_unknown(&server, "papers", &books);
}

#[test]
fn an_alias_that_moves_to_a_clone_knows_the_states_before_it_only() {
    let server = Server::with_options(&KEEPING);
    server.add("films-1", json!([{"id": 1000, "title": "film"}]));
    server.done(&server.put("/aliases/films", json!({"indexUid": "films-1"})));
    server.done(&server.post("/indexes/films-1/clone", json!({"uid": "films-2"})));
    let seen = states(&server, "films", "one");
    server.done(&server.put("/aliases/films", json!({"indexUid": "films-2"})));
    all_stay_unknown(&server, "films", &seen);
}

#[test]
fn a_folder_that_is_attached_twice_is_two_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("films.ndjson");
    std::fs::write(&file, "{\"id\": 1000, \"title\": \"film\"}\n").unwrap();
    let mut build = Command::new(binary());
    build.arg("build").arg(&file).arg("--output").arg(folder.path().join("films"));
    assert!(build.output().expect("runs").status.success());
    let attached = folder.path().to_str().unwrap();
    let server = Server::with_options(&[&KEEPING[..], &["--attach-dir", attached]].concat());
    let attach = || server.done(&server.post("/indexes/films/attach", json!({"folder": "films"})));
    attach();
    let seen = states(&server, "films", "one");
    server.done(&server.delete("/indexes/films"));
    attach();
    // Answers that are kept in memory are of one index as well.
    all_stay_unknown(&server, "films", &seen);
    assert_eq!(server.search("films", json!({"q": "film one"}))["hits"][0]["title"], "film");
}

#[test]
fn what_starts_from_a_dump_knows_no_numbers_of_the_server_before() {
    let server = Server::with_options(&KEEPING);
    let seen = states(&server, "films", "one");
    let task = server.done(&server.post("/dumps", Value::Null));
    let dump = server.folder().join("dumps").join(format!("{}.dump", task["details"]["dumpUid"].as_str().unwrap()));
    let restored = Server::with_options(&[&KEEPING[..], &["--import-dump", dump.to_str().unwrap()]].concat());
    let created = |server: &Server| server.get("/indexes/films").ok()["createdAt"].clone();
    assert_eq!(created(&restored), created(&server));
    all_are_unknown(&restored, "films", &seen);
    all_stay_unknown(&restored, "films", &seen);
}

#[test]
fn what_starts_from_a_snapshot_knows_no_numbers_that_were_given_after_it() {
    let server = Server::with_options(&KEEPING);
    let before = states(&server, "films", "one").pop().unwrap();
    server.done(&server.post("/snapshots", Value::Null));
    let seen = states(&server, "films", "two");
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let mut restored =
        Server::with_options(&[&KEEPING[..], &["--import-snapshot", snapshot.to_str().unwrap()]].concat());
    // What was there is there.
    let lines = restored.get(&format!("/indexes/films/changes?since={}", before.number)).text;
    assert_eq!(lines.trim(), json!({"generation": before.number, "since": before.number, "changes": 0}).to_string());
    all_are_unknown(&restored, "films", &seen);
    restored.terminate();
    let restored = restored.with_other_options(&KEEPING);
    all_stay_unknown(&restored, "films", &seen);
}

/// A stream that goes on while the name comes to stand for something else, with segments of the same numbers.
#[test]
fn a_stream_of_changes_goes_on_from_one_index_to_the_other() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "n": 1}, {"id": 2, "n": 2}]));
    server.add("books", json!([{"id": 2, "n": 2}, {"id": 3, "n": 3}]));
    let since = look(&server, "films").number;
    let request = server.request(Method::GET, &format!("/indexes/films/changes?since={since}"));
    let response = request.header("Accept", "text/event-stream").send().expect("an answer");
    let mut lines = BufReader::new(response).lines().map(|line| line.expect("a line"));
    let mut event = || lines.by_ref().take_while(|line| !line.is_empty()).collect::<Vec<String>>().join("\n");
    assert!(event().starts_with("event: generation"));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["films", "books"]}])));
    assert_eq!(event(), "event: added\ndata: {\"change\":\"added\",\"id\":\"3\"}");
    assert_eq!(event(), "event: deleted\ndata: {\"change\":\"deleted\",\"id\":\"1\"}");
    assert!(event().starts_with("event: generation"));
}
