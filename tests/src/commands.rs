//! Commands that speak to a running server or look into a folder for programs: `serve`, `search`, `settings`, `--json`.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::server::{Server, UNREACHABLE, binary};

fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new(binary()).args(arguments).current_dir(folder.path()).output().expect("the binary starts")
}

fn ask(server: &Server, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(arguments).args(["--url", &server.url]).output().expect("the binary starts")
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn refused(output: &Output, reason: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "no `{reason}` in: {said}");
    assert!(said.contains(reason), "no `{reason}` in: {said}");
}

fn films() -> Server {
    let server = Server::start();
    server.set("films", json!({"filterableAttributes": ["genre", "year"], "sortableAttributes": ["year"]}));
    server.add(
        "films",
        json!([
            {"id": 1, "title": "Alien", "year": 1979, "genre": ["Horror", "Science fiction"]},
            {"id": 2, "title": "Aliens", "year": 1986, "genre": ["Action"]},
            {"id": 3, "title": "Up", "year": 2009, "genre": ["Animation"]},
        ]),
    );
    server
}

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_is_whole() {
    let short = printed(&run(&["-h"]));
    assert!(short.lines().count() <= 50, "{} lines:\n{short}", short.lines().count());
    for word in ["serve", "import", "search", "settings", "--db-path", "--http-addr", "--master-key", "--help"] {
        assert!(short.contains(word), "no {word} in:\n{short}");
    }
    let long = printed(&run(&["--help"]));
    assert!(!short.contains("--ssl-cert-path"));
    assert!(long.contains("--ssl-cert-path"));
    assert!(!long.contains("No effect"), "options without an effect are hidden");
    assert!(printed(&run(&["serve", "--help"])).contains("--ssl-cert-path"));
    assert_eq!(printed(&run(&["serve", "--version"])), printed(&run(&["--version"])));
    for command in [&["import"][..], &["build"], &["search"], &["evaluate"], &["sync"], &["verify"], &["store", "ls"]] {
        let (short, long) =
            (printed(&run(&[command, &["-h"]].concat())), printed(&run(&[command, &["--help"]].concat())));
        assert!(short.lines().count() <= 40, "{command:?}:\n{short}");
        assert!(short.contains("--json"), "{command:?}:\n{short}");
        assert!(long.lines().count() >= short.lines().count(), "{command:?}");
    }
    assert!(printed(&run(&["build", "--help"])).contains("--s3-bucket-url"));
    for words in [&["serve", "--colour"][..], &["serve", "extra"], &["serve", "--env", "staging"]] {
        assert_eq!(run(words).status.code(), Some(2), "{words:?}");
    }
    // With an option that is refused after everything was read.
    refused(&run(&["serve", "--ssl-cert-path", "c.pem"]), "`--ssl-cert-path` needs `--ssl-key-path`");
}

#[test]
fn a_search_is_a_table_or_json() {
    let server = films();
    let table = printed(&ask(&server, &["search", "alein", "--facets", "genre", "--sort", "year:desc"]));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[0], lines[3]), ("  1  2  Aliens", "  2  1  Alien"), "{table}");
    assert!(table.contains("genre: Horror, Science fiction\n"), "{table}");
    assert!(table.contains("genre: Action 1, Horror 1, Science fiction 1\n"), "{table}");
    assert!(lines.last().unwrap().starts_with("2 hits in "), "{table}");
    let options = ["search", "-i", "films", "--json", "--filter", "year > 1980", "--fields", "title", "--limit", "1"];
    let answer: Value =
        serde_json::from_str(&printed(&ask(&server, &[&options[..], &["--with", "offset=1"]].concat()))).unwrap();
    assert_eq!(answer["hits"], json!([{"title": "Up"}]));
    server.add("others", json!([{"id": 1}]));
    refused(&ask(&server, &["search", "x"]), "which index? Give one with --index: films, others");
    refused(&ask(&server, &["search", "x", "-i", "absent"]), "404 Index `absent` not found.");
    refused(&ask(&server, &["search", "x", "-i", "films", "--with", "limt=1"]), "Unknown field `limt`");
    refused(&run(&["search", "x", "--url", UNREACHABLE]), "Start a server with `lamina serve`");
    let server = Server::start();
    refused(&ask(&server, &["search", "x"]), "the server has no index yet");
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]);
    refused(&ask(&server, &["search", "x"]), "Give a key with --api-key");
}

#[test]
fn settings_are_read_and_changed() {
    let server = films();
    let get = |name: &str| -> Value {
        serde_json::from_str(&printed(&ask(&server, &["settings", "get", name]))).expect("JSON")
    };
    assert_eq!(get("sortableAttributes"), json!(["year"]));
    let all: Value = serde_json::from_str(&printed(&ask(&server, &["settings", "get"]))).expect("JSON");
    assert_eq!(all["filterableAttributes"], json!(["genre", "year"]));
    let said = printed(&ask(&server, &["settings", "set", "synonyms", "{\"film\": [\"movie\"]}"]));
    assert_eq!(said, "changed the settings of `films`\n");
    assert_eq!(get("synonyms"), json!({"film": ["movie"]}));
    printed(&ask(&server, &["settings", "set", "{\"stopWords\": [\"the\"], \"distinctAttribute\": \"year\"}"]));
    assert_eq!((get("stopWords"), get("distinctAttribute")), (json!(["the"]), json!("year")));
    printed(&ask(&server, &["settings", "reset", "stopWords"]));
    assert_eq!(get("stopWords"), json!([]));
    refused(&ask(&server, &["settings", "get", "rankingRule"]), "there is no setting `rankingRule`. Settings are: ");
    refused(&ask(&server, &["settings", "set", "distinctAttribute", "year"]), "the value is not JSON");
    refused(&ask(&server, &["settings", "set", "stopWords", "1"]), "400");
    refused(&ask(&server, &["settings", "set", "stopWords", "@absent.json"]), "absent.json");
    refused(&ask(&server, &["settings", "set", "rankingRule", "[]"]), "Unknown field `rankingRule`");
}

