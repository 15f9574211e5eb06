//! Many clients, slow clients, clients that stay: none keeps others from being served.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::Server;

/// More than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    let server = Server::start();
    let mut stream = connect(&server);
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for path in ["/health", "/nowhere", "/indexes/films/documents", "/health"] {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let head = answer(&mut reader);
        assert!(!head.contains("connection: close"), "{path}: {head}");
    }
}

/// The head of the next answer, in lower case; its body is read and forgotten.
fn answer(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the server hung up after {head}");
    }
    head.make_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    reader.read_exact(&mut vec![0; length.map_or(0, |length| length.trim().parse().unwrap())]).unwrap();
    head
}

/// Clients that look for an answer when they have sent everything hear what was wrong, and go on.
#[test]
fn bodies_that_no_one_wants_may_be_sent_to_the_end() {
    let server = Server::with_options(&["--http-payload-size-limit", "1MB"]);
    let mut stream = connect(&server);
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for (path, status) in [("nowhere", "404"), ("indexes/films/documents", "413"), ("keys", "401")] {
        let body = vec![b' '; 8_000_000];
        let length = body.len();
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        .unwrap();
        let head = answer(&mut reader);
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
        stream.write_all(&body).unwrap();
        write!(stream, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert!(answer(&mut reader).starts_with("http/1.1 200"));
    }
    // Too much of it, and a body that waits to be asked for: what comes next is no request.
    for head in ["Content-Length: 1000000000", "Content-Length: 100\r\nExpect: 100-continue"] {
        let mut stream = connect(&server);
        write!(stream, "POST /nowhere HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n").unwrap();
        let heard = rest(&mut stream);
        assert!(heard.starts_with("HTTP/1.1 404"), "{heard}");
    }
}

#[test]
fn clients_that_say_half_of_it_stop_no_one() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let beginnings = [
        "GET /hea",
        "POST /indexes/films/documents HTTP/1.1\r\nHost: a\r\n",
        "POST /indexes/films/documents HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[{",
        "POST /indexes/films/search HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ];
    let _open: Vec<TcpStream> = (0..200)
        .map(|i| {
            let mut stream = connect(&server);
            stream.write_all(beginnings[i % beginnings.len()].as_bytes()).unwrap();
            stream
        })
        .collect();
    server.add("films", json!([{"id": 2}]));
    assert_eq!(server.search("films", json!({}))["estimatedTotalHits"], 2);
}

/// Reads the rest until the server closes the connection.
fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // Hanging up on who still sends is a reset.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn clients_that_fall_silent_are_hung_up_on() {
    let server = Server::with_options(&["--client-timeout", "1s"]);
    let post = "POST /indexes/films/documents HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length:";
    let large = format!("{post} 300000\r\n\r\n[{}", "{\"id\":1},".repeat(20_000));
    let cases = [
        // Not a word, and not enough to know which version it is.
        ("", ""),
        ("PRI * HTTP", ""),
        // Half a head.
        ("GET /hea", ""),
        ("GET /health HTTP/1.1\r\nHost: a\r\n", ""),
        // A connection that is not used any more.
        ("GET /health HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK"),
        // Half a body: the client may still hear why.
        (&format!("{post} 100\r\n\r\n[{{"), "HTTP/1.1 400 Bad Request"),
        (&large, "HTTP/1.1 400 Bad Request"),
    ];
    let streams: Vec<TcpStream> = cases
        .iter()
        .map(|(said, _)| {
            let mut stream = connect(&server);
            stream.write_all(said.as_bytes()).unwrap();
            stream
        })
        .collect();
    for ((said, expected), mut stream) in cases.iter().zip(streams) {
        let heard = rest(&mut stream);
        let said = &said[..said.len().min(200)];
        assert!(heard.starts_with(expected), "{said}: {heard}");
        assert!(heard.is_empty() == expected.is_empty(), "{said}: {heard}");
        assert!(!expected.contains("400") || heard.contains("\"bad_request\""), "{said}: {heard}");
    }
    assert_eq!(server.get("/tasks").ok()["total"], 0, "half a body is no task");
}

