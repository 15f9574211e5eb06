//! What replicas do beside answering reads: they pass writes on, and answer while they fetch.

use reqwest::redirect::Policy;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::receiver::{Behaviour, Receiver};
use crate::replication::{Group, KEY, after, film};
use crate::server::{Server, soon, soon_as};

/// Checks that missing indexes are named, and that the replica responds from those that are present.
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
    let answered = soon(|| {
        let answer = replica.get("/indexes/small/search?q=brazil");
        if answer.status != 200 {
            assert_eq!((answer.status, &answer.body["code"]), (503, &json!("index_not_here_yet")), "{answer:?}");
            return None;
        }
        Some(answer)
    });
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

/// A text that no compression makes much shorter.
fn noise(characters: usize) -> String {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from_digit((state >> 59) as u32, 32).expect("below 32")
    };
    (0..characters).map(|_| next()).collect()
}

/// The disk is full, or takes no file of such a size: what is here is served, and following goes on by itself.
#[test]
fn a_replica_without_room_answers_from_what_it_has() {
    let group = Group::new();
    let writer = group.writer();
    let options = ["OPEN_FILES=1000", "--master-key", KEY, "--follow", &group.address()];
    let replica = Server::with_options(&options).with_key(KEY);
    writer.patch("/experimental-features", json!({"metrics": true})).ok();
    writer.set("films", json!({"searchableAttributes": ["title"]}));
    let task = writer.add("films", json!([film(1, "Alien")]));
    after(&replica, &task, "/indexes");
    let process = Pid::from_raw(replica.process_id() as i32).expect("a process");
    let limit = |current: Option<u64>| {
        prlimit(Some(process), Resource::Fsize, Rlimit { current, maximum: None }).expect("limits of a child")
    };
    limit(Some(1 << 20));
    let task = writer.add("films", json!([{"id": 2, "title": "Brazil", "text": noise(4 << 20)}]));
    replica.wait_for_log("following: no room on the disk of this replica");
    assert_eq!(replica.get("/indexes/films/search?q=alien").ok()["hits"][0]["id"], 1);
    assert_eq!(replica.document_count("films"), 1);
    let failing = || replica.get("/metrics").text.contains("\nlamina_replication_failing 1\n");
    assert!(failing(), "{}", replica.get("/metrics").text);
    assert_eq!(replica.log().matches("no room on the disk").count(), 1, "it is said once");
    let unfinished = |folder: &std::path::Path| {
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        files.filter(|name| name.to_str().unwrap().ends_with(".tmp")).count()
    };
    let indexes = std::fs::read_dir(replica.data_folder().join("indexes")).unwrap();
    // At most what an attempt of this moment writes.
    assert!(indexes.map(|index| unfinished(&index.unwrap().path())).sum::<usize>() <= 1);
    limit(None);
    assert_eq!(after(&replica, &task, "/indexes/films/search?q=brazil")["hits"][0]["id"], 2);
    assert!(!failing());
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

/// Servers that may write to the store say how far they are; one that stops is gone, one that is killed is silent.
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
    let until = |is_so: &dyn Fn(&Value) -> bool| soon_as(|| writer.get("/replicas").ok(), is_so);
    let listed = |wanted: usize| until(&|answer| answer["results"].as_array().is_some_and(|all| all.len() == wanted));
    let batch = &task["batchUid"];
    let answer = until(&|answer| answer["generation"] == *batch && answer["results"][0]["generation"] == *batch);
    assert_eq!((&answer["role"], &answer["generation"]), (&json!("writer"), batch));
    let one = &answer["results"][0];
    assert_eq!((&one["url"], &one["standby"], &one["failure"]), (&json!(url), &json!(false), &Value::Null), "{one}");
    assert_eq!(one["batchesBehind"], 0, "{one}");
    assert!(one["lagMs"].is_u64(), "{one}");
    assert!(one["silentMs"].is_u64(), "{one}");
    assert!(one["seenAt"].is_string(), "{one}");
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
    soon(|| (!folder.join("00000000-0000-4000-8000-000000000000").exists()).then_some(()));
    listed(2);
    assert!(replica.terminate().success());
    assert!(second.terminate().success());
    assert_eq!(listed(0)["results"], json!([]));
}