#[test]
fn what_a_change_of_settings_has_forgotten_is_said() {
    let server = films();
    let set = |change: &Value, more: &[&str]| {
        printed(&ask(&server, &[&["settings", "set", &change.to_string()], more].concat()))
    };
    let reranker = |url: &str, key: Option<&str>| match key {
        Some(key) => json!({"rerankers": {"cross": {"url": url, "apiKey": key}}}),
        None => json!({"rerankers": {"cross": {"url": url}}}),
    };
    assert_eq!(set(&reranker("http://127.0.0.1:1/", Some("a key")), &[]), "changed the settings of `films`\n");
    let said = set(&reranker("http://127.0.0.1:2/", None), &[]);
    let warning = "forgot the secret `rerankers.cross.apiKey`, because its address has changed: set it again\n";
    assert_eq!(said, format!("changed the settings of `films`\n{warning}"));
    set(&reranker("http://127.0.0.1:2/", Some("a key")), &[]);
    let said: Value = serde_json::from_str(&set(&reranker("http://127.0.0.1:3/", None), &["--json"])).expect("JSON");
    assert_eq!(said["forgottenSecrets"], json!(["rerankers.cross.apiKey"]));
}

/// Returns the error that a command writes to standard error for programs: one object on one line.
#[track_caller]
fn complaint(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.ends_with('\n'), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn programs_read_errors_as_json() {
    let server = films();
    let said = complaint(&ask(&server, &["search", "x", "-i", "absent", "--json"]));
    assert_eq!((&said["command"], &said["error"]["code"]), (&json!("search"), &json!("index_not_found")));
    assert_eq!(said["error"]["message"], "the server refused: 404 Index `absent` not found.");
    let said = complaint(&ask(&server, &["settings", "get", "stopWord", "--json"]));
    assert_eq!((&said["command"], said["error"].get("code")), (&json!("settings"), None));
    let said = complaint(&ask(&server, &["settings", "set", "stopWords", "1", "--json"]));
    assert_eq!(said["error"]["code"], "invalid_settings_stop_words");
    let output = ask(&server, &["settings", "set", "stopWords", "[\"the\"]", "--json"]);
    let done: Value = serde_json::from_str(&printed(&output)).expect("JSON");
    assert_eq!((&done["indexUid"], &done["status"]), (&json!("films"), &json!("succeeded")));
    assert_eq!(server.get(&format!("/tasks/{}", done["taskUid"])).ok()["type"], "settingsUpdate");
    let unreachable = ["search", "x", "--json", "--url", UNREACHABLE];
    assert!(complaint(&run(&unreachable))["error"]["message"].as_str().unwrap().contains("lamina serve"));
    for folder_command in ["inspect", "verify", "repair"] {
        let said = complaint(&run(&[folder_command, "absent", "--json"]));
        assert_eq!((&said["command"], said["error"].get("code")), (&json!(folder_command), None));
    }
    let said = complaint(&run(&["store", "ls", "file:///absent-folder", "--json"]));
    assert_eq!(said["command"], "store");
    let said = complaint(&run(&["evaluate", "absent.ndjson", "--index", "films", "--json"]));
    assert!(said["error"]["message"].as_str().unwrap().starts_with("absent.ndjson: "), "{said}");
    // What cannot be read as a command line is refused as always.
    let output = run(&["search", "--json", "--colour"]);
    assert_eq!((output.status.code(), output.stderr.starts_with(b"error: ")), (Some(2), true));
}

#[test]
fn folders_are_described_for_programs() {
    let mut server = films();
    assert!(server.terminate().success());
    let folder = server.data_folder();
    let folder = folder.to_str().expect("a plain path");
    let read = |arguments: &[&str]| -> Value {
        serde_json::from_str(&printed(&run(&[arguments, &["--json", folder]].concat()))).expect("JSON")
    };
    let indexes = read(&["inspect"]);
    assert_eq!((&indexes[0]["uid"], &indexes[0]["documents"]), (&json!("films"), &json!(3)));
    let films = read(&["inspect", "--index", "films"]);
    assert_eq!((&films["primaryKey"], &films["settings"]["sortableAttributes"]), (&json!("id"), &json!(["year"])));
    let sections = films["segments"][0]["sections"].as_array().expect("sections");
    assert!(sections.iter().any(|section| section["name"] == "column of year"), "{films}");
    let found = read(&["inspect", "--index", "films", "--document", "2", "--term", "Alien"]);
    assert_eq!(found["document"]["stored"]["title"], "Aliens");
    assert_eq!(found["document"]["words"]["genre"], json!(["action"]));
    assert_eq!(found["term"][0]["postings"][0]["fields"], json!(["title"]));
    let verified = read(&["verify"]);
    assert_eq!(verified["sound"], true);
    let places = verified["findings"].as_array().expect("a list");
    assert!(places.iter().any(|one| one["place"] == "films" && one["state"] == "sound"), "{verified}");
    let repaired = read(&["repair"]);
    assert_eq!((&repaired["whole"], &repaired["indexes"][0]["state"]), (&json!(true), &json!("sound")));
    refused(&run(&["inspect", "absent"]), "there is no database in \"absent\"");
}
