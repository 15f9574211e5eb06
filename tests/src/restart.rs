//! What survives: restarts, kill -9 at any moment, a second process on the same folder.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, binary};

#[test]
fn everything_is_there_after_a_restart() {
    let mut server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}, {"id": 2, "title": "Up"}]));
    server.set("films", json!({"synonyms": {"monster": ["alien"]}, "sortableAttributes": ["id"]}));
    server.done(&server.delete("/indexes/films/documents/2"));
    // The bytes of the documents are left out of the statistics: a background merge may shrink them meanwhile.
    let read = |server: &Server| {
        let stats = server.get("/indexes/films/stats").ok();
        let counts = json!([stats["numberOfDocuments"], stats["fieldDistribution"]]);
        let paths = ["/indexes", "/indexes/films/settings", "/indexes/films/documents", "/tasks"];
        (paths.map(|path| server.get(path).ok()), counts)
    };
    let state = read(&server);

    assert!(server.terminate().success(), "SIGTERM ends it in order");
    server.start_again();
    assert_eq!(read(&server), state);
    server.kill();
    server.start_again();
    assert_eq!(read(&server), state);
    assert_eq!(server.ids("films", json!({"q": "monster"})), [1]);
    assert_eq!(server.add("films", json!([{"id": 3}]))["uid"], 3, "task numbers go on");
}

#[test]
fn a_second_process_on_the_folder_is_refused() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let second = Command::new(binary())
        .arg("--db-path")
        .arg(server.data_folder())
        .args(["--http-addr", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    let sentence = format!("error: the database at {:?} is in use by another process", server.data_folder());
    assert!(said.lines().any(|line| line == sentence), "{said}");
    assert_eq!(server.document_count("films"), 1);
}

/// Expected documents of the index: id -> the number last written.
type Model = BTreeMap<u64, u64>;

/// Write number `n`: method, path and body of the request; the model becomes what it must lead to.
fn write(n: u64, model: &mut Model) -> (Method, &'static str, Value) {
    match n % 10 {
        7 => {
            let ids: Vec<u64> = model.keys().copied().filter(|id| id % 3 == n % 3).take(5).collect();
            model.retain(|id, _| !ids.contains(id));
            (Method::POST, "/indexes/films/documents/delete-batch", json!(ids))
        }
        8 => (Method::PATCH, "/indexes/films/settings", json!({"stopWords": [format!("w{n}")]})),
        _ => {
            let ids = (0..8).map(|i| (n * 7 + i * 13) % 200);
            model.extend(ids.clone().map(|id| (id, n)));
            let document = |id| json!({"id": id, "n": n, "text": format!("write number{n} of {id}")});
            (Method::POST, "/indexes/films/documents", ids.map(document).collect())
        }
    }
}

/// Kills the server over and over while it is written to. Every acknowledged task must be carried out, once, and the
/// documents must be what the acknowledged tasks make of them, in order.
#[test]
fn kill_9_in_a_loop_loses_nothing() {
    let mut server = Server::start();
    server.add("films", json!([{"id": 1000, "text": "anchor"}]));
    let mut model = Model::from([(1000, 0)]);
    let mut acknowledged = Vec::new();
    let mut n = 0;
    for round in 0..10u64 {
        server.killed_while(round, 190, |server| {
            n += 1;
            let mut next = model.clone();
            let (method, path, body) = write(n, &mut next);
            let answer = server.try_send(server.request(method, path).json(&body))?;
            assert_eq!(answer.status, 202, "refused: {answer:?}");
            acknowledged.push(answer.body["taskUid"].as_u64().expect("a task"));
            model = next;
            Ok(())
        });
        // The last write had no answer: it may have been stored or not, but whole.
        let last = server.get("/tasks?limit=1").ok()["results"][0]["uid"].as_u64().expect("a task");
        let expected = acknowledged.last().copied().unwrap_or(0);
        assert!(last == expected || last == expected + 1, "task {last} after {expected}");
        if last == expected + 1 {
            acknowledged.push(last);
            let _sent = write(n, &mut model);
        }
    }
    for &uid in &acknowledged {
        let task = server.wait_for(uid);
        assert_eq!(task["status"], "succeeded", "{task}");
    }
    assert!(acknowledged.len() > 5, "only {} writes: the test shows nothing", acknowledged.len());
    let total = server.get("/tasks?limit=1").ok()["total"].as_u64();
    assert_eq!(total, Some(acknowledged.len() as u64 + 1), "each task exists once");

    let list = server.get("/indexes/films/documents?limit=1000&fields=id,n").ok();
    let documents: Model = list["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|document| (document["id"].as_u64().unwrap(), document["n"].as_u64().unwrap_or(0)))
        .collect();
    assert_eq!(documents, model);
    // The index agrees with the store: each document is found by its last text and by no earlier one.
    for (id, n) in documents.iter().filter(|(_, n)| **n > 0).take(50) {
        let query = json!({"q": format!("\"number{n}\""), "limit": 1000});
        assert!(server.ids("films", query).contains(&json!(id)), "document {id}, write {n}");
    }
}
