//! Servers that have been the writer, and have commits that no other one knows, when they follow again.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::failover::look_again;
use crate::replication::until_published;
use crate::server::{Server, soon, until};

const KEY: &str = "a-master-key-for-groups";

fn member(store: &TempDir, more: &[&str]) -> Server {
    let address = format!("file://{}/store", store.path().display());
    let options = ["--master-key", KEY, "--follow", &address, "--standby", "--takeover-after", "1s"];
    Server::with_options(&[&options[..], more].concat()).with_key(KEY)
}

fn count(server: &mut Server, index: &str) -> Option<u64> {
    look_again(server);
    let request = server.request(reqwest::Method::GET, &format!("/indexes/{index}/stats"));
    server.try_send(request).ok()?.body["numberOfDocuments"].as_u64()
}

fn write(server: &mut Server, index: &str, ids: std::ops::Range<u64>) -> Value {
    let documents: Vec<Value> = ids.map(|id| json!({ "id": id })).collect();
    let answer = soon(|| {
        look_again(server);
        let request = server.request(reqwest::Method::POST, &format!("/indexes/{index}/documents"));
        let answer = server.try_send(request.json(&documents)).ok()?;
        (answer.status == 202).then_some(answer)
    });
    server.done(&answer)
}

/// The segment that was put into the store last.
fn newest_segment(store: &Path) -> PathBuf {
    let folders = std::fs::read_dir(store.join("store/i")).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let segments = files.map(|entry| entry.unwrap().path()).filter(|path| path.to_str().unwrap().contains("/seg-"));
    let written =
        |path: &PathBuf| path.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    segments.max_by_key(written).expect("one")
}

#[test]
fn a_former_writer_whose_first_attempt_to_follow_fails_loses_nothing_that_was_acknowledged() {
    let store = tempfile::tempdir().unwrap();
    // After a publication there is none for a while.
    let mut first = member(&store, &["--durability", "store", "--publish-interval", "5s"]);
    let mut second = member(&store, &["--durability", "store"]);
    write(&mut first, "aaa", 0..5);
    write(&mut first, "zzz", 0..500);
    until(|| count(&mut second, "zzz") == Some(500) && count(&mut second, "aaa") == Some(5));
    // The interval of publication goes by: what comes next is published at once.
    std::thread::sleep(Duration::from_secs(5));
    write(&mut first, "zzz", 500..501);
    until(|| count(&mut second, "zzz") == Some(501));
    // Acknowledged and carried out, many commits ahead of what is published.
    (10..20).for_each(|id| drop(write(&mut first, "aaa", id..id + 1)));
    first.kill();
    write(&mut second, "aaa", 20..22);
    assert_eq!(count(&mut second, "aaa"), Some(17), "the journal has them");
    let last = write(&mut second, "zzz", 600..603);
    until_published(&second, &last);
    // Of one index everything comes at once, of the other one an object is missing.
    let (newest, hidden) = (newest_segment(store.path()), store.path().join("hidden"));
    std::fs::rename(&newest, &hidden).unwrap();
    first.start_again();
    first.wait_for_log("there is no object");
    std::fs::rename(&hidden, &newest).unwrap();
    until(|| count(&mut first, "aaa") == Some(17) && count(&mut first, "zzz") == Some(504));
    // Its state is that of the writer: the same number, too.
    let generation = |server: &Server| server.get("/indexes/aaa/generations").ok()["results"][0]["generation"].clone();
    assert_eq!(generation(&first), generation(&second));
    second.kill();
    write(&mut first, "aaa", 30..31);
    assert_eq!((count(&mut first, "aaa"), count(&mut first, "zzz")), (Some(18), Some(504)));
    second.start_again();
    until(|| count(&mut second, "aaa") == Some(18));
}

#[test]
fn kept_states_and_names_outlive_a_takeover() {
    let store = tempfile::tempdir().unwrap();
    let options = ["--durability", "store", "--keep", "1h"];
    let (mut first, mut second) = (member(&store, &options), member(&store, &options));
    write(&mut first, "films", 0..50);
    until(|| count(&mut second, "films") == Some(50));
    let full = first.get("/indexes/films/generations").ok()["results"][0]["generation"].clone();
    first.done(&first.delete("/indexes/films/documents"));
    until(|| count(&mut second, "films") == Some(0));
    let answer = first.post("/indexes/films/documents", json!([{"id": 100}]));
    assert_eq!(answer.status, 202);
    first.kill();
    write(&mut second, "films", 101..103);
    second.done(&answer);
    assert_eq!(count(&mut second, "films"), Some(3));
    let then = second.post("/indexes/films/search", json!({"at": full, "limit": 0})).ok();
    assert_eq!(then["estimatedTotalHits"], 50, "{then}");
    // A number that the first one may have given, and the second one did not.
    let unknown = full.as_u64().unwrap() + 2;
    second.get(&format!("/indexes/films/changes?since={unknown}")).refused(404, "generation_not_found");
    assert!(second.get(&format!("/indexes/films/changes?since={full}")).status == 200);
}
