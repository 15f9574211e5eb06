//! Embedders that make vectors: documents and queries go to a server in this process that speaks the `rest` dialect.

mod beside;
mod fragments;
mod groups;
mod interrupted;
mod model;
mod rendering;

pub(crate) use model::{Manner, Model};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Answer, Server, soon, soon_as, until};

pub(crate) const LOCAL: [&str; 2] = ["--experimental-allowed-ip-networks", "127.0.0.0/8"];

fn pets(model: &Model) -> Server {
    pets_at(model, &[])
}

fn pets_at(model: &Model, options: &[&str]) -> Server {
    let server = Server::with_options(&[&LOCAL[..], options].concat());
    server.add("pets", json!([{"id": 1, "text": "a cat sleeps"}, {"id": 2, "text": "a dog runs"}]));
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": model.configuration()})));
    server
}

fn near(text: &str) -> Value {
    json!({"q": text, "hybrid": {"embedder": "m", "semanticRatio": 1.0}})
}

#[test]
fn documents_and_queries_are_embedded() {
    let model = Model::start();
    let server = pets(&model);
    assert_eq!(model.take_texts(), ["a cat sleeps", "a dog runs"], "documents that are there already");
    assert_eq!(server.ids("pets", near("kitten")), [1, 2]);
    assert_eq!(server.ids("pets", near("puppy")), [2, 1]);
    assert_eq!(model.take_texts(), ["kitten", "puppy"]);
    let both = server.search("pets", json!({"q": "puppy", "hybrid": {"embedder": "m"}}));
    assert_eq!((&both["hits"][0]["id"], &both["semanticHitCount"]), (&json!(2), &json!(2)));
    let explained = json!({"q": "puppy", "hybrid": {"embedder": "m"}, "explain": true, "showPerformanceDetails": true});
    let explained = server.search("pets", explained);
    assert_eq!(explained["explanation"]["stages"][0]["stage"], "embed", "{explained}");
    assert!(explained["performanceDetails"]["embed"].is_string(), "{explained}");
    let of_words = server.search("pets", json!({"q": "puppy", "explain": true}));
    assert_eq!(of_words["explanation"]["stages"][0]["stage"], "parse", "{of_words}");
    let shown = server.get("/indexes/pets/documents/1?retrieveVectors=true").body;
    assert_eq!(shown["_vectors"]["m"]["regenerate"], true);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m.documentTemplate EXISTS"})), [1, 2]);
}

#[test]
fn a_change_of_source_or_model_leaves_the_vectors_that_users_gave_alone() {
    let model = Model::start();
    let server = Server::with_options(&LOCAL);
    server.set("pets", json!({"embedders": {"m": {"source": "userProvided", "dimensions": 3}}}));
    server.add(
        "pets",
        json!([
            {"id": 1, "text": "a cat sleeps", "_vectors": {"m": [1, 2, 3]}},
            {"id": 2, "text": "a dog runs", "_vectors": {"m": {"embeddings": [1, 2, 3], "regenerate": true}}},
        ]),
    );
    let shown = |id: u32| {
        let document = server.get(&format!("/indexes/pets/documents/{id}?retrieveVectors=true")).body;
        let vectors = document["_vectors"]["m"].clone();
        (vectors["embeddings"][0].as_array().map_or(0, Vec::len), vectors["regenerate"] == true)
    };
    let change = |change: Value| server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": change})));
    change(model.configuration());
    assert_eq!(model.take_texts(), ["a dog runs"], "nothing is asked of what was given for good");
    assert_eq!([shown(1), shown(2)], [(3, false), (2, true)], "it stays, also where it has another size");
    assert_eq!(server.ids("pets", near("kitten")), [2, 1], "and comes last, like any document without a vector");
    // A vector of the same size stays.
    server.add("pets", json!([{"id": 4, "text": "a cat", "_vectors": {"m": [5, 5]}}]));
    change(json!({"url": format!("{}/again", model.url)}));
    assert_eq!(shown(4), (2, false));
    // Another size and another model at once.
    model.be(Manner { dimensions: Some(5), ..Manner::default() });
    change(json!({"url": format!("{}/large", model.url), "dimensions": 5}));
    assert_eq!([shown(1), shown(2), shown(4)], [(3, false), (5, true), (2, false)]);
    // Another size and another template.
    model.be(Manner { dimensions: Some(6), ..Manner::default() });
    server.add("pets", json!([{"id": 5, "text": "a dog", "_vectors": {"m": [1, 1, 1, 1, 1]}}]));
    change(json!({"dimensions": 6, "documentTemplate": "this is {{ doc.text }}"}));
    assert_eq!([shown(1), shown(2), shown(5)], [(3, false), (6, true), (5, false)]);
    server.add("pets", json!([{"id": 6, "text": "a kitten"}]));
    assert_eq!(server.ids("pets", near("puppy"))[..2], [2, 6]);
    // A partial update keeps them, and an embedder of their size finds them again.
    server.done(&server.put("/indexes/pets/documents", json!([{"id": 1, "seen": true}])));
    assert_eq!(shown(1), (3, false));
    server.done(&server.post("/indexes/pets/compact", Value::Null));
    change(json!({"source": "userProvided", "dimensions": 3}));
    assert_eq!(shown(1), (3, false));
    let near = json!({"vector": [1, 2, 3], "hybrid": {"embedder": "m", "semanticRatio": 1.0}});
    assert_eq!(server.ids("pets", near)[0], 1);
}

