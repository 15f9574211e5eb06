//! `lamina evaluate`: figures for several ways of searching, and an exit status for those who demand some.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::server::{Server, binary};

/// Words find the red fox, only vectors know that a vulpine animal is one.
fn foxes() -> Server {
    let server = Server::start();
    let embedder = json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}});
    server.done(&server.patch("/indexes/animals/settings", embedder));
    server.add(
        "animals",
        json!([
            {"id": 1, "name": "red fox", "_vectors": {"e": [1, 0]}},
            {"id": 2, "name": "vulpine animal", "_vectors": {"e": [0.9, 0.1]}},
            {"id": 3, "name": "red bus", "_vectors": {"e": [0, 1]}},
        ]),
    );
    server
}

fn evaluate(server: &Server, judgements: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("queries.ndjson");
    std::fs::write(&file, judgements).expect("a file can be written");
    let mut command = Command::new(binary());
    command.arg("evaluate").arg(&file).args(["--url", &server.url, "--index", "animals"]).args(arguments);
    command.output().expect("the binary starts")
}

#[test]
fn ways_of_searching_are_compared() {
    let server = foxes();
    let judgements = r#"{"q": "red fox", "relevant": {"1": 3, "2": 1}, "search": {"vector": [1, 0]}}"#;
    let words = r#"words={"matchingStrategy": "all", "hybrid": {"embedder": "e", "semanticRatio": 0}}"#;
    let meaning = r#"meaning={"hybrid": {"embedder": "e", "semanticRatio": 1}}"#;
    let output = evaluate(&server, judgements, &["--with", words, "--with", meaning, "--min-ndcg", "0.99"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let figures = |name: &str| -> Vec<f64> {
        let line = said.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {said}"));
        line.split_whitespace().skip(1).map(|figure| figure.parse().expect("a number")).collect()
    };
    assert_eq!(figures("meaning"), [1.0, 1.0, 0.0]);
    assert!(figures("words")[0] < 0.95, "the second relevant document is not found by words: {said}");
    assert_eq!(figures("words")[1..], [1.0, 0.0]);
    let output = evaluate(&server, judgements, &["--with", words, "--min-ndcg", "0.99"]);
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("below 0.99"));
}

#[test]
fn what_is_wrong_is_reported() {
    let server = foxes();
    for (judgements, arguments, expected) in [
        ("", &[][..], "it holds no query"),
        ("{\"q\": 1}", &[], "line 1: `q` must be a string"),
        ("{\"q\": \"a\", \"relevant\": []}", &["--with", "x={\"limt\": 1}"], "Unknown field `limt`"),
        ("{\"q\": \"a\", \"relevant\": []}", &["--with", "x"], "expected NAME=JSON"),
    ] {
        let output = evaluate(&server, judgements, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "no `{expected}` in {said}");
    }
}

/// The labelled set of the documentation, and two indexes with other settings.
#[test]
fn words_and_meaning_together_beat_each_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/labelled-set.py");
    let made = Command::new("python3").arg(script).arg(folder.path()).status().expect("python3 starts");
    assert!(made.success());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("the script writes it");
    let server = Server::start();
    let settings: Value = serde_json::from_str(&read("settings.json")).expect("settings are JSON");
    let documents: Vec<Value> =
        read("documents.ndjson").lines().map(|line| serde_json::from_str(line).expect("a document is JSON")).collect();
    for uid in ["animals", "names"] {
        server.done(&server.patch(&format!("/indexes/{uid}/settings"), settings.clone()));
        server.add(uid, json!(documents));
    }
    server.done(&server.patch("/indexes/names/settings", json!({"searchableAttributes": ["name"]})));
    let way =
        |name: &str, ratio: f64| format!("{name}={}", json!({"hybrid": {"embedder": "model", "semanticRatio": ratio}}));
    let (words, meaning, both) = (way("words", 0.0), way("meaning", 1.0), way("both", 0.5));
    let judgements = read("queries.ndjson");
    let compare = ["--with", &words, "--with", &meaning, "--with", &both, "--last-is-best", "--min-ndcg", "0.7"];
    let output = evaluate(&server, &judgements, &compare);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let names = r#"names={"indexUid": "names", "hybrid": {"embedder": "model", "semanticRatio": 0}}"#;
    let output = evaluate(&server, &judgements, &["--with", &words, "--with", names, "--last-is-best"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(", and `words` has "), "{said}");
}
