//! `lamina judge` and `lamina tune`: from what users did to settings that are better, tested and undone.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::server::{Server, binary, repository, soon_as};

/// The films of the demo. Its questions are whole sentences, of which `last` finds few.
fn films() -> Server {
    let server = Server::start();
    server.add("films", server.get("/sample").ok()["documents"].take());
    server
}

fn questions() -> String {
    std::fs::read_to_string(repository().join("scripts/sample/questions.ndjson")).expect("questions")
}

fn tune(server: &Server, judgements: &str, arguments: &[&str]) -> Output {
    tune_index(server, "films", judgements, arguments)
}

fn tune_index(server: &Server, index: &str, judgements: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("queries.ndjson");
    std::fs::write(&file, judgements).expect("a file can be written");
    tune_file(server, index, &file).args(arguments).output().expect("the binary starts")
}

fn tune_file(server: &Server, index: &str, file: &Path) -> Command {
    let mut command = Command::new(binary());
    command.args(["tune", "--index", index, "--url", &server.url, "--judgements"]).arg(file);
    command
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[track_caller]
fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

fn settings_tasks(server: &Server) -> u64 {
    server.get("/tasks?indexUids=films&types=settingsUpdate").ok()["total"].as_u64().expect("a number")
}

fn indexes(server: &Server) -> usize {
    server.get("/indexes").ok()["total"].as_u64().expect("a number") as usize
}

#[test]
fn better_settings_are_found_applied_and_undone() {
    let server = films();
    let before = server.get("/indexes/films/settings").ok();
    let budget = ["--budget", "250", "--json"];
    let found = report(&tune(&server, &questions(), &budget));
    assert_eq!(found["verdict"]["winner"], "tuned", "{found:#}");
    assert_eq!(found["tuned"]["settings"]["matchingStrategy"], "any", "{found:#}");
    assert_eq!((&found["queries"], &found["tuning"]["queries"]), (&json!(25), &json!(25)));
    assert!(found["tuning"]["searches"].as_u64() <= Some(250), "{}", found["tuning"]);
    assert_eq!(found["applied"], Value::Null);
    assert_eq!(
        (server.get("/indexes/films/settings").ok(), settings_tasks(&server), indexes(&server)),
        (before.clone(), 0, 1)
    );
    let again = report(&tune(&server, &questions(), &budget));
    assert_eq!(again, found, "the same seed gives the same result");
    server.done(&server.patch("/aliases", json!({"movies": "films"})));
    let output = tune_index(&server, "movies", &questions(), &["--budget", "250", "--apply"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for part in [
        "Chosen on 25 queries in ",
        "\nBetter:\n",
        "matchingStrategy: null -> \"any\"",
        "Winner: tuned, nDCG +",
        "To undo it:",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert_eq!(
        (server.get("/indexes/films/settings").ok()["matchingStrategy"].clone(), settings_tasks(&server)),
        (json!("any"), 1)
    );
    let undo = text.lines().find(|line| line.starts_with("lamina settings set")).expect("a command");
    let undo = undo.replacen("lamina", &binary().to_string_lossy(), 1);
    let undone = Command::new("sh").args(["-c", &undo]).output().expect("a shell");
    assert!(undone.status.success(), "{undo}: {}", said(&undone));
    assert_eq!((server.get("/indexes/films/settings").ok(), indexes(&server)), (before, 1));
}

#[test]
fn what_may_be_chance_is_not_applied() {
    let server = films();
    // Two of four are held out: whatever they say, chance says as often.
    let four: String = questions().lines().take(4).map(|line| format!("{line}\n")).collect();
    let output = tune(&server, &four, &["--budget", "40", "--apply"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("No winner: "), "{text}");
    assert!(text.ends_with("No settings were applied.\n"), "{text}");
    assert_eq!((settings_tasks(&server), indexes(&server)), (0, 1));
}

#[test]
fn what_cannot_be_tuned_is_said() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "alien"}, {"id": 2, "title": "aliens"}]));
    let judged = |count: usize, id: &str| -> String {
        (0..count).map(|n| format!("{{\"q\": \"alien {n}\", \"relevant\": [\"{id}\"]}}\n")).collect()
    };
    let gone = judged(2, "1") + &judged(5, "7");
    for (judgements, arguments, expected) in [
        ("", &[][..], "it has no query"),
        (&*judged(3, "1"), &[], "3 of 3 judged queries can be used: at least 4 are needed"),
        (&gone, &[], "2 of 7 judged queries can be used: at least 4 are needed"),
        (&judged(9, "1"), &["--held-out", "0"], "9 of 9 judged queries can be used"),
        (&judged(9, "1"), &["--held-out", "2"], "`2` is not a share"),
        (&judged(9, "1"), &["--budget", "0"], "`0` is not a count"),
        (
            &judged(9, "1"),
            &["--budget", "17"],
            "a budget of 17 searches is too small for 9 queries: at least 18 searches are needed",
        ),
        ("{\"q\": \"a\", \"relevant\": [], \"evidence\": 1}", &[], "line 1: `evidence` must be an object"),
    ] {
        let output = tune(&server, judgements, arguments);
        assert_eq!(output.status.code(), Some(2), "{expected}: {}", said(&output));
        assert!(said(&output).contains(expected), "no `{expected}` in {}", said(&output));
    }
    let output = tune_index(&server, "absent", &judged(9, "1"), &[]);
    assert!(said(&output).contains("Index `absent` not found"), "{}", said(&output));
    let mut partly = judged(8, "1");
    partly += "{\"q\": \"b\", \"relevant\": {\"1\": 1, \"9\": 1}}\n{\"q\": \"c\", \"relevant\": [\"8\"]}\n";
    let found = report(&tune(&server, &partly, &["--budget", "60", "--json"]));
    assert_eq!(found["dropped"], json!({"judgements": 2, "queries": 1}));
    assert_eq!(found["verdict"]["winner"], Value::Null);
}