#[test]
fn batches_report_what_became_of_their_requests() {
    let model = Model::start();
    let server = pets(&model);
    let requests = |task: &Value| {
        let batch = server.get(&format!("/batches/{}", task["batchUid"])).ok();
        batch["stats"].get("embedderRequests").cloned()
    };
    assert_eq!(requests(&server.wait_for(0)), None, "there was no embedder yet");
    assert_eq!(requests(&server.wait_for(1)), Some(json!({"total": 1, "failed": 0})));
    server.ids("pets", near("kitten"));
    model.fail(401);
    let failed = server.wait(&server.post("/indexes/pets/documents", json!([{"id": 9, "text": "a cow"}])));
    let expected = json!({"total": 1, "failed": 1, "lastError": "HTTP 401 Unauthorized"});
    assert_eq!(requests(&failed), Some(expected), "queries are not counted");
}

#[test]
fn only_what_changed_is_embedded_again() {
    let model = Model::start();
    let server = pets(&model);
    model.take_texts();
    server.add("pets", json!([{"id": 1, "text": "a cat sleeps", "seen": true}, {"id": 3, "text": "a kitten"}]));
    server.done(&server.put("/indexes/pets/documents", json!([{"id": 2, "seen": true}])));
    assert_eq!(model.take_texts(), ["a kitten"]);
    server.done(&server.put("/indexes/pets/documents", json!([{"id": 2, "text": "a puppy runs"}])));
    assert_eq!(model.take_texts(), ["a puppy runs"]);
    // The user's own vectors are left alone, and so is everything when nothing that matters changes.
    server.add("pets", json!([{"id": 4, "text": "mine", "_vectors": {"m": [0, 1]}}]));
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": {"apiKey": "other"}})));
    assert_eq!(model.take_texts(), [""; 0]);
    let template = "{{ doc.text }}{% if doc.seen %}!{% endif %}";
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": {"documentTemplate": template}})));
    assert_eq!(model.take_texts(), ["a cat sleeps!", "a puppy runs!"]);
    assert_eq!(server.ids("pets", near("dog"))[..2], [2, 4]);
}

#[test]
fn a_failing_model_fails_the_task_but_no_search_by_words() {
    let model = Model::start();
    let server = pets(&model);
    model.fail(401);
    let task = server.wait(&server.post("/indexes/pets/documents", json!([{"id": 9, "text": "a cow"}])));
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!("vector_embedding_error")));
    let message = task["error"]["message"].as_str().unwrap();
    let expected = "Index `pets`: While embedding documents for embedder `m`: user error: could not authenticate";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(task["details"]["indexedDocuments"], 1, "it is written");
    assert_eq!(server.ids("pets", json!({"q": "cow"})), [9]);
    let semantic = server.post("/indexes/pets/search", near("cat"));
    assert_eq!((semantic.status, &semantic.body["code"]), (400, &json!("vector_embedding_error")));
    let hybrid = server.search("pets", json!({"q": "cat", "hybrid": {"embedder": "m"}}));
    assert_eq!((&hybrid["hits"][0]["id"], &hybrid["semanticHitCount"]), (&json!(1), &json!(0)));
    assert_eq!((&hybrid["degraded"], &hybrid["degradedReasons"]), (&json!(true), &json!(["embedder"])));
    // A change of settings that needs vectors has no effect without them.
    let settings = json!({"m": {"documentTemplate": "{{ doc.text }}?"}});
    let refused = server.wait(&server.patch("/indexes/pets/settings/embedders", settings));
    assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!("failed"), &json!("vector_embedding_error")));
    assert_eq!(server.get("/indexes/pets/settings/embedders").body["m"]["documentTemplate"], "{{ doc.text }}");
    // A new key is what it takes.
    model.be(Manner::default());
    model.take_texts();
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": {"apiKey": "the-right-one"}})));
    assert_eq!(model.take_texts(), ["a cow"]);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 9]);
}

