//! `lamina sync`, with a database that only says what PostgreSQL says. `scripts/test-sync.py` has a real one.

mod tls;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::server::{Server, UNREACHABLE, binary};

/// What the database knows, and hears from its clients.
#[derive(Default)]
struct State {
    /// Whether the lasting slot is there.
    has_slot: bool,
    has_publication: bool,
    /// What it answers instead, by a part of a statement: rows.
    instead: Vec<(&'static str, Vec<Vec<&'static str>>)>,
    /// Changes that come over replication, and the place behind each.
    changes: Vec<Vec<u8>>,
    /// The places that were confirmed, each with what the server held then.
    confirmed: Vec<(u64, u64)>,
    /// Its certificate; without one it has no TLS.
    tls: Option<Arc<ServerConfig>>,
    /// Whether those that signed in came over TLS.
    were_encrypted: Vec<bool>,
    /// Where the number of documents is asked.
    server: String,
}

/// A connection in the clear, or over TLS.
trait Line: Read + Write {}
impl<L: Read + Write> Line for L {}

/// Behind everything.
const END: u64 = 1000;

#[derive(Clone)]
struct Database {
    state: Arc<Mutex<State>>,
    port: u16,
}

impl Database {
    fn start(state: State) -> Database {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        let database = Database { state: Arc::new(Mutex::new(state)), port };
        let own = database.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || own.serve(stream));
            }
        });
        database
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no thread panicked")
    }

    /// Until the client is gone.
    fn serve(&self, mut socket: TcpStream) -> Option<()> {
        let mut startup = beginning(&mut socket)?;
        let tls = self.state().tls.clone();
        let is_encrypted = tls.is_some();
        let mut stream: Box<dyn Line> = match tls {
            Some(config) if startup == ASKS_FOR_TLS => {
                socket.write_all(b"S").ok()?;
                let connection = ServerConnection::new(config).expect("a configuration");
                Box::new(StreamOwned::new(connection, socket))
            }
            None if startup == ASKS_FOR_TLS => {
                socket.write_all(b"N").ok()?;
                Box::new(socket)
            }
            _ => return self.talk(Box::new(socket), false),
        };
        startup = beginning(&mut *stream)?;
        assert_ne!(startup, ASKS_FOR_TLS);
        self.talk(stream, is_encrypted)
    }

    fn talk(&self, mut stream: Box<dyn Line>, is_encrypted: bool) -> Option<()> {
        let stream = &mut *stream;
        let password = [&b"R"[..], &8u32.to_be_bytes(), &3u32.to_be_bytes()].concat();
        stream.write_all(&password).ok()?;
        let (tag, body) = message(stream)?;
        assert_eq!((tag, &body[..]), (b'p', &b"se cret\0"[..]));
        self.state().were_encrypted.push(is_encrypted);
        send(stream, b'R', &0u32.to_be_bytes())?;
        send(stream, b'S', b"server_version\x0015\0")?;
        send(stream, b'Z', b"I")?;
        loop {
            let (tag, body) = message(stream)?;
            if tag != b'Q' {
                return None;
            }
            let sql = String::from_utf8(body).expect("text").trim_end_matches('\0').to_owned();
            if sql.starts_with("START_REPLICATION") {
                return self.replicate(stream);
            }
            if sql.starts_with("COPY") {
                send(stream, b'H', &[0, 0, 0])?;
                for line in ["1\tAlien\t1979\t{a,\"b c\"}\n", "2\ta\\tb\t\\N\t\\N\n", "3\tUp\t2009\t{}\n"] {
                    send(stream, b'd', line.as_bytes())?;
                }
                send(stream, b'c', b"")?;
            }
            for row in self.answer(&sql) {
                let mut body = u16::try_from(row.len()).expect("a few").to_be_bytes().to_vec();
                for value in row {
                    body.extend_from_slice(&u32::try_from(value.len()).expect("short").to_be_bytes());
                    body.extend_from_slice(value.as_bytes());
                }
                send(stream, b'D', &body)?;
            }
            send(stream, b'C', b"DONE\0")?;
            send(stream, b'Z', b"I")?;
        }
    }

    fn answer(&self, sql: &str) -> Vec<Vec<&'static str>> {
        let mut state = self.state();
        if let Some((_, rows)) = state.instead.iter().find(|(part, _)| sql.contains(part)) {
            return rows.clone();
        }
        let columns = || vec![vec!["id", "20"], vec!["title", "25"], vec!["year", "23"], vec!["tags", "1009"]];
        match sql {
            "SHOW wal_level" => vec![vec!["logical"]],
            _ if sql.contains("pg_copy_logical_replication_slot") => {
                state.has_slot = true;
                vec![vec![""]]
            }
            _ if sql.contains("pg_drop_replication_slot") => {
                state.has_slot = false;
                vec![]
            }
            _ if sql.contains("FROM pg_replication_slots") && state.has_slot => {
                vec![vec!["pgoutput", "shop", "reserved"]]
            }
            _ if sql.contains("to_regclass('films')") => vec![vec!["16393", "public", "films", "d"]],
            _ if sql.contains("indisprimary") => vec![vec!["id"]],
            _ if sql.contains("FROM pg_attribute") => columns(),
            _ if sql.starts_with("CREATE PUBLICATION") || sql.starts_with("DROP PUBLICATION") => {
                state.has_publication = sql.starts_with("CREATE");
                vec![]
            }
            _ if sql.contains("FROM pg_publication_tables") && state.has_publication => vec![vec!["1"]],
            _ if sql.contains("FROM pg_publication WHERE") && state.has_publication => vec![vec!["1"]],
            _ if sql.starts_with("CREATE_REPLICATION_SLOT") => vec![vec!["loading", "0/1", "snapshot-1", "pgoutput"]],
            "SELECT pg_current_wal_flush_lsn()" => vec![vec!["0/3E8"]],
            _ => vec![],
        }
    }

    fn replicate(&self, stream: &mut dyn Line) -> Option<()> {
        send(stream, b'W', &[0, 0, 0])?;
        let changes = self.state().changes.clone();
        for change in changes {
            send(stream, b'd', &[&b"w"[..], &[0; 24], &change].concat())?;
        }
        loop {
            let (tag, body) = message(stream)?;
            assert_eq!((tag, body[0], body.len()), (b'd', b'r', 34));
            let place = u64::from_be_bytes(body[9..17].try_into().expect("eight bytes"));
            let url = format!("{}/indexes/films/stats", self.state().server);
            let held = reqwest::blocking::get(url).ok().and_then(|answer| answer.json::<Value>().ok());
            let held = held.and_then(|stats| stats["numberOfDocuments"].as_u64()).unwrap_or_default();
            self.state().confirmed.push((place, held));
            if body[33] == 1 {
                send(stream, b'd', &[&b"k"[..], &END.to_be_bytes(), &[0; 9]].concat())?;
            }
        }
    }
}

