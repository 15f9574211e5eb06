//! Servers that publish to a store, and replicas that follow.

use std::path::{Path, PathBuf};

use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Server, binary, command, soon_as, until};

pub(crate) const KEY: &str = "a-master-key-for-replicas";

pub(crate) struct Group {
    pub(crate) folder: TempDir,
}

impl Group {
    pub(crate) fn new() -> Group {
        Group { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn address(&self) -> String {
        format!("file://{}", self.store().display())
    }

    pub(crate) fn writer(&self) -> Server {
        let address = self.address();
        Server::with_options(&["--master-key", KEY, "--publish", &address, "--publish-interval", "1s"]).with_key(KEY)
    }

    pub(crate) fn replica(&self) -> Server {
        Server::with_options(&["--master-key", KEY, "--follow", &self.address()]).with_key(KEY)
    }

    /// The objects whose keys begin with `prefix`, in order.
    pub(crate) fn objects(&self, prefix: &str) -> Vec<PathBuf> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() { walk(&path, found) } else { found.push(path) }
            }
        }
        let mut found = Vec::new();
        walk(&self.store(), &mut found);
        found.retain(|path| path.strip_prefix(self.store()).unwrap().to_str().unwrap().starts_with(prefix));
        found.sort();
        found
    }
}

/// Reads from a replica once it has the results of the batch of `task`.
#[track_caller]
pub(crate) fn after(replica: &Server, task: &Value, path: &str) -> Value {
    let sign = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{sign}minGeneration={}", task["batchUid"]);
    soon_as(|| replica.get(&path), |answer| answer.body["code"] != "generation_not_reached").ok()
}

/// Waits until the store has what the task of a writer did.
#[track_caller]
pub(crate) fn until_published(writer: &Server, task: &Value) {
    let batch = task["batchUid"].as_u64().expect("a batch");
    soon_as(|| writer.get("/replicas").ok(), |answer| answer["generation"].as_u64() >= Some(batch));
}

pub(crate) fn film(id: u64, title: &str) -> Value {
    json!({"id": id, "title": title, "year": 1950 + id})
}

