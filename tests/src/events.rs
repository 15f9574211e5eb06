//! Events and recorded searches: what is taken, what is refused, and where both meet other things.

use std::process::Command;

use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::keys::{ask, finish, make, start, value};
use crate::replication::{Group, KEY, after, film};
use crate::server::{Answer, Server, binary, soon_as};
use crate::tenants::token;

/// A server with two films whose index records searches.
fn cinema() -> Server {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}, {"id": 2, "title": "Brazil"}]));
    server.set("films", json!({"analytics": {"searches": true}}));
    server
}

/// Searches as a user. Returns the `queryUid` of the answer.
fn search(server: &Server, index: &str, user: &str, q: &str) -> Value {
    let request = server.request(Method::POST, &format!("/indexes/{index}/search")).json(&json!({"q": q}));
    let request = request.header("X-MS-USER-ID", user).header("Meili-Include-Metadata", "true");
    server.send(request).ok()["metadata"]["queryUid"].clone()
}

fn event(kind: &str, index: &str, user: &str, query: &Value) -> Value {
    json!({
        "eventType": kind, "eventName": "Hit", "indexUid": index, "userId": user, "queryUid": query,
        "objectId": "1", "position": 2
    })
}

fn send(server: &Server, event: Value) -> Answer {
    server.post("/events", event)
}

/// The figures of an index, as soon as they count so many searches and clicks.
fn figures(server: &Server, index: &str, searches: u64, clicks: u64) -> Value {
    let look = || server.get(&format!("/analytics/{index}")).ok();
    soon_as(look, |shown| shown["searches"] == searches && shown["clicks"] == clicks)
}

fn rows(server: &Server, path: &str, name: &str) -> Vec<Value> {
    let page = server.get(&format!("/analytics/{path}")).ok();
    assert_eq!(page["total"], page["results"].as_array().unwrap().len(), "{page}");
    page["results"].as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

#[test]
fn clicks_meet_their_searches() {
    let server = cinema();
    let alien = search(&server, "films", "a", "alien");
    search(&server, "films", "b", "Alien");
    search(&server, "films", "c", "nothing there");
    let own = server.request(Method::POST, "/indexes/films/search").header("Lamina-Record", "false");
    server.send(own.json(&json!({"q": "alien"}))).ok();
    let search_filter = json!({"q": "brazil", "limit": 1});
    // Answered from memory the second time.
    server.search("films", search_filter.clone());
    server.search("films", search_filter);
    let taken = send(&server, event("click", "films", "a", &alien));
    assert_eq!((taken.status, &taken.body["taken"], &taken.body["commitIntervalMs"]), (201, &json!(1), &json!(1000)));
    let foreign = json!("019a01b7-a1c2-7782-a410-bb1274c81393");
    let several = json!([
        event("conversion", "films", "a", &alien),
        event("view", "films", "b", &json!(null)),
        // The same again, and one for an unknown search.
        event("click", "films", "a", &alien),
        event("click", "films", "b", &foreign),
    ]);
    assert_eq!(send(&server, several).ok()["taken"], 4);
    let shown = figures(&server, "films", 5, 2);
    for (name, expected) in [
        ("users", json!(3)),
        ("noHitRate", json!(0.2)),
        ("noClickRate", json!(0.75)),
        ("clickThroughRate", json!(0.2)),
        ("conversionRate", json!(0.2)),
        ("conversions", json!(1)),
        ("views", json!(1)),
        ("meanClickPosition", json!(2.0)),
        ("unmatchedEvents", json!(2)),
    ] {
        assert_eq!(shown[name], expected, "{name}: {shown}");
    }
    assert_eq!(rows(&server, "films/queries", "query"), ["alien", "brazil", "nothing there"]);
    assert_eq!(rows(&server, "films/queries", "searches"), [2, 2, 1]);
    assert_eq!(rows(&server, "films/queries", "clicks"), [1, 0, 0]);
    assert_eq!(rows(&server, "films/without-hits", "query"), ["nothing there"]);
    assert_eq!(rows(&server, "films/without-clicks", "query"), ["brazil", "alien"]);
    assert_eq!(rows(&server, "films/rising", "searchesBefore"), [0, 0, 0]);
    assert_eq!(rows(&server, "films/slow", "query").len(), 3);
    assert_eq!(rows(&server, "films/filters", "filter").len(), 0);
    let page = server.get("/analytics/films/queries?limit=1&offset=1").ok();
    assert_eq!((&page["total"], &page["results"][0]["query"]), (&json!(3), &json!("brazil")));

    let lines = server.get("/analytics/films/queries?format=csv").text;
    assert!(lines.starts_with("query,searches,noHitRate"), "{lines}");
    assert!(lines.contains("\r\nnothing there,1,1.0,,"), "{lines}");
    let series = server.get("/analytics/films?interval=hour").ok();
    let steps = series["series"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| step["searches"].as_u64().unwrap()).sum::<u64>(), 5);
    assert_eq!(server.get("/analytics/films?interval=day&format=csv").text.lines().count(), 9);
    let earlier = server.get("/analytics/films?start=2020-01-01&end=2020-01-02").ok();
    assert_eq!((&earlier["searches"], &earlier["noHitRate"]), (&json!(0), &json!(null)));
}

