//! `lamina evaluate`: figures for several ways of searching, and an exit status for those who demand some.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::server::{Server, binary, soon_as};

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

pub(crate) fn evaluate(server: &Server, judgements: &str, arguments: &[&str]) -> Output {
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
        // Without the interval.
        line.split_whitespace()
            .skip(1)
            .filter(|text| !text.contains('-'))
            .map(|figure| figure.parse().expect("a number"))
            .collect()
    };
    assert_eq!(figures("meaning "), [1.0, 1.0, 1.0, 0.2, 0.0]);
    assert!(figures("words ")[0] < 0.95, "the second relevant document is not found by words: {said}");
    assert_eq!(figures("words ")[1..], [1.0, 0.5, 0.1, 0.0]);
    assert!(said.contains("meaning against words: nDCG +"), "{said}");
    assert!(said.contains("1 better, 0 worse, 0 the same"), "{said}");
    let output = evaluate(&server, judgements, &["--with", words, "--min-ndcg", "0.99"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("below 0.99"));
}

#[test]
fn what_is_wrong_is_reported() {
    let server = foxes();
    for (judgements, arguments, expected) in [
        ("", &[][..], "it has no query"),
        ("{\"q\": 1}", &[], "line 1: `q` must be a string"),
        ("{\"q\": \"a\", \"relevant\": []}", &["--with", "x={\"limt\": 1}"], "Unknown field `limt`"),
        ("{\"q\": \"a\", \"relevant\": []}", &["--with", "x"], "expected NAME=JSON"),
        ("{\"q\": \"a\", \"relevant\": []}", &["--sweep", "x"], "expected PATH=VALUE,VALUE"),
        (
            "{\"q\": \"a\", \"relevant\": []}",
            &["--with", "x={\"settings\": {\"rankingRules\": [1]}}"],
            "expected a string",
        ),
    ] {
        let output = evaluate(&server, judgements, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "no `{expected}` in {said}");
        assert!(said.contains(expected), "no `{expected}` in {said}");
    }
}

#[test]
fn files_of_trec_settings_and_grids() {
    let server = foxes();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("topics"), "7\tred fox\n8\tcanines\n9\tunjudged\n").expect("a file can be written");
    std::fs::write(path("qrels"), "7 0 1 2\n7 0 3 0\n8 0 2 1\n").expect("a file can be written");
    let (topics, qrels, runs) = (path("topics"), path("qrels"), path("runs"));
    let arguments: Vec<&str> = [&topics, &qrels, &runs].map(|path| path.to_str().unwrap()).to_vec();
    let settings = r#"blind={"settings": {"searchableAttributes": ["nothing"]}}"#;
    let output = Command::new(binary())
        .args([
            "evaluate",
            "--url",
            &server.url,
            "--index",
            "animals",
            "--topics",
            arguments[0],
            "--qrels",
            arguments[1],
        ])
        .args([
            "--runs",
            arguments[2],
            "--json",
            "--judged-only",
            "--fetch",
            "20",
            "--with",
            "plain={}",
            "--with",
            settings,
        ])
        .args(["--sweep", "matchingStrategy=all,any"])
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_str(&said).expect("the report is JSON");
    let names: Vec<&str> =
        report["searches"].as_array().unwrap().iter().map(|way| way["name"].as_str().unwrap()).collect();
    let expected = ["plain matchingStrategy=all", "plain matchingStrategy=any"];
    assert_eq!((report["queries"].as_u64(), &names[..2], names.len()), (Some(2), &expected[..], 4));
    assert_eq!(report["searches"][0]["ndcg"]["mean"], 0.5, "{report}");
    assert_eq!(report["searches"][2]["ndcg"]["mean"], 0.0, "{report}");
    let changed = &report["comparisons"][1]["changed"];
    assert_eq!((&changed[0]["id"], &changed[0]["q"]), (&json!("7"), &json!("red fox")), "{report}");
    let run = std::fs::read_to_string(path("runs").join("plain_matchingStrategy=all.run")).expect("a run is written");
    assert!(run.starts_with("7 Q0 1 1 "), "{run}");
    assert!(run.trim_end().ends_with(" plain_matchingStrategy=all"), "{run}");
    assert_eq!(server.get("/indexes/animals/settings/searchable-attributes").ok(), json!(["*"]), "as it was");
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
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(", and `words` has "), "{said}");
}

/// Judged queries of which words of one attribute answer all, and those of another none.
fn of_names(count: usize) -> String {
    let lines = (0..count).map(|n| format!("{{\"q\": \"name{n}\", \"relevant\": [\"{n}\"]}}\n"));
    lines.collect()
}

/// An index whose documents are found by their names only if these are searchable, which they are not.
fn unsearchable(count: usize) -> Server {
    unsearchable_on(Server::start(), count)
}

fn unsearchable_on(server: Server, count: usize) -> Server {
    server.set("animals", json!({"searchableAttributes": ["about"], "stopWords": ["the"]}));
    server.add("animals", json!((0..count).map(|n| json!({"id": n, "name": format!("name{n}")})).collect::<Vec<_>>()));
    server
}