#[test]
fn a_model_that_changes_its_size_lets_hybrid_searches_down_and_no_more() {
    let model = Model::start();
    let server = pets(&model);
    model.be(Manner { dimensions: Some(3), ..Manner::default() });
    let expected = "was expecting embeddings of dimension `2`, got embeddings of dimensions `3`";
    let semantic = server.post("/indexes/pets/search", near("cat"));
    assert_eq!((semantic.status, &semantic.body["code"]), (400, &json!("vector_embedding_error")));
    assert!(semantic.body["message"].as_str().unwrap().contains(expected), "{}", semantic.body);
    let hybrid = server.search("pets", json!({"q": "cat", "hybrid": {"embedder": "m"}}));
    assert_eq!((&hybrid["hits"][0]["id"], &hybrid["semanticHitCount"]), (&json!(1), &json!(0)));
    assert_eq!(hybrid["degradedReasons"], json!(["embedder"]));
    let task = server.wait(&server.post("/indexes/pets/documents", json!([{"id": 9, "text": "a cow"}])));
    assert!(task["error"]["message"].as_str().unwrap().contains(expected), "{task}");
}

/// Waits until a document is found by a word, embedded or not.
#[track_caller]
fn until_found(server: &Server, word: &str) {
    until(|| !server.ids("pets", json!({ "q": word })).is_empty());
}

#[test]
fn documents_are_found_by_their_words_before_they_are_embedded() {
    let model = Model::start();
    let server = pets(&model);
    model.be(Manner { holds: Some("kitten"), ..Manner::default() });
    let written = server.post("/indexes/pets/documents", json!([{"id": 3, "text": "a kitten plays"}]));
    until_found(&server, "plays");
    let task = server.get(&format!("/tasks/{}", written.body["taskUid"])).body;
    assert_eq!(task["status"], "processing");
    // The time that the duration of the task has to show.
    std::thread::sleep(Duration::from_millis(300));
    model.be(Manner::default());
    let task = server.done(&written);
    let seconds = task["duration"].as_str().unwrap().trim_start_matches("PT").trim_end_matches('S').to_owned();
    assert!(seconds.parse::<f64>().unwrap() >= 0.3, "{seconds}: the wait for vectors counts");
    assert_eq!(server.ids("pets", near("kitten"))[2..], [2], "behind both cats");
}

