//! Embedders that are slow, or not there: no task waits for one that it does not need.

use super::*;
use crate::receiver::{Receiver, Reply, answering};
use crate::task_streams::Stream;

/// Longer than any task of these tests takes, and much shorter than an embedder is waited for.
const SHORT: Duration = Duration::from_secs(20);

fn status(server: &Server, task: &Answer) -> Value {
    server.get(&format!("/tasks/{}", task.body["taskUid"])).ok()["status"].clone()
}

/// An address at which no server listens.
fn closed() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}/embed", listener.local_addr().expect("a bound address"))
}

#[test]
fn nothing_waits_for_an_embedder_that_is_silent() {
    let (silent, live) = (Model::start(), Model::start());
    let server = pets(&silent);
    server.set("others", json!({"embedders": {"m": live.configuration()}}));
    silent.be(Manner { holds: Some("slow"), ..Manner::default() });
    let waiting = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a slow snail"}]));
    until_found(&server, "snail");
    let began = Instant::now();
    // Other indexes, with an embedder and without.
    server.add("plain", json!([{"id": 1}]));
    server.add("others", json!([{"id": 1, "text": "a kitten"}]));
    assert_eq!(server.ids("others", near("cat")), [1], "an embedder of another index is not held up");
    // The same index: documents, deletions, settings, a clone.
    let second = server.post("/indexes/pets/documents", json!([{"id": 4, "text": "a slow tortoise"}]));
    until_found(&server, "tortoise");
    server.done(&server.delete("/indexes/pets/documents/1"));
    server.set("pets", json!({"filterableAttributes": ["text"], "stopWords": ["a"]}));
    server.add("pets", json!([{"id": 5, "text": "a hare", "_vectors": {"m": [1, 1]}}]));
    server.done(&server.delete("/indexes/pets/documents/5"));
    server.done(&server.post("/indexes/pets/documents/delete", json!({"filter": "text = 'a dog runs'"})));
    server.done(&server.post("/indexes/pets/clone", json!({"uid": "copy"})));
    server.done(&server.post("/dumps", Value::Null));
    server.done(&server.post("/snapshots", Value::Null));
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    assert_eq!([status(&server, &waiting), status(&server, &second)], ["processing", "processing"]);
    // Both are listed, and found by their state.
    let listed = server.get("/tasks?statuses=processing").ok();
    assert_eq!(listed["total"], 2, "{listed}");
    let batches = server.get("/batches?statuses=processing").ok();
    assert_eq!(batches["total"], 2, "{batches}");
    assert_eq!(server.get("/indexes/pets/stats").ok()["isIndexing"], true);
    silent.be(Manner::default());
    for task in [&waiting, &second] {
        let task = server.done(task);
        assert_eq!(task["details"]["indexedDocuments"], 1);
        assert_eq!(server.get(&format!("/batches/{}", task["batchUid"])).ok()["progress"], Value::Null);
    }
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [3, 4]);
}

/// The task of a clone ends at once, and its vectors come when they can.
#[test]
fn a_clone_of_an_index_that_waits_gets_its_vectors() {
    let model = Model::start();
    let mut server = pets(&model);
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let waiting = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a slow snail"}]));
    until_found(&server, "snail");
    server.done(&server.post("/indexes/pets/clone", json!({"uid": "copy"})));
    server.done(&server.post("/indexes/pets/clone", json!({"uid": "other"})));
    model.be(Manner::default());
    server.done(&waiting);
    let embedded = |server: &Server, index: &str| server.ids(index, json!({"filter": "_vectors.m EXISTS"})).len();
    let until_embedded = |server: &Server, index: &str, count: usize| {
        soon_as(|| embedded(server, index), |found| *found >= count);
    };
    until_embedded(&server, "copy", 3);
    until_embedded(&server, "other", 3);
    // One that is made while its vectors are asked for, and then the process dies.
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    server.post("/indexes/copy/documents", json!([{"id": 4, "text": "a slow tortoise"}]));
    until(|| !server.ids("copy", json!({"q": "tortoise"})).is_empty());
    server.done(&server.post("/indexes/copy/clone", json!({"uid": "third"})));
    server.kill();
    model.be(Manner::default());
    server.start_again();
    until_embedded(&server, "third", 4);
}

/// Checks the limit on the batches of one index that wait for vectors: later ones wait in the queue.
#[test]
fn more_batches_than_may_wait_end_well() {
    let model = Model::start();
    let server = Server::with_options(&[&LOCAL[..], &["--experimental-max-number-of-batched-tasks", "1"]].concat());
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": model.configuration()})));
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let add = |id: u64| server.post("/indexes/pets/documents", json!([{"id": id, "text": format!("slow {id}")}]));
    let tasks: Vec<Answer> = (0..505).map(add).collect();
    let total = |status: &str| server.get(&format!("/tasks?statuses={status}&limit=1")).ok()["total"].clone();
    soon_as(|| total("processing"), |count| *count == 500);
    // Other indexes go on; what comes behind documents that wait in the queue stays behind them.
    let deletion = server.delete("/indexes/pets/documents/504");
    server.add("plain", json!([{"id": 1}]));
    assert_eq!([total("processing"), total("enqueued")], [500, 6]);
    model.be(Manner::default());
    for task in [&tasks[0], &tasks[499], &tasks[500], &tasks[504], &deletion] {
        server.done(task);
    }
    let found = server.search("pets", json!({"filter": "_vectors.m EXISTS", "limit": 0}));
    assert_eq!(found["estimatedTotalHits"], 504);
    assert_eq!([total("processing"), total("enqueued"), total("failed")], [0, 0, 0]);
}

