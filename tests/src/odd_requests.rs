//! Requests as no client library sends them: each is answered with a status of its own, and none ends a thread.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::keys;
use crate::server::Server;

const METHODS: [&str; 12] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PRI", "FOO", "get"];

const TARGETS: [&str; 28] = [
    "*",
    "/",
    "example.com:443",
    "localhost",
    "[::1]:80",
    ":443",
    "x:99999",
    "http://localhost/indexes",
    "http://localhost",
    "https://u:p@localhost/keys",
    "http://",
    "http://localhost?y=1",
    "//",
    "///",
    "/%",
    "/%00",
    "/%ff%fe",
    "?x",
    "/?",
    "/..",
    "/indexes/%ff/search",
    "/indexes/..%2f/documents",
    "/indexes/a/search?q=%ff",
    "/keys/%2e%2e",
    "/tasks/-1",
    "a",
    "/#f",
    "/\\",
];

/// Sends bytes and reads the first line of what comes within `patience`.
fn answer(server: &Server, bytes: &[u8], patience: Duration) -> Vec<u8> {
    let address = server.url.strip_prefix("http://").expect("plain HTTP");
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(patience)).expect("a time limit");
    // The server may have ended the connection already.
    let _ = stream.write_all(bytes);
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !answer.contains(&b'\n') {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => answer.extend_from_slice(&piece[..count]),
        }
    }
    answer
}

/// The status of an answer; `None` when there is none.
fn status(answer: &[u8]) -> Option<u16> {
    std::str::from_utf8(answer.strip_prefix(b"HTTP/1.1 ")?.get(..3)?).ok()?.parse().ok()
}

fn nothing_panicked(server: &Server) {
    let log = server.log();
    assert!(!log.contains("panicked"), "{}", log.lines().find(|line| line.contains("panicked")).unwrap_or_default());
}

#[test]
fn every_method_on_every_odd_target_is_answered() {
    for server in [Server::start(), keys::start(&[])] {
        for method in METHODS {
            for target in TARGETS {
                let request = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
                let status = status(&answer(&server, request.as_bytes(), Duration::from_secs(60)));
                let status = status.unwrap_or_else(|| panic!("{method} {target}: no answer"));
                assert!((200..500).contains(&status), "{method} {target}: {status}");
                if method == "CONNECT" && target == "example.com:443" {
                    assert_eq!(status, 405, "{target}");
                }
                if method == "GET" && target == "example.com:443" {
                    assert_eq!(status, 400, "{target}");
                }
            }
        }
        nothing_panicked(&server);
    }
}

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

const SEEDS: [&str; 6] = [
    "POST /indexes/films/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"q\":\"a\"}",
    "GET /indexes/films/documents?limit=1&filter=a%20%3D%201 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip;q=0.5, br\r\n\r\n",
    "PUT /indexes/films/documents HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/x-ndjson\r\n\r\n8\r\n{\"id\":1}\r\n0\r\n\r\n",
    "OPTIONS /keys HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nAccess-Control-Request-Method: POST\r\n\r\n",
    "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\nAuthorization: Bearer x\r\nExpect: 100-continue\r\n\r\n",
    "DELETE http://localhost/indexes/films HTTP/1.0\r\nX-Request-Id: 1\r\nIf-None-Match: \"x\"\r\nRange: bytes=0-\r\n\r\n",
];

/// Changes, removes or doubles bytes of a request, or takes them from another one.
fn mutated(numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = SEEDS[numbers.below(SEEDS.len())].as_bytes().to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len().max(1));
        match numbers.below(6) {
            _ if bytes.is_empty() => return bytes,
            0 => bytes[at] = numbers.below(256) as u8,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, b" \r\n:/%\0\xff;,?#@[]"[numbers.below(15)]),
            3 => {
                let piece = bytes[at..(at + 1 + numbers.below(20)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => bytes.truncate(at + 1),
            _ => {
                let other = SEEDS[numbers.below(SEEDS.len())].as_bytes();
                let from = numbers.below(other.len());
                bytes.splice(at..at, other[from..(from + 30).min(other.len())].iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn mutated_requests_end_no_thread() {
    let server = Server::with_options(&["--client-timeout", "2s"]);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|thread| {
                let server = &server;
                scope.spawn(move || {
                    let mut numbers = Numbers(0x9e37_79b9 + thread);
                    let mut failed = Vec::new();
                    for _ in 0..750 {
                        let request = mutated(&mut numbers);
                        let answer = answer(server, &request, Duration::from_millis(30));
                        if status(&answer).is_some_and(|status| status >= 500) {
                            failed.push(format!("{:?}: {:?}", request.escape_ascii().to_string(), status(&answer)));
                        }
                    }
                    failed
                })
            })
            .collect();
        runs.into_iter().flat_map(|run| run.join().expect("no panic")).collect()
    });
    assert_eq!(failed, [""; 0]);
    nothing_panicked(&server);
    server.get("/health").ok();
}
