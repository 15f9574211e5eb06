//! Crashes and cancelations while documents are embedded.

use super::*;
use crate::backups::dumps::foreign_dump;

#[test]
fn embedding_goes_on_after_a_crash_without_asking_again() {
    let model = Model::start();
    let mut server = pets(&model);
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    // One request has ten texts, and is answered; two are not.
    let text = |id: u64| format!("{} {id}", if id < 110 { "cat" } else { "slow dog" });
    let documents = (100..125).map(|id| json!({"id": id, "text": text(id)})).collect::<Vec<_>>();
    let kept = server.data_folder().join("embeddings/newer");
    let bytes_before = std::fs::metadata(&kept).map_or(0, |file| file.len());
    let written = server.post("/indexes/pets/documents", json!(documents));
    let record_bytes = 44 + 2 * 4;
    until(|| std::fs::metadata(&kept).map_or(0, |file| file.len()) >= bytes_before + 10 * record_bytes);
    server.kill();
    model.be(Manner::default());
    model.take_texts();
    server.start_again();
    let task = server.done(&written);
    assert_eq!(task["details"]["indexedDocuments"], 25);
    let asked_again: Vec<String> = (110..125).map(text).collect();
    assert_eq!(model.take_texts(), asked_again);
    assert_eq!(server.search("pets", json!({"filter": "_vectors.m EXISTS", "limit": 0}))["estimatedTotalHits"], 27);
}

#[test]
fn documents_that_wait_for_their_vectors_can_be_canceled() {
    let model = Model::start();
    let server = pets(&model);
    model.take_texts();
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let canceled = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a slow kitten"}]));
    until_found(&server, "kitten");
    let uid = canceled.body["taskUid"].clone();
    let cancelation = server.done(&server.post(&format!("/tasks/cancel?uids={uid}"), Value::Null));
    assert_eq!(
        (&cancelation["details"]["matchedTasks"], &cancelation["details"]["canceledTasks"]),
        (&json!(1), &json!(1))
    );
    let task = server.wait(&canceled);
    assert_eq!(
        (&task["status"], &task["canceledBy"], &task["error"]),
        (&json!("canceled"), &cancelation["uid"], &Value::Null)
    );
    for of_cancelation in ["batchUid", "startedAt", "finishedAt", "duration"] {
        assert_eq!(task[of_cancelation], cancelation[of_cancelation], "{of_cancelation}");
    }
    // What was written stays, says so, and waits for the next task that asks for vectors.
    assert_eq!(task["details"]["indexedDocuments"], 1);
    model.be(Manner::default());
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2]);
    server.add("pets", json!([{"id": 4, "text": "a puppy"}]));
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 3, 4]);
}

#[test]
fn the_other_tasks_of_a_batch_go_on_after_a_cancelation_and_after_a_crash() {
    let model = Model::start();
    let mut server = pets(&model);
    let other = json!({"m": model.configuration()});
    let settings = server.patch("/indexes/pets/settings/embedders", other);
    server.done(&settings);
    // While another task is carried out, two gather for the next batch.
    let held = server.hold_queue();
    let canceled = server.post("/indexes/pets/documents", json!([{"id": 11, "text": "a slower fox"}]));
    let left = server.post("/indexes/pets/documents", json!([{"id": 12, "text": "a slow wolf"}]));
    model.be(Manner { holds: Some("slower"), ..Manner::default() });
    server.release_queue(held);
    until_found(&server, "wolf");
    server.done(&server.post(&format!("/tasks/cancel?uids={}", canceled.body["taskUid"]), Value::Null));
    assert_eq!(server.wait(&canceled)["status"], "canceled");
    server.kill();
    model.be(Manner::default());
    server.start_again();
    let task = server.done(&left);
    assert_eq!(task["details"]["indexedDocuments"], 1);
    assert_eq!(server.wait(&canceled)["status"], "canceled");
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 11, 12]);
    // Batches after it have numbers of their own.
    let next = server.add("pets", json!([{"id": 13, "text": "a cat"}]));
    assert!(next["batchUid"].as_u64() > server.wait(&canceled)["batchUid"].as_u64());
}

