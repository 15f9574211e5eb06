//! Features as they are described: requests, and answers that were worked out by hand from the description (`tests/golden/features`, a file
//! for each feature).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use crate::chats::{events, turn};
use crate::embedders::LOCAL;
use crate::receiver::Receiver;
use crate::server::{Server, repository};
use crate::task_streams::Stream;

/// The part of a value behind a JSON pointer; `/*` stands for each element of an array.
fn at(value: &Value, pointer: &str) -> Value {
    match pointer.split_once("/*") {
        Some((array, rest)) => {
            let array = at(value, array);
            array.as_array().into_iter().flatten().map(|element| at(element, rest)).collect()
        }
        None => value.pointer(pointer).cloned().unwrap_or_default(),
    }
}

/// With all numbers as floats: 10 and 10.0 are the same.
fn with_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(all) => all.iter().map(with_floats).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), with_floats(value))).collect(),
        other => other.clone(),
    }
}

/// A server, what plays the provider of a model for it, and the streams that are open, by their names.
struct Stage {
    server: Server,
    provider: Receiver,
    /// With the number of the last event that was read.
    streams: HashMap<String, (Stream, Option<String>)>,
}

impl Stage {
    /// Returns the subject of a case: the response to a request, the request to the provider, or events of a stream.
    fn found(&mut self, case: &Value, what: &str) -> Value {
        if case["received"] == true {
            return serde_json::from_slice(&self.provider.next().body).expect("JSON");
        }
        if let Some(name) = case["read"].as_str() {
            return self.read(name, case);
        }
        let text = |at: usize| case["request"][at].as_str().expect("a method and a path");
        let mut request = self.server.request(Method::from_bytes(text(0).as_bytes()).expect("a method"), text(1));
        if !case["request"][2].is_null() {
            let body = case["request"][2].to_string().replace("{provider}", &self.provider.url);
            request = request.json(&serde_json::from_str::<Value>(&body).expect("JSON"));
        }
        let answer = self.server.send(request);
        let expected = case["status"].as_u64().unwrap_or(200);
        assert_eq!(u64::from(answer.status), expected, "{what}: {}", answer.text);
        match expected {
            202 => self.server.wait(&answer),
            _ if case["events"] == true => events(&answer.text).into(),
            _ => answer.body,
        }
    }

    /// Opens a stream, which may go on after the last event of another one.
    fn open(&mut self, name: &str, case: &Value) {
        let last = match case["after"].as_str() {
            Some(other) => self.streams[other].1.clone(),
            None => case["lastEventId"].as_str().map(str::to_owned),
        };
        let path = case["path"].as_str().expect("a path");
        let stream = Stream::open(&self.server, path, "none", last.as_deref());
        self.streams.insert(name.to_owned(), (stream, last));
    }

    /// The next events of a stream, or the first that has something at a pointer.
    fn read(&mut self, name: &str, case: &Value) -> Value {
        let (stream, last) = self.streams.get_mut(name).expect("an open stream");
        let mut next = || {
            let (id, event) = stream.next();
            *last = Some(id);
            event
        };
        match case["until"].as_str() {
            None => (0..case["events"].as_u64().expect("a number")).map(|_| next()).collect(),
            Some(pointer) => loop {
                let event = next();
                if !at(&event, pointer).is_null() {
                    break event;
                }
            },
        }
    }

    fn check(&mut self, file: &Path, case: &Value) {
        let what = format!("{}: {}", file.display(), case["what"]);
        if let Some(name) = case["open"].as_str() {
            return self.open(name, case);
        }
        let found = self.found(case, &what);
        for (pointer, expected) in case["answer"].as_object().expect("an object") {
            let found = at(&found, pointer);
            assert_eq!(with_floats(&found), with_floats(expected), "{what}, at `{pointer}`");
        }
    }
}

#[test]
fn answers_are_those_that_were_worked_out_by_hand() {
    let folder = repository().join("tests/golden/features");
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    let mut server = Server::with_options(&LOCAL);
    for file in &files {
        let golden: Value = serde_json::from_slice(&std::fs::read(file).expect("readable")).expect("JSON");
        server.set("golden", golden["settings"].clone());
        server.add("golden", golden["documents"].clone());
        let turns = golden["provider"].as_array().into_iter().flatten();
        let turns: Vec<_> = turns.map(|chunks| turn(chunks.as_array().expect("chunks"))).collect();
        let mut stage = Stage { server, provider: Receiver::start(turns), streams: HashMap::new() };
        for case in golden["cases"].as_array().expect("cases") {
            stage.check(file, case);
        }
        server = stage.server;
        server.done(&server.delete("/indexes/golden"));
    }
}
