//! Which documents differ since a state: as lines, and as events that go on.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::server::Server;

fn state(server: &Server) -> u64 {
    server.get("/indexes/films/generations").ok()["results"][0]["generation"].as_u64().expect("a number")
}

/// The lines of an answer: changes by id, and what the last one says.
fn lines(server: &Server, since: u64) -> (Vec<(String, String)>, Value) {
    let answer = server.get(&format!("/indexes/films/changes?since={since}"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    let mut lines: Vec<Value> = answer.text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let last = lines.pop().expect("a last line");
    let text = |line: &Value, name: &str| line[name].as_str().expect("a text").to_owned();
    let mut changes: Vec<(String, String)> =
        lines.iter().map(|line| (text(line, "id"), text(line, "change"))).collect();
    changes.sort();
    assert_eq!(last["changes"], changes.len());
    (changes, last)
}

fn expected(changes: &[(&str, &str)]) -> Vec<(String, String)> {
    changes.iter().map(|(id, change)| ((*id).to_owned(), (*change).to_owned())).collect()
}

#[test]
fn changes_since_a_state_are_listed() {
    let server = Server::with_options(&["--keep", "1h"]);
    server.add("films", json!([{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": 3}]));
    let first = state(&server);
    assert_eq!(lines(&server, first), (vec![], json!({"generation": first, "since": first, "changes": 0})));
    server.add("films", json!([{"id": 2, "n": 20}, {"id": 3, "n": 3}, {"id": 4, "n": 4}]));
    server.done(&server.delete("/indexes/films/documents/1"));
    server.set("films", json!({"filterableAttributes": ["n"]}));
    server.done(&server.post("/indexes/films/compact", Value::Null));
    let (changes, last) = lines(&server, first);
    assert_eq!(changes, expected(&[("1", "deleted"), ("2", "replaced"), ("4", "added")]));
    assert_eq!(last, json!({"generation": state(&server), "since": first, "changes": 3}));
    server.done(&server.post("/indexes/films/restore", json!({"at": first})));
    assert_eq!(lines(&server, first).0, []);
    let undone = expected(&[("1", "added"), ("2", "replaced"), ("4", "deleted")]);
    assert_eq!(lines(&server, last["generation"].as_u64().unwrap()).0, undone);
}

#[test]
fn what_is_not_kept_and_bad_requests_are_refused() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let first = state(&server);
    server.add("films", json!([{"id": 2}]));
    assert_eq!(lines(&server, state(&server)).0, []);
    server.get(&format!("/indexes/films/changes?since={first}")).refused(404, "generation_not_found");
    server.get("/indexes/films/changes?since=1000").refused(404, "generation_not_found");
    server.get("/indexes/films/changes").refused(400, "missing_changes_since");
    server.get("/indexes/films/changes?since=x").refused(400, "invalid_changes_since");
    server.get("/indexes/films/changes?until=3").refused(400, "bad_request");
    server.get("/indexes/none/changes?since=0").refused(404, "index_not_found");
}

#[test]
fn events_go_on_as_writes_come() {
    // Nothing is kept: a stream holds what it has seen.
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let first = state(&server);
    let request = server.request(reqwest::Method::GET, &format!("/indexes/films/changes?since={first}"));
    let response = request.header("Accept", "text/event-stream").send().expect("an answer");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut lines = BufReader::new(response).lines().map(|line| line.expect("a line"));
    let mut event = || -> Vec<String> { lines.by_ref().take_while(|line| !line.is_empty()).collect() };
    let present = |number: u64, since: u64, count: u64| {
        let data = json!({"generation": number, "since": since, "changes": count});
        vec!["event: generation".to_owned(), format!("id: {number}"), format!("data: {data}")]
    };
    assert_eq!(event(), present(first, first, 0));
    server.add("films", json!([{"id": 2}]));
    let second = state(&server);
    assert_eq!(event(), ["event: added", r#"data: {"change":"added","id":"2"}"#]);
    assert_eq!(event(), present(second, first, 1));
    server.done(&server.delete("/indexes/films/documents/1"));
    assert_eq!(event(), ["event: deleted", r#"data: {"change":"deleted","id":"1"}"#]);
    assert_eq!(event(), present(state(&server), second, 1));

    // Who comes back says what was seen.
    let request = server.request(reqwest::Method::GET, &format!("/indexes/films/changes?since={first}"));
    let request = request.header("Accept", "text/event-stream").header("Last-Event-ID", state(&server).to_string());
    let mut lines = BufReader::new(request.send().expect("an answer")).lines().map(|line| line.expect("a line"));
    let event: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    assert_eq!(event, present(state(&server), state(&server), 0));
}
