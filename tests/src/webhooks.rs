//! Webhooks: their routes, and what receivers get that answer, fail, stall and redirect.

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::receiver::{Behaviour, Received, Receiver};
use crate::server::Server;

const LOCAL: [&str; 2] = ["--experimental-allowed-ip-networks", "127.0.0.0/8"];

/// A server that sends plain text, which tests read as it is.
fn start(options: &[&str]) -> Server {
    let options: Vec<&str> = LOCAL.iter().chain(&["--task-webhook-plain"]).chain(options).copied().collect();
    Server::with_options(&options)
}

fn hook(server: &Server, body: Value) -> Value {
    let made = server.post("/webhooks", body);
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

/// The lines of a body.
fn tasks(received: &Received) -> Vec<Value> {
    let text = received.text();
    assert!(text.ends_with('\n'), "{text}");
    text.lines().map(|line| serde_json::from_str(line).expect("a task on each line")).collect()
}

#[test]
fn webhooks_are_kept_and_secrets_are_not_shown() {
    let mut server = start(&["--task-webhook-url", "http://127.0.0.1:1/launch"]);
    let body = json!({"url": "https://example.org/hook", "headers": {"Authorization": "TOKEN", "X-Of": "films"}});
    let made = hook(&server, body);
    assert_eq!(made.as_object().unwrap().keys().collect::<Vec<_>>(), ["uuid", "isEditable", "url", "headers"]);
    assert_eq!((&made["isEditable"], &made["url"]), (&json!(true), &json!("https://example.org/hook")));
    assert_eq!(made["headers"], json!({"Authorization": "XXX...", "X-Of": "films"}));
    let path = format!("/webhooks/{}", made["uuid"].as_str().unwrap());
    assert_eq!(server.get(&path).ok(), made);

    let changed = server.patch(&path, json!({"headers": {"authorization": "UPDATED TOKEN", "X-Of": null}})).ok();
    assert_eq!(changed["headers"], json!({"authorization": "UPXXXX..."}));
    assert_eq!(changed["url"], made["url"]);
    server.kill();
    server.start_again();
    assert_eq!(server.get(&path).ok(), changed);

    let list = server.get("/webhooks").ok();
    let nil = "00000000-0000-0000-0000-000000000000";
    assert_eq!(list["results"][0]["uuid"], nil);
    assert_eq!(list["results"][0]["isEditable"], false);
    assert_eq!((&list["results"][1], &list["offset"], &list["total"]), (&changed, &json!(0), &json!(2)));
    server.patch(&format!("/webhooks/{nil}"), json!({"url": "http://a.b"})).refused(400, "immutable_webhook");
    server.delete(&format!("/webhooks/{nil}")).refused(400, "immutable_webhook");

    assert_eq!(server.delete(&path).status, 204);
    server.get(&path).refused(404, "webhook_not_found");
    server.kill();
    server.start_again();
    assert_eq!(server.get("/webhooks").ok()["total"], 1);
}

#[test]
fn bad_webhooks_are_refused() {
    let server = start(&[]);
    let url = "https://example.org/";
    for (body, code) in [
        (json!({}), "invalid_webhook_url"),
        (json!({"url": null}), "invalid_webhook_url"),
        (json!({"url": "nope"}), "invalid_webhook_url"),
        (json!({"url": "ftp://example.org"}), "invalid_webhook_url"),
        (json!({"url": url, "headers": {"bad name": "x"}}), "invalid_webhook_headers"),
        (json!({"url": url, "headers": {"a": "b\nc"}}), "invalid_webhook_headers"),
        (json!({"url": url, "headers": {"Content-Length": "1"}}), "invalid_webhook_headers"),
        (json!({"url": url, "headers": ["a"]}), "invalid_webhook_headers"),
        (json!({"url": url, "uuid": "x"}), "immutable_webhook_uuid"),
        (json!({"url": url, "isEditable": true}), "immutable_webhook_is_editable"),
        (json!({"url": url, "colour": "red"}), "bad_request"),
    ] {
        server.post("/webhooks", body).refused(400, code);
    }
    server.get("/webhooks/nope").refused(400, "invalid_webhook_uuid");
    server.get("/webhooks/4bc0887a-0e41-4f3b-935d-0c451dcee9c8").refused(404, "webhook_not_found");
    for _ in 0..20 {
        hook(&server, json!({"url": url}));
    }
    server.post("/webhooks", json!({"url": url})).refused(400, "invalid_webhooks");
    assert_eq!(server.get("/webhooks").ok()["results"].as_array().unwrap().len(), 20);
}

#[test]
fn every_receiver_hears_of_every_batch() {
    let (launch, added) = (Receiver::start([]), Receiver::start([]));
    let server =
        start(&["--task-webhook-url", &launch.url, "--task-webhook-authorization-header", "Bearer launch-secret"]);
    hook(&server, json!({"url": added.url, "headers": {"Authorization": "added-secret", "X-Of": "films"}}));
    server.add("films", json!([{"id": 1}]));

    let delivery = added.next();
    assert_eq!((delivery.method.as_str(), delivery.path.as_str()), ("POST", "/hook"));
    assert_eq!(delivery.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(delivery.header("content-encoding"), None);
    assert_eq!((delivery.header("authorization"), delivery.header("x-of")), (Some("added-secret"), Some("films")));
    assert_eq!(tasks(&delivery), [server.get("/tasks/0").ok()], "as the route shows it");
    let delivery = launch.next();
    assert_eq!(delivery.header("authorization"), Some("Bearer launch-secret"));
    assert_eq!(tasks(&delivery)[0]["uid"], 0);

    // Only now: batches are delivered beside each other, in no order.
    let failed = server.wait(&server.delete("/indexes/absent"));
    for receiver in [&added, &launch] {
        assert_eq!(tasks(&receiver.next()), std::slice::from_ref(&failed));
    }
    added.nothing_more();
    launch.nothing_more();
}

#[test]
fn a_batch_is_one_request_with_a_line_per_task() {
    let receiver = Receiver::start([]);
    let server = start(&[]);
    hook(&server, json!({"url": receiver.url}));
    let answers: Vec<_> = (0..60).map(|i| server.post("/indexes/films/documents", json!([{"id": i}]))).collect();
    answers.iter().for_each(|answer| drop(server.done(answer)));
    let mut uids = Vec::new();
    while uids.len() < 60 {
        let batch = tasks(&receiver.next());
        assert!(batch.iter().all(|task| task["batchUid"] == batch[0]["batchUid"]), "{batch:?}");
        uids.extend(batch.iter().map(|task| task["uid"].as_u64().unwrap()));
    }
    uids.sort_unstable();
    assert_eq!(uids, (0..60).collect::<Vec<u64>>());
    receiver.nothing_more();
}

#[test]
fn bodies_are_compressed_unless_plain_ones_are_asked_for() {
    let receiver = Receiver::start([]);
    let server = Server::with_options(&LOCAL);
    hook(&server, json!({"url": receiver.url}));
    server.add("films", json!([{"id": 1}]));
    let mut delivery = receiver.next();
    assert_eq!(delivery.header("content-encoding"), Some("gzip"));
    let packed = std::mem::take(&mut delivery.body);
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut delivery.body).expect("gzip");
    assert_eq!(tasks(&delivery)[0]["uid"], 0);
}

#[test]
fn receivers_that_fail_are_called_again() {
    let receiver = Receiver::start([Behaviour::Answer(500), Behaviour::Answer(429)]);
    let server = start(&[]);
    hook(&server, json!({"url": receiver.url}));
    server.add("films", json!([{"id": 1}]));
    let bodies = [receiver.next(), receiver.next(), receiver.next()].map(|delivery| delivery.text().to_owned());
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    receiver.nothing_more();
    // Who refuses is not asked twice.
    let refusing = Receiver::start([Behaviour::Answer(403)]);
    hook(&server, json!({"url": refusing.url}));
    server.add("films", json!([{"id": 2}]));
    refusing.next();
    // Nothing must happen, for longer than the first pause before another attempt.
    std::thread::sleep(Duration::from_millis(700));
    refusing.nothing_more();
}

#[test]
fn a_receiver_that_stalls_holds_no_one_up() {
    let stalling = Receiver::start((0..100).map(|_| Behaviour::Stall));
    let good = Receiver::start([]);
    let mut server = start(&[]);
    hook(&server, json!({"url": stalling.url}));
    hook(&server, json!({"url": good.url}));
    for id in 0..10 {
        server.add("films", json!([{"id": id}]));
    }
    // Behind the stalling one, the last of these would come after the times of several attempts.
    for _ in 0..10 {
        good.next();
    }
    stalling.next();
    // Nor the end of the server, which would be minutes away if it waited for all attempts.
    let begin = Instant::now();
    assert!(server.terminate().success());
    assert!(begin.elapsed() < Duration::from_secs(60), "it took {:?}", begin.elapsed());
}

#[test]
fn redirects_are_followed_where_requests_may_go() {
    let end = Receiver::start([]);
    let there = Receiver::start([Behaviour::Redirect(end.url.clone())]);
    let secret = Receiver::start([]);
    // Also this machine, but outside of what is allowed.
    let outside = secret.url.replace("127.0.0.1", "127.0.0.2");
    let elsewhere = Receiver::start([Behaviour::Redirect(outside)]);
    let server = Server::with_options(&["--experimental-allowed-ip-networks", "127.0.0.1", "--task-webhook-plain"]);
    hook(&server, json!({"url": there.url}));
    hook(&server, json!({"url": elsewhere.url}));
    server.add("films", json!([{"id": 1}]));
    there.next();
    assert_eq!(tasks(&end.next())[0]["uid"], 0);
    elsewhere.next();
    server.wait_for_log("Rejected IP");
    elsewhere.nothing_more();
    secret.nothing_more();
}

#[test]
fn private_addresses_are_not_called_unless_allowed() {
    let receiver = Receiver::start([]);
    let server = Server::bare(&[]);
    hook(&server, json!({"url": receiver.url}));
    hook(&server, json!({"url": receiver.url.replace("127.0.0.1", "localhost")}));
    server.add("films", json!([{"id": 1}]));
    // One line for each of them.
    server.wait_for_log_lines("Rejected IP", 2);
    receiver.nothing_more();
}

#[test]
fn canceled_tasks_are_reported_with_their_cancelation() {
    let receiver = Receiver::start([]);
    let server = start(&[]);
    hook(&server, json!({"url": receiver.url}));
    // Many indexes, so that the last of them still waits when the cancelation comes.
    let answers: Vec<_> =
        (0..30).map(|i| server.post(&format!("/indexes/i{i}/documents"), json!([{"id": 1}]))).collect();
    let cancelation = server.wait(&server.post("/tasks/cancel?statuses=enqueued", Value::Null));
    let canceled = cancelation["details"]["canceledTasks"].as_u64().unwrap();
    answers.iter().for_each(|answer| drop(server.wait(answer)));
    let batch = loop {
        let batch = tasks(&receiver.next());
        if batch.iter().any(|task| task["type"] == "taskCancelation") {
            break batch;
        }
    };
    assert_eq!(batch.len() as u64, canceled + 1);
    assert_eq!(batch.iter().filter(|task| task["status"] == "canceled").count() as u64, canceled);
}
