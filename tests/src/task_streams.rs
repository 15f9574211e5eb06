//! `/tasks/stream` and `/batches/stream`.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::keys::{self, MASTER};
use crate::server::Server;

/// A stream that is read event by event.
pub(crate) struct Stream(std::io::Lines<BufReader<reqwest::blocking::Response>>);

impl Stream {
    #[track_caller]
    pub(crate) fn open(server: &Server, path: &str, key: &str, last: Option<&str>) -> Stream {
        let client = reqwest::blocking::Client::builder().timeout(None).build().unwrap();
        let mut request = client.get(format!("{}{path}", server.url)).bearer_auth(key);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = request.send().unwrap();
        assert_eq!(response.status(), 200);
        for (name, value) in
            [("content-type", "text/event-stream"), ("cache-control", "no-cache"), ("x-accel-buffering", "no")]
        {
            assert_eq!(response.headers()[name], value);
        }
        let mut stream = Stream(BufReader::new(response).lines());
        assert_eq!(stream.line(), "retry: 10000");
        assert_eq!(stream.line(), "");
        stream
    }

    fn line(&mut self) -> String {
        self.0.next().expect("the stream goes on").expect("a line")
    }

    /// The id of the next event, and what it says.
    pub(crate) fn next(&mut self) -> (String, Value) {
        loop {
            let line = self.line();
            let Some(id) = line.strip_prefix("id: ") else { continue };
            let data = self.line();
            let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("{data}"));
            return (id.to_owned(), serde_json::from_str(data).unwrap());
        }
    }

    /// The next event of a task in this state.
    fn until(&mut self, status: &str) -> (String, Value) {
        loop {
            let event = self.next();
            if event.1["status"] == status {
                return event;
            }
        }
    }
}

fn switched_on() -> Server {
    let server = keys::start(&[]).with_key(MASTER);
    server.get("/tasks/stream").refused(400, "feature_not_enabled");
    server.get("/batches/stream").refused(400, "feature_not_enabled");
    server.patch("/experimental-features", json!({"tasksStreamingRoute": true})).ok();
    server
}

#[test]
fn a_task_is_shown_in_each_of_its_states() {
    let server = switched_on();
    let mut tasks = Stream::open(&server, "/tasks/stream", MASTER, None);
    let mut batches = Stream::open(&server, "/batches/stream", MASTER, None);
    let task = server.add("films", json!([{"id": 1}]));
    let states: Vec<Value> = (0..3).map(|_| tasks.next().1).collect();
    assert!(states.iter().all(|state| state["uid"] == task["uid"]), "{states:?}");
    let statuses: Vec<&Value> = states.iter().map(|state| &state["status"]).collect();
    assert_eq!(statuses, ["enqueued", "processing", "succeeded"]);
    assert_eq!(states[2], task);
    let ended = std::iter::from_fn(|| Some(batches.next().1)).find(|batch| !batch["finishedAt"].is_null()).unwrap();
    assert_eq!((&ended["uid"], &ended["progress"]), (&task["batchUid"], &Value::Null));
}

#[test]
fn what_was_missed_is_replayed() {
    let mut server = switched_on();
    let mut stream = Stream::open(&server, "/tasks/stream", MASTER, None);
    server.add("films", json!([{"id": 1}]));
    let (last, _) = stream.until("succeeded");
    drop(stream);
    let missed = server.add("films", json!([{"id": 2}]));
    let mut again = Stream::open(&server, "/tasks/stream", MASTER, Some(&last));
    assert_eq!(again.until("succeeded").1, missed);
    drop(again);
    // Also by a server that was started anew.
    server.kill();
    server.start_again();
    let mut later = Stream::open(&server, "/tasks/stream", MASTER, Some(&last));
    let mut found = later.until("succeeded").1;
    if found["uid"] != missed["uid"] {
        found = later.until("succeeded").1;
    }
    assert_eq!(found, missed);
    // What makes no sense is passed over.
    Stream::open(&server, "/tasks/stream", MASTER, Some("nonsense"));
}

#[test]
fn keys_see_their_indexes() {
    let server = switched_on();
    let key = keys::value(&keys::make(&server, &["tasks.get"], &["films"]));
    let mut stream = Stream::open(&server, "/tasks/stream", &key, None);
    let mut batches = Stream::open(&server, "/batches/stream", &key, None);
    server.add("secret", json!([{"id": 1}]));
    let task = server.add("films", json!([{"id": 1}]));
    assert_eq!(stream.next().1["uid"], task["uid"]);
    assert_eq!(batches.next().1["uid"], task["batchUid"]);
}

#[test]
fn a_stream_ends_with_the_server() {
    let mut server = switched_on();
    let mut stream = Stream::open(&server, "/tasks/stream", MASTER, None);
    assert!(server.terminate().success());
    while let Some(Ok(_)) = stream.0.next() {}
}