#[test]
fn a_stream_shows_how_far_batches_are_that_wait_for_vectors() {
    let model = Model::start();
    let server = pets(&model);
    server.patch("/experimental-features", json!({"tasksStreamingRoute": true})).ok();
    let mut stream = Stream::open(&server, "/batches/stream", "", None);
    model.be(Manner { status: Some(503), ..Manner::default() });
    let waiting = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a snail"}]));
    let is_trying = |batch: &Value| {
        let steps = batch["progress"]["steps"].as_array();
        let names = steps.into_iter().flatten().filter_map(|step| step["currentStep"].as_str());
        names.into_iter().any(|name| name.starts_with("try "))
    };
    let mut tries = 0;
    while tries < 2 {
        tries += u32::from(is_trying(&stream.next().1));
    }
    model.be(Manner::default());
    let task = server.done(&waiting);
    let ended = std::iter::from_fn(|| Some(stream.next().1)).find(|batch| !batch["finishedAt"].is_null()).unwrap();
    assert_eq!((&ended["uid"], &ended["progress"]), (&task["batchUid"], &Value::Null));
}

/// A webhook hears of a batch when its documents have their vectors, and not before.
#[test]
fn a_webhook_is_sent_when_the_vectors_are_there() {
    let model = Model::start();
    let server = pets_at(&model, &["--task-webhook-plain"]);
    let receiver = Receiver::start([]);
    assert_eq!(server.post("/webhooks", json!({"url": receiver.url})).status, 201);
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let waiting = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a slow snail"}]));
    until_found(&server, "snail");
    let other = server.add("plain", json!([{"id": 1}]));
    model.be(Manner::default());
    let task = server.done(&waiting);
    for expected in [other, task] {
        let sent: Value = serde_json::from_str(receiver.next().text()).expect("one task");
        assert_eq!((&sent["uid"], &sent["status"]), (&expected["uid"], &json!("succeeded")), "{sent}");
    }
}

#[test]
fn an_index_is_deleted_while_it_waits() {
    let model = Model::start();
    let server = pets(&model);
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let waiting = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a slow snail"}]));
    until_found(&server, "snail");
    let change = json!({"m": {"documentTemplate": "slow {{ doc.text }}"}});
    let change = server.patch("/indexes/pets/settings/embedders", change);
    server.wait_for_processing(change.body["taskUid"].as_u64().unwrap());
    let began = Instant::now();
    server.done(&server.delete("/indexes/pets"));
    assert_eq!(server.wait(&waiting)["status"], "succeeded", "its documents were written");
    assert_eq!(server.wait(&change)["status"], "succeeded", "as with any task before a deletion");
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    server.get("/indexes/pets").refused(404, "index_not_found");
    // Another one of the name is not mixed up with it.
    server.add("pets", json!([{"id": 3, "text": "another"}]));
    assert_eq!(server.get("/indexes/pets/settings/embedders").ok(), json!({}));
}

#[test]
fn settings_that_ask_hold_up_only_what_depends_on_them() {
    let model = Model::start();
    let server = pets(&model);
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let template = |text: &str| json!({"m": {"documentTemplate": text}});
    let asking = server.patch("/indexes/pets/settings/embedders", template("slow {{ doc.text }}"));
    server.wait_for_processing(asking.body["taskUid"].as_u64().unwrap());
    let began = Instant::now();
    server.add("others", json!([{"id": 1}]));
    server.set("others", json!({"stopWords": ["a"]}));
    // Its words are found, and its vector is made by the template as it is now.
    server.add("pets", json!([{"id": 3, "text": "a rabbit"}]));
    server.set("pets", json!({"stopWords": ["a"]}));
    // What depends on it waits, and what comes behind that.
    let next = server.patch("/indexes/pets/settings/embedders", template("{{ doc.text }}!"));
    let behind = server.post("/indexes/pets/documents", json!([{"id": 4, "text": "a hen"}]));
    server.add("others", json!([{"id": 2}]));
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    let statuses = [&asking, &next, &behind].map(|task| status(&server, task));
    assert_eq!(statuses, ["processing", "enqueued", "enqueued"]);
    assert_eq!(server.get("/indexes/pets/settings/embedders").ok()["m"]["documentTemplate"], "{{ doc.text }}");
    assert_eq!(server.ids("pets", near("kitten"))[0], 1, "the vectors of before are there until the new ones are");
    model.take_texts();
    model.be(Manner::default());
    server.done(&asking);
    server.done(&next);
    server.done(&behind);
    assert_eq!(server.get("/indexes/pets/settings/embedders").ok()["m"]["documentTemplate"], "{{ doc.text }}!");
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 3, 4]);
    let texts = model.take_texts();
    assert!(texts.contains(&"slow a rabbit".to_owned()), "{texts:?}");
    assert!(texts.contains(&"a rabbit!".to_owned()), "{texts:?}");
}