#[test]
fn what_is_no_event_is_refused_whole() {
    let server = cinema();
    let good = || event("click", "films", "a", &json!(null));
    let refused = send(&server, json!([good(), event("click", "none", "a", &json!(null))]));
    refused.refused(400, "index_not_found");
    for (name, value) in [
        ("eventType", json!("purchase")),
        ("position", json!(-3)),
        ("position", json!(5_000_000)),
        ("queryUid", json!("not mine")),
        ("userId", json!("x".repeat(600))),
        ("objectId", json!({"id": 1})),
        ("secret", json!(1)),
    ] {
        let mut bad = good();
        bad[name] = value;
        send(&server, json!([good(), bad])).refused(400, "invalid_event");
    }
    send(&server, json!(vec![good(); 1001])).refused(400, "invalid_event");
    server.post_raw("/events", "application/json", "[{").refused(400, "malformed_payload");
    let mut nameless = good();
    nameless.as_object_mut().unwrap().remove("userId");
    send(&server, nameless.clone()).refused(400, "invalid_event");
    let with_header = server.request(Method::POST, "/events").header("X-MS-USER-ID", "a").json(&nameless);
    assert_eq!(server.send(with_header).status, 201);
    server.get("/analytics/none").refused(404, "index_not_found");
    server.get("/analytics/films?start=soon").refused(400, "invalid_analytics_parameter");
    assert_eq!(server.get("/analytics/films/fast").status, 404);
    figures(&server, "films", 0, 1);
    // No route names the store.
    let list = server.get("/indexes").ok();
    assert_eq!(list["total"], 1, "{list}");
    server.get("/indexes/events").refused(404, "index_not_found");
}

/// Checks that users are kept as hashes, that one of them can be deleted, and what a kill leaves.
#[test]
fn users_are_hashes_and_can_be_deleted() {
    let mut server = cinema();
    for user in ["eve@example.org", "bob@example.org"] {
        let uid = search(&server, "films", user, "alien");
        send(&server, event("click", "films", user, &uid)).ok();
    }
    figures(&server, "films", 2, 2);
    // What was shown was committed.
    server.kill();
    server.start_again();
    assert_eq!(server.get("/analytics/films").ok()["users"], 2);
    let stored = walk(&server.data_folder().join("events"));
    assert!(!stored.windows(11).any(|bytes| bytes == b"example.org"));
    assert_eq!(server.delete("/events/users/eve%40example.org").ok()["deleted"], 2);
    assert_eq!(server.delete("/events/users/eve%40example.org").ok()["deleted"], 0);
    let shown = figures(&server, "films", 1, 1);
    assert_eq!(shown["users"], 1);
    server.delete(&format!("/events/users/{}", "x".repeat(600))).refused(400, "invalid_event");

    // A clean stop keeps what waits.
    send(&server, event("click", "films", "last", &json!(null))).ok();
    assert!(server.terminate().success());
    server.start_again();
    assert_eq!(server.get("/analytics/films").ok()["clicks"], 2);
}

