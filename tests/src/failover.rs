//! Servers of one group, started alike: one writes, and another one goes on when it is gone.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lost_store::{keep, without_sqlite};
use crate::server::{Answer, Server, binary, soon, until};

const KEY: &str = "a-master-key-for-groups";

fn member(store: &TempDir) -> Server {
    member_with(store, &[])
}

fn member_with(store: &TempDir, more: &[&str]) -> Server {
    let address = format!("file://{}/store", store.path().display());
    let options = ["--master-key", KEY, "--follow", &address, "--standby", "--takeover-after", "2s"];
    Server::with_options(&[&options[..], more].concat()).with_key(KEY)
}

/// Updates the address of the process, which has another port after a restart.
pub(crate) fn look_again(server: &mut Server) {
    let log = server.log();
    let said = log.lines().rev().find_map(|line| line.strip_prefix("Listening on"));
    server.url = said.expect("an address").trim().to_owned();
}

/// A write, if this server takes writes.
pub(crate) fn try_write(server: &mut Server, id: u64) -> Option<Answer> {
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

/// Keys follow from the master key: a server with another one, or with none, is of no use to clients of the writer.
#[test]
fn a_standby_with_another_master_key_takes_nothing_over() {
    let store = tempfile::tempdir().unwrap();
    let mut first = member(&store);
    first.add("films", json!([{"id": 1}]));
    let address = format!("file://{}/store", store.path().display());
    let own = "another-master-key-than-theirs";
    let options = ["--follow", &address, "--standby", "--takeover-after", "2s", "--master-key", own];
    let mut other = Server::with_options(&options).with_key(own);
    let open = Server::with_options(&["--follow", &address]);
    let mut second = member(&store);
    other.wait_for_log("another master key than the writer");
    assert!(other.log().contains("It does not take over from this writer. Start all servers"), "{}", other.log());
    open.wait_for_log("this server has no master key, and the writer has one");
    soon(|| ids(&mut second).filter(|ids| *ids == [1]));
    soon(|| ids(&mut other).filter(|ids| *ids == [1]));
    // The same keys by their uids, with other values.
    let keys = |server: &Server| server.get("/keys?limit=100").ok()["results"].as_array().unwrap().clone();
    let (of_first, of_other) = (keys(&first), keys(&other));
    assert_eq!(of_first.len(), of_other.len());
    for (one, other) in of_first.iter().zip(&of_other) {
        assert_eq!(one["uid"], other["uid"]);
        assert_ne!(one["key"], other["key"]);
    }
    let search = |server: &Server, key: Option<&str>| {
        let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
        let request = client.get(format!("{}/indexes/films/search", server.url));
        key.into_iter().fold(request, |request, key| request.bearer_auth(key)).send().unwrap().status().as_u16()
    };
    let is_for_searches = |key: &&Value| key["actions"] == json!(["search"]);
    let key = of_first.iter().find(is_for_searches).unwrap()["key"].as_str();
    assert_eq!([&first, &second, &other].map(|server| search(server, key)), [200, 200, 403]);
    until(|| search(&open, None) == 200);
    // Of the two, the one with the right key takes over.
    first.kill();
    let answer = soon(|| try_write(&mut second, 2));
    second.done(&answer);
    soon(|| ids(&mut other).filter(|ids| *ids == [1, 2]));
    assert_eq!(other.post("/indexes/films/documents", json!([{"id": 3}])).status, 421);
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

fn files(store: &TempDir, folder: &str) -> usize {
    std::fs::read_dir(store.path().join("store").join(folder)).map_or(0, Iterator::count)
}

/// Returns the journal as `lamina store ls` reports it.
fn journal(store: &TempDir) -> Value {
    let address = format!("file://{}/store", store.path().display());
    let output = std::process::Command::new(binary()).args(["store", "ls", "--json", &address]).output().expect("runs");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    found["journal"].clone()
}

#[test]
fn what_is_acknowledged_in_the_store_is_carried_out_after_a_takeover() {
    let store = tempfile::tempdir().unwrap();
    // After a publication there is none for some seconds.
    let mut first = member_with(&store, &["--durability", "store", "--publish-interval", "5s"]);
    let mut second = member_with(&store, &["--durability", "store"]);
    first.add("films", json!([{"id": 1, "copies": 1}]));
    soon(|| ids(&mut second).filter(|ids| *ids == [1]));
    let documents = "/indexes/films/documents";
    first.done(&first.patch(documents, json!([{"id": 1, "increment": {"copies": 1}}])));
    let text = "a long text ".repeat(10_000);
    let large = first.post(documents, json!([{"id": 2, "text": text}]));
    let last = first.post(&format!("{documents}?customMetadata=mine"), json!([{"id": 3}]));
    assert_eq!((large.status, last.status), (202, 202));
    first.kill();
    let waiting = journal(&store);
    assert!(waiting["waitingTasks"].as_u64() <= Some(3), "{waiting}");
    assert!(waiting["objects"].as_u64() > Some(0), "{waiting}");
    let answer = soon(|| try_write(&mut second, 4));
    second.done(&answer);
    assert_eq!(ids(&mut second), Some(vec![1, 2, 3, 4]));
    assert_eq!(second.get(&format!("{documents}/1")).ok()["copies"], 2, "once, and not twice");
    assert_eq!(second.get(&format!("{documents}/2")).ok()["text"], text);
    // Under the uids that clients know.
    let task = second.done(&last);
    assert_eq!(task["customMetadata"], "mine");
    // Two fences are left when all of it is published.
    until(|| files(&store, "journal") == 2 && files(&store, "journal-payload") == 0);
    assert_eq!(journal(&store), json!({"objects": 2, "waitingRecords": 0, "waitingTasks": 0, "damaged": 0}));
    first.start_again();
    soon(|| ids(&mut first).filter(|ids| *ids == [1, 2, 3, 4]));
    // The writer itself, killed and started again.
    first.kill();
    let answer = second.post(documents, json!([{"id": 5}]));
    second.kill();
    second.start_again();
    look_again(&mut second);
    second.done(&answer);
    assert_eq!(ids(&mut second), Some(vec![1, 2, 3, 4, 5]));
}

#[test]
fn a_write_that_the_store_does_not_take_is_refused_in_time() {
    let store = tempfile::tempdir().unwrap();
    let first = member_with(&store, &["--durability", "store", "--durability-timeout", "1s"]);
    first.add("films", json!([{"id": 1}]));
    let (journal, aside) = (store.path().join("store/journal"), store.path().join("aside"));
    std::fs::rename(&journal, &aside).unwrap();
    std::fs::write(&journal, "no folder").unwrap();
    let start = Instant::now();
    let documents = "/indexes/films/documents";
    let refused = first.post(documents, json!([{"id": 2}]));
    assert_eq!((refused.status, &refused.body["code"]), (503, &json!("store_not_reached")), "{refused:?}");
    assert!(refused.body["message"].as_str().unwrap().contains("as a whole or not at all"), "{refused:?}");
    let refused = first.post(documents, json!([{"id": 3}]));
    assert!(refused.body["message"].as_str().unwrap().contains("it was not carried out"), "{refused:?}");
    assert!(start.elapsed() < Duration::from_secs(30));
    // What is there is searched all the same.
    assert_eq!(first.get("/indexes/films/search").ok()["estimatedTotalHits"], 1);
    std::fs::remove_file(&journal).unwrap();
    std::fs::rename(&aside, &journal).unwrap();
    first.add("films", json!([{"id": 4}]));
    assert_eq!(first.get("/indexes/films/search").ok()["estimatedTotalHits"], 2, "nothing of what was refused");
    first.patch("/experimental-features", json!({"metrics": true})).ok();
    let metrics = first.get("/metrics").text;
    let value = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("lamina_{name} ")));
        line.unwrap_or_else(|| panic!("{name}: {metrics}")).parse::<f64>().unwrap()
    };
    assert_eq!((value("journal_tasks_total"), value("journal_refused_total")), (2.0, 2.0));
    assert!(value("journal_wait_seconds_total") > 0.0);
    assert!(value("journal_records_total") == 2.0);
}

