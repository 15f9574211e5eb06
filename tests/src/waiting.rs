//! `?wait=searchable`: a write is answered when it can be found.

use serde_json::{Value, json};

use crate::server::Server;

#[test]
fn what_was_waited_for_is_found() {
    let server = Server::start();
    for i in 0..20u64 {
        let answer =
            server.post("/indexes/films/documents?wait=searchable", json!([{"id": i, "title": format!("n{i}")}]));
        assert_eq!((answer.status, &answer.body["status"]), (202, &json!("succeeded")), "{}", answer.text);
        assert_eq!(answer.body["taskUid"], i);
        assert_eq!(
            server.ids("films", json!({"q": format!("n{i}")})),
            [i],
            "searched at once, without a look at the task"
        );
    }
    let keys: Vec<String> = server.get("/tasks/0").ok().as_object().unwrap().keys().cloned().collect();
    assert!(keys.contains(&"duration".to_owned()));
    for (method, path, body) in [
        ("PUT", "/indexes/films/documents", json!([{"id": 1, "title": "other"}])),
        ("POST", "/indexes/films/documents/delete-batch", json!([2])),
        ("DELETE", "/indexes/films/documents/3", Value::Null),
        ("PATCH", "/indexes/films/settings", json!({"sortableAttributes": ["id"]})),
        ("PUT", "/indexes/films/settings/stop-words", json!(["of"])),
        ("POST", "/indexes", json!({"uid": "new"})),
        ("DELETE", "/indexes/new", Value::Null),
        ("DELETE", "/tasks?uids=0", Value::Null),
    ] {
        let joint = if path.contains('?') { '&' } else { '?' };
        let request = server.request(method.parse().unwrap(), &format!("{path}{joint}wait=searchable"));
        let answer = server.send(if body.is_null() { request } else { request.json(&body) });
        assert_eq!(answer.body["status"], "succeeded", "{method} {path}: {}", answer.text);
    }
    assert_eq!(server.document_count("films"), 18);
}

#[test]
fn a_batch_reports_where_it_is_while_it_works() {
    let server = Server::start();
    let held = server.wait_for_vectors();
    let batch = server.get("/batches?statuses=processing").ok()["results"][0].clone();
    let steps = |batch: &Value| -> Vec<(Value, Value)> {
        let steps = batch["progress"]["steps"].as_array().expect("steps");
        steps.iter().map(|step| (step["currentStep"].clone(), step["total"].clone())).collect()
    };
    let expected = [(json!("processing tasks"), json!(2)), (json!("embedding documents"), json!(1))];
    assert_eq!(steps(&batch), expected, "{batch}");
    assert!(batch["progress"]["percentage"].as_f64().expect("a number") <= 50.0, "{batch}");
    assert_eq!((&batch["finishedAt"], &batch["stats"]["status"]), (&Value::Null, &json!({"processing": 1})));
    let same = server.get(&format!("/batches/{}", batch["uid"])).ok();
    assert_eq!(steps(&same), expected);
    server.done(&server.post("/tasks/cancel?indexUids=held", Value::Null));
    drop(held);
    // Its only task belongs to the batch that canceled it now.
    server.get(&format!("/batches/{}", batch["uid"])).refused(404, "batch_not_found");
    let last = server.get("/batches?limit=1").ok()["results"][0].clone();
    assert_eq!((&last["progress"], &last["stats"]["status"]["canceled"]), (&Value::Null, &json!(1)), "{last}");
}

#[test]
fn every_write_can_be_given_a_text_to_remember() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "one"}]));
    for (method, path, body) in [
        ("POST", "/indexes", json!({"uid": "new"})),
        ("PATCH", "/indexes/new", json!({"primaryKey": "id"})),
        ("PUT", "/indexes/films/documents", json!([{"id": 1, "title": "other"}])),
        ("POST", "/indexes/films/documents/delete-batch", json!([2])),
        ("DELETE", "/indexes/films/documents/3", Value::Null),
        ("DELETE", "/indexes/films/documents", Value::Null),
        ("PATCH", "/indexes/films/settings", json!({"sortableAttributes": ["id"]})),
        ("PUT", "/indexes/films/settings/stop-words", json!(["of"])),
        ("DELETE", "/indexes/films/settings", Value::Null),
        ("POST", "/indexes/films/compact", Value::Null),
        ("POST", "/swap-indexes", json!([{"indexes": ["films", "new"]}])),
        ("DELETE", "/indexes/new", Value::Null),
        ("POST", "/dumps", Value::Null),
        ("POST", "/snapshots", Value::Null),
        ("POST", "/tasks/cancel?uids=0", Value::Null),
        ("DELETE", "/tasks?uids=0", Value::Null),
    ] {
        let joint = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{joint}customMetadata=of%20a%20test");
        let request = server.request(method.parse().unwrap(), &path);
        let answer = server.send(if body.is_null() { request } else { request.json(&body) });
        assert_eq!(answer.body["customMetadata"], "of a test", "{method} {path}: {}", answer.text);
        assert_eq!(server.wait(&answer)["customMetadata"], "of a test", "{method} {path}");
        let twice = server.request(method.parse().unwrap(), &format!("{path}&customMetadata=b"));
        let twice = server.send(if body.is_null() { twice } else { twice.json(&body) });
        twice.refused(400, "invalid_index_custom_metadata");
    }
}

#[test]
fn failures_and_impatience_are_reported() {
    let server = Server::with_options(&["--experimental-allowed-ip-networks", "127.0.0.1"]);
    let failed = server.delete("/indexes/absent?wait=searchable");
    assert_eq!((failed.status, &failed.body["status"]), (202, &json!("failed")));
    assert_eq!(failed.body["error"]["code"], "index_not_found");
    let held = server.hold_queue();
    let early = ["0", "50"].map(|wait| {
        let early = server.post(&format!("/indexes/films/documents?waitMs={wait}&wait=searchable"), json!([{"id": 1}]));
        assert_eq!((early.status, &early.body["status"]), (202, &json!("enqueued")), "{}", early.text);
        early
    });
    server.release_queue(held);
    early.iter().for_each(|early| drop(server.done(early)));
    assert_eq!(server.document_count("films"), 1);

    server.post("/indexes/films/documents?wait=forever", json!([])).refused(400, "bad_request");
    server.post("/indexes/films/documents?wait=searchable&waitMs=x", json!([])).refused(400, "bad_request");
    server.get("/tasks?wait=searchable").refused(400, "bad_request");
}