/// What a request for TLS says.
const ASKS_FOR_TLS: [u8; 4] = 80_877_103u32.to_be_bytes();

/// The first message of a connection.
fn beginning(stream: &mut dyn Line) -> Option<Vec<u8>> {
    let length = read(stream, 4)?;
    read(stream, u32::from_be_bytes(length.try_into().expect("four bytes")) as usize - 4)
}

fn read(stream: &mut dyn Line, count: usize) -> Option<Vec<u8>> {
    let mut body = vec![0; count];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

fn message(stream: &mut dyn Line) -> Option<(u8, Vec<u8>)> {
    let head = read(stream, 5)?;
    let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes"));
    Some((head[0], read(stream, length as usize - 4)?))
}

fn send(stream: &mut dyn Line, tag: u8, body: &[u8]) -> Option<()> {
    let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
    stream.write_all(&[&[tag][..], &length, body].concat()).ok()
}

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

/// What surrounds the changes of a transaction that ends at `end`.
fn transaction(end: u64, changes: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let begin = [&b"B"[..], &[0; 20]].concat();
    let commit = [&b"C"[..], &[0; 9], &end.to_be_bytes(), &[0; 8]].concat();
    [&[begin][..], changes, &[commit]].concat()
}

fn sync(database: &Database, url: &str, more: &[&str]) -> Output {
    command(database, "", url).args(more).output().expect("the binary starts")
}

/// The command, with parameters of the address: `?name=value`.
fn command(database: &Database, parameters: &str, url: &str) -> Command {
    let source = format!("postgres://me:se%20cret@127.0.0.1:{}/shop{parameters}", database.port);
    let mut command = Command::new(binary());
    command.args(["sync", &source, "--table", "films", "--index", "films", "--url", url]);
    command.stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("it does not come to that");
}

#[test]
fn an_index_follows_a_table() {
    let server = Server::start();
    let changes = [
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
    ];
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
    // A place is confirmed when everything before it can be found, never earlier, and in the end all of it.
    // The last word of the command is read after its end.
    wait_until(|| database.state().confirmed.last().is_some_and(|(place, _)| *place == END));
    let confirmed = std::mem::take(&mut database.state().confirmed);
    let wanted = |place: u64| if place < 300 { 4 } else { 3 };
    assert!(confirmed.iter().all(|(place, held)| *place == 0 || *held == wanted(*place)), "{confirmed:?}");

    // The next start goes on from the slot. Changes that come again do no harm.
    let output = sync(&database, &server.url, &["--once", "--quiet"]);
    assert_eq!((output.status.success(), said(&output).as_str()), (true, ""));
    assert_eq!(server.get("/indexes/films/stats").ok()["numberOfDocuments"], 3);
    // Loaded again: documents that are no row go.
    server.add("films", json!([{"id": 77, "title": "no row"}]));
    database.state().changes.clear();
    let output = sync(&database, &server.url, &["--again", "--once"]);
    assert!(
        said(&output).contains("loaded 3 rows") && said(&output).contains("removed 3 documents"),
        "{}",
        said(&output)
    );
    let titles = server.post("/indexes/films/documents/fetch", json!({"fields": ["title"]})).ok();
    assert_eq!(titles["total"], 3, "{titles}");

    let output = sync(&database, &server.url, &["--remove"]);
    assert!(output.status.success() && !database.state().has_slot && !database.state().has_publication);
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

#[test]
fn what_cannot_be_followed_is_said() {
    let server = Server::start();
    let refused = |instead: &[(&'static str, Vec<Vec<&'static str>>)], more: &[&str], reason: &str| {
        let database = Database::start(State { instead: instead.to_vec(), ..State::default() });
        let output = sync(&database, &server.url, more);
        let said = said(&output);
        assert!(!output.status.success() && said.contains(reason), "{reason}: {said}");
        assert!(!said.contains("se cret") && !said.contains("se%20cret"), "{said}");
    };
    refused(&[("wal_level", vec![vec!["replica"]])], &[], "set wal_level = logical");
    refused(&[("to_regclass", vec![])], &[], "the database `shop` has no table `films`");
    refused(&[("to_regclass", vec![vec!["1", "public", "films", "n"]])], &[], "REPLICA IDENTITY DEFAULT");
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
    assert!(said(&output).contains("cannot connect to 127.0.0.1:1") && !said(&output).contains("secret"));
}
