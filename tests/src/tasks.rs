//! Tasks: their shape, their list, their filters.

use serde_json::{Value, json};

use crate::server::Server;

fn uids(list: &Value) -> Vec<u64> {
    list["results"].as_array().expect("results").iter().map(|task| task["uid"].as_u64().unwrap()).collect()
}

#[test]
fn a_finished_task_reports_everything() {
    let server = Server::start();
    let task = server.add("films", json!([{"id": 1}]));
    let keys: Vec<&String> = task.as_object().unwrap().keys().collect();
    let expected = [
        "uid",
        "batchUid",
        "indexUid",
        "status",
        "type",
        "canceledBy",
        "details",
        "error",
        "duration",
        "enqueuedAt",
        "startedAt",
        "finishedAt",
    ];
    assert_eq!(keys, expected);
    assert_eq!((&task["uid"], &task["batchUid"], &task["error"]), (&json!(0), &json!(0), &Value::Null));
    assert!(task["duration"].as_str().unwrap().starts_with("PT"), "{task}");
    for time in ["enqueuedAt", "startedAt", "finishedAt"] {
        assert!(task[time].as_str().unwrap().ends_with('Z'), "{task}");
    }
    let failed = server.fails(&server.delete("/indexes/absent"), "index_not_found");
    for key in ["message", "code", "type", "link"] {
        assert!(failed["error"][key].is_string(), "{failed}");
    }
}

#[test]
fn the_list_is_filtered_and_paged() {
    let server = Server::start();
    server.add("a", json!([{"id": 1}]));
    server.add("b", json!([{"id": 1}]));
    server.done(&server.delete("/indexes/a/documents/1"));
    server.wait(&server.delete("/indexes/absent"));
    server.set("b", json!({"stopWords": ["x"]}));

    for (query, expected) in [
        ("", vec![4, 3, 2, 1, 0]),
        ("?reverse=true&limit=2", vec![0, 1]),
        ("?from=2&limit=2", vec![2, 1]),
        ("?indexUids=a", vec![2, 0]),
        ("?indexUids=a,b&types=documentAdditionOrUpdate", vec![1, 0]),
        ("?types=DOCUMENTDELETION,settingsUpdate", vec![4, 2]),
        ("?statuses=failed", vec![3]),
        ("?statuses=*&uids=1,3,99", vec![3, 1]),
        ("?statuses=enqueued,processing", vec![]),
        ("?afterEnqueuedAt=2100-01-01", vec![]),
        ("?beforeFinishedAt=2100-01-01T00:00:00Z", vec![4, 3, 2, 1, 0]),
        ("?canceledBy=1", vec![]),
    ] {
        assert_eq!(uids(&server.get(&format!("/tasks{query}")).ok()), expected, "{query}");
    }
    let page = server.get("/tasks?limit=2").ok();
    let keys = (&page["total"], &page["limit"], &page["from"], &page["next"]);
    assert_eq!(keys, (&json!(5), &json!(2), &json!(4), &json!(2)));
    assert_eq!(server.get("/tasks?uids=99").ok()["from"], Value::Null);
}

/// All six bounds are exclusive.
#[test]
fn times_bound_the_list() {
    let server = Server::start();
    let tasks: Vec<Value> = (0..3)
        .map(|id| {
            // Each of them has times of its own.
            std::thread::sleep(std::time::Duration::from_millis(2));
            server.add("films", json!([{"id": id}]))
        })
        .collect();
    for (time, name) in [("enqueuedAt", "EnqueuedAt"), ("startedAt", "StartedAt"), ("finishedAt", "FinishedAt")] {
        let of_middle = tasks[1][time].as_str().expect("a time");
        let list = |query: String| uids(&server.get(&format!("/tasks?{query}")).ok());
        assert_eq!(list(format!("before{name}={of_middle}")), [0], "{of_middle}");
        assert_eq!(list(format!("after{name}={of_middle}")), [2], "{of_middle}");
        let (first, last) = (&tasks[0][time], &tasks[2][time]);
        let between = format!("after{name}={}&before{name}={}", first.as_str().unwrap(), last.as_str().unwrap());
        assert_eq!(list(between), [1]);
        assert_eq!(list(format!("after{name}=2001-02-03&before{name}=2999-12-31")), [2, 1, 0]);
        assert_eq!(list(format!("before{name}=2001-02-03&after{name}=*")), [] as [u64; 0]);
        for bound in ["before", "after"] {
            let code = format!("invalid_task_{bound}_{}", name.replace("At", "_at").to_ascii_lowercase());
            server.get(&format!("/tasks?{bound}{name}=2001-13-03")).refused(400, &code);
            server.get(&format!("/batches?{bound}{name}=soon")).refused(400, &code);
        }
    }
}

