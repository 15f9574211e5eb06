//! `lamina sync`, with a database that only says what PostgreSQL says. `scripts/test-sync.py` has a real one.

mod database;
mod tls;

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use self::database::{COLUMNS, Database, PUBLICATION, State, TABLE};
use crate::server::{Server, UNREACHABLE, binary, until};

/// A row of a change: `∅` is null, `-` did not change.
fn tuple(cells: [&str; 4]) -> Vec<u8> {
    let mut body = 4u16.to_be_bytes().to_vec();
    for cell in cells {
        match cell {
            "∅" => body.push(b'n'),
            "-" => body.push(b'u'),
            text => {
                body.push(b't');
                body.extend_from_slice(&u32::try_from(text.len()).expect("short").to_be_bytes());
                body.extend_from_slice(text.as_bytes());
            }
        }
    }
    body
}

/// A change of the table, with the letters before its rows.
fn change(kind: u8, rows: &[(u8, [&str; 4])]) -> Vec<u8> {
    let rows = rows.iter().flat_map(|(letter, cells)| [vec![*letter], tuple(*cells)].concat());
    [kind].into_iter().chain(16_393u32.to_be_bytes()).chain(rows).collect()
}

/// Wraps the changes of a transaction that ends at `end`.
fn transaction(end: u64, changes: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let begin = [&b"B"[..], &(end - 1).to_be_bytes(), &[0; 12]].concat();
    let commit = [&b"C"[..], &[0; 9], &end.to_be_bytes(), &[0; 8]].concat();
    [&[begin][..], changes, &[commit]].concat()
}

fn sync(database: &Database, url: &str, more: &[&str]) -> Output {
    command(database, "", url).args(more).output().expect("the binary starts")
}

