//! What happens when the system gives little: few descriptors, for a moment or for good, many indexes, a queue that is behind.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use reqwest::Method;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::server::{Server, soon_as};

/// Leaves the process no descriptor besides those that it has, while `act` runs and for `time` at most.
fn without_descriptors<T>(server: &Server, time: Duration, act: impl FnOnce() -> T) -> T {
    let process = Pid::from_raw(server.process_id() as i32).expect("a process");
    let set = |limit| prlimit(Some(process), Resource::Nofile, limit).expect("limits of a child can be lowered");
    let [_, hard] = limits_of_files(server);
    let maximum = Some(hard.parse().expect("a number"));
    let before = set(Rlimit { current: Some(3), maximum });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The state lasts so long, whatever happens in it.
            std::thread::sleep(time);
            set(before);
        });
        act()
    })
}

/// Returns the limits on open files of the process: the soft one and the hard one.
fn limits_of_files(server: &Server) -> [String; 2] {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.process_id())).expect("limits");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    let mut numbers = files.split_whitespace().skip(3).map(str::to_owned);
    [numbers.next().expect("the soft one"), numbers.next().expect("the hard one")]
}

#[test]
fn tasks_survive_a_moment_without_descriptors() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "one", "year": 1990}]));
    server.add("books", json!([{"id": 1}]));
    server.set("films", json!({"filterableAttributes": ["year"]}));
    server.patch("/experimental-features", json!({"editDocumentsByFunction": true})).ok();
    let tasks: [(Method, &str, Value); 9] = [
        (Method::POST, "/indexes/films/documents", json!([{"id": 2, "title": "two", "year": 1991}])),
        (Method::POST, "/indexes/films/documents/delete", json!({"filter": "year = 1990"})),
        (Method::PATCH, "/indexes/films/settings", json!({"sortableAttributes": ["title"]})),
        (Method::POST, "/indexes/films/documents/edit", json!({"function": "doc.title = \"edited\""})),
        (Method::POST, "/indexes", json!({"uid": "created", "primaryKey": "id"})),
        (Method::POST, "/indexes/new/documents", json!([{"id": 1}])),
        (Method::POST, "/dumps", Value::Null),
        (Method::POST, "/snapshots", Value::Null),
        (Method::POST, "/swap-indexes", json!([{"indexes": ["films", "books"]}])),
    ];
    for (method, path, body) in tasks {
        let answer = without_descriptors(&server, Duration::from_millis(400), || {
            server.send(server.request(method.clone(), path).json(&body))
        });
        server.done(&answer);
    }
    assert!(server.log().matches("will be retried after a pause").count() >= 5, "{}", server.log());
    assert_eq!(server.search("books", json!({}))["hits"], json!([{"id": 2, "title": "edited", "year": 1991}]));
    assert_eq!(server.document_count("new"), 1);
    assert_eq!(server.document_count("created"), 0);
}

#[test]
fn what_is_not_over_in_a_moment_fails_a_task_and_stopping_waits_for_nothing() {
    let mut server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let answer = without_descriptors(&server, Duration::from_secs(15), || {
        let answer = server.post("/indexes/films/documents", json!([{"id": 2}]));
        server.wait_for_log_lines("will be retried after a pause", 5);
        answer
    });
    server.fails(&answer, "too_many_open_files");
    let answer = without_descriptors(&server, Duration::from_millis(1_200), || {
        let answer = server.post("/indexes/films/documents", json!([{"id": 3}]));
        server.wait_for_log_lines("will be retried after a pause", 7);
        answer
    });
    // The next attempt is a second away.
    let start = Instant::now();
    assert!(server.terminate().success());
    assert!(start.elapsed() < Duration::from_secs(10), "stopped after {:?}", start.elapsed());
    server.start_again();
    server.done(&answer);
    assert_eq!(server.document_count("films"), 2);
}

/// The folders of indexes of which the process has files mapped.
fn open_indexes(server: &Server) -> BTreeSet<String> {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.process_id())).expect("maps");
    maps.lines().filter_map(|line| Some(line.split_once("/indexes/")?.1.split('/').next()?.to_owned())).collect()
}

fn files(server: &Server) -> Vec<String> {
    let folder = format!("/proc/{}/fd", server.process_id());
    let entries = std::fs::read_dir(folder).expect("descriptors").flatten();
    entries.filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned())).collect()
}