#[test]
fn what_is_no_filter_is_refused() {
    let server = Server::start();
    for (query, code) in [
        ("limit=x", "invalid_task_limit"),
        ("from=x", "invalid_task_from"),
        ("uids=1,x", "invalid_task_uids"),
        ("types=x", "invalid_task_types"),
        ("statuses=x", "invalid_task_statuses"),
        ("canceledBy=x", "invalid_task_canceled_by"),
        ("indexUids=a%20b", "invalid_index_uid"),
        ("afterEnqueuedAt=yesterday", "invalid_task_after_enqueued_at"),
        ("colour=red", "bad_request"),
    ] {
        server.get(&format!("/tasks?{query}")).refused(400, code);
    }
    server.get("/tasks/7").refused(404, "task_not_found");
    server.get("/tasks/x").refused(400, "invalid_task_uids");
}

/// Many small writes at once: each is carried out once, whatever the batches.
#[test]
fn a_flood_of_small_writes_ends_in_order() {
    let server = Server::start();
    let answers: Vec<_> =
        (0..100).map(|i| server.post("/indexes/films/documents", json!([{"id": i % 10, "n": i}]))).collect();
    assert!(answers.iter().all(|answer| answer.status == 202));
    server.done(&answers[99]);
    let list = server.get("/indexes/films/documents").ok();
    let numbers: Vec<u64> = list["results"].as_array().unwrap().iter().map(|d| d["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (90..100).collect::<Vec<u64>>());
    let succeeded = server.get("/tasks?statuses=succeeded&limit=1").ok();
    assert_eq!(succeeded["total"], 100);
}

#[test]
fn replicas_choose_the_numbers_of_their_tasks() {
    use reqwest::Method;
    let server = Server::with_options(&["--experimental-replication-parameters"]);
    let write_with = |headers: &[(&str, &str)]| {
        let request = server.request(Method::POST, "/indexes/films/documents").json(&json!([{"id": 1}]));
        server.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)))
    };
    let write = |name: &str, value: &str| write_with(&[(name, value)]);
    assert_eq!(write("TaskId", "25").body["taskUid"], 25);
    let refused = write("TaskId", "12");
    refused.refused(400, "bad_request");
    assert_eq!(refused.body["message"], "Received bad task id: 12 should be >= to 26.");
    write("TaskId", "many").refused(400, "bad_request");
    let dry = write("DryRun", "true");
    assert_eq!((dry.status, &dry.body["taskUid"], &dry.body["status"]), (202, &json!(26), &json!("enqueued")));
    assert_eq!(write_with(&[("DryRun", "true"), ("TaskId", "30")]).body["taskUid"], 30);
    write_with(&[("DryRun", "true"), ("TaskId", "12")]).refused(400, "bad_request");
    server.wait_for(25);
    assert_eq!(server.get("/tasks").ok()["total"], 1);
    assert_eq!(server.add("films", json!([{"id": 2}]))["uid"], 26);
    // Without the option the headers mean nothing.
    let server = Server::start();
    let request = server.request(Method::POST, "/indexes/films/documents").header("TaskId", "25");
    assert_eq!(server.send(request.json(&json!([{"id": 1}]))).body["taskUid"], 0);
}

