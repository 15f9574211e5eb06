//! A database that only says what PostgreSQL says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// State of the database, and the messages from its clients.
#[derive(Default)]
pub(super) struct State {
    /// True if the permanent slot exists.
    pub(super) has_slot: bool,
    pub(super) has_publication: bool,
    /// Rows that replace the usual ones, by a part of a statement.
    pub(super) instead: Vec<(&'static str, Vec<Vec<&'static str>>)>,
    /// Changes that come over replication, and the place behind each.
    pub(super) changes: Vec<Vec<u8>>,
    /// The places that were confirmed, each with what the server held then.
    pub(super) confirmed: Vec<(u64, u64)>,
    /// Connections over which changes go out.
    pub(super) followers: usize,
    /// Certificate of the server; without one it has no TLS.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Flag for each sign-in: true if it came over TLS.
    pub(super) were_encrypted: Vec<bool>,
    /// Address of the server whose documents are counted.
    pub(super) server: String,
}

/// A connection in the clear, or over TLS.
trait Line: Read + Write {}
impl<L: Read + Write> Line for L {}

/// Behind everything.
const END: u64 = 1000;
/// Rows of the catalog about the table, its columns, and the publication.
pub(super) const TABLE: [&str; 10] = ["16393", "public", "films", "d", "r", "p", "f", "16393", "0", "me"];
pub(super) const COLUMNS: [[&str; 5]; 4] = [
    ["id", "20", "-1", "700", ""],
    ["title", "25", "-1", "700", ""],
    ["year", "23", "-1", "700", ""],
    ["tags", "1009", "-1", "700", ""],
];
pub(super) const PUBLICATION: [&str; 9] = ["lamina_films", "t", "t", "t", "t", "20000", "700", "20001", "700"];

#[derive(Clone)]
pub(super) struct Database {
    state: Arc<Mutex<State>>,
    pub(super) port: u16,
}

impl Database {
    pub(super) fn start(state: State) -> Database {
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

    pub(super) fn state(&self) -> std::sync::MutexGuard<'_, State> {
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
                self.state().followers += 1;
                let ended = self.replicate(stream);
                self.state().followers -= 1;
                return ended;
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
                    if value == "∅" {
                        body.extend_from_slice(&u32::MAX.to_be_bytes());
                        continue;
                    }
                    body.extend_from_slice(&u32::try_from(value.len()).expect("short").to_be_bytes());
                    body.extend_from_slice(value.as_bytes());
                }
                send(stream, b'D', &body)?;
            }
            send(stream, b'C', b"DONE\0")?;
            send(stream, b'Z', b"I")?;
        }
    }

    fn answer(&self, sql: &str) -> Vec<Vec<String>> {
        let mut state = self.state();
        let rows: Vec<Vec<&str>> = match state.instead.iter().find(|(part, _)| sql.contains(part)) {
            Some((_, rows)) => rows.clone(),
            None => match sql {
                "SHOW wal_level" => vec![vec!["logical"]],
                "IDENTIFY_SYSTEM" => vec![vec!["7000", "1", "0/3E8", "∅"]],
                "SELECT pg_current_wal_flush_lsn()" => vec![vec!["0/3E8"]],
                _ if sql.contains("pg_copy_logical_replication_slot") => {
                    state.has_slot = true;
                    state.confirmed.clear();
                    vec![vec![""]]
                }
                _ if sql.contains("pg_drop_replication_slot") => {
                    state.has_slot = false;
                    vec![]
                }
                _ if sql.contains("FROM pg_replication_slots") && state.has_slot => {
                    let confirmed = state.confirmed.iter().map(|(place, _)| *place).max().unwrap_or_default().max(1);
                    let rows = ["pgoutput", "shop", "reserved", &format!("0/{confirmed:X}")].map(str::to_owned);
                    return vec![rows.to_vec()];
                }
                _ if sql.contains("to_regclass('films')") => vec![TABLE.to_vec()],
                _ if sql.contains("WITH RECURSIVE used") => vec![],
                _ if sql.contains("indisprimary") => vec![vec!["id"]],
                _ if sql.contains("FROM pg_attribute") => COLUMNS.map(|row| row.to_vec()).to_vec(),
                _ if sql.starts_with("CREATE PUBLICATION") || sql.starts_with("DROP PUBLICATION") => {
                    state.has_publication = sql.starts_with("CREATE");
                    vec![]
                }
                _ if !state.has_publication => vec![],
                _ if sql.contains("to_jsonb(t)->>'rowfilter'") => vec![vec!["∅", "∅"]],
                _ if sql.contains("p.pubinsert") => vec![PUBLICATION.to_vec()],
                _ if sql.contains("FROM pg_publication_tables") => vec![vec!["1"]],
                _ if sql.starts_with("CREATE_REPLICATION_SLOT") => {
                    vec![vec!["loading", "0/1", "snapshot-1", "pgoutput"]]
                }
                _ => vec![],
            },
        };
        rows.into_iter().map(|row| row.into_iter().map(str::to_owned).collect()).collect()
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

/// Code of a request for TLS.
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
