//! kill -9 while the server copies, swaps, cancels, changes keys and calls webhooks: what was acknowledged is there
//! afterwards, and nothing is half done. A few rounds each in every run; `just kills 200` makes it many.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::embedders::{LOCAL, Model};
use crate::receiver::Receiver;
use crate::server::{Answer, Server, soon};

fn rounds() -> u64 {
    std::env::var("LAMINA_KILL_ROUNDS").map_or(4, |rounds| rounds.parse().expect("LAMINA_KILL_ROUNDS is a number"))
}

fn send(server: &Server, method: Method, path: &str, body: Value) -> reqwest::Result<Answer> {
    server.try_send(server.request(method, path).json(&body))
}

/// Asks for a task, takes note of it once it is acknowledged, and waits for its end as long as the server lives.
fn task(server: &Server, path: &str, body: Value, acknowledged: &mut Vec<u64>) -> reqwest::Result<()> {
    let answer = send(server, Method::POST, path, body)?;
    let uid = answer.body["taskUid"].as_u64().unwrap_or_else(|| panic!("no task: {answer:?}"));
    acknowledged.push(uid);
    // An error means that the server was killed.
    soon(|| match server.try_send(server.request(Method::GET, &format!("/tasks/{uid}"))) {
        Ok(task) => task.body["finishedAt"].is_string().then_some(Ok(())),
        Err(error) => Some(Err(error)),
    })
}

#[track_caller]
fn all_succeed(server: &Server, acknowledged: &[u64]) {
    assert!(!acknowledged.is_empty(), "nothing was acknowledged: the test shows nothing");
    for &uid in acknowledged {
        let task = server.wait_for(uid);
        assert_eq!(task["status"], "succeeded", "{task}");
    }
}

/// Two thousand films and what belongs to them.
fn filled(options: &[&str]) -> Server {
    let server = Server::with_options(options);
    let film = |id: u32| json!({"id": id, "title": format!("Film number {id}"), "year": 1950 + id % 70});
    server.add("films", (0..2000).map(film).collect());
    server.set("films", json!({"filterableAttributes": ["year"], "synonyms": {"movie": ["film"]}}));
    server
}

/// Documents and settings of all indexes.
fn contents(server: &Server) -> Value {
    let indexes = server.get("/indexes?limit=1000").ok();
    let uids = indexes["results"].as_array().expect("results").iter().map(|index| index["uid"].as_str().unwrap());
    uids.map(|uid| {
        let documents = server.get(&format!("/indexes/{uid}/documents?limit=100000")).ok();
        json!([uid, documents, server.get(&format!("/indexes/{uid}/settings")).ok()])
    })
    .collect()
}

fn files(folder: PathBuf, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == extension)).collect();
    found.sort();
    found
}

#[test]
fn during_dumps() {
    let mut server = filled(&[]);
    let expected = contents(&server);
    let mut acknowledged = Vec::new();
    for round in 0..rounds() {
        server.killed_while(round, 400, |server| task(server, "/dumps", json!(null), &mut acknowledged));
    }
    all_succeed(&server, &acknowledged);
    let dumps = server.folder().join("dumps");
    for &uid in &acknowledged {
        let name = server.wait_for(uid)["details"]["dumpUid"].as_str().expect("a dump").to_owned();
        assert!(dumps.join(format!("{name}.dump")).is_file(), "{name} of task {uid}");
    }
    // A file with a final name is whole, whichever process wrote it and whether or not its task got to its end.
    let all = files(dumps, "dump");
    for path in &all {
        let mut archive = flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap());
        let bytes = archive.read_to_end(&mut Vec::new()).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(bytes > 0, "{path:?}");
    }
    assert_eq!(contents(&server), expected);
    let restored = Server::with_options(&["--import-dump", all.last().expect("a dump").to_str().unwrap()]);
    assert_eq!(contents(&restored), expected);
}

#[test]
fn during_snapshots() {
    let mut server = filled(&[]);
    let expected = contents(&server);
    let mut acknowledged = Vec::new();
    for round in 0..rounds() {
        server.killed_while(round, 150, |server| task(server, "/snapshots", json!(null), &mut acknowledged));
    }
    all_succeed(&server, &acknowledged);
    assert_eq!(contents(&server), expected);
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let restored = Server::with_options(&["--import-snapshot", snapshot.to_str().unwrap()]);
    assert_eq!(contents(&restored), expected);
}

