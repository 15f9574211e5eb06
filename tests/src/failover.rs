//! Servers of one group, started alike: one writes, and another one goes on when it is gone.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Answer, Server};

const KEY: &str = "a-master-key-for-groups";

fn member(store: &TempDir) -> Server {
    let address = format!("file://{}/store", store.path().display());
    let options = ["--master-key", KEY, "--follow", &address, "--standby", "--takeover-after", "2s"];
    Server::with_options(&options).with_key(KEY)
}

/// Where the process listens now: another port once it has begun again.
fn look_again(server: &mut Server) {
    let log = server.log();
    let said = log.lines().rev().find_map(|line| line.strip_prefix("Listening on"));
    server.url = said.expect("an address").trim().to_owned();
}

/// Tries until it works.
#[track_caller]
fn soon<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "it does not come to that");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A write, if this server takes writes.
fn try_write(server: &mut Server, id: u64) -> Option<Answer> {
    look_again(server);
    let request = server.request(Method::POST, "/indexes/films/documents").json(&json!([{"id": id}]));
    server.try_send(request).ok().filter(|answer| answer.status == 202)
}

fn ids(server: &mut Server) -> Option<Vec<u64>> {
    look_again(server);
    let answer = server.try_send(server.request(Method::GET, "/indexes/films/documents?limit=100")).ok()?;
    let mut ids: Vec<u64> =
        answer.body["results"].as_array()?.iter().map(|document| document["id"].as_u64().expect("an id")).collect();
    ids.sort_unstable();
    Some(ids)
}

fn signal(server: &Server, name: &str) {
    let process = server.process_id().to_string();
    assert!(std::process::Command::new("kill").args([name, &process]).status().expect("kill runs").success());
}

#[test]
fn a_standby_takes_over_and_the_writer_before_follows() {
    let store = tempfile::tempdir().unwrap();
    let mut first = member(&store);
    let mut second = member(&store);
    first.add("films", json!([{"id": 1}]));
    first.done(&first.put("/aliases/movies", json!({"indexUid": "films"})));
    soon(|| ids(&mut second).filter(|ids| *ids == [1]));
    assert_eq!(second.post("/indexes/films/documents", json!([{"id": 2}])).status, 421);
    let files = std::fs::read_dir(store.path().join("store/i")).unwrap().count();
    // Stopped, it shows no sign of life; the second one writes.
    signal(&first, "-STOP");
    let answer = soon(|| try_write(&mut second, 2));
    let task = second.done(&answer);
    assert!(task["uid"].as_u64().unwrap() > 10_000, "uids that the first may have given are passed over: {task}");
    assert_eq!(second.get("/aliases/movies").ok()["indexUid"], "films");
    assert_eq!(std::fs::read_dir(store.path().join("store/i")).unwrap().count(), files, "nothing is sent again");
    // The first one finds out, and follows.
    signal(&first, "-CONT");
    soon(|| ids(&mut first).filter(|ids| *ids == [1, 2]));
    assert_eq!(first.post("/indexes/films/documents", json!([{"id": 3}])).status, 421);
    assert!(first.log().contains("another server publishes to this store now"), "{}", first.log());
    // Killed and started again, the writer is the writer still, if no other one was faster.
    second.kill();
    second.start_again();
    let mut both = [&mut first, &mut second];
    soon(|| both.iter_mut().find_map(|server| try_write(server, 4)));
    for server in both {
        soon(|| ids(server).filter(|ids| *ids == [1, 2, 4]));
    }
}

#[test]
fn a_group_of_one_goes_on_from_the_store_alone() {
    let store = tempfile::tempdir().unwrap();
    let mut first = member(&store);
    first.add("films", json!([{"id": 1}]));
    assert!(first.terminate().success());
    drop(first);
    // An empty folder.
    let mut second = member(&store);
    let answer = soon(|| try_write(&mut second, 2));
    second.done(&answer);
    assert_eq!(ids(&mut second), Some(vec![1, 2]));
    assert_eq!(second.get("/indexes/films/search").ok()["estimatedTotalHits"], Value::from(2));
}