#[test]
fn refused_documents_are_reported_and_tried_again() {
    let model = Model::start();
    let server = pets(&model);
    model.take_texts();
    model.be(Manner { refuses: Some("snake"), ..Manner::default() });
    let documents = json!([{"id": 3, "text": "a kitten"}, {"id": 4, "text": "a snake"}, {"id": 5, "text": "a puppy"}]);
    let task = server.add("pets", documents);
    assert_eq!(task["details"]["indexedDocuments"], 3);
    let failures = &task["details"]["embeddingFailures"];
    assert_eq!((&failures["total"], &failures["embedders"]), (&json!(1), &json!({})));
    let [failed] = failures["documents"].as_array().unwrap().as_slice() else { panic!("{failures}") };
    assert_eq!((&failed["id"], &failed["embedder"]), (&json!(4), &json!("m")));
    assert!(failed["error"].as_str().unwrap().starts_with("user error: sent a bad request to embedding server"));
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 3, 5]);
    assert_eq!(server.ids("pets", json!({"q": "snake"})), [4]);
    model.take_texts();
    // Other settings do not ask again, and those of the embedders do.
    server.set("pets", json!({"stopWords": ["a"]}));
    assert_eq!(model.take_texts(), [""; 0]);
    let task = server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": {}})));
    assert_eq!(
        (model.take_texts(), &task["details"]["embeddingFailures"]["total"]),
        (vec!["a snake".into()], &json!(1))
    );
    model.be(Manner::default());
    let task = server.add("pets", json!([{"id": 6, "text": "a cat"}]));
    assert_eq!(task["details"].get("embeddingFailures"), None);
    assert_eq!(model.take_texts(), ["a cat", "a snake"]);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_model_that_refuses_everything_fails_the_task() {
    let model = Model::start();
    let server = pets(&model);
    model.be(Manner { refuses: Some("a "), ..Manner::default() });
    let documents = json!([{"id": 3, "text": "a kitten"}, {"id": 4, "text": "a snake"}]);
    let task = server.wait(&server.post("/indexes/pets/documents", documents));
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!("vector_embedding_error")));
    // Found by their words all the same, and the task says so.
    assert_eq!(task["details"]["indexedDocuments"], 2);
    let failures = &task["details"]["embeddingFailures"];
    assert_eq!(failures["total"], 2, "{failures}");
    assert!(failures["embedders"]["m"].is_string(), "{failures}");
    assert_eq!(server.ids("pets", json!({"q": "snake"})), [4]);
    let task = server.wait(&server.post("/indexes/pets/documents", json!([{"id": 5, "text": "a mouse"}])));
    assert_eq!(task["status"], "failed", "also a single one");
    // An embedder that makes nothing of all documents does not come to stay.
    let same = server.get("/indexes/pets/settings/embedders").ok()["m"].clone();
    let change = json!({"other": {"source": "rest", "url": same["url"], "request": same["request"],
                        "response": same["response"], "dimensions": 2, "documentTemplate": "a {{doc.text}}"}});
    let task = server.wait(&server.patch("/indexes/pets/settings/embedders", change));
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!("vector_embedding_error")));
    assert!(server.get("/indexes/pets/settings/embedders").ok().get("other").is_none());
}

/// In one batch or in two.
#[test]
fn a_task_whose_documents_are_all_refused_fails_alone() {
    let model = Model::start();
    let server = pets(&model);
    let add = |id: u32, text: &str| server.post("/indexes/pets/documents", json!([{"id": id, "text": text}]));
    let refusing = || Manner { refuses: Some("snake"), ..Manner::default() };
    let statuses = |tasks: [Answer; 2]| tasks.map(|task| server.wait(&task)["status"].clone());
    model.be(refusing());
    let snake = add(3, "a snake");
    server.wait(&snake);
    assert_eq!(statuses([snake, add(4, "a rabbit")]), ["failed", "succeeded"]);
    // While another task is carried out, these gather for the next batch.
    let held = server.hold_queue();
    let tasks = [add(6, "another snake"), add(7, "another rabbit")];
    server.release_queue(held);
    let batches = [&tasks[0], &tasks[1]].map(|task| server.wait(task)["batchUid"].clone());
    assert_eq!(batches[0], batches[1]);
    assert_eq!(statuses(tasks), ["failed", "succeeded"]);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1, 2, 4, 7]);
}

#[test]
fn a_late_model_leaves_the_words_and_is_reported() {
    let model = Model::start();
    let server = pets(&model);
    server.set("pets", json!({"searchCutoffMs": 100}));
    model.be(Manner { holds: Some("sleeps"), ..Manner::default() });
    let late = server.search("pets", json!({"q": "sleeps", "hybrid": {"embedder": "m"}}));
    assert_eq!((&late["hits"][0]["id"], &late["semanticHitCount"]), (&json!(1), &json!(0)));
    assert!(late["degradedReasons"].as_array().unwrap().contains(&json!("embedder")), "{late}");
    let federated = json!({"federation": {}, "queries": [
        {"indexUid": "pets", "q": "sleeps", "hybrid": {"embedder": "m"}}, {"indexUid": "pets", "q": "dog"}]});
    let federated = server.post("/multi-search", federated).ok();
    assert_eq!((&federated["degraded"], federated["hits"].as_array().unwrap().len()), (&json!(true), 2));
    model.be(Manner::default());
    server.set("pets", json!({"searchCutoffMs": null}));
    let both = server.search("pets", json!({"q": "sleeps", "hybrid": {"embedder": "m"}}));
    assert_eq!((both.get("degraded"), both["semanticHitCount"] != 0), (None, true));
}