/// Checks that a kill while events come in loses none that was committed, and that the store opens.
#[test]
fn a_kill_loses_only_what_was_not_committed() {
    let mut server = cinema();
    send(&server, event("view", "films", "first", &json!(null))).ok();
    soon_as(|| server.get("/analytics/films").ok(), |shown| shown["views"] == 1);
    let (mut number, mut before) = (0, 1);
    // Lives of up to two seconds, in which there are commits.
    for round in [0, 27, 41, 61] {
        server.killed_while(round, 2500, |server| {
            number += 1;
            let events: Vec<Value> =
                (0..100).map(|one| event("view", "films", &format!("{number}-{one}"), &json!(null))).collect();
            server.try_send(server.request(Method::POST, "/events").json(&events)).map(drop)
        });
        let views = server.get("/analytics/films").ok()["views"].as_u64().unwrap();
        assert!(views >= before, "{views} {before}");
        before = views;
    }
}

/// The bytes of all files below a folder.
fn walk(folder: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        bytes.append(&mut if path.is_dir() { walk(&path) } else { std::fs::read(&path).expect("a file") });
    }
    bytes
}

#[test]
fn nothing_is_recorded_unless_the_index_says_so() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    search(&server, "films", "a", "alien");
    assert_eq!(server.get("/analytics/films").ok()["searches"], 0);
    assert!(!server.data_folder().join("events").exists());
    server.set("films", json!({"analytics": {"searches": true, "retentionDays": 1}}));
    search(&server, "films", "a", "alien");
    figures(&server, "films", 1, 0);
    server.set("films", json!({"analytics": null}));
    search(&server, "films", "a", "brazil");
    send(&server, event("click", "films", "a", &json!(null))).ok();
    figures(&server, "films", 1, 1);
    server
        .patch("/indexes/films/settings", json!({"analytics": {"retentionDays": 0}}))
        .refused(400, "invalid_settings_analytics");
}

/// Checks that a request of several queries has a record for each, also when they are merged, and that what a user types is one.
#[test]
fn each_query_is_a_record_and_keystrokes_are_one() {
    let server = cinema();
    let queries = json!([{"indexUid": "films", "q": "alien"}, {"indexUid": "films", "q": "brazil", "filter": null}]);
    let answer = |body: Value| {
        let request = server.request(Method::POST, "/multi-search").header("Meili-Include-Metadata", "true");
        server.send(request.json(&body)).ok()
    };
    let several = answer(json!({"queries": queries}));
    send(&server, event("click", "films", "a", &several["results"][0]["metadata"]["queryUid"])).ok();
    let merged = answer(json!({"queries": queries, "federation": {}}));
    send(&server, event("click", "films", "a", &merged["metadata"][1]["queryUid"])).ok();
    let shown = figures(&server, "films", 4, 2);
    assert_eq!((&shown["clickThroughRate"], &shown["unmatchedEvents"]), (&json!(0.5), &json!(0)));
    let first = search(&server, "films", "typist", "b");
    for typed in ["br", "bra", "braz"] {
        search(&server, "films", "typist", typed);
    }
    // A click that comes late, on what an earlier letter showed.
    send(&server, event("click", "films", "typist", &first)).ok();
    let shown = figures(&server, "films", 5, 3);
    assert_eq!(shown["unmatchedEvents"], 0);
    assert!(rows(&server, "films/queries", "query").contains(&json!("braz")));
    // A tag of an answer does not stand for a search.
    let by_get = |tag: &str| {
        let request = server.request(Method::GET, "/indexes/films/search?q=alien").header("If-None-Match", tag);
        server.send(request).status
    };
    by_get("\"none\"");
    assert_eq!(by_get("*"), 304);
    figures(&server, "films", 7, 3);
}

#[test]
fn history_stays_with_the_name_or_follows_the_index() {
    let server = cinema();
    search(&server, "films", "a", "alien");
    send(&server, event("click", "films", "a", &json!(null))).ok();
    figures(&server, "films", 1, 1);
    // Built anew beside it, and put in its place.
    server.add("films-new", json!([{"id": 1, "title": "Alien"}]));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["films", "films-new"]}])));
    server.done(&server.delete("/indexes/films-new"));
    figures(&server, "films", 1, 1);
    // Of an alias: for it, and for its index.
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    send(&server, event("click", "movies", "b", &json!(null))).ok();
    figures(&server, "movies", 0, 1);
    figures(&server, "films", 1, 2);
    // Renamed: the old name is gone.
    server.add("books", json!([{"id": 1}]));
    send(&server, event("click", "books", "a", &json!(null))).ok();
    figures(&server, "books", 0, 1);
    server.done(&server.patch("/indexes/books", json!({"uid": "novels"})));
    figures(&server, "novels", 0, 1);
    // Names differ by case.
    server.add("Novels", json!([{"id": 1}]));
    figures(&server, "Novels", 0, 0);
    // Deleted: refused, and gone.
    server.done(&server.delete("/indexes/novels"));
    send(&server, event("click", "novels", "a", &json!(null))).refused(400, "index_not_found");
    server.wait_for_log("deleted the events of indexes that are gone");
    server.add("novels", json!([{"id": 1}]));
    figures(&server, "novels", 0, 0);
    figures(&server, "films", 1, 2);
}