#[test]
fn a_replica_answers_with_what_the_writer_has_written() {
    let group = Group::new();
    let writer = group.writer();
    let replica = group.replica();
    let task = writer.add("films", json!([film(1, "Alien"), film(2, "Brazil"), film(3, "Casablanca")]));
    assert_eq!(after(&replica, &task, "/indexes/films/search?q=brazil")["hits"][0]["id"], 2);
    // Settings, updates and deletions, and what is read of them.
    writer.set("films", json!({"filterableAttributes": ["year"], "sortableAttributes": ["year"]}));
    writer.add("films", json!([film(2, "Brazil, again"), film(4, "Dune")]));
    let task = writer.done(&writer.delete("/indexes/films/documents/1"));
    let answer = after(&replica, &task, "/indexes/films/search?filter=year%20%3E%201951&sort=year:desc");
    let titles: Vec<&str> =
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Dune", "Casablanca", "Brazil, again"]);
    assert_eq!(replica.get("/indexes/films/settings").ok(), writer.get("/indexes/films/settings").ok());
    assert_eq!(replica.get("/indexes/films/documents").ok(), writer.get("/indexes/films/documents").ok());
    assert_eq!(replica.get("/indexes/films/stats").ok()["numberOfDocuments"], 3);
    // Merges come over as well.
    let task = writer.done(&writer.post("/indexes/films/compact", Value::Null));
    assert_eq!(after(&replica, &task, "/indexes/films/search?q=dune")["hits"][0]["id"], 4);
    // Names: other indexes, a swap, a new name, an end.
    writer.add("books", json!([{"id": 1, "title": "Emma"}]));
    writer.done(&writer.post("/swap-indexes", json!([{"indexes": ["films", "books"]}])));
    writer.done(&writer.patch("/indexes/films", json!({"uid": "novels"})));
    writer.add("others", json!([{"id": 1}]));
    let task = writer.done(&writer.delete("/indexes/others"));
    let uids = |answer: Value| -> Vec<String> {
        answer["results"].as_array().unwrap().iter().map(|index| index["uid"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(uids(after(&replica, &task, "/indexes")), ["books", "novels"]);
    assert_eq!(replica.search("novels", json!({"q": "emma"}))["hits"][0]["title"], "Emma");
    assert_eq!(replica.document_count("books"), 3);
}

#[test]
fn keys_of_the_writer_open_its_replicas() {
    let group = Group::new();
    let (writer, mut replica) = (group.writer(), group.replica());
    let task = writer.add("films", json!([film(1, "Alien")]));
    let key = writer.post("/keys", json!({"actions": ["search"], "indexes": ["films"], "expiresAt": null}));
    let key = key.body["key"].as_str().expect("a key").to_owned();
    after(&replica, &task, "/indexes");
    let with_key = |replica: &Server| {
        let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
        let url = format!("{}/indexes/films/search", replica.url);
        client.post(url).bearer_auth(&key).json(&json!({"q": "alien"})).send().unwrap().status().as_u16()
    };
    soon_as(|| with_key(&replica), |status| *status == 200);
    // What it has outlives it, and the store.
    assert!(replica.terminate().success());
    std::fs::rename(group.store(), group.folder.path().join("away")).unwrap();
    replica.start_again();
    assert_eq!(with_key(&replica), 200);
    assert_eq!(replica.search("films", json!({"q": "alien"}))["hits"][0]["id"], 1);
    drop(writer);
}

/// Checks that state outside of indexes is transferred too, and exists after a manual takeover.
#[test]
fn aliases_rules_switches_and_webhooks_come_over() {
    let group = Group::new();
    let (writer, mut replica) = (group.writer(), group.replica());
    writer.add("films-1", json!([film(1, "Alien")]));
    writer.add("films-2", json!([film(2, "Alien again"), film(3, "Aliens in the attic")]));
    let features = json!({"dynamicSearchRules": true, "network": true, "chatCompletions": true});
    writer.patch("/experimental-features", features).ok();
    writer.patch("/chats/help/settings", json!({"source": "openAi", "apiKey": "very secret"})).ok();
    let hook = json!({"url": "https://example.org/hook", "headers": {"Authorization": "very secret"}});
    writer.post("/webhooks", hook).ok();
    writer.patch("/network", json!({"self": "here", "remotes": {"here": {"url": "http://127.0.0.1:1"}}})).ok();
    writer.done(&writer.put("/aliases/films", json!({"indexUid": "films-1"})));
    let pin = json!({"selector": {"indexUid": "films-2", "id": "3"}, "action": {"type": "pin", "position": 0}});
    let task = writer.done(&writer.patch("/dynamic-search-rules/attic", json!({"actions": [pin]})));
    assert_eq!(after(&replica, &task, "/indexes/films/search?q=alien")["hits"][0]["id"], 1);
    // All of it moves at once.
    let moves = json!({"films": "films-2", "new": "films-1"});
    let task = writer.done(&writer.patch("/aliases", moves));
    assert_eq!(after(&replica, &task, "/indexes/films-2/search?q=alien")["hits"][0]["id"], 3, "pinned");
    assert_eq!(replica.get("/indexes/films/search?q=alien").ok()["hits"][0]["id"], 3, "by the alias");
    let paths = ["/aliases", "/webhooks", "/network", "/experimental-features", "/dynamic-search-rules/attic"];
    for path in paths.into_iter().chain(["/chats", "/chats/help/settings"]) {
        assert_eq!(replica.get(path).ok(), writer.get(path).ok(), "{path}");
    }
    // An index that ends takes its aliases along, a rule that ends pins no more.
    writer.done(&writer.delete("/dynamic-search-rules/attic"));
    let task = writer.done(&writer.delete("/indexes/films-1"));
    assert_eq!(after(&replica, &task, "/aliases")["results"].as_array().unwrap().len(), 1);
    assert_eq!(replica.get("/indexes/films-2/search?q=alien").ok()["hits"][0]["id"], 2);
    drop(writer);
    assert!(replica.terminate().success());
    let taker = replica.with_other_options(&["--master-key", KEY, "--publish", &group.address()]);
    assert_eq!(taker.get("/webhooks").ok()["results"][0]["url"], "https://example.org/hook");
    assert_eq!(taker.get("/aliases/films").ok()["indexUid"], "films-2");
    assert_eq!(taker.get("/chats/help/settings").ok()["source"], "openAi");
    taker.patch("/dynamic-search-rules/other", json!({})).ok();
}

#[test]
fn a_replica_takes_no_writes_and_says_where_they_go() {
    let group = Group::new();
    let address = group.address();
    let writer =
        Server::with_options(&["--master-key", KEY, "--publish", &address, "--public-url", "http://writer.example/"])
            .with_key(KEY);
    let replica = group.replica();
    let task = writer.add("films", json!([film(1, "Alien")]));
    after(&replica, &task, "/indexes");
    let client = reqwest::blocking::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let ask = |method: Method, path: &str| {
        let answer =
            client.request(method, format!("{}{path}", replica.url)).bearer_auth(KEY).json(&json!([])).send().unwrap();
        let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (location, generation, lag) = (header("location"), header("lamina-generation"), header("lamina-lag-ms"));
        (answer.status().as_u16(), location, generation.is_some() && lag.is_some(), answer.json::<Value>().unwrap())
    };
    for (method, path) in [
        (Method::POST, "/indexes/films/documents?primaryKey=id"),
        (Method::DELETE, "/indexes/films"),
        (Method::PATCH, "/indexes/films/settings"),
        (Method::POST, "/keys"),
        (Method::GET, "/tasks?limit=1"),
        (Method::POST, "/dumps"),
        (Method::PATCH, "/experimental-features"),
    ] {
        let (status, location, is_said, body) = ask(method, path);
        assert_eq!((status, location.unwrap(), is_said), (307, format!("http://writer.example{path}"), true), "{path}");
        assert_eq!(body["code"], "replica_takes_no_writes");
    }
    for path in ["/health", "/version", "/indexes/films/search?q=x", "/stats", "/keys", "/experimental-features"] {
        let (status, _, is_said, _) = ask(Method::GET, path);
        assert_eq!((status, is_said), (200, true), "{path}");
    }
    // Bad generations, and one that does not come.
    let answer = replica.get("/indexes?minGeneration=x");
    assert_eq!((answer.status, &answer.body["code"]), (400, &"invalid_min_generation".into()));
    let answer = replica.get("/indexes?minGeneration=4000000000");
    assert_eq!((answer.status, &answer.body["code"]), (409, &"generation_not_reached".into()), "{answer:?}");
    // The writer shows what it has finished.
    assert_eq!(writer.get("/indexes?minGeneration=4000000000").status, 200);
}

#[test]
fn a_writer_that_another_one_has_taken_over_from_publishes_no_more() {
    let group = Group::new();
    let (first, replica) = (group.writer(), group.replica());
    let task = first.add("films", json!([film(1, "Alien")]));
    after(&replica, &task, "/indexes");
    // By hand, and too early: the first one is still there.
    let mut second = group.replica();
    after(&second, &task, "/indexes");
    assert!(second.terminate().success());
    let options = ["--master-key", KEY, "--publish", &group.address(), "--public-url", "http://second.example"];
    let second = second.with_other_options(&options);
    let task = second.add("books", json!([{"id": 1, "title": "Emma"}]));
    let client = reqwest::blocking::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let write = |id: u64| {
        let url = format!("{}/indexes/films/documents", first.url);
        let answer = client.post(url).bearer_auth(KEY).json(&json!([film(id, "Brazil")])).send().unwrap();
        (answer.status().as_u16(), answer.json::<Value>().unwrap())
    };
    assert_eq!(write(2).0, 202, "it does not know yet");
    first.wait_for_log("another server publishes to this store now, at http://second.example");
    let (status, refused) = write(3);
    assert_eq!((status, &refused["code"]), (307, &"replica_takes_no_writes".into()), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("was the writer until another one took over"), "{refused}");
    assert_eq!(first.get("/indexes/films/search?q=alien").ok()["hits"][0]["id"], 1);
    assert_eq!(after(&replica, &task, "/indexes/books/search?q=emma")["hits"][0]["id"], 1);
    assert_eq!(replica.document_count("films"), 1);
}

/// Checks that a server with other data does not overwrite the published state.
#[test]
fn a_server_with_another_state_does_not_publish() {
    let group = Group::new();
    let mut writer = group.writer();
    writer.add("films", json!([film(1, "Alien")]));
    assert!(writer.terminate().success());
    let folder = tempfile::tempdir().unwrap();
    let options = ["--publish".to_owned(), group.address()];
    let output = command(folder.path(), &options).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("does not have its newest state"), "{text}");
    writer.start_again();
    assert_eq!(writer.document_count("films"), 1);
    // A folder of before is one of another state, too.
    assert!(writer.terminate().success());
    let copy = folder.path().join("data");
    std::fs::remove_dir_all(&copy).unwrap();
    let copied = std::process::Command::new("cp").arg("-r").arg(writer.data_folder()).arg(&copy).status().unwrap();
    assert!(copied.success());
    writer.start_again();
    writer.add("films", json!([film(2, "Brazil")]));
    assert!(writer.terminate().success());
    let output = command(folder.path(), &options).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("is older than what was published"), "{text}");
}

/// By hand: the folder of a replica becomes that of the writer.
#[test]
fn a_replica_can_take_over() {
    let group = Group::new();
    let (mut first, mut second, third) = (group.writer(), group.replica(), group.replica());
    first.add("films", json!([film(1, "Alien")]));
    let task = first.add("films", json!([film(2, "Brazil")]));
    after(&second, &task, "/indexes");
    first.kill();
    assert!(second.terminate().success());
    let second = second.with_other_options(&["--master-key", KEY, "--publish", &group.address()]);
    let later = second.add("films", json!([film(3, "Casablanca")]));
    assert!(later["uid"].as_u64() > task["uid"].as_u64());
    assert!(later["batchUid"].as_u64() > task["batchUid"].as_u64());
    assert_eq!(after(&third, &later, "/indexes/films/search?q=casablanca")["hits"][0]["id"], 3);
    assert_eq!(third.document_count("films"), 3);
}

#[test]
fn damaged_objects_are_named_and_change_nothing() {
    let group = Group::new();
    let (mut writer, mut replica) = (group.writer(), group.replica());
    let task = writer.add("films", json!([film(1, "Alien")]));
    after(&replica, &task, "/indexes");
    let before = group.objects("i/");
    // Nothing looks while a byte of the new segment is turned.
    assert!(replica.terminate().success());
    writer.add("films", json!([film(2, "Brazil")]));
    assert!(writer.terminate().success());
    let is_segment = |path: &&PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("seg-");
    let new: Vec<PathBuf> = group.objects("i/").into_iter().filter(|path| !before.contains(path)).collect();
    let segment = new.iter().find(is_segment).expect("a new segment");
    let sound = std::fs::read(segment).unwrap();
    let mut damaged = sound.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(segment, &damaged).unwrap();
    replica.start_again();
    replica.wait_for_log("is damaged: its checksum does not match");
    assert_eq!(replica.document_count("films"), 1);
    std::fs::write(segment, &sound).unwrap();
    soon_as(|| replica.document_count("films"), |count| *count == 2);
    // So are roots that are none.
    let last = group.objects("root/").pop().unwrap();
    let number: u64 = last.file_name().unwrap().to_str().unwrap().parse().unwrap();
    std::fs::write(last.with_file_name(format!("{:020}", number + 1)), "{}").unwrap();
    replica.wait_for_log("it is no root");
    assert_eq!(replica.document_count("films"), 2);
}

/// SIGKILL for both, at any moment: the replica ends with what the writer has.
#[test]
fn killed_servers_go_on_where_they_were() {
    let group = Group::new();
    let (mut writer, mut replica) = (group.writer(), group.replica());
    writer.add("films", json!([film(0, "Film number 0")]));
    for round in 1..8_u64 {
        let add = |server: &Server| {
            let request = server.request(Method::POST, "/indexes/films/documents");
            let films: Vec<Value> = (0..20).map(|n| film(round * 20 + n, &format!("Film number {n}"))).collect();
            server.try_send(request.json(&films)).map(drop)
        };
        if round % 2 == 0 {
            writer.killed_while(round, 60, add);
        } else {
            add(&writer).unwrap();
            replica.killed_while(round, 300, |server| {
                server.try_send(server.request(Method::GET, "/indexes/films/stats")).map(drop)
            });
        }
    }
    let task = writer.add("films", json!([film(1000, "The last one")]));
    assert_eq!(after(&replica, &task, "/indexes/films/search?q=last")["hits"][0]["id"], 1000);
    let all = "/indexes/films/documents?limit=1000";
    assert_eq!(replica.get(all).ok(), writer.get(all).ok());
}

/// `lamina store`: what is there, whether it is sound, and removing what is not needed.
#[test]
fn the_store_can_be_looked_after() {
    let group = Group::new();
    let mut writer = group.writer();
    let lamina = |arguments: &[&str]| -> (bool, Value) {
        let (address, mut command) = (group.address(), std::process::Command::new(binary()));
        let output =
            command.arg("store").args(arguments).args([&address, "--json"]).output().expect("the binary starts");
        let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        let text = String::from_utf8_lossy(text).into_owned();
        (output.status.success(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    };
    writer.add("films", json!([film(1, "Alien")]));
    writer.add("films", json!([film(2, "Brazil")]));
    assert!(writer.terminate().success());
    let (_, list) = lamina(&["ls"]);
    assert_eq!((&list["indexes"][0]["uid"], list["indexes"].as_array().unwrap().len()), (&"films".into(), 1), "{list}");
    assert!(list["indexes"][0]["bytes"].as_u64().unwrap() > 100, "{list}");
    assert!(list["root"].as_u64().unwrap() > 1, "{list}");
    let (is_sound, found) = lamina(&["verify"]);
    assert!(is_sound, "{found}");
    assert!(found["sound"] == true, "{found}");
    assert!(found["objects"].as_u64().unwrap() >= 3, "{found}");
    // What an upload that was cut short has left.
    let stray = group.store().join("i/00000000-0000-4000-8000-000000000000/seg-1.lam.00000000");
    std::fs::create_dir_all(stray.parent().unwrap()).unwrap();
    std::fs::write(&stray, "x").unwrap();
    let (_, found) = lamina(&["gc"]);
    assert_eq!(found["removed"], 0);
    assert!(found["unnamed"].to_string().contains("seg-1.lam.00000000"));
    assert!(stray.exists());
    let (_, removed) = lamina(&["gc", "--apply"]);
    assert_eq!(
        (removed["removed"].as_u64(), stray.exists()),
        (found["unnamed"].as_array().map(|u| u.len() as u64), false)
    );
    assert_eq!(lamina(&["gc"]).1["unnamed"], json!([]));
    assert_eq!(lamina(&["verify"]).1["sound"], true);
    // The writer goes on.
    writer.start_again();
    writer.add("films", json!([film(3, "Casablanca")]));
    assert!(writer.terminate().success());
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("seg-");
    for path in group.objects("i/").into_iter().filter(is_segment) {
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let (is_sound, found) = lamina(&["verify"]);
    assert!(!is_sound, "{found}");
    assert!(found["damaged"][0]["message"].as_str().unwrap().contains("checksum does not match"), "{found}");
    std::fs::remove_dir_all(group.store()).unwrap();
    let (is_there, said) = lamina(&["ls"]);
    assert!(!is_there, "{said}");
    assert!(said.to_string().contains("nothing has been published to this store"), "{said}");
}

#[test]
fn metrics_say_what_is_asked_of_the_store() {
    let group = Group::new();
    let (writer, replica) = (group.writer(), group.replica());
    writer.patch("/experimental-features", json!({"metrics": true})).ok();
    let task = writer.add("films", json!([film(1, "Alien")]));
    after(&replica, &task, "/indexes/films/stats");
    let value = |server: &Server, sample: &str| -> f64 {
        let page = server.get("/metrics").text;
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("lamina_{sample} ")));
        line.unwrap_or_else(|| panic!("no {sample} in:\n{page}")).parse().unwrap()
    };
    until(|| replica.get("/metrics").status == 200);
    assert_eq!(value(&writer, "replication_role{role=\"writer\"}"), 1.0);
    assert_eq!(value(&replica, "replication_role{role=\"replica\"}"), 1.0);
    assert!(value(&replica, "replication_generation") >= task["batchUid"].as_f64().unwrap());
    assert!(value(&replica, "replication_lag_seconds") >= 0.0);
    assert_eq!(value(&replica, "replication_failing"), 0.0);
    assert!(value(&writer, "store_calls_total{call=\"create\"}") > 4.0);
    assert!(value(&replica, "store_calls_total{call=\"list\"}") > 1.0);
    assert_eq!(value(&replica, "store_calls_total{call=\"create\"}"), 0.0);
    assert!(value(&writer, "store_bytes_total{direction=\"sent\"}") > 1000.0);
    assert!(value(&replica, "store_bytes_total{direction=\"received\"}") > 1000.0);
    assert_eq!(value(&writer, "store_failures_total"), 0.0);
    let alone = Server::with_options(&["--metrics"]);
    let page = alone.get("/metrics");
    assert_eq!(page.status, 200, "{page:?}");
    assert!(!page.text.contains("replication_role"), "{page:?}");
}

#[test]
fn stores_that_cannot_be_used_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (options, reason) in [
        (
            ["--publish", "ftp://bucket/prefix"],
            "expected `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or",
        ),
        (["--publish", "s3://bucket/prefix"], "`--s3-bucket-url` is missing"),
        (["--follow", "s3://bucket/prefix"], "`--s3-bucket-url` is missing"),
        (["--publish", &format!("file://{}/store", file.display())], "cannot use the store"),
        (["--forward-writes", "--standby"], "`--standby` needs `--follow`"),
        (["--durability", "store"], "`--durability store` needs `--publish`"),
    ] {
        let options: Vec<String> = options.iter().map(|option| option.to_string()).collect();
        let output = command(folder.path(), &options).output().expect("the binary starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(text.contains(reason), "{options:?}: {text}");
    }
}