#[test]
fn more_indexes_than_may_be_open_all_answer() {
    const INDEXES: u64 = 12;
    let mut server = Server::with_options(&["--max-open-indexes", "3"]);
    for number in 0..INDEXES {
        server.add(&format!("i{number}"), json!([{"id": 1, "title": format!("number {number}")}]));
    }
    for round in 0..2 {
        for number in 0..INDEXES {
            let name = format!("i{number}");
            assert_eq!(server.ids(&name, json!({"q": "number"})), [1], "{name}");
            server.add(&name, json!([{"id": 2 + round, "other": true}]));
            assert_eq!(server.document_count(&name), 2 + round);
        }
        // One index too many is open while it is searched; and merges may still be looking for something to do.
        let start = Instant::now();
        while open_indexes(&server).len() > 3 {
            server.search("i0", json!({}));
            server.search("i1", json!({}));
            server.search(&format!("i{}", 2 + start.elapsed().as_millis() % 8), json!({}));
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", open_indexes(&server));
        }
        // A merge writes a file now and then; what is open for good holds none.
        while files(&server).iter().any(|file| file.contains("/indexes/")) {
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", files(&server));
        }
        if round == 0 {
            assert!(server.terminate().success());
            server.start_again();
        }
    }
    let before = open_indexes(&server);
    let stats = server.get("/stats").ok();
    let counts = stats["indexes"].as_object().expect("indexes").values().map(|index| &index["numberOfDocuments"]);
    assert_eq!(counts.collect::<Vec<_>>(), vec![3; INDEXES as usize]);
    assert_eq!(stats["indexes"]["i7"]["fieldDistribution"], json!({"id": 3, "title": 1, "other": 2}));
    assert!(stats["indexes"]["i7"]["rawDocumentDbSize"].as_u64() > Some(0));
    let listed = server.get("/indexes?limit=100").ok();
    assert_eq!(listed["total"], INDEXES);
    assert_eq!(listed["results"][0]["primaryKey"], "id");
    assert_eq!(open_indexes(&server), before, "lists open no index");
}

#[test]
fn a_view_stays_while_its_index_is_closed_and_written() {
    let server = Server::with_options(&["--max-open-indexes", "1"]);
    server.add("films", json!([{"id": 1, "title": "old"}]));
    let first = server.search("films", json!({"pointInTime": {"keepAliveMs": 300_000}}));
    let view = first["pointInTime"]["id"].clone();
    server.add("films", json!([{"id": 1, "title": "new"}, {"id": 2}]));
    for number in 0..3 {
        server.add(&format!("other{number}"), json!([{"id": 1}]));
    }
    server.add("films", json!([{"id": 3}]));
    let seen = server.search("films", json!({"pointInTime": {"id": view}}));
    assert_eq!(seen["hits"], json!([{"id": 1, "title": "old"}]));
    assert_eq!(server.document_count("films"), 3);
}

#[test]
fn connections_leave_descriptors_for_files() {
    let server = Server::with_options(&["OPEN_FILES=96"]);
    assert_eq!(limits_of_files(&server), ["96", "96"]);
    server.wait_for_log("the limit of open files is low");
    server.add("films", json!([{"id": 1}]));
    let address = server.url.trim_start_matches("http://").to_owned();
    let ask = |stream: &mut TcpStream| stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut held: Vec<TcpStream> =
        (0..120).map(|_| TcpStream::connect(&address).expect("the backlog has room")).collect();
    held.iter_mut().for_each(|stream| ask(stream).expect("sent"));
    // All this takes files.
    for number in 0..5 {
        server.add(&format!("other{number}"), json!([{"id": 1, "title": "while all others wait"}]));
        server.search(&format!("other{number}"), json!({"q": "others"}));
    }
    server.done(&server.post("/dumps", Value::Null));
    // Connections that wait for nothing make room for those that came too late.
    let mut last = held.pop().expect("some");
    last.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut answer = [0; 15];
    last.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    drop(held);
}

#[test]
fn the_soft_limit_of_files_is_raised() {
    let server = Server::start();
    let [soft, hard] = limits_of_files(&server);
    assert_eq!(soft, hard);
}

#[test]
fn writers_that_are_too_far_ahead_are_asked_to_come_back() {
    let server = Server::with_options(&["--max-queue-delay", "1"]);
    server.add("films", json!([{"id": 1}]));
    let held = server.hold_queue();
    let early = server.post("/indexes/films/documents", json!([{"id": 2}]));
    assert_eq!(early.status, 202, "the queue is not behind yet: {}", early.text);
    // Longer than the greatest delay of the queue.
    std::thread::sleep(Duration::from_millis(1_300));
    let late =
        server.request(Method::PUT, "/indexes/films/documents").json(&json!([{"id": 3}])).send().expect("answer");
    assert_eq!(late.headers()["retry-after"], "10");
    assert_eq!(late.status(), 503);
    let writes: [(Method, &str, Value); 4] = [
        (Method::POST, "/indexes/films/documents", json!([{"id": 3}])),
        (Method::DELETE, "/indexes/films/documents/1", Value::Null),
        (Method::POST, "/indexes/films/documents/delete-batch", json!([1])),
        (Method::DELETE, "/indexes/films/documents", Value::Null),
    ];
    for (method, path, body) in writes {
        let refused = server.send(server.request(method, path).json(&body));
        refused.refused(503, "too_many_write_requests");
        assert!(refused.text.contains("--max-queue-delay"), "{}", refused.text);
    }
    // Searches go on, and so does what makes the queue shorter.
    server.search("films", json!({}));
    assert_eq!(server.delete("/tasks?uids=0").status, 200);
    server.release_queue(held);
    server.done(&early);
    let accepted =
        soon_as(|| server.post("/indexes/films/documents", json!([{"id": 3}])), |answer| answer.status == 202);
    server.done(&accepted);
    assert_eq!(server.document_count("films"), 3);
}