#[test]
fn keys_and_tenants_send_for_their_indexes() {
    let server = start(&[]);
    for index in ["films", "books"] {
        let path = format!("/indexes/{index}/documents");
        finish(&server, &ask(&server, crate::keys::MASTER, "POST", &path, &json!([{"id": 1}])));
    }
    let key = make(&server, &["search", "events.add"], &["films"]);
    let of = |index: &str| event("click", index, "a", &json!(null));
    assert_eq!(ask(&server, &value(&key), "POST", "/events", &of("films")).status, 201);
    ask(&server, &value(&key), "POST", "/events", &of("books")).refused(403, "invalid_api_key");
    let both = json!([of("films"), of("books")]);
    ask(&server, &value(&key), "POST", "/events", &both).refused(403, "invalid_api_key");
    ask(&server, &value(&key), "GET", "/analytics/films", &Value::Null).refused(403, "invalid_api_key");
    ask(&server, &value(&key), "DELETE", "/events/users/a", &Value::Null).refused(403, "invalid_api_key");
    let tenant = token(&key, json!({"films": {"filter": "id = 1"}}));
    assert_eq!(ask(&server, &tenant, "POST", "/events", &of("films")).status, 201);
    ask(&server, &tenant, "POST", "/events", &of("books")).refused(403, "invalid_api_key");
    let searching = make(&server, &["search"], &["films"]);
    ask(&server, &value(&searching), "POST", "/events", &of("films")).refused(403, "invalid_api_key");
    ask(&server, &token(&searching, json!(["films"])), "POST", "/events", &of("films")).refused(403, "invalid_api_key");
    let reading = make(&server, &["analytics.get"], &["films"]);
    let look = || ask(&server, &value(&reading), "GET", "/analytics/films", &Value::Null).ok();
    soon_as(look, |shown| shown["clicks"] == 1);
    ask(&server, &value(&reading), "GET", "/analytics/books", &Value::Null).refused(403, "invalid_api_key");
}

#[test]
fn copies_have_them_if_they_are_to() {
    let server = Server::with_options(&["--events-in-backups", "all"]);
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    server.set("films", json!({"analytics": {"searches": true}}));
    let uid = search(&server, "films", "a", "alien");
    send(&server, event("click", "films", "a", &uid)).ok();
    server.done(&server.post("/snapshots", Value::Null));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let task = server.done(&server.post("/dumps", Value::Null));
    let dump = server.folder().join(format!("dumps/{}.dump", task["details"]["dumpUid"].as_str().unwrap()));
    for (option, copy) in [("--import-snapshot", &snapshot), ("--import-dump", &dump)] {
        let mut restored = Server::with_options(&[option, copy.to_str().unwrap(), "--events-in-backups", "none"]);
        assert_eq!(figures(&restored, "films", 1, 1)["clickThroughRate"], 1.0, "{option}");
        assert_eq!(restored.delete("/events/users/a").ok()["deleted"], 2, "{option}");
        restored.done(&restored.post("/snapshots", Value::Null));
        assert!(!restored.folder().join("snapshots/data.snapshot/events").exists());
        assert!(restored.terminate().success());
        let (is_sound, found) = restored.verify();
        assert!(is_sound, "{found}");
        assert!(found.contains("events/: "), "{found}");
    }
    // By default, a dump has none.
    let server = cinema();
    send(&server, event("click", "films", "a", &json!(null))).ok();
    let task = server.done(&server.post("/dumps", Value::Null));
    let dump = server.folder().join(format!("dumps/{}.dump", task["details"]["dumpUid"].as_str().unwrap()));
    let restored = Server::with_options(&["--import-dump", dump.to_str().unwrap()]);
    assert_eq!(restored.get("/analytics/films").ok()["clicks"], 0);
}

