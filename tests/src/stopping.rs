//! Stopping takes a bounded time, whatever runs; what was acknowledged is carried out at the next start.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::Server;

/// More than `--shutdown-timeout` is by default, for a machine with other things to do.
const STOP_MAX: Duration = Duration::from_secs(40);

/// Ends the server; how long that took.
fn stopped(server: &mut Server) -> Duration {
    let start = Instant::now();
    assert!(server.terminate().success(), "SIGTERM ends it in order:\n{}", server.log());
    start.elapsed()
}

/// One document of so many words that no step of its indexing is short.
fn long_document(id: u64, words: usize) -> Value {
    let text: String = (0..words).map(|n| format!("w{:x} ", (n as u64 * 7919 + id) % 1_000_003)).collect();
    json!({"id": id, "text": text})
}

#[test]
fn a_stream_of_logs_does_not_hold_up_the_end() {
    let mut server = Server::start();
    server.patch("/experimental-features", json!({"logsRoute": true})).ok();
    let address = server.url.strip_prefix("http://").expect("an address").to_owned();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "POST /logs/stream HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(head.as_bytes()).unwrap();
    std::io::Read::read(&mut stream, &mut [0; 100]).unwrap();
    // Without an end to the stream it would be ten seconds.
    let took = stopped(&mut server);
    assert!(took < Duration::from_secs(8), "{took:?}\n{}", server.log());
}

#[test]
fn the_process_ends_whatever_runs_and_goes_on_at_the_next_start() {
    let mut server = Server::with_options(&["--shutdown-timeout", "1s"]);
    server.add("films", json!([{"id": 1, "text": "before"}]));
    let answer = server.post("/indexes/films/documents", json!([long_document(2, 3_000_000)]));
    let task = answer.body["taskUid"].as_u64().expect("a task");
    // It is read, cut into words, sorted or written by then, none of which looks up within so short a time.
    server.wait_for_processing(task);
    let took = stopped(&mut server);
    assert!(took < Duration::from_secs(15), "{took:?}\n{}", server.log());
    server.start_again();
    assert_eq!(server.wait_for(task)["status"], "succeeded");
    assert_eq!(server.document_count("films"), 2);
}

#[test]
fn a_large_load_a_dump_and_a_change_of_settings_end_in_time_and_are_carried_out_later() {
    let mut server = Server::start();
    server.add("films", json!([{"id": 0}]));
    let documents: Vec<Value> = (1..40).map(|id| long_document(id, 20_000)).collect();
    let mut tasks = Vec::new();
    for round in 0..3 {
        for request in [
            server.post("/indexes/films/documents", json!(documents)),
            server.post("/indexes/films/documents/delete", json!({"filter": "id = 1"})),
            server.patch("/indexes/films/settings", json!({"filterableAttributes": ["id", format!("f{round}")]})),
            server.patch("/indexes/films/settings", json!({"separatorTokens": [format!("x{round}")]})),
            server.post("/dumps", Value::Null),
            server.post("/snapshots", Value::Null),
            server.post("/indexes/films/compact", Value::Null),
        ] {
            assert_eq!(request.status, 202, "{request:?}");
            tasks.push(request.body["taskUid"].as_u64().expect("a task"));
        }
        // The end comes in the middle of the work.
        std::thread::sleep(Duration::from_millis(300));
        let took = stopped(&mut server);
        assert!(took < STOP_MAX, "{took:?}\n{}", server.log());
        server.start_again();
    }
    for task in tasks {
        let task = server.wait_for(task);
        // In the first round nothing is filterable when the deletion comes.
        let is_deletion = task["type"] == "documentDeletion";
        assert!(task["status"] == "succeeded" || is_deletion, "{task}");
    }
}