/// The command, with parameters of the address: `?name=value`.
fn command(database: &Database, parameters: &str, url: &str) -> Command {
    let separator = if parameters.is_empty() { '?' } else { '&' };
    let source =
        format!("postgres://me:se%20cret@127.0.0.1:{}/shop{parameters}{separator}require_auth=password", database.port);
    let mut command = Command::new(binary());
    command.args(["sync", &source, "--table", "films", "--index", "films", "--url", url]);
    command.stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Insertions, updates and deletions of every kind.
fn three_transactions() -> [Vec<Vec<u8>>; 3] {
    [
        transaction(
            100,
            &[
                change(b'I', &[(b'N', ["4", "Heat", "1995", "∅"])]),
                change(b'U', &[(b'N', ["1", "Alien 1", "-", "-"])]),
                change(b'U', &[(b'K', ["2", "∅", "∅", "∅"]), (b'N', ["5", "moved", "∅", "{x}"])]),
            ],
        ),
        transaction(
            200,
            &[change(b'D', &[(b'K', ["3", "∅", "∅", "∅"])]), change(b'I', &[(b'N', ["6", "gone", "1", "∅"])])],
        ),
        transaction(300, &[change(b'D', &[(b'K', ["6", "∅", "∅", "∅"])])]),
    ]
}

#[test]
fn an_index_follows_a_table() {
    let server = Server::start();
    let changes = three_transactions();
    let state = State { changes: changes.concat(), server: server.url.clone(), ..State::default() };
    let database = Database::start(state);
    let output = sync(&database, &server.url, &["--once"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("loaded 3 rows"), "{}", said(&output));
    let documents = server.post("/indexes/films/documents/fetch", json!({"limit": 100})).ok()["results"].clone();
    let mut documents: Vec<Value> = documents.as_array().expect("a list").clone();
    documents.sort_by_key(|document| document["id"].as_u64());
    let expected = json!([
        {"id": 1, "title": "Alien 1", "year": 1979, "tags": ["a", "b c"]},
        {"id": 4, "title": "Heat", "year": 1995, "tags": null},
        {"id": 5, "title": "moved", "year": null, "tags": ["x"]},
    ]);
    assert_eq!(Value::Array(documents), expected);
    assert_eq!(server.get("/indexes/films").ok()["primaryKey"], "id");
    // A place is confirmed when everything before it can be found, never earlier, and in the end the last change.
    // The last word of the command is read after its end.
    until(|| database.state().confirmed.last().is_some_and(|(place, _)| *place == 300));
    let confirmed = database.state().confirmed.clone();
    let wanted = |place: u64| if place < 300 { 4 } else { 3 };
    assert!(confirmed.iter().all(|(place, held)| *place < 100 || *held == wanted(*place)), "{confirmed:?}");

    // The next start goes on from the slot. Changes that come again do no harm.
    let output = sync(&database, &server.url, &["--once", "--quiet"]);
    assert_eq!((output.status.success(), said(&output).as_str()), (true, ""));
    assert_eq!(server.get("/indexes/films/stats").ok()["numberOfDocuments"], 3);
    // Documents of others are noticed. Loaded again: documents that are no row go.
    server.add("films", json!([{"id": 77, "title": "no row"}]));
    let output = sync(&database, &server.url, &["--once"]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("documents were written by others"), "{}", said(&output));
    assert!(said(&output).contains("--again"), "{}", said(&output));
    database.state().changes.clear();
    let output = sync(&database, &server.url, &["--again", "--once"]);
    assert!(said(&output).contains("loaded 3 rows"), "{}", said(&output));
    assert!(said(&output).contains("removed 3 documents"), "{}", said(&output));
    let titles = server.post("/indexes/films/documents/fetch", json!({"fields": ["title"]})).ok();
    assert_eq!(titles["total"], 3, "{titles}");

    let output = sync(&database, &server.url, &["--remove"]);
    assert!(output.status.success());
    assert!(!database.state().has_slot);
    assert!(!database.state().has_publication);
}

/// For programs, events come as lines.
#[test]
fn programs_read_events() {
    let server = Server::start();
    let database = Database::start(State { server: server.url.clone(), ..State::default() });
    let output = sync(&database, &server.url, &["--once", "--json"]);
    let events: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let loaded = events.iter().find(|event| event["event"] == "loaded").expect("it was loaded");
    assert_eq!(
        (&loaded["index"], &loaded["rows"], &loaded["removedDocuments"]),
        (&json!("films"), &json!(3), &json!(0))
    );
    assert!(loaded["message"].as_str().unwrap().starts_with("loaded 3 rows"), "{loaded}");
    assert_eq!(said(&output), "");
    let output = sync(&database, &server.url, &["--once", "--json", "--slot", "Not a slot"]);
    let complaint: Value = serde_json::from_str(&said(&output)).expect("one object");
    assert_eq!((&complaint["command"], output.stdout.is_empty()), (&json!("sync"), true));
}

#[test]
fn a_key_of_several_columns_is_one_id() {
    let server = Server::start();
    let changes = transaction(
        100,
        &[
            change(b'U', &[(b'N', ["1", "Alien", "1980", "-"])]),
            change(b'U', &[(b'K', ["3", "Up", "∅", "∅"]), (b'N', ["3", "Up!", "2009", "∅"])]),
            change(b'D', &[(b'K', ["2", "a\tb", "∅", "∅"])]),
        ],
    );
    let instead = vec![("indisprimary", vec![vec!["title"], vec!["id"]])];
    let state = State { changes, instead, server: server.url.clone(), ..State::default() };
    let database = Database::start(state);
    let output = sync(&database, &server.url, &["--once", "--id-field", "key"]);
    assert!(output.status.success(), "{}", said(&output));
    let documents = server.post("/indexes/films/documents/fetch", json!({"limit": 100})).ok()["results"].clone();
    let mut documents: Vec<Value> = documents.as_array().expect("a list").clone();
    documents.sort_by_key(|document| document["id"].as_u64());
    let expected = json!([
        {"key": "Alien-1", "id": 1, "title": "Alien", "year": 1980, "tags": ["a", "b c"]},
        {"key": "Up_21-3", "id": 3, "title": "Up!", "year": 2009, "tags": null},
    ]);
    assert_eq!(Value::Array(documents), expected);
    assert_eq!(server.get("/indexes/films").ok()["primaryKey"], "key");
}

/// An index that is deleted, and a table that is not the one that was loaded any more, are loaded again.
#[test]
fn what_was_not_followed_is_loaded_again() {
    let server = Server::start();
    let changes = transaction(200, &[change(b'D', &[(b'K', ["3", "∅", "∅", "∅"])])]);
    let database = Database::start(State { changes, server: server.url.clone(), ..State::default() });
    let once = || sync(&database, &server.url, &["--once"]);
    let count = || server.get("/indexes/films/stats").ok()["numberOfDocuments"].clone();
    let loads = |reason: &str| {
        let output = once();
        let said = said(&output);
        assert!(output.status.success(), "{reason}: {said}");
        assert!(said.contains(reason), "{reason}: {said}");
        assert!(said.contains("loaded 3 rows"), "{reason}: {said}");
        assert_eq!(count(), 2, "{reason}");
        let again = once();
        assert!(again.status.success(), "{reason}: {}", self::said(&again));
        assert!(!self::said(&again).contains("loaded"), "{reason}: {}", self::said(&again));
    };
    loads("loaded");
    server.delete("/indexes/films?wait=searchable");
    loads("loaded");
    server.delete("/indexes/films/documents?wait=searchable");
    loads("loaded");
    let row = |of: &[&'static str], place: usize, value| {
        let mut row = of.to_vec();
        row[place] = value;
        row
    };
    database.state().instead =
        vec![("indisprimary", vec![vec!["id"]]), ("p.pubinsert", vec![row(&PUBLICATION, 8, "701")])];
    loads("the definition of the table or of its publication changed: loading the table again");
    let columns: Vec<_> = COLUMNS.iter().map(|column| row(column, 3, "701")).collect();
    let instead = [("to_regclass", vec![row(&TABLE, 7, "16400")]), ("FROM pg_attribute WHERE", columns)];
    database.state().instead = [("indisprimary", vec![vec!["id"]])].into_iter().chain(instead).collect();
    loads("changed");
    // The log of the database does not have the transaction that the index has seen last.
    until(|| database.state().followers == 0);
    assert_eq!(database.state().confirmed.last().map(|(place, _)| *place), Some(200));
    database.state().confirmed = vec![(100, 0)];
    database.state().changes = transaction(190, &[change(b'D', &[(b'K', ["2", "∅", "∅", "∅"])])]);
    loads("restored to an earlier state: loading the table again");
}

#[test]
fn what_cannot_be_followed_is_said() {
    let server = Server::start();
    let refused = |instead: &[(&'static str, Vec<Vec<&'static str>>)], more: &[&str], reason: &str| {
        let database = Database::start(State { instead: instead.to_vec(), ..State::default() });
        let output = sync(&database, &server.url, more);
        let said = said(&output);
        assert!(!output.status.success(), "{reason}: {said}");
        assert!(said.contains(reason), "{reason}: {said}");
        assert!(!said.contains("se cret"), "{said}");
        assert!(!said.contains("se%20cret"), "{said}");
    };
    refused(&[("wal_level", vec![vec!["replica"]])], &[], "set wal_level = logical");
    refused(&[("to_regclass", vec![])], &[], "the database has no table `films`");
    refused(&[("to_regclass", vec![["1", "public", "films", "n"].to_vec()])], &[], "REPLICA IDENTITY DEFAULT");
    refused(&[("indisprimary", vec![])], &[], "has no primary key");
    refused(&[("indisprimary", vec![vec!["title"], vec!["id"]])], &[], "name that with --id-field");
    refused(&[], &["--table", "other"], "2 tables, 1 index and");
    refused(&[], &["--table", "other", "--index", "films"], "each --table needs its own --index");
    refused(&[], &["--table", "other", "--index", "others"], "has no table `other`");
    refused(
        &[("FROM pg_replication_slots", vec![vec!["test_decoding", "shop", "reserved"]])],
        &[],
        "choose another --slot",
    );
    refused(&[("FROM pg_replication_slots", vec![vec!["pgoutput", "shop", "lost"]])], &[], "--again");
    refused(&[("pg_publication_tables", vec![])], &[], "does not have the table");
    let row = |of: &[&'static str], place: usize, value| {
        let mut row = of.to_vec();
        row[place] = value;
        vec![row]
    };
    refused(&[("to_regclass", row(&TABLE, 5, "u"))], &[], "SET LOGGED");
    refused(&[("to_regclass", row(&TABLE, 6, "t"))], &[], "ALTER ROLE me BYPASSRLS");
    refused(
        &[("p.pubinsert", row(&PUBLICATION, 3, "f")), ("to_jsonb(t)", vec![vec!["∅", "∅"]])],
        &[],
        "SET (publish = 'insert, update, delete, truncate')",
    );
    let listed = ("to_jsonb(t)", vec![vec!["∅", "title"], vec!["∅", "year"]]);
    refused(
        &[("p.pubinsert", row(&PUBLICATION, 3, "t")), listed],
        &[],
        "leaves out the column `id` of the primary key",
    );
    refused(&[("indisprimary", vec![])], &[], "ADD PRIMARY KEY");
    refused(&[], &["--slot", "Not This"], "`Not This` is not a valid slot name");
    let database = Database::start(State::default());
    let output = sync(&database, UNREACHABLE, &[]);
    assert!(said(&output).contains("cannot connect to http://127.0.0.1:1"), "{}", said(&output));
    let other = Server::start();
    other.post("/indexes?wait=searchable", json!({"uid": "films", "primaryKey": "isbn"}));
    let output = sync(&database, &other.url, &[]);
    assert!(said(&output).contains("is `isbn`, that of the table `id`"), "{}", said(&output));
    let mut command = Command::new(binary());
    let output =
        command.args(["sync", "postgres://a:secret@127.0.0.1:1/x", "--table", "t", "--index", "i"]).output().unwrap();
    assert!(said(&output).contains("cannot connect to 127.0.0.1:1"));
    assert!(!said(&output).contains("secret"));
}