#[test]
fn a_late_text_takes_no_time_from_the_others() {
    let model = Model::start();
    let server = pets(&model);
    server.set("pets", json!({"searchCutoffMs": 2000}));
    model.be(Manner { holds: Some("slow"), ..Manner::default() });
    let query = |text: &str| json!({"indexUid": "pets", "q": text, "hybrid": {"embedder": "m"}});
    let queries = json!({"queries": [query("slow 1"), query("slow 2"), query("kitten")]});
    let results = server.post("/multi-search", queries).ok()["results"].clone();
    let count = |place: usize| results[place]["semanticHitCount"].as_u64().unwrap();
    assert_eq!(count(0), 0, "{results}");
    assert_eq!(count(1), 0, "{results}");
    assert!(count(2) > 0, "{results}");
    model.be(Manner::default());
}

#[test]
fn each_task_of_a_batch_reports_its_own_documents() {
    let model = Model::start();
    let server = pets(&model);
    let add = |documents: Value| server.post("/indexes/pets/documents", documents);
    let held = server.hold_queue();
    let tasks = [
        add(json!([{"id": 3, "text": "a kitten"}])),
        add(json!([{"id": 4, "text": "a snake"}, {"id": 5, "text": "a puppy"}, {"id": "4", "text": "two snakes"}])),
        add(json!([{"id": 6, "text": "a third snake"}, {"id": 7, "text": "a snake that goes"}])),
        server.delete("/indexes/pets/documents/7"),
    ];
    model.be(Manner { refuses: Some("snake"), ..Manner::default() });
    server.release_queue(held);
    let [kitten, snakes, third, _] = tasks.map(|task| server.done(&task));
    assert_eq!((&kitten["batchUid"], &snakes["batchUid"]), (&third["batchUid"], &third["batchUid"]));
    assert_eq!(kitten["details"].get("embeddingFailures"), None);
    let failures = |task: &Value| {
        let failures = &task["details"]["embeddingFailures"];
        let documents = failures["documents"].as_array().unwrap().iter().map(|failed| failed["id"].clone()).collect();
        (failures["total"].clone(), Value::Array(documents))
    };
    assert_eq!(failures(&snakes), (json!(1), json!(["4"])));
    assert_eq!(failures(&third), (json!(1), json!([6])));
    // What stands in the way of all fails the tasks that brought something to embed.
    let held = server.hold_queue();
    let with_vectors = add(json!([{"id": 20, "text": "a fox", "_vectors": {"m": [0.5, 0.5]}}]));
    let without = add(json!([{"id": 21, "text": "a wolf"}]));
    model.fail(401);
    server.release_queue(held);
    assert_eq!(server.wait(&with_vectors)["status"], "succeeded");
    let task = server.wait(&without);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!("vector_embedding_error")));
    assert_eq!(task["details"]["embeddingFailures"]["total"], 1);
}