/// A kept state and a folder that is attached are on one server only: another one cannot carry the tasks out again.
#[test]
fn what_only_the_writer_could_do_is_there_after_a_takeover() {
    let (store, built) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let lines = built.path().join("plays.ndjson");
    std::fs::write(&lines, "{\"id\": 7}\n").unwrap();
    let build = std::process::Command::new(binary())
        .args([std::ffi::OsStr::new("build"), lines.as_os_str(), "--output".as_ref()])
        .arg(built.path().join("plays"))
        .status();
    assert!(build.expect("runs").success());
    let options = ["--durability", "store", "--keep", "1h"];
    // A test that waits for its end would be too late: what has to be in the store at once is published without it.
    let own = ["--publish-interval", "100s", "--attach-dir", built.path().to_str().unwrap()];
    let mut first = member_with(&store, &[&options[..], &own[..]].concat());
    first.add("films", json!([{"id": 1}]));
    let mut second = member_with(&store, &options);
    until(|| first.get("/replicas").ok()["results"].as_array().is_some_and(|replicas| replicas.len() == 1));
    first.add("films", json!([{"id": 2}]));
    let states = first.get("/indexes/films/generations").ok();
    first.add("films", json!([{"id": 3}]));
    let began = Instant::now();
    let restore = json!({"at": states["results"][0]["generation"]});
    let task = first.done(&first.post("/indexes/films/restore", restore));
    first.done(&first.post("/indexes/plays/attach", json!({"folder": "plays"})));
    assert!(began.elapsed() < Duration::from_secs(60), "they do not wait for the interval");
    let last = first.add("films", json!([{"id": 4}]));
    assert!(last["batchUid"].as_u64() > task["batchUid"].as_u64());
    first.kill();
    let answer = soon(|| try_write(&mut second, 5));
    second.done(&answer);
    assert_eq!(ids(&mut second), Some(vec![1, 2, 4, 5]));
    assert_eq!(second.get("/indexes/plays/documents").ok()["results"], json!([{"id": 7}]));
}

