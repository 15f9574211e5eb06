//! Many clients, slow clients, clients that stay: nobody keeps others from being served.

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
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            assert!(!line.to_ascii_lowercase().starts_with("connection: close"), "{path}");
            if line.trim().is_empty() {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
    }
}

#[test]
fn clients_that_say_half_of_it_stop_nobody() {
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

#[test]
fn a_search_too_many_is_told_when_to_come_back() {
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
