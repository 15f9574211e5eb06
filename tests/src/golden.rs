//! Features as they are described: requests, and answers that were worked out by hand from the description (`tests/golden`, a file
//! for each feature).

use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, repository};

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

fn check(server: &Server, file: &Path, case: &Value) {
    let what = format!("{}: {}", file.display(), case["what"]);
    let text = |at: usize| case["request"][at].as_str().expect("a method and a path");
    let mut request = server.request(Method::from_bytes(text(0).as_bytes()).expect("a method"), text(1));
    if !case["request"][2].is_null() {
        request = request.json(&case["request"][2]);
    }
    let answer = server.send(request);
    let expected = case["status"].as_u64().unwrap_or(200);
    assert_eq!(u64::from(answer.status), expected, "{what}: {}", answer.body);
    let found = if expected == 202 { server.wait(&answer) } else { answer.body };
    for (pointer, expected) in case["answer"].as_object().expect("an object") {
        let found = at(&found, pointer);
        assert_eq!(with_floats(&found), with_floats(expected), "{what}, at `{pointer}`");
    }
}

#[test]
fn answers_are_those_that_were_worked_out_by_hand() {
    let folder = repository().join("tests/golden");
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() >= 7, "{files:?}");
    let server = Server::start();
    for file in &files {
        let golden: Value = serde_json::from_slice(&std::fs::read(file).expect("readable")).expect("JSON");
        server.set("golden", golden["settings"].clone());
        server.add("golden", golden["documents"].clone());
        for case in golden["cases"].as_array().expect("cases") {
            check(&server, file, case);
        }
        server.done(&server.delete("/indexes/golden"));
    }
}