/// A restore is carried out, and its client does not see it end before the store has it.
#[test]
fn a_restore_waits_for_the_store_and_holds_up_no_end_of_its_server() {
    let store = tempfile::tempdir().unwrap();
    let mut first = member_with(&store, &["--durability", "store", "--keep", "1h"]);
    first.add("films", json!([{"id": 1}]));
    let states = first.get("/indexes/films/generations").ok();
    first.add("films", json!([{"id": 2}]));
    // Nothing of an index can be published, and tasks are accepted.
    let (objects, aside) = (store.path().join("store/i"), store.path().join("aside"));
    std::fs::rename(&objects, &aside).unwrap();
    std::fs::write(&objects, "no folder").unwrap();
    let restore = first.post("/indexes/films/restore", json!({"at": states["results"][0]["generation"]}));
    soon(|| ids(&mut first).filter(|ids| *ids == [1]));
    let later = first.post("/indexes/films/documents", json!([{"id": 3}]));
    first.add("books", json!([{"id": 1}]));
    let status =
        |server: &Server, task: &Answer| server.get(&format!("/tasks/{}", task.body["taskUid"])).ok()["status"].clone();
    assert_eq!([status(&first, &restore), status(&first, &later)], ["processing", "enqueued"]);
    let batch = first.get("/batches?statuses=processing").ok()["results"][0].clone();
    assert_eq!(batch["progress"]["steps"][1]["currentStep"], "publishing", "{batch}");
    let began = Instant::now();
    assert!(first.terminate().success());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    std::fs::remove_file(&objects).unwrap();
    std::fs::rename(&aside, &objects).unwrap();
    first.start_again();
    look_again(&mut first);
    first.done(&restore);
    first.done(&later);
    assert_eq!(ids(&mut first), Some(vec![1, 3]));
}

/// The indexes of a former writer have applied batches that its queue does not know. What it needs is at the others.
#[test]
fn a_former_writer_with_an_older_queue_follows_and_may_write_again() {
    let store = tempfile::tempdir().unwrap();
    let (mut first, mut second) = (member(&store), member(&store));
    first.add("films", json!([{"id": 1}]));
    first.kill();
    let older = keep(&first);
    first.start_again();
    for id in 2..5 {
        let answer = soon(|| try_write(&mut first, id).or_else(|| try_write(&mut second, id)));
        soon(|| [&first, &second].into_iter().find(|server| server.get("/replicas").body["role"] == "writer"))
            .done(&answer);
    }
    for server in [&mut first, &mut second] {
        soon(|| ids(server).filter(|ids| *ids == [1, 2, 3, 4]));
    }
    first.kill();
    without_sqlite(&first);
    for name in ["tasks.sqlite", "tasks.sqlite-wal"] {
        std::fs::copy(older.join(name), first.data_folder().join(name)).unwrap();
    }
    let answer = soon(|| try_write(&mut second, 5));
    let last = second.done(&answer);
    // Not without the store, which says that it follows: its tasks would be carried out once more.
    let (place, aside) = (store.path().join("store"), store.path().join("aside"));
    std::fs::rename(&place, &aside).unwrap();
    assert!(!first.try_start_again());
    let log = first.log();
    for part in ["`films` has applied batch", "Put back tasks.sqlite", "move tasks.sqlite"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    std::fs::rename(&aside, &place).unwrap();
    first.start_again();
    assert!(first.log().contains("This server follows another one, and fetches what it does not have"));
    soon(|| ids(&mut first).filter(|ids| *ids == [1, 2, 3, 4, 5]));
    second.kill();
    let answer = soon(|| try_write(&mut first, 6));
    let task = first.done(&answer);
    assert!(task["uid"].as_u64() > last["uid"].as_u64());
    assert!(task["batchUid"].as_u64() > last["batchUid"].as_u64());
    assert_eq!(ids(&mut first), Some(vec![1, 2, 3, 4, 5, 6]));
}