#[test]
fn an_embedder_that_is_not_there_can_be_canceled() {
    let model = Model::start();
    let server = pets(&model);
    model.fail(500);
    let mut configuration = model.configuration();
    configuration.as_object_mut().unwrap().remove("dimensions");
    let settings = server.patch("/indexes/pets/settings/embedders", json!({ "other": configuration }));
    let behind = server.post("/indexes", json!({"uid": "behind"}));
    until(|| !model.take_texts().is_empty());
    let began = Instant::now();
    server.done(&server.post(&format!("/tasks/cancel?uids={}", settings.body["taskUid"]), Value::Null));
    server.done(&behind);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(server.wait(&settings)["status"], "canceled");
    assert_eq!(server.get("/indexes/pets/settings/embedders").body.get("other"), None);
}

/// The server of the embedder answers, and makes the vectors when it can.
#[test]
fn a_dump_does_not_wait_for_its_embedders() {
    let model = Model::start();
    // One is asked for vectors and stays silent, the other refuses to say how long they are.
    model.be(Manner { holds: Some("cat"), refuses: Some("test"), ..Manner::default() });
    let (known, mut unknown) = (model.configuration(), model.configuration());
    unknown.as_object_mut().unwrap().remove("dimensions");
    let metadata = |uid: &str| json!({"uid": uid, "primaryKey": "id", "createdAt": "2024-01-01T00:00:00Z", "updatedAt": "2024-01-01T00:00:00Z"});
    let settings = |embedder: Value| json!({"stopWords": ["the"], "embedders": {"m": embedder}}).to_string();
    let own = json!({"id": 2, "text": "a dog", "_vectors": {"m": {"embeddings": [0, 7], "regenerate": false}}});
    let documents = format!("{{\"id\":1,\"text\":\"a cat\"}}\n{own}\n");
    let (pets, others) = (metadata("pets").to_string(), metadata("others").to_string());
    let version = r#"{"dumpVersion":"V6","dbVersion":"1.0.0","dumpDate":"2024-01-02T00:00:00Z"}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("silent.dump");
    let files = [
        ("metadata.json", version),
        ("indexes/pets/metadata.json", &pets),
        ("indexes/pets/settings.json", &settings(known)),
        ("indexes/pets/documents.jsonl", &documents),
        ("indexes/others/metadata.json", &others),
        ("indexes/others/settings.json", &settings(unknown.clone())),
        ("indexes/others/documents.jsonl", &documents),
    ];
    foreign_dump(&path, &files);
    let server = Server::with_options(&[&LOCAL[..], &["--import-dump", path.to_str().unwrap()]].concat());
    for uid in ["pets", "others"] {
        assert_eq!(server.ids(uid, json!({"q": "the cat"})), [1]);
        assert_eq!(server.get(&format!("/indexes/{uid}/settings/stop-words")).ok(), json!(["the"]));
    }
    assert_eq!(server.get("/indexes/others/settings/embedders").ok(), json!({}));
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [2]);
    model.be(Manner::default());
    let tasks = server.get("/tasks").ok()["results"].as_array().unwrap().clone();
    assert_eq!(tasks.len(), 2);
    for task in tasks {
        assert_eq!(task["type"], "settingsUpdate");
        let task = server.wait_for(task["uid"].as_u64().unwrap());
        // One that was refused says so, and is sent again.
        if task["status"] != "succeeded" {
            assert_eq!(
                (&task["indexUid"], &task["error"]["code"]),
                (&json!("others"), &json!("vector_embedding_error")),
                "{task}"
            );
            server.done(&server.patch("/indexes/others/settings/embedders", json!({ "m": unknown })));
        }
    }
    for uid in ["pets", "others"] {
        assert_eq!(server.ids(uid, near("kitten")), [1, 2]);
        let document = server.get(&format!("/indexes/{uid}/documents/2?retrieveVectors=true")).ok();
        assert_eq!(document["_vectors"]["m"]["embeddings"], json!([[0.0, 7.0]]));
    }
}
