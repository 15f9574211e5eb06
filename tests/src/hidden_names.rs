//! What a key for one index learns of others from the tasks that it sees.

use serde_json::{Value, json};

use crate::keys::{MASTER, ask, finish, make, start, value};
use crate::server::Server;
use crate::task_streams::Stream;

const HIDDEN: &str = "s3cret";

/// Two indexes, and the key for them.
fn with_tasks() -> (Server, String) {
    let server = start(&[]).with_key(MASTER);
    server.patch("/experimental-features", json!({"tasksStreamingRoute": true})).ok();
    server.add("films", json!([{"id": 1}]));
    server.add("own", json!([{"id": 1}]));
    let key = value(&make(&server, &["*"], &["films", "own"]));
    (server, key)
}

fn make_tasks(server: &Server) {
    let copy = format!("{HIDDEN}-copy");
    server.done(&server.post("/indexes/films/clone", json!({"uid": copy})));
    // In the way.
    server.fails(&server.post("/indexes/films/clone", json!({"uid": copy})), "index_already_exists");
    server.fails(&server.patch("/indexes/films", json!({"uid": copy})), "index_already_exists");
    let alias = format!("{HIDDEN}-alias");
    server.done(&server.put(&format!("/aliases/{alias}"), json!({"indexUid": copy})));
    let onto_alias = server.post("/indexes/films/clone", json!({"uid": alias}));
    if onto_alias.status == 202 {
        server.wait(&onto_alias);
    }
    // Renamed away and back: the first names what it was called meanwhile.
    let renamed = format!("{HIDDEN}-renamed");
    server.done(&server.patch("/indexes/films", json!({"uid": renamed})));
    server.done(&server.patch(&format!("/indexes/{renamed}"), json!({"uid": "films"})));
    // A history that comes along with another index.
    server
        .fails(&server.post(&format!("/indexes/{copy}/documents"), json!([{"title": "no id"}])), "missing_document_id");
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["own", copy]}])));
    let held = server.hold_queue();
    let waiting = [server.delete("/indexes/films/documents/1"), server.delete(&format!("/indexes/{copy}/documents/1"))];
    let cancel = server.post(&format!("/tasks/cancel?indexUids=films,{copy}"), Value::Null);
    server.release_queue(held);
    server.wait(&cancel);
    waiting.iter().for_each(|task| drop(server.wait(task)));
}

#[test]
fn no_task_or_batch_names_an_index_that_the_key_may_not_know() {
    let (server, key) = with_tasks();
    let mut tasks_now = Stream::open(&server, "/tasks/stream", &key, None);
    let mut batches_now = Stream::open(&server, "/batches/stream", &key, None);
    make_tasks(&server);
    let list = |path: &str, key: &str| {
        ask(&server, key, "GET", path, &Value::Null).ok()["results"].as_array().unwrap().clone()
    };
    for (path, one) in [("/tasks?limit=1000", "/tasks"), ("/batches?limit=1000", "/batches")] {
        assert!(Value::from(list(path, MASTER)).to_string().contains(HIDDEN), "the master key sees all");
        let seen = list(path, &key);
        assert!(seen.len() > 5, "{seen:?}");
        for shown in &seen {
            assert!(!shown.to_string().contains(HIDDEN), "{path}: {shown}");
            let alone = ask(&server, &key, "GET", &format!("{one}/{}", shown["uid"]), &Value::Null);
            assert_eq!(alone.status, 200, "{}", alone.text);
            assert!(!alone.text.contains(HIDDEN), "{}", alone.text);
        }
    }
    let clones = list("/tasks?types=indexClone&limit=1000", &key);
    assert!(clones.iter().any(|task| task["details"] == json!({"newIndexUid": null})), "{clones:?}");
    let said = clones.iter().filter_map(|task| task["error"]["message"].as_str()).collect::<Vec<_>>();
    assert!(said.contains(&"Index `…` already exists."), "{said:?}");
    // As it happened, and as it is replayed.
    let last = finish(&server, &ask(&server, MASTER, "DELETE", "/indexes/films/documents/9", &Value::Null));
    for stream in [&mut tasks_now, &mut batches_now] {
        loop {
            let (_, event) = stream.next();
            assert!(!event.to_string().contains(HIDDEN), "{event}");
            // Of a task or of its batch; each comes last.
            let is_last = event["uid"] == last["uid"] || event["uid"] == last["batchUid"];
            if is_last && !event["finishedAt"].is_null() {
                break;
            }
        }
    }
    let mut again = Stream::open(&server, "/tasks/stream", &key, Some("0-0-0"));
    server.add("films", json!([{"id": 10}]));
    assert!(!again.next().1.to_string().contains(HIDDEN));
    // Who may know of both sees both.
    let both = value(&make(&server, &["tasks.get"], &["films", &format!("{HIDDEN}*")]));
    assert!(Value::from(list("/tasks?types=indexClone", &both)).to_string().contains(HIDDEN));
}
