//! `database-format.md` names what is in a folder that a server has written: no more, no less.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use regex::Regex;
use serde_json::{Value, json};

use crate::server::{Server, repository, soon};

fn page() -> String {
    fs::read_to_string(repository().join("database-format.md")).expect("the page")
}

/// The first and second columns of the table on SQLite: `table.column`.
fn described_columns(page: &str) -> BTreeSet<String> {
    let section =
        page.split("\n## `tasks.sqlite`").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the section");
    let (mut table, mut columns) = (String::new(), BTreeSet::new());
    let name = Regex::new("`([a-z_]+)`").expect("a pattern");
    for line in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').collect();
        if let Some(found) = name.captures(cells[1]) {
            table = found[1].to_owned();
        }
        columns.extend(name.captures_iter(cells[2]).map(|found| format!("{table}.{}", &found[1])));
    }
    columns
}

/// A stopped server with two indexes, tombstones and a column file.
fn written() -> Server {
    let mut server = Server::start();
    server.add("films", (0..50).map(|id| json!({"id": id, "year": id})).collect());
    server.set("films", json!({"filterableAttributes": ["year"]}));
    server.done(&server.delete("/indexes/films/documents/7"));
    server.add("books", json!([{"id": 1}]));
    server.patch("/experimental-features", json!({"metrics": true, "network": true, "chatCompletions": true})).ok();
    server.patch("/network", json!({"self": "a", "remotes": {"b": {"url": "http://127.0.0.1:1"}}})).ok();
    server.patch("/chats/films/settings", json!({"source": "openAi", "apiKey": "a key"})).ok();
    assert!(server.terminate().success());
    server
}