#[test]
fn templates_that_cannot_work_are_refused_at_once() {
    let model = Model::start();
    let server = pets(&model);
    let refuse = |changes: Value, message: &str| {
        let mut configuration = model.configuration();
        for (name, value) in changes.as_object().unwrap() {
            configuration[name] = value.clone();
        }
        let refused = server.patch("/indexes/pets/settings/embedders", json!({ "n": configuration }));
        assert_eq!((refused.status, &refused.body["code"]), (400, &json!("vector_embedding_error")), "{changes}");
        let expected = refused.body["message"].as_str().unwrap();
        assert!(
            expected.starts_with(&format!("Error while generating embeddings: user error: {message}")),
            "{expected}"
        );
    };
    refuse(json!({"request": 42, "response": 42, "url": null}), r#"in `request`: "{{text}}" not found"#);
    refuse(
        json!({"request": {"input": ["{{..}}", "{{text}}"]}}),
        "in `request.input`: \"{{..}}\" expected at position #1",
    );
    refuse(json!({"response": {"vectors": ["{{embedding}}"]}}), "`request` has multiple texts to embed");
    server.patch("/experimental-features", json!({"compositeEmbedders": true})).ok();
    let mut side = model.configuration();
    side["response"] = json!("?");
    let pair = json!({"p": {"source": "composite", "indexingEmbedder": side, "searchEmbedder": {"source": "ollama"}}});
    server.patch("/indexes/pets/settings/embedders", pair).refused(400, "vector_embedding_error");
    // What only the stored rest of the configuration contradicts is reported by the task.
    let task = server.wait(&server.patch("/indexes/pets/settings/embedders", json!({"m": {"request": {}}})));
    assert_eq!(task["error"]["code"], "vector_embedding_error");
    assert!(task["error"]["message"].as_str().unwrap().starts_with("Index `pets`: Error while generating embeddings"));
    // Variables of documents are looked at without any.
    server.done(&server.post("/indexes", json!({"uid": "empty"})));
    for (template, is_right) in [("{{ title }}", false), ("{{ doc.title }}", true)] {
        let mut configuration = model.configuration();
        configuration["documentTemplate"] = json!(template);
        let task = server.wait(&server.patch("/indexes/empty/settings/embedders", json!({ "m": configuration })));
        assert_eq!(task["status"] == "succeeded", is_right, "{task}");
        assert!(is_right || task["error"]["code"] == "invalid_settings_embedders", "{task}");
    }
}

#[test]
fn secrets_and_features_are_kept() {
    let model = Model::start();
    let server = pets(&model);
    let shown = server.get("/indexes/pets/settings/embedders").body;
    assert_eq!(shown["m"]["apiKey"], "a-lXXXXX...");
    let pair = json!({"p": {"source": "composite", "searchEmbedder": model.configuration(), "indexingEmbedder": model.configuration()}});
    let refused = server.patch("/indexes/pets/settings/embedders", pair.clone());
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!("feature_not_enabled")));
    assert_eq!(server.patch("/experimental-features", json!({"compositeEmbedders": true})).status, 200);
    let mut side = pair.clone();
    let refused = server.patch("/indexes/pets/settings/embedders", side.clone());
    assert_eq!(refused.body["code"], "invalid_settings_embedders", "templates belong to the side that indexes");
    side["p"]["searchEmbedder"].as_object_mut().unwrap().remove("documentTemplate");
    server.done(&server.patch("/indexes/pets/settings/embedders", side));
    let query = json!({"q": "puppy", "hybrid": {"embedder": "p", "semanticRatio": 1.0}});
    assert_eq!(server.ids("pets", query), [2, 1]);
}

#[test]
fn without_ca_certificates_the_server_says_what_to_install_and_http_goes_on_working() {
    let model = Model::start();
    let missing = ["SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent"];
    let server = Server::with_options(&[LOCAL[0], LOCAL[1], missing[0], missing[1]]);
    server.wait_for_log("`ca-certificates`");
    let advice = |said: &str| said.contains("`ca-certificates`") && said.contains("`SSL_CERT_FILE`");
    assert!(server.log().lines().any(advice), "{}", server.log());
    let with = |url: &str| {
        let mut configuration = model.configuration();
        configuration["url"] = url.into();
        json!({ "m": configuration })
    };
    server.add("pets", json!([{"id": 1, "text": "a cat sleeps"}]));
    let task = server.wait(&server.patch("/indexes/pets/settings/embedders", with("https://127.0.0.1:1")));
    assert_eq!(task["error"]["code"], "vector_embedding_error", "{task}");
    assert!(advice(&task["error"]["message"].to_string()), "{task}");
    server.done(&server.patch("/indexes/pets/settings/embedders", with(&model.url)));
    assert_eq!(model.take_texts(), ["a cat sleeps"]);
}

#[test]
fn private_addresses_need_permission() {
    let model = Model::start();
    let server = Server::bare(&[]);
    let task = server.wait(&server.patch("/indexes/p/settings/embedders", json!({"m": model.configuration()})));
    assert_eq!(task["status"], "succeeded", "nothing has to be asked yet: {task}");
    let task = server.wait(&server.post("/indexes/p/documents", json!([{"id": 1, "text": "a cat"}])));
    assert_eq!(task["error"]["code"], "vector_embedding_error", "{task}");
    assert_eq!(model.take_texts(), [""; 0]);
}