#[test]
fn an_address_that_refuses_is_reported_when_it_is_set() {
    let model = Model::start();
    let server = pets(&model);
    let mut configuration = model.configuration();
    configuration["url"] = json!(closed());
    let began = Instant::now();
    let change = server.patch("/indexes/pets/settings/embedders", json!({"m": configuration}));
    let failed = server.fails(&change, "vector_embedding_error");
    assert!(failed["error"]["message"].as_str().unwrap().contains("could not reach embedding server"), "{failed}");
    assert_eq!(server.get("/indexes/pets/settings/embedders").ok()["m"]["url"], model.url, "it has no effect");
    // Where nothing has to be embedded yet, it takes effect, and says so.
    let task = server.set("empty", json!({"embedders": {"m": configuration}}));
    let reason = task["details"]["embeddingFailures"]["embedders"]["m"].as_str().expect("a reason").to_owned();
    assert!(reason.starts_with("runtime error: could not reach embedding server"), "{task}");
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    assert!(server.log().contains("cannot reach an embedder that was just set"), "{}", server.log());
    let task = server.set("empty", json!({"embedders": {"m": model.configuration()}}));
    assert_eq!(task["details"].get("embeddingFailures"), None, "{task}");
}

/// Checks that the progress of a batch shows the first failure at once.
#[test]
fn the_first_failure_is_seen_where_one_looks() {
    let model = Model::start();
    let server = pets(&model);
    model.fail(503);
    let waiting = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a snail"}]));
    let began = Instant::now();
    let step = soon(|| {
        let batches = server.get("/batches?statuses=processing").ok();
        let steps = batches["results"][0]["progress"]["steps"].as_array().cloned().unwrap_or_default();
        let mut steps = steps.iter().map(|step| step["currentStep"].as_str().unwrap());
        steps.find(|step| step.starts_with("try ")).map(str::to_owned)
    });
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    assert!(step.contains(" of 10 after: runtime error: received internal error HTTP 503"), "{step}");
    assert_eq!(status(&server, &waiting), "processing");
    server.wait_for_log("an embedding server failed");
    model.be(Manner::default());
    let task = server.done(&waiting);
    let stats = server.get(&format!("/batches/{}", task["batchUid"])).ok()["stats"].clone();
    assert!(stats["embedderRequests"]["failed"].as_u64() > Some(0), "{stats}");
}

#[test]
fn a_value_that_is_no_vector_costs_its_document_only() {
    let url = answering(|request| {
        let body: Value = serde_json::from_slice(&request.body).ok()?;
        let vector = |text: &Value| match text.as_str().unwrap_or_default() {
            "null" => "null".to_owned(),
            "nan" => "[NaN, 1.0]".to_owned(),
            "short" => "[1.0]".to_owned(),
            _ => "[1.0, 0.5]".to_owned(),
        };
        let vectors: Vec<String> = body["input"].as_array()?.iter().map(vector).collect();
        Some(Reply::new(200, format!(r#"{{"vectors": [{}]}}"#, vectors.join(", "))))
    });
    let server = Server::with_options(&LOCAL);
    let mut configuration = Model::start().configuration();
    configuration["url"] = json!(url);
    server.set("pets", json!({"embedders": {"m": configuration}}));
    let began = Instant::now();
    let texts = ["right", "null", "nan", "short", "right too"];
    let documents: Vec<Value> = (1..).zip(texts).map(|(id, text)| json!({"id": id, "text": text})).collect();
    let task = server.add("pets", json!(documents));
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 5]);
    let failures = task["details"]["embeddingFailures"]["documents"].as_array().expect("failures").clone();
    let ids: Vec<&Value> = failures.iter().map(|failed| &failed["id"]).collect();
    assert_eq!(ids, [2, 3, 4], "{task}");
}

#[test]
fn what_is_written_stays_in_order_over_a_kill_and_a_stop() {
    let model = Model::start();
    let mut server = pets(&model);
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let add = |server: &Server, text: &str| {
        server.post("/indexes/pets/documents", json!([{"id": 3, "text": format!("a slow {text}")}]))
    };
    let first = add(&server, "snail");
    until_found(&server, "snail");
    let second = add(&server, "tortoise");
    until_found(&server, "tortoise");
    server.kill();
    server.start_again();
    assert_eq!(server.ids("pets", json!({"q": "tortoise"})), [3]);
    assert_eq!(server.ids("pets", json!({"q": "snail"})), [0; 0], "the earlier task is not carried out again");
    let began = Instant::now();
    assert!(server.terminate().success());
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    server.start_again();
    assert_eq!([status(&server, &first), status(&server, &second)], ["processing", "processing"]);
    model.be(Manner::default());
    server.done(&first);
    server.done(&second);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 3]);
    assert_eq!(server.ids("pets", json!({"q": "tortoise"})), [3]);
}