#[test]
fn during_swaps() {
    let mut server = Server::start();
    for name in ["a", "b"] {
        server.add(name, json!([{"id": 1, "name": name}]));
    }
    let mut acknowledged = Vec::new();
    let swap = json!([{"indexes": ["a", "b"]}]);
    for round in 0..rounds() * 2 {
        server.killed_while(round, 150, |server| task(server, "/swap-indexes", swap.clone(), &mut acknowledged));
    }
    all_succeed(&server, &acknowledged);
    // The last request of a round may have been stored without an answer: what counts is what the queue says.
    let swaps = server.get("/tasks?types=indexSwap&limit=0").ok()["total"].as_u64().expect("a number");
    let unanswered = swaps - acknowledged.len() as u64;
    assert!(unanswered <= rounds() * 2, "{swaps} swaps, {} acknowledged", acknowledged.len());
    server.wait_for(server.get("/tasks?limit=1").ok()["results"][0]["uid"].as_u64().expect("a task"));
    let expected = if swaps.is_multiple_of(2) { ["a", "b"] } else { ["b", "a"] };
    for (index, name) in ["a", "b"].iter().zip(expected) {
        assert_eq!(server.get(&format!("/indexes/{index}/documents/1")).ok()["name"], name, "after {swaps} swaps");
    }
    // The history follows: each addition belongs to the index that now holds its document.
    for (uid, name) in [(0, "a"), (1, "b")] {
        let index = server.get(&format!("/tasks/{uid}")).ok()["indexUid"].as_str().expect("an index").to_owned();
        assert_eq!(server.get(&format!("/indexes/{index}/documents/1")).ok()["name"], name);
    }
}

/// Returns the documents after all tasks, each of which is taken from `writes`, and the number of tasks.
fn carried_out(server: &Server, writes: &mut BTreeMap<u64, Vec<Value>>) -> (BTreeMap<u64, Value>, usize) {
    let mut model = BTreeMap::from([(0, Value::Null)]);
    let mut outcomes = 0;
    let last = server.get("/tasks?limit=1").ok()["results"][0]["uid"].as_u64().expect("a task");
    for uid in 1..=last {
        let task = server.wait_for(uid);
        if task["type"] == "taskCancelation" {
            assert_eq!(task["status"], "succeeded", "{task}");
            continue;
        }
        let documents = writes.remove(&uid).unwrap_or_else(|| panic!("no one wrote {task}"));
        outcomes += 1;
        match task["status"].as_str() {
            Some("canceled") => {
                assert!(task["canceledBy"].as_u64().is_some_and(|by| by > uid), "{task}");
                assert_eq!(task["details"]["indexedDocuments"], 0, "{task}");
            }
            Some("succeeded") => {
                for document in documents {
                    model.insert(document["id"].as_u64().unwrap(), document["n"].clone());
                }
            }
            _ => panic!("{task}"),
        }
    }
    (model, outcomes)
}