const NAMES: [&str; 4] = ["--with", "now={}", "--with", r#"names={"settings": {"searchableAttributes": ["name"]}}"#];

fn settings_tasks(server: &Server) -> u64 {
    server.get("/tasks?indexUids=animals&types=settingsUpdate").ok()["total"].as_u64().expect("a number")
}

fn indexes(server: &Server) -> Vec<String> {
    let found = server.get("/indexes").ok();
    let uids = found["results"].as_array().expect("indexes").iter().map(|index| index["uid"].as_str().expect("a uid"));
    uids.map(str::to_owned).collect()
}

#[test]
fn settings_are_tried_on_a_clone_and_applied_when_asked() {
    let server = unsearchable(20);
    let (before, tasks) = (server.get("/indexes/animals/settings").ok(), settings_tasks(&server));
    server.done(&server.patch("/aliases", json!({"pets": "animals"})));
    let said = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let output = evaluate(&server, &of_names(20), &NAMES);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said(&output).contains("Winner: names, nDCG +1.0000 against now"), "{}", said(&output));
    let sweep = [r#"settings.searchableAttributes=[["about"], ["name"]]"#, r#"settings.stopWords=[[], ["a"]]"#];
    let output = evaluate(&server, &of_names(20), &["--sweep", sweep[0], "--sweep", sweep[1]]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("Winner: "), "{}", said(&output));
    let alias = r#"alias={"indexUid": "pets", "settings": {"searchableAttributes": ["name"]}}"#;
    let output = evaluate(&server, &of_names(20), &["--with", "now={}", "--with", alias]);
    assert!(said(&output).contains("Winner: alias"), "{}{}", said(&output), String::from_utf8_lossy(&output.stderr));
    assert_eq!((server.get("/indexes/animals/settings").ok(), settings_tasks(&server)), (before.clone(), tasks));
    assert_eq!(indexes(&server), ["animals"]);
    // One query says nothing, and so nothing is applied.
    let apply = [&NAMES[..], &["--apply", "--json"]].concat();
    let output = evaluate(&server, &of_names(1), &apply);
    let report: Value = serde_json::from_str(&said(&output)).expect("the report is JSON");
    assert_eq!((&report["verdict"]["winner"], &report["applied"]), (&Value::Null, &Value::Null), "{report}");
    assert_eq!(settings_tasks(&server), tasks);
    let output = evaluate(&server, &of_names(20), &apply);
    let report: Value = serde_json::from_str(&said(&output)).expect("the report is JSON");
    assert_eq!(report["applied"]["settings"], json!({"searchableAttributes": ["name"]}), "{report}");
    assert_eq!(settings_tasks(&server), tasks + 1);
    assert_eq!(server.ids("animals", json!({"q": "name7"}))[0], 7);
    // What it prints undoes it.
    let undo =
        report["applied"]["undo"].as_str().expect("a command").replacen("lamina", &binary().to_string_lossy(), 1);
    let undone = Command::new("sh").args(["-c", &undo]).output().expect("a shell");
    assert!(undone.status.success(), "{undo}: {}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(server.get("/indexes/animals/settings").ok(), before);
    assert_eq!(indexes(&server), ["animals"]);
}

#[test]
fn a_run_that_is_ended_leaves_nothing_and_one_that_is_killed_not_for_long() {
    let server = unsearchable(5);
    let (before, tasks) = (server.get("/indexes/animals/settings").ok(), settings_tasks(&server));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("queries.ndjson");
    // Long enough to be ended in the middle.
    std::fs::write(&file, of_names(200_000)).expect("a file can be written");
    let start = || {
        let mut command = Command::new(binary());
        command.arg("evaluate").arg(&file).args(["--url", &server.url, "--index", "animals"]).args(NAMES);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("it starts")
    };
    let until = |count: usize| {
        soon_as(|| indexes(&server), |found| found.len() == count);
    };
    let mut killed = start();
    until(2);
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    assert_eq!((server.get("/indexes/animals/settings").ok(), settings_tasks(&server)), (before.clone(), tasks));
    // Another one that is at work keeps its own.
    let mut other = start();
    until(2);
    let output = evaluate(&server, &of_names(5), &NAMES);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    until(2);
    let process = i32::try_from(other.id()).expect("a process id").to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().expect("kill starts").success());
    assert_eq!(other.wait().expect("it ends").code(), Some(2));
    assert_eq!(indexes(&server), ["animals"]);
    assert_eq!((server.get("/indexes/animals/settings").ok(), settings_tasks(&server)), (before, tasks));
}

#[test]
fn a_key_that_may_not_clone_is_refused_with_what_it_lacks() {
    let master = "a-master-key-of-the-tests";
    let server = unsearchable_on(Server::with_options(&["--master-key", master]).with_key(master), 5);
    let key = |actions: Value| {
        let key = json!({"actions": actions, "indexes": ["*"], "expiresAt": null});
        server.post("/keys", key).ok()["key"].as_str().expect("a key").to_owned()
    };
    let reader = key(json!(["search", "indexes.get"]));
    let output = evaluate(&server, &of_names(5), &[&NAMES[..], &["--api-key", &reader]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("`indexes.create`"), "{said}");
    let output = evaluate(&server, &of_names(5), &["--api-key", &reader]);
    assert!(output.status.success(), "without settings it is enough: {}", String::from_utf8_lossy(&output.stderr));
}
