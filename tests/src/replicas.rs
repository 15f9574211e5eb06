//! What replicas do beside answering reads: they pass writes on, and answer while they fetch.

use std::time::{Duration, Instant};

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::receiver::{Behaviour, Receiver};
use crate::replication::{Group, KEY, after, film};
use crate::server::Server;

/// What it has not fetched yet is named, and it answers from what is there.
#[test]
fn an_empty_replica_answers_before_it_has_everything() {
    let group = Group::new();
    let writer = group.writer();
    writer.add("large", Value::Array((0..500).map(|id| film(id, "Alien")).collect()));
    let task = writer.add("small", json!([film(1, "Brazil")]));
    after(&group.replica(), &task, "/indexes");
    // The segment of the large one cannot be fetched for now.
    let segments = group.objects("i/").into_iter();
    let segment = segments.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let aside = group.folder.path().join("aside");
    std::fs::rename(&segment, &aside).unwrap();
    let replica = group.replica();
    let start = Instant::now();
    let answered = loop {
        let answer = replica.get("/indexes/small/search?q=brazil");
        if answer.status == 200 {
            break answer;
        }
        assert_eq!((answer.status, &answer.body["code"]), (503, &json!("index_not_here_yet")), "{answer:?}");
        assert!(start.elapsed() < Duration::from_secs(100), "{}", replica.log());
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(answered.body["hits"][0]["id"], 1);
    let refused = replica.get("/indexes/large/search?q=alien");
    assert_eq!((refused.status, &refused.body["code"]), (503, &json!("index_not_here_yet")), "{refused:?}");
    let both = json!({"queries": [{"indexUid": "small", "q": ""}, {"indexUid": "large", "q": ""}]});
    assert_eq!(replica.post("/multi-search", both).body["code"], "index_not_here_yet");
    assert_eq!(replica.get("/indexes/none/search").body["code"], "index_not_found");
    assert_eq!(replica.get("/health").body, json!({"status": "available", "indexesComing": 1}));
    std::fs::rename(&aside, &segment).unwrap();
    assert_eq!(after(&replica, &task, "/indexes/large/search?q=alien&limit=0")["estimatedTotalHits"], 500);
    assert_eq!(replica.get("/health").body, json!({"status": "available"}));
}

/// The key is the writer's to judge, and a request is passed on once.
#[test]
fn a_replica_passes_writes_on_if_it_is_to() {
    let group = Group::new();
    let address = group.address();
    let elsewhere =
        Receiver::start([Behaviour::Say(202, "Location: /there\r\nX-Of-Writer: yes\r\n", "{\"taskUid\":7}".into())]);
    let options = ["--master-key", KEY, "--publish", &address, "--public-url", &elsewhere.url];
    let mut writer = Server::with_options(&options).with_key(KEY);
    let replica = Server::with_options(&["--master-key", KEY, "--follow", &address, "--forward-writes"]).with_key(KEY);
    let task = writer.add("films", json!([film(1, "Alien")]));
    after(&replica, &task, "/indexes");
    let documents = json!([film(2, "Brazil")]);
    let client = reqwest::blocking::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let request = client.post(format!("{}/indexes/films/documents?primaryKey=id", replica.url)).bearer_auth("some key");
    let answer = request.json(&documents).send().unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["x-of-writer"].to_str().unwrap()), (202, "yes"));
    assert!(answer.headers().contains_key("lamina-generation"));
    assert_eq!(answer.json::<Value>().unwrap(), json!({"taskUid": 7}));
    let passed = elsewhere.next();
    assert_eq!((&*passed.method, &*passed.path), ("POST", "/hook/indexes/films/documents?primaryKey=id"));
    assert_eq!(passed.header("lamina-forwarded"), Some("1"));
    assert!(passed.headers.iter().any(|(name, value)| name == "authorization" && value == "Bearer some key"));
    assert_eq!(serde_json::from_slice::<Value>(&passed.body).unwrap(), documents);
    // Reads are its own.
    assert_eq!(replica.get("/indexes/films/search?q=alien").ok()["hits"][0]["id"], 1);
    // A writer that gives the address of the replica: a request comes back once, and goes no further.
    assert!(writer.terminate().success());
    let options = ["--master-key", KEY, "--publish", &address, "--public-url", &replica.url];
    let writer = writer.with_other_options(&options);
    let task = writer.add("films", json!([film(3, "Casino")]));
    after(&replica, &task, "/indexes");
    let answer = client.delete(format!("{}/indexes/films", replica.url)).bearer_auth(KEY).send().unwrap();
    assert_eq!(answer.status().as_u16(), 307);
    assert_eq!(answer.json::<Value>().unwrap()["code"], "replica_takes_no_writes");
}

/// Those that may write to the store say how far they are; one that stops is gone, one that is killed is silent.
#[test]
fn replicas_are_listed_with_their_lag() {
    let group = Group::new();
    let writer = group.writer();
    let alone = Server::start();
    assert_eq!(alone.get("/replicas").ok(), json!({"role": "alone", "generation": null, "results": []}));
    let task = writer.add("films", json!([film(1, "Alien")]));
    let url = "http://replica.example:7700";
    let options = ["--master-key", KEY, "--follow", &group.address(), "--public-url", url];
    let mut replica = Server::with_options(&options).with_key(KEY);
    let until = |is_so: &dyn Fn(&Value) -> bool| {
        let start = Instant::now();
        loop {
            let answer = writer.get("/replicas").ok();
            if is_so(&answer) {
                return answer;
            }
            assert!(start.elapsed() < Duration::from_secs(100), "{answer}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let listed = |wanted: usize| until(&|answer| answer["results"].as_array().is_some_and(|all| all.len() == wanted));
    let batch = &task["batchUid"];
    let answer = until(&|answer| answer["generation"] == *batch && answer["results"][0]["generation"] == *batch);
    assert_eq!((&answer["role"], &answer["generation"]), (&json!("writer"), batch));
    let one = &answer["results"][0];
    assert_eq!((&one["url"], &one["standby"], &one["failure"]), (&json!(url), &json!(false), &Value::Null), "{one}");
    assert_eq!(one["batchesBehind"], 0, "{one}");
    assert!(one["lagMs"].is_u64() && one["silentMs"].is_u64() && one["seenAt"].is_string(), "{one}");
    assert_eq!(replica.get("/replicas").ok()["role"], "replica");
    // What is no entry is left out; what was silent for a day is removed by the next replica.
    let folder = group.objects("replica/")[0].parent().unwrap().to_owned();
    std::fs::write(folder.join("nonsense"), "{").unwrap();
    let mut old = serde_json::from_slice::<Value>(&std::fs::read(&group.objects("replica/")[0]).unwrap()).unwrap();
    old["uid"] = json!("00000000-0000-4000-8000-000000000000");
    old["seenAt"] = json!("2020-01-01T00:00:00Z");
    std::fs::write(folder.join("00000000-0000-4000-8000-000000000000"), old.to_string()).unwrap();
    assert!(listed(2)["results"][0]["silentMs"].as_u64().unwrap() > 86_400_000);
    let mut second = group.replica();
    after(&second, &task, "/indexes");
    let start = Instant::now();
    while folder.join("00000000-0000-4000-8000-000000000000").exists() {
        assert!(start.elapsed() < Duration::from_secs(100), "{}", second.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    listed(2);
    assert!(replica.terminate().success());
    assert!(second.terminate().success());
    assert_eq!(listed(0)["results"], json!([]));
}