#[test]
fn the_tables_of_sqlite_are_described() {
    let server = written();
    let database = rusqlite::Connection::open(server.data_folder().join("tasks.sqlite")).expect("a database");
    let sql = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'";
    let mut statement = database.prepare(sql).expect("a query");
    let columns = statement
        .query_map([], |row| Ok(format!("{}.{}", row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .expect("rows");
    let columns: BTreeSet<String> = columns.map(|column| column.expect("a name")).collect();
    assert_eq!(described_columns(&page()), columns);
}

#[test]
fn files_and_the_manifest_are_described() {
    let (server, page) = (written(), page());
    let folder = server.data_folder();
    for entry in fs::read_dir(&folder).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        assert!(page.contains(&format!("\n{name}")), "{name}");
    }
    let mut kinds = BTreeSet::new();
    for index in fs::read_dir(folder.join("indexes")).expect("a folder") {
        for entry in fs::read_dir(index.expect("an index").path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
            kinds.insert(name.split('-').next().expect("a first part").to_owned());
            assert!(page.contains(&format!("| `{}", &name[..4])), "{name}");
            if name.starts_with("manifest-") {
                check_manifest(&fs::read(&path).expect("reads"), &page);
            }
        }
    }
    assert!(kinds.contains("manifest"), "{kinds:?}");
    assert!(kinds.contains("seg"), "{kinds:?}");
}

/// A stopped server, with all that a client or an option can make it keep.
fn full(store: &std::path::Path) -> Server {
    let (address, key) = (format!("file://{}", store.display()), "a-master-key-of-a-publisher");
    let mut server = Server::with_options(&["--master-key", key, "--publish", &address]).with_key(key);
    let features = json!({"metrics": true, "network": true, "chatCompletions": true, "dynamicSearchRules": true});
    server.patch("/experimental-features", features).ok();
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    server.set("films", json!({"completions": {"fromQueries": true, "minCount": 1}}));
    server.search("films", json!({"q": "alien"}));
    server.patch("/network", json!({"self": "a", "remotes": {"b": {"url": "http://127.0.0.1:1"}}})).ok();
    server.patch("/chats/films/settings", json!({"source": "openAi", "apiKey": "a key"})).ok();
    server.post("/webhooks", json!({"url": "https://example.org/hook"})).ok();
    server.post("/keys", json!({"actions": ["search"], "indexes": ["*"], "expiresAt": null})).ok();
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    server.done(&server.patch("/dynamic-search-rules/one", json!({})));
    server.set("films", json!({"embedders": {"own": {"source": "userProvided", "dimensions": 2}}}));
    assert!(server.terminate().success());
    server
}

/// A new file or table needs a line in `server/data/src/instance/parts.rs`, which says what takes it along.
#[test]
fn all_that_a_server_keeps_is_in_the_list() {
    let store = tempfile::tempdir().expect("a temporary folder");
    let (server, page) = (full(store.path()), page());
    let section = page.split("## What is taken along").nth(1).expect("the section");
    let folder = server.data_folder();
    let mut parts: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| name != "tasks.sqlite-wal" && name != "tasks.sqlite-shm")
        .collect();
    let database = rusqlite::Connection::open(folder.join("tasks.sqlite")).expect("a database");
    let mut statement = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").expect("a query");
    let tables = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    parts.extend(tables.map(|table| format!("tasks.sqlite/{}", table.expect("a name"))));
    for part in &parts {
        assert!(section.contains(&format!("\n| `{part}` |")), "{part}");
    }
    for part in ["chats.json", "network.json", "asked-queries.json", "store.json", "tasks.sqlite/search_rules"] {
        assert!(parts.iter().any(|found| found == part), "{part} is not used: {parts:?}");
    }
}

/// Checks the description of the data that a server publishes for replicas: the keys of objects, and the fields of
/// a root.
#[test]
fn the_store_of_replicas_is_described() {
    let (folder, page) = (tempfile::tempdir().expect("a temporary folder"), page());
    let address = format!("file://{}", folder.path().display());
    let server = Server::with_options(&["--master-key", "a-master-key-of-a-publisher", "--publish", &address]);
    let server = server.with_key("a-master-key-of-a-publisher");
    server.add("films", json!([{"id": 1}]));
    let root = soon(|| {
        let mut roots: Vec<PathBuf> = fs::read_dir(folder.path().join("root"))
            .map(|entries| entries.map(|entry| entry.expect("an entry").path()).collect())
            .unwrap_or_default();
        roots.sort();
        let newest = roots.last().map(|path| fs::read(path).expect("reads"));
        let root: Option<Value> = newest.map(|bytes| serde_json::from_slice(&bytes).expect("JSON"));
        root.filter(|root| root["indexes"][0]["uid"] == "films")
    });
    let section = page.split("## The store of replicas").nth(1).expect("the section");
    assert_eq!(root["format"], 1);
    let fields = root.as_object().expect("an object").keys().map(|field| format!("`{field}`"));
    let of_index = root["indexes"][0].as_object().expect("an object").keys().map(|field| format!("\"{field}\""));
    for field in fields.chain(of_index) {
        assert!(section.contains(&field), "{field}");
    }
    for entry in fs::read_dir(folder.path()).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        let kind = name.split('-').next().expect("a first part");
        assert!(section.contains(&format!("\n| `{kind}")), "{name}");
    }
}

/// Frame and fields, as the page has them.
fn check_manifest(bytes: &[u8], page: &str) {
    assert!(bytes.starts_with(b"LAMINAMF"));
    assert!(page.contains("\"LAMINAMF\""));
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(number(8), 1);
    let body: serde_json::Value = serde_json::from_slice(&bytes[16..16 + number(12) as usize]).expect("JSON");
    let outcome = body["outcomeBytes"].as_u64().expect("a length");
    let inline: u64 = body["segments"]
        .as_array()
        .expect("segments")
        .iter()
        .filter_map(|segment| segment["deleted"]["inline"]["bytes"].as_u64())
        .sum();
    assert_eq!(bytes.len() as u64, 16 + u64::from(number(12)) + outcome + inline + 8, "the frame");
    let segments = body["segments"].as_array().expect("segments").iter();
    let fields = segments.flat_map(|segment| segment["meta"].as_object().expect("an object").keys());
    for field in body.as_object().expect("an object").keys().chain(fields) {
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
}

#[test]
fn stored_numbers_are_described() {
    let (page, source) = (page(), repository().join("server/data/src/tasks/kind.rs"));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let source = fs::read_to_string(source).expect("a source");
    let number = Regex::new(r"\b(\w)(\w+) = (\d+);").expect("a pattern");
    let mut count = 0;
    for found in number.captures_iter(&source) {
        count += 1;
        let name = format!("{}{}", found[1].to_lowercase(), &found[2]);
        assert!(page.contains(&format!("{} `{name}`", &found[3])), "{}", &found[0]);
    }
    assert!(count > 20);
}