#[test]
fn a_replica_sends_events_on_and_records_nothing() {
    let group = Group::new();
    let address = group.address();
    let options = ["--master-key", KEY, "--publish", &address, "--public-url", "http://writer.example/"];
    let writer = Server::with_options(&options).with_key(KEY);
    writer.set("films", json!({"analytics": {"searches": true}}));
    let task = writer.add("films", json!([film(1, "Alien")]));
    let replica = group.replica();
    after(&replica, &task, "/indexes");
    search(&replica, "films", "a", "alien");
    let client = reqwest::blocking::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    for (method, path) in [
        (Method::POST, "/events"),
        (Method::DELETE, "/events/users/a"),
        (Method::GET, "/analytics/films"),
        (Method::GET, "/analytics/films/queries"),
    ] {
        let request = client.request(method, format!("{}{path}", replica.url)).bearer_auth(KEY);
        let answer = request.json(&event("click", "films", "a", &json!(null))).send().unwrap();
        assert_eq!(answer.status().as_u16(), 307, "{path}");
        assert_eq!(answer.headers()["location"].to_str().unwrap(), format!("http://writer.example{path}"));
    }
    assert!(!replica.data_folder().join("events").exists());
    search(&writer, "films", "a", "alien");
    figures(&writer, "films", 1, 0);
}

/// Checks that what the server has recorded becomes judgements.
#[test]
fn recorded_searches_are_what_judge_reads() {
    let server = cinema();
    server.add("films", json!([{"id": 3, "title": "Aliens"}]));
    server.set("films", json!({"filterableAttributes": ["id"]}));
    for user in ["a", "b", "c", "e", "f", "g", "h", "i"] {
        search(&server, "films", user, "ali");
        let whole = search(&server, "films", user, "alien");
        let mut click = event("click", "films", user, &whole);
        click["position"] = json!(0);
        send(&server, json!([click, event("view", "films", user, &whole)])).ok();
    }
    // Without hits, without a user, and cut off.
    search(&server, "films", "d", "nothing there");
    server.search("films", json!({"q": "alien", "filter": ["id != 7"], "offset": 1, "limit": 1}));
    search(&server, "films", "d", &format!("alien {}", "x".repeat(600)));
    figures(&server, "films", 11, 8);
    let answer = server.get("/analytics/films/searches");
    let mut lines: Vec<Value> = answer.text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines.sort_by_key(|line| line.get("userId").is_none());
    assert_eq!(lines.len(), 9, "{}", answer.text);
    for line in &lines[..8] {
        let click = &line["clicks"][0];
        assert_eq!((&line["q"], &line["hits"], &line["offset"]), (&json!("alien"), &json!(["1", "3"]), &json!(0)));
        assert_eq!(
            (&click["objectId"], &click["position"], line["clicks"].as_array().unwrap().len()),
            (&json!("1"), &json!(0), 1)
        );
        assert!(line["userId"].as_str().unwrap().starts_with('u'), "{line}");
    }
    let (alone, filter) = (&lines[8], json!({"filter": ["id != 7"]}));
    assert_eq!((&alone["hits"], &alone["offset"], &alone["search"]), (&json!(["3"]), &json!(1), &filter));
    assert_eq!(server.get("/analytics/films/searches?end=2020-01-01").text, "");
    server.get("/analytics/films/searches?limit=1").refused(400, "bad_request");
    server.get("/analytics/none/searches").refused(404, "index_not_found");

    let folder = tempfile::tempdir().unwrap();
    let (log, queries) = (folder.path().join("log.ndjson"), folder.path().join("queries.ndjson"));
    std::fs::write(&log, answer.text).unwrap();
    let judged = Command::new(binary()).arg("judge").arg(&log).arg("--output").arg(&queries).output().unwrap();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
    let queries = std::fs::read_to_string(queries).unwrap();
    let first: Value = serde_json::from_str(queries.lines().next().expect("a query")).unwrap();
    assert_eq!(
        (&first["q"], first["relevant"].as_object().unwrap().contains_key("1")),
        (&json!("alien"), true),
        "{queries}"
    );
}
