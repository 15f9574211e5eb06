//! HTTP/2 by hand, frame by frame: clients that say nothing, drip, or do not read what they asked for.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::server::Server;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Much longer than the patience of the servers here, and far less than for ever.
const FAR_TOO_LONG: Duration = Duration::from_secs(120);

fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = (content.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(content);
    bytes
}

/// The fields of a request, none of them packed.
fn head(method: &str, path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in [
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/json"),
    ] {
        bytes.push(0);
        for text in [name, value] {
            bytes.push(u8::try_from(text.len()).expect("short texts"));
            bytes.extend(text.as_bytes());
        }
    }
    bytes
}

struct Client(TcpStream);

impl Client {
    /// `settings`: identifiers with their values.
    fn new(server: &Server, settings: &[(u16, u32)]) -> Client {
        let address = server.url.strip_prefix("http://").expect("plain HTTP");
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a time limit");
        let content: Vec<u8> = settings
            .iter()
            .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat())
            .collect();
        let opening = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(SETTINGS, 0, 0, &content)].concat();
        stream.write_all(&opening).expect("it listens");
        Client(stream)
    }

    /// Reports whether the connection still accepted the bytes.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// Reads the bytes that have arrived so far; `None` once the connection has ended.
    fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 100_000];
        match self.0.read(&mut bytes) {
            Ok(0) => None,
            Ok(count) => Some(bytes[..count].to_vec()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// Does `act` again and again until the connection ends; what came on it.
    #[track_caller]
    fn until_the_end(mut self, mut act: impl FnMut(&mut Client)) -> Vec<u8> {
        let (start, mut all) = (Instant::now(), Vec::new());
        while let Some(bytes) = self.read() {
            all.extend(bytes);
            assert!(start.elapsed() < FAR_TOO_LONG, "the connection does not end");
            act(&mut self);
            // A client that keeps busy, but not without a pause.
            std::thread::sleep(Duration::from_millis(30));
        }
        all
    }
}

/// Counts the frames of this kind in the bytes, of a stream or of the connection.
fn frames(mut bytes: &[u8], kind: u8) -> usize {
    let mut count = 0;
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        count += usize::from(head[3] == kind);
        bytes = rest.get(length..).unwrap_or_default();
    }
    count
}

fn impatient() -> Server {
    Server::with_options(&["--client-timeout", "1s", "--log-level", "DEBUG"])
}

fn ping(client: &mut Client) {
    client.send(&frame(PING, 0, 0, &[7; 8]));
}

#[test]
fn a_connection_that_only_pings_ends() {
    let server = impatient();
    let answers = Client::new(&server, &[]).until_the_end(ping);
    assert!(frames(&answers, PING) > 0, "it was spoken to");
    server.wait_for_log("the client does nothing");
}

#[test]
fn a_head_that_drips_ends() {
    let server = impatient();
    let head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[head("GET", "/health"), vec![0x20; 2000]].concat());
    let mut left = head.into_iter();
    Client::new(&server, &[]).until_the_end(|client| {
        let byte = left.next().expect("it ends before the head does");
        client.send(&[byte]);
    });
    server.wait_for_log("the client does nothing");
    // The same in many frames, each of them whole.
    let mut begun = false;
    Client::new(&server, &[]).until_the_end(|client| {
        let kind = if begun { 9 } else { HEADERS };
        begun = true;
        client.send(&frame(kind, 0, 1, &[0x20]));
    });
}

#[test]
fn a_body_that_does_not_come_ends() {
    let server = impatient();
    let mut client = Client::new(&server, &[]);
    client.send(&frame(HEADERS, END_HEADERS, 1, &head("POST", "/indexes/films/documents")));
    client.send(&frame(DATA, 0, 1, b"["));
    let answers = client.until_the_end(ping);
    assert!(frames(&answers, HEADERS) > 0, "the client is asked to stop");
}

#[test]
fn an_answer_that_is_not_read_ends() {
    let server = impatient();
    // SETTINGS_INITIAL_WINDOW_SIZE 0: no stream may send anything.
    for window in [0, 1000] {
        let mut client = Client::new(&server, &[(4, window)]);
        for stream in [1, 3, 5] {
            client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", "/openapi.json")));
        }
        // Other requests on the connection go on, and do not save it.
        let mut stream = 7;
        let answers = client.until_the_end(|client| {
            client.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &head("DELETE", "/health")));
            stream += 2;
        });
        assert!(frames(&answers, HEADERS) >= 3);
    }
    server.wait_for_log("the client does not read its answer");
}

#[test]
fn clients_that_go_on_are_served() {
    let server = impatient();
    let mut client = Client::new(&server, &[]);
    let mut answers = Vec::new();
    for number in 0..10 {
        assert!(client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * number, &head("GET", "/health"))));
        // All requests together take longer than the server waits for one that does nothing.
        std::thread::sleep(Duration::from_millis(300));
        answers.extend(client.read().expect("the connection lives"));
    }
    answers.extend(client.read().unwrap_or_default());
    assert!(frames(&answers, HEADERS) >= 9, "{answers:?}");
    assert_eq!(frames(&answers, GOAWAY), 0);
}