#[test]
fn clients_that_are_slow_are_served_as_long_as_they_go_on() {
    let server = Server::with_options(&["--client-timeout", "2s"]);
    let mut writer = connect(&server);
    let body = "[{\"id\": 1, \"title\": \"Alien\"}]";
    let length = body.len();
    let head = format!(
        "POST /indexes/films/documents?wait=searchable HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    writer.write_all(head.as_bytes()).unwrap();
    for byte in body.bytes() {
        // In drops: the whole takes longer than the server waits for a silent client.
        std::thread::sleep(Duration::from_millis(100));
        writer.write_all(&[byte]).unwrap();
    }
    let answer = rest(&mut writer);
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    assert!(answer.contains("\"succeeded\""), "{answer}");

    // Far more than both sides keep in their buffers, and read with pauses. Not in drops: systems report to the server in steps
    // of a good part of a buffer that there is room again.
    let mut reader = connect(&server);
    ask_for_much(&mut reader);
    let (start, mut all, mut piece) = (Instant::now(), Vec::new(), Vec::new());
    loop {
        // Slowly: the whole takes longer than the server waits for a client that reads nothing.
        std::thread::sleep(Duration::from_millis(60));
        let mut limited = (&mut reader).take(PIECE_BYTES);
        piece.clear();
        limited.read_to_end(&mut piece).unwrap();
        all.extend_from_slice(&piece);
        if (piece.len() as u64) < PIECE_BYTES {
            break;
        }
    }
    assert!(start.elapsed() > Duration::from_secs(2), "longer than a client may be silent: {:?}", start.elapsed());
    let all = String::from_utf8_lossy(&all);
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), ANSWERS);
    assert!(all.ends_with('}'));
}

/// Number of bytes that a slow reader reads at once.
const PIECE_BYTES: u64 = 500_000;
/// Answers that [`ask_for_much`] asks for.
const ANSWERS: usize = 300;

/// Tens of megabytes, in one go.
fn ask_for_much(stream: &mut TcpStream) {
    let one = "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n";
    let last = "GET /openapi.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all((one.repeat(ANSWERS - 1) + last).as_bytes()).unwrap();
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let server = Server::with_options(&["--client-timeout", "1s", "--log-level", "DEBUG"]);
    let mut stream = connect(&server);
    ask_for_much(&mut stream);
    server.wait_for_log("the client does not read its answer");
    let count = rest(&mut stream).matches("HTTP/1.1 200 OK").count();
    assert!(count < ANSWERS, "all {count} answers were sent");
}

#[test]
fn a_search_too_many_learns_when_to_come_back() {
    let options = ["--experimental-search-queue-size", "0", "--experimental-nb-searches-per-core", "1"];
    let server = Server::with_options(&options);
    server.add("films", (0..2000).map(|id| json!({"id": id, "text": format!("a b c d {id}")})).collect());
    let (refused, start) = (AtomicBool::new(false), Instant::now());
    let number = AtomicU64::new(0);
    let clients = 4 * std::thread::available_parallelism().map_or(4, usize::from);
    // More clients than there are places, for as long as it takes.
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                while !refused.load(Ordering::Relaxed) && start.elapsed() < PATIENCE {
                    // Another one each time: answers are kept.
                    let q = format!("a b c {}", number.fetch_add(1, Ordering::Relaxed));
                    let query = json!({"q": q, "limit": 1000, "showRankingScoreDetails": true});
                    let request = server.request(reqwest::Method::POST, "/indexes/films/search").json(&query);
                    let answer = request.send().expect("an answer");
                    if answer.status() == 503 {
                        assert_eq!(answer.headers()["retry-after"], "10");
                        assert!(answer.text().expect("a text").contains("\"too_many_search_requests\""));
                        refused.store(true, Ordering::Relaxed);
                    } else {
                        assert_eq!(answer.status(), 200);
                    }
                }
            });
        }
    });
    assert!(refused.load(Ordering::Relaxed), "all searches were answered");
    server.search("films", json!({"q": "a"}));
}
