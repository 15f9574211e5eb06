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
    let commands =
        [&["import"][..], &["build"], &["search"], &["evaluate"], &["judge"], &["tune"], &["sync"], &["verify"]];
    for command in commands.into_iter().chain([&["store", "ls"][..]]) {
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
    printed(&ask(&server, &["settings", "add", "filterableAttributes", "title", "year", "title"]));
    assert_eq!(get("filterableAttributes"), json!(["genre", "year", "title"]));
    refused(
        &ask(&server, &["settings", "add", "filterableAttribute", "x"]),
        "there is no setting `filterableAttribute`",
    );
    refused(&ask(&server, &["settings", "add", "typoTolerance", "x"]), "the setting `typoTolerance` is not a list");
    assert_eq!(ask(&server, &["settings", "add", "stopWords"]).status.code(), Some(2));
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
    let said = complaint(&run(&["tune", "--judgements", "absent.ndjson", "--index", "films", "--json"]));
    assert!(said["error"]["message"].as_str().unwrap().starts_with("absent.ndjson: "), "{said}");
    let said = complaint(&run(&["judge", "absent.ndjson", "--output", "judged.ndjson", "--json"]));
    assert_eq!(said["command"], "judge");
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

/// Carries out what each refusal advises, and sends the same request again.
#[test]
fn refusals_name_the_command_that_ends_them() {
    let server = films();
    for search in [
        &["--filter", "title = Alien"][..],
        &["--sort", "title:asc"],
        &["--facets", "title"],
        &["--with", "distinct=title"],
        &["--with", "facets=[\"title\"]"],
    ] {
        server.set("films", json!({"filterableAttributes": ["genre"], "sortableAttributes": ["year"]}));
        let arguments = [&["search", "alien"][..], search].concat();
        let output = ask(&server, &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{search:?}");
        let command = said.split('`').find(|part| part.starts_with("lamina settings add"));
        let command = command.unwrap_or_else(|| panic!("no command in {said}"));
        printed(&ask(&server, &command.split(' ').skip(1).collect::<Vec<_>>()));
        printed(&ask(&server, &arguments));
    }
    let said = ask(&server, &["settings", "set", "rankingRules", "[\"word\"]"]);
    refused(&said, "Valid ranking rules are words, typo,");
    refused(&said, "boostIf");
}

#[test]
fn a_snapshot_is_made_and_restored() {
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]).with_key("0123456789abcdef");
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    refused(&ask(&server, &["snapshot"]), "Give a key with --api-key");
    let key = ["--api-key", "0123456789abcdef"];
    let said = printed(&ask(&server, &[&["snapshot"], &key[..]].concat()));
    assert!(said.starts_with("made a snapshot (task 1), "), "{said}");
    let said: Value =
        serde_json::from_str(&printed(&ask(&server, &[&["snapshot", "--json"], &key[..]].concat()))).expect("JSON");
    assert_eq!(said, json!({"taskUid": 2, "status": "succeeded"}));
    refused(&run(&["snapshot", "--url", UNREACHABLE]), "Start a server with `lamina serve`");

    let snapshot = server.folder().join("snapshots/data.snapshot");
    let snapshot = snapshot.to_str().expect("text");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut other = Server::start();
    // One that answers can be stopped.
    other.get("/health").ok();
    assert!(other.terminate().success());
    refused(
        &run(&["restore", snapshot, "--db-path", other.data_folder().to_str().unwrap()]),
        "database already exists",
    );
    std::fs::remove_dir_all(other.data_folder()).unwrap();
    let database = other.data_folder();
    let database = database.to_str().expect("text");
    let said = printed(&run(&["restore", snapshot, "--db-path", database]));
    assert!(said.contains(&format!("lamina serve --db-path {database}")), "{said}");
    let other = other.with_other_options(&["--master-key", "0123456789abcdef"]).with_key("0123456789abcdef");
    assert_eq!(other.document_count("films"), 1);

    let target = folder.path().join("new");
    let restore = |snapshot: &str| run(&["restore", snapshot, "--db-path", target.to_str().unwrap()]);
    refused(&restore("absent.snapshot"), "snapshot doesn't exist at `absent.snapshot`");
    refused(&restore("films.dump"), "lamina serve --import-dump films.dump");
    refused(&restore(folder.path().to_str().unwrap()), "is not a snapshot: it has no `tasks.sqlite`");
    let file = folder.path().join("letter.snapshot");
    std::fs::write(&file, "no archive").unwrap();
    let error = run(&["restore", file.to_str().unwrap(), "--db-path", target.to_str().unwrap(), "--json"]);
    let line: Value = serde_json::from_slice(&error.stderr).expect("an object");
    assert_eq!(line["command"], "restore");
    assert!(!target.exists(), "nothing is left of what failed");
    assert_eq!(run(&["restore", snapshot]).status.code(), Some(2), "where to?");
}