#[test]
fn the_documents_of_a_waiting_task_can_be_read() {
    let server = Server::with_options(&["--experimental-allowed-ip-networks", "127.0.0.1"]);
    let done = server.add("films", json!((0..8).map(|id| json!({"id": id})).collect::<Vec<_>>()));
    server.get("/tasks/0/documents").refused(400, "feature_not_enabled");
    server.patch("/experimental-features", json!({"getTaskDocumentsRoute": true})).ok();
    let held = server.hold_queue();
    let few = server.post("/indexes/films/documents", json!([{"id": 1, "a": "b"}, {"id": 2}]));
    let large: Vec<Value> = (0..1000).map(|id| json!({"id": id, "text": "word ".repeat(200)})).collect();
    let many = server.post("/indexes/films/documents", json!(large));
    let read = |answer: &crate::server::Answer| server.get(&format!("/tasks/{}/documents", answer.body["taskUid"]));
    let (lines_of_few, lines_of_many) = (read(&few).text, read(&many).text);
    server.get(&format!("/tasks/{}/documents", done["uid"])).refused(404, "task_file_not_found");
    let payloads = std::fs::read_dir(server.data_folder().join("payloads")).expect("a folder");
    let file = payloads.map(|entry| entry.expect("a file").path()).next().expect("the large one");
    let whole = std::fs::read(&file).expect("reads");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&file, damaged).expect("writes");
    read(&many).refused(500, "invalid_store_file");
    std::fs::write(&file, whole).expect("writes");
    server.release_queue(held);
    assert_eq!(lines_of_few, "{\"id\":1,\"a\":\"b\"}\n{\"id\":2}\n");
    let lines: Vec<Value> = lines_of_many.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines, large);
    server.wait(&many);
    read(&few).refused(404, "task_file_not_found");
    server.get("/tasks/99/documents").refused(404, "task_not_found");
}

#[test]
fn the_queue_can_be_made_small_again() {
    let server = Server::start();
    server.post("/tasks/compact", json!(null)).refused(400, "feature_not_enabled");
    server.patch("/experimental-features", json!({"taskQueueCompactionRoute": true})).ok();
    for n in 0..200 {
        server.post("/indexes/films/documents", json!([{"id": n, "text": "word ".repeat(500)}]));
    }
    server.wait_for(199);
    server.wait(&server.delete("/tasks?statuses=succeeded"));
    let compacted = server.post("/tasks/compact", json!(null)).ok();
    assert_eq!((&compacted["status"], &compacted["actionRequired"]), (&json!("succeeded"), &Value::Null));
    let before = compacted["preSize"].as_str().expect("a size").to_owned();
    let after = server.post("/tasks/compact", json!(null)).ok()["preSize"].clone();
    assert_ne!(after, json!(before), "{compacted}");
    assert_eq!(server.add("films", json!([{"id": 1}]))["uid"], 201, "the queue goes on");
}

#[test]
fn batches_report_what_they_wrote() {
    let server = Server::start();
    let stats = |task: &Value| server.get(&format!("/batches/{}", task["batchUid"])).ok()["stats"].clone();
    let written = stats(&server.add("films", json!([{"id": 1, "title": "Ran"}, {"id": 2, "title": "Ikiru"}])));
    let congestion = json!({"attempts": 2, "blocking_attempts": 0, "blocking_ratio": 0.0});
    assert_eq!(written["writeChannelCongestion"], congestion);
    let sizes = written["internalDatabaseSizes"].as_object().expect("sizes");
    assert!(sizes["store"].as_str().unwrap().contains(" B (+"), "{written}");
    // The same once more takes as much room as before.
    let again = stats(&server.add("films", json!([{"id": 1, "title": "Ran"}, {"id": 2, "title": "Ikiru"}])));
    assert_eq!(again["writeChannelCongestion"], congestion);
    assert_ne!(again.get("internalDatabaseSizes"), Some(&json!({})));
    for nothing in [
        server.done(&server.delete("/indexes/films/documents/99")),
        server.done(&server.post("/indexes", json!({"uid": "books"}))),
        server.fails(&server.delete("/indexes/absent/documents/1"), "index_not_found"),
        server.set("books", json!({"displayedAttributes": ["title"]})),
        server.done(&server.post("/tasks/cancel?uids=0", json!(null))),
        server.done(&server.delete("/tasks?uids=0")),
        server.fails(&server.post("/swap-indexes", json!([{"indexes": ["a", "b"]}])), "index_not_found"),
    ] {
        let stats = stats(&nothing);
        assert_eq!(stats.get("writeChannelCongestion"), None, "{stats}");
        assert_eq!(stats.get("internalDatabaseSizes"), None, "{stats}");
        assert!(stats["progressTrace"].is_object(), "{stats}");
    }
}