/// Runs `tune --apply`, and meanwhile, once it has its clone, something else. What it says at its end.
fn applied_while(server: &Server, change: impl FnOnce()) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("queries.ndjson");
    std::fs::write(&file, questions()).expect("a file can be written");
    let mut command = tune_file(server, "films", &file);
    command.args(["--apply", "--budget", "250"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().expect("the binary starts");
    soon_as(|| indexes(server), |found| *found == 2);
    change();
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    said(&output)
}

#[test]
fn what_has_changed_meanwhile_stays() {
    let server = films();
    let text = applied_while(&server, || drop(server.set("films", json!({"rankingRules": ["typo"]}))));
    assert!(text.contains("the settings of index `films` have changed meanwhile"), "{text}");
    let settings = server.get("/indexes/films/settings").ok();
    assert_eq!((&settings["rankingRules"], settings.get("matchingStrategy")), (&json!(["typo"]), None));
    server.set("films", json!({"rankingRules": null}));
    let text = applied_while(&server, || drop(server.done(&server.delete("/indexes/films"))));
    assert!(text.contains("Index `films` not found"), "{text}");
    assert_eq!(indexes(&server), 0, "a change of settings does not bring it back");
}

fn judge(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.arg("judge").args(arguments).args(["--output", "judged.ndjson"]).current_dir(folder);
    command.output().expect("the binary starts")
}

#[test]
fn clicks_and_votes_become_judgements() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file can be written");
    let judged = || std::fs::read_to_string(folder.path().join("judged.ndjson")).expect("judgements");
    let search = |user: usize, clicked: &str| json!({"queryUid": format!("u{user}"), "q": "Fox", "hits": ["a", "b", "c"], "clicks": [{"objectId": clicked}]});
    let mut lines: Vec<Value> = (0..40).map(|user| search(user, if user % 4 == 0 { "a" } else { "b" })).collect();
    lines.extend([search(1, "c"), search(90, "x"), json!({"q": "dog", "hits": ["a"]})]);
    lines.extend((0..3).map(
        |user| json!({"q": "cat", "userId": format!("{user}"), "objectId": 5, "vote": if user == 0 { -1 } else { 1 }}),
    ));
    write("log.ndjson", &lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    let found = report(&judge(folder.path(), &["log.ndjson", "--json"]));
    assert_eq!(
        (&found["searches"], &found["queries"], &found["model"]),
        (&json!(42), &json!(2), &json!("clicks over expected clicks"))
    );
    let dropped = json!({"clicks on documents that were not shown": 1, "queries with too few searches or clicks": 1, "searches that were read before": 1});
    assert_eq!(found["dropped"], dropped);
    let lines: Vec<Value> = judged().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["q"], &lines[0]["relevant"]), (&json!("cat"), &json!({"5": 2.5})));
    assert_eq!(
        (&lines[1]["q"], &lines[1]["evidence"]["b"]["clicks"], &lines[1]["evidence"]["b"]["shown"]),
        (&json!("fox"), &json!(30), &json!(41))
    );
    // What is made is what the others read.
    let server = Server::start();
    server.add("films", json!([{"id": "b", "title": "fox"}, {"id": 5, "title": "cat"}]));
    let evaluated = Command::new(binary())
        .args(["evaluate", "judged.ndjson", "-i", "films", "--url", &server.url])
        .current_dir(folder.path())
        .output();
    let evaluated = evaluated.expect("the binary starts");
    assert!(evaluated.status.success(), "{}", said(&evaluated));
    write("topics", "1\tred fox\n");
    write("qrels", "1 0 b 2\n");
    let output = judge(folder.path(), &["--topics", "topics", "--qrels", "qrels"]);
    assert_eq!(said(&output), "1 query with 1 judgement from 0 searches.\n");
    assert_eq!(judged(), "{\"id\":\"1\",\"q\":\"red fox\",\"relevant\":{\"b\":2.0}}\n");
    write("none", "[]\n{\"q\": \"a\", \"hits\": [1]}\n");
    for (arguments, expected) in [
        (&["absent"][..], "absent: No such file"),
        (&["none"], "nothing is judged: 0 queries with 0 judgements from 1 search."),
        (&["none"], "1 lines that are no search and no vote"),
        (&["none", "--min-searches", "0"], "`0` is not a count"),
    ] {
        let output = judge(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{expected}: {}", said(&output));
        assert!(said(&output).contains(expected), "no `{expected}` in {}", said(&output));
    }
}