/// The documents that are there.
fn listed(server: &Server) -> BTreeMap<u64, Value> {
    let list = server.get("/indexes/films/documents?limit=1000").ok();
    list["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|document| (document["id"].as_u64().unwrap(), document["n"].clone()))
        .collect()
}

#[test]
fn during_cancelations() {
    let mut server = Server::start();
    server.add("films", json!([{"id": 0}]));
    // The first addition is known, so that it is not taken for a later one without an answer.
    let (mut writes, mut n) = (BTreeMap::from([(0, Vec::new())]), 0);
    for round in 0..rounds() * 2 {
        let mut unanswered = None;
        server.killed_while(round, 190, |server| {
            // Some writes of different sizes, then everything that waits is canceled: whatever was done by then stays.
            for _ in 0..5 {
                n += 1;
                let documents: Vec<Value> = (0..n * 7 % 90).map(|id| json!({"id": id + 1, "n": n})).collect();
                unanswered = Some(documents.clone());
                let answer = send(server, Method::POST, "/indexes/films/documents", json!(documents))?;
                unanswered = None;
                writes.insert(answer.body["taskUid"].as_u64().expect("a task"), documents);
            }
            send(server, Method::POST, "/tasks/cancel?statuses=enqueued,processing", json!(null)).map(drop)
        });
        // It may have been stored all the same, and then it is the last of its kind.
        if let Some(documents) = unanswered {
            let last = server.get("/tasks?types=documentAdditionOrUpdate&limit=1").ok();
            let uid = last["results"][0]["uid"].as_u64().expect("a task");
            writes.entry(uid).or_insert(documents);
        }
    }
    writes.remove(&0);
    let (model, outcomes) = carried_out(&server, &mut writes);
    assert_eq!(writes, BTreeMap::new(), "acknowledged and lost");
    assert!(outcomes > 10, "{outcomes} outcomes: the test shows little");
    assert_eq!(listed(&server), model);
}

#[test]
fn during_changes_of_keys() {
    let master = "a master key of the tests";
    let mut server = Server::with_options(&["--master-key", master]).with_key(master);
    // By uid: the name last acknowledged; `None` once deleted. What was under way when the server died may be either.
    let mut keys: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut n = 0;
    for round in 0..rounds() * 2 {
        let mut unsure: Option<String> = None;
        server.killed_while(round, 120, |server| {
            n += 1;
            let name = format!("key {n}");
            let make = json!({"name": name, "actions": ["search"], "indexes": ["films"], "expiresAt": null});
            let key = send(server, Method::POST, "/keys", make)?.ok();
            let uid = key["uid"].as_str().expect("a uid").to_owned();
            keys.insert(uid.clone(), Some(name));
            unsure = Some(uid.clone());
            let path = format!("/keys/{uid}");
            if n % 3 != 0 {
                let name = format!("changed {n}");
                send(server, Method::PATCH, &path, json!({"name": name}))?.ok();
                keys.insert(uid.clone(), Some(name));
            }
            if n % 4 == 0 {
                let answer = server.try_send(server.request(Method::DELETE, &path))?;
                assert_eq!(answer.status, 204);
                keys.insert(uid, None);
            }
            unsure = None;
            Ok(())
        });
        let list = server.get("/keys?limit=100000").ok();
        let found: BTreeMap<&str, &Value> = list["results"]
            .as_array()
            .expect("results")
            .iter()
            .map(|key| (key["uid"].as_str().unwrap(), &key["name"]))
            .collect();
        for (uid, name) in keys.iter().filter(|(uid, _)| unsure.as_ref() != Some(uid)) {
            assert_eq!(found.get(uid.as_str()).map(|name| name.as_str()), name.as_deref().map(Some), "{uid}");
        }
        if let Some(uid) = unsure {
            let now = found.get(uid.as_str()).and_then(|name| name.as_str().map(str::to_owned));
            keys.insert(uid, now);
        }
    }
    assert!(keys.len() > 2, "only {} keys: the test shows nothing", keys.len());
}

#[test]
fn while_webhooks_are_called() {
    let receiver = Receiver::start([]);
    let mut server =
        Server::with_options(&["--experimental-allowed-ip-networks", "127.0.0.0/8", "--task-webhook-plain"]);
    let webhook = server.post("/webhooks", json!({"url": receiver.url, "headers": {"x": "1"}})).ok();
    let path = format!("/webhooks/{}", webhook["uuid"].as_str().expect("a uuid"));
    let (mut acknowledged, mut value) = (Vec::new(), 1u64);
    for round in 0..rounds() {
        let mut sent = value;
        server.killed_while(round, 150, |server| {
            sent += 1;
            send(server, Method::PATCH, &path, json!({"headers": {"x": sent.to_string()}}))?.ok();
            value = sent;
            task(server, "/indexes/films/documents", json!([{"id": sent}]), &mut acknowledged)
        });
        let header = server.get(&path).ok()["headers"]["x"].as_str().and_then(|text| text.parse().ok());
        assert!(header == Some(value) || header == Some(sent), "{header:?} after {value}");
        value = header.expect("a number");
    }
    all_succeed(&server, &acknowledged);
    // Deliveries may be lost with the process, but what arrives is whole, and the next batch is sent again.
    let last = server.add("films", json!([{"id": 0}]))["uid"].clone();
    loop {
        let delivery = receiver.next();
        let tasks: Vec<Value> =
            delivery.text().lines().map(|line| serde_json::from_str(line).expect("a task a line")).collect();
        assert!(tasks.iter().all(|task| task["status"] == "succeeded"), "{tasks:?}");
        assert!(tasks.iter().all(|task| task["batchUid"].is_u64()), "{tasks:?}");
        if tasks.iter().any(|task| task["uid"] == last) {
            break;
        }
    }
}

#[test]
fn while_segments_with_pairs_are_written_and_merged() {
    const WORDS: [&str; 7] = ["sea", "king", "house", "horse", "tower", "light", "moon"];
    let text = |id: u64| [id, id / 7, id / 49].map(|n| WORDS[n as usize % 7]).join(" ");
    // Enough for pairs of frequent words in each segment; words of different batches are the same.
    const BATCH: u64 = 4_200;
    let documents = |from: u64| (from..from + BATCH).map(|id| json!({"id": id, "text": text(id)})).collect::<Value>();
    let mut server = Server::start();
    let (mut acknowledged, mut from) = (Vec::new(), 0);
    for round in 0..rounds() * 2 {
        server.killed_while(round, 900, |server| {
            let path = "/indexes/texts/documents";
            task(server, path, documents(from), &mut acknowledged)?;
            from += BATCH;
            Ok(())
        });
    }
    all_succeed(&server, &acknowledged);
    // What was under way when the server died is sent again; it is the same in any case.
    server.add("texts", documents(from));
    let count = from + BATCH;
    assert_eq!(server.document_count("texts"), count);
    let phrase = |left: &str, right: &str| {
        let holds = |id: &u64| text(*id).contains(&format!("{left} {right}"));
        let expected = (0..count).filter(holds).count();
        let query = json!({"q": format!("\"{left} {right}\""), "limit": 0});
        assert_eq!(server.search("texts", query)["estimatedTotalHits"], expected, "{left} {right}");
    };
    for left in WORDS {
        WORDS.iter().for_each(|right| phrase(left, right));
    }
    server.kill();
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
}

#[test]
fn while_documents_are_embedded() {
    let model = Model::start();
    let mut server = Server::with_options(&LOCAL);
    server.set("pets", json!({"embedders": {"m": model.configuration()}}));
    let (mut acknowledged, mut n) = (Vec::new(), 0);
    let kept = server.data_folder().join("embeddings/newer");
    for round in 0..rounds() * 2 {
        server.killed_while(round, 130, |server| {
            let text = |id: u64| format!("{} number {id}", ["cat", "dog", "cat and dog", "cow"][id as usize % 4]);
            let documents = (n..n + 25).map(|id| json!({"id": id, "text": text(id)})).collect();
            // Sent again when there was no answer.
            task(server, "/indexes/pets/documents", documents, &mut acknowledged)?;
            n += 25;
            Ok(())
        });
        // What the disk may do to a file that is not synced: its end is torn, or is not what was written.
        let bytes = std::fs::read(&kept).expect("answers are kept");
        server.kill();
        if round % 2 == 0 {
            std::fs::write(&kept, &bytes[..bytes.len() - bytes.len().min(1 + round as usize * 5)]).unwrap();
        } else if let Some(middle) = bytes.len().checked_div(2) {
            let mut damaged = bytes.clone();
            damaged[middle..].iter_mut().for_each(|byte| *byte ^= 0x5a);
            std::fs::write(&kept, damaged).unwrap();
        }
        server.start_again();
    }
    all_succeed(&server, &acknowledged);
    // The same texts in other documents get what is kept of them.
    let list = server.get("/indexes/pets/documents?limit=100000").ok();
    let texts = list["results"].as_array().expect("results").iter().map(|document| &document["text"]);
    let others = (1_000_000..).zip(texts).map(|(id, text)| json!({"id": id, "text": text})).collect();
    server.add("pets", others);
    let list = server.get("/indexes/pets/documents?limit=100000&retrieveVectors=true").ok();
    let found = list["results"].as_array().expect("results");
    assert!(found.len() as u64 >= 2 * n, "{} of {n}", found.len());
    assert!(n > 0, "{} of {n}", found.len());
    for document in found {
        let text = document["text"].as_str().expect("a text");
        let counts = |word: &str| if text.contains(word) { 1.1f32 } else { 0.2 };
        let vector: Vec<f32> = serde_json::from_value(document["_vectors"]["m"]["embeddings"][0].clone())
            .unwrap_or_else(|error| panic!("{error}: {document}"));
        let wrong = vector.iter().zip([counts("cat"), counts("dog")]).any(|(a, b)| (a - b).abs() > 1e-6);
        assert_eq!(vector.len(), 2, "{document}");
        assert!(!wrong, "{document}");
    }
}

/// Whatever it was: here the process is made to abort while a provider is silent.
#[test]
fn a_task_that_ends_the_server_again_and_again_fails_and_the_others_go_on() {
    let mut server = Server::with_options(&LOCAL);
    server.add("films", json!([{"id": 1}]));
    let model = server.wait_for_vectors();
    let guilty = server.get("/tasks?statuses=processing").ok()["results"][0]["uid"].as_u64().expect("a task");
    let behind = server.post("/indexes/films/documents", json!([{"id": 2}])).ok()["taskUid"].as_u64().expect("a task");
    for _ in 0..2 {
        server.abort();
        server.start_again();
        // Where the server has written the documents before, it goes on with their vectors.
        if server.get(&format!("/tasks/{guilty}")).ok()["finishedAt"].is_null() {
            model.next();
            // A death within the first second of a task may have another cause.
            std::thread::sleep(Duration::from_millis(1500));
        }
    }
    let task = server.wait_for(guilty);
    assert_eq!(task["status"], "failed", "{task}");
    assert!(task["error"]["message"].as_str().unwrap().contains("ended more than once"), "{task}");
    assert_eq!(server.wait_for(behind)["status"], "succeeded");
    assert_eq!(server.document_count("films"), 2);
    // A server that was asked to end did not die.
    server.post("/indexes/held/documents", json!([{"id": 3}])).ok();
    model.next();
    for _ in 0..2 {
        server.terminate();
        server.start_again();
        model.next();
    }
    assert_eq!(server.get("/tasks?statuses=processing").ok()["total"], 1);
}
