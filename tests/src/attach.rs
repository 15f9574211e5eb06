//! Indexes that are built without a server, and attached to one.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::server::{Server, binary};

fn build(files: &[&Path], output: &Path, options: &[&str]) -> Output {
    let files = files.iter().map(|file| file.to_str().expect("UTF-8"));
    let command = Command::new(binary()).arg("build").args(files).arg("--output").arg(output).args(options).output();
    command.expect("runs")
}

fn refusal(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with documents and settings, and a server that attaches from it.
fn setup() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let lines: String =
        (0..500).map(|id| format!("{{\"id\": {id}, \"title\": \"film {id}\", \"year\": {}}}\n", id % 7)).collect();
    fs::write(folder.path().join("films.ndjson"), lines).unwrap();
    fs::write(folder.path().join("more.csv"), "id:number,title,year:number\n500,one more,3\n7,another seven,2\n")
        .unwrap();
    fs::write(folder.path().join("settings.json"), json!({"filterableAttributes": ["year"]}).to_string()).unwrap();
    let server = Server::with_options(&["--attach-dir", folder.path().to_str().unwrap()]);
    (folder, server)
}

#[test]
fn what_is_built_offline_is_an_index_like_any_other() {
    let (folder, mut server) = setup();
    let at = |name: &str| folder.path().join(name);
    let settings = at("settings.json");
    let built = build(
        &[&at("films.ndjson"), &at("more.csv")],
        &at("films-1"),
        &["--primary-key", "id", "--settings", settings.to_str().unwrap(), "--threads", "1", "--memory", "64 MiB"],
    );
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert!(String::from_utf8_lossy(&built.stderr).starts_with("501 documents, "));
    let task = server.done(&server.post("/indexes/films/attach", json!({"folder": "films-1"})));
    assert_eq!((&task["type"], &task["details"]), (&json!("indexAttachment"), &json!({"folder": "films-1"})));
    assert_eq!(server.document_count("films"), 501);
    assert_eq!(server.get("/indexes/films").ok()["primaryKey"], "id");
    assert_eq!(server.search("films", json!({"q": "another seven", "filter": "year = 2"}))["hits"][0]["id"], 7);
    // The folder can go, or be attached again; the index is the server's own.
    server.done(&server.post("/indexes/again/attach", json!({"folder": "films-1"})));
    fs::remove_dir_all(at("films-1")).unwrap();
    server.add("films", json!([{"id": 1000, "title": "new"}]));
    server.kill();
    server.start_again();
    assert_eq!((server.document_count("films"), server.document_count("again")), (502, 501));
    assert_eq!(server.search("films", json!({"q": "film 30"}))["hits"][0]["id"], 30);
    server.terminate();
    let verified = Command::new(binary()).args(["verify", "--db-path"]).arg(server.data_folder()).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn what_cannot_be_built_is_named_and_leaves_nothing() {
    let (folder, _server) = setup();
    let at = |name: &str| folder.path().join(name);
    let films = at("films.ndjson");
    fs::create_dir(at("there")).unwrap();
    assert!(refusal(&build(&[&films], &at("there"), &[])).contains("already exists"));
    assert!(refusal(&build(&[&at("none.ndjson")], &at("new"), &[])).contains("none.ndjson"));
    assert!(refusal(&build(&[&at("films.doc")], &at("new"), &[])).contains("unknown format"));
    fs::write(at("bad.json"), "[{\"id\": 1}, {\"id\": 2").unwrap();
    assert!(refusal(&build(&[&at("bad.json")], &at("new"), &[])).contains("bad.json"));
    fs::write(at("anonymous.ndjson"), "{\"title\": \"a\"}\n").unwrap();
    assert!(refusal(&build(&[&at("anonymous.ndjson")], &at("new"), &[])).contains("anonymous.ndjson"));
    let settings = |value: serde_json::Value| {
        fs::write(at("bad-settings.json"), value.to_string()).unwrap();
        refusal(&build(&[&films], &at("new"), &["--settings", at("bad-settings.json").to_str().unwrap()]))
    };
    assert!(settings(json!({"filterable": ["a"]})).contains("filterable"));
    assert!(settings(json!({"embedders": {"e": {"source": "openAi"}}})).contains("the embedder `e`"));
    assert!(!at("new").exists());
}

#[test]
fn what_cannot_be_attached_is_refused_with_its_reason() {
    let (folder, server) = setup();
    let at = |name: &str| folder.path().join(name);
    assert!(build(&[&at("films.ndjson")], &at("films-1"), &[]).status.success());
    for (body, code) in [
        (json!({}), "missing_index_folder"),
        (json!({"folder": ""}), "invalid_index_folder"),
        (json!({"folder": ".."}), "invalid_index_folder"),
        (json!({"folder": "a/b"}), "invalid_index_folder"),
        (json!({"folder": 7}), "invalid_index_folder"),
        (json!({"folder": "films-1", "x": 1}), "bad_request"),
    ] {
        server.post("/indexes/films/attach", body).refused(400, code);
    }
    server.post("/indexes/a b/attach", json!({"folder": "films-1"})).refused(400, "invalid_index_uid");
    server.fails(&server.post("/indexes/films/attach", json!({"folder": "none"})), "invalid_index_folder");
    assert!(!at("none").exists());
    fs::create_dir(at("empty")).unwrap();
    server.fails(&server.post("/indexes/films/attach", json!({"folder": "empty"})), "invalid_index_folder");
    server.done(&server.post("/indexes/films/attach", json!({"folder": "films-1"})));
    server.fails(&server.post("/indexes/films/attach", json!({"folder": "films-1"})), "index_already_exists");
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    server.post("/indexes/movies/attach", json!({"folder": "films-1"})).refused(400, "index_uid_is_alias");
    // A byte of the manifest, and a segment that is cut.
    let damage = |suffix: &str, change: &dyn Fn(&mut Vec<u8>)| {
        for file in fs::read_dir(at("films-1")).unwrap() {
            let path = file.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with(suffix) {
                let mut bytes = fs::read(&path).unwrap();
                change(&mut bytes);
                // Anew: the index that was attached has the file under another name.
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
    };
    damage("seg-", &|bytes| bytes.truncate(100));
    server.fails(&server.post("/indexes/other/attach", json!({"folder": "films-1"})), "invalid_index_folder");
    damage("manifest", &|bytes| bytes[20] ^= 1);
    server.fails(&server.post("/indexes/other/attach", json!({"folder": "films-1"})), "invalid_index_folder");
    assert_eq!(server.document_count("films"), 500);
}
