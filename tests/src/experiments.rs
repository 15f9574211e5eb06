//! Experiments: what users see, what their clicks decide, and where experiments meet other things.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::keys::{ask, finish, make, start, value};
use crate::replication::{Group, KEY, after};
use crate::server::{Answer, Server, soon_as};
use crate::tenants::token;

/// Users whose votes suffice if they all agree.
const ENOUGH: usize = 40;

fn films() -> Value {
    json!([1, 2, 3, 4].map(|n| json!({"id": n, "title": "alien", "n": n})))
}

/// Fills the index `films`, which lists 1 to 4, and `films-2`, which lists 4 to 1.
fn fill(server: &Server) {
    server.set("films", json!({"analytics": {"searches": true}, "filterableAttributes": ["n"]}));
    server.add("films", films());
    server.done(&server.post("/indexes/films/clone", json!({"uid": "films-2"})));
    server.set("films-2", json!({"rankingRules": ["n:desc"]}));
}

fn cinema() -> Server {
    let server = Server::start();
    fill(&server);
    server
}

fn definition(variant: Value, method: &str) -> Value {
    json!({"indexUid": "films", "variant": variant, "method": method, "windowSeconds": 1})
}

fn begin(server: &Server, id: &str, body: Value) -> Answer {
    server.put(&format!("/experiments/{id}"), body)
}

fn clone_of_films() -> Value {
    json!({"indexUid": "films-2"})
}

/// A boost that lists 4 to 1.
fn boost() -> Value {
    let boost = json!({"boost": {"field": "n", "function": "linear", "weight": 100}});
    json!({"parameters": {"matchingStrategy": "any", "boosts": [boost]}})
}

/// Searches as a user; the whole answer.
fn answer(server: &Server, user: &str, body: &Value) -> Value {
    let request = server.request(Method::POST, "/indexes/films/search").json(body);
    server.send(request.header("X-MS-USER-ID", user).header("Meili-Include-Metadata", "true")).ok()
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["hits"].as_array().expect("hits").iter().map(|hit| hit["id"].as_u64().expect("an id")).collect()
}

fn act(server: &Server, kind: &str, user: &str, answer: &Value, object: u64) {
    let event = json!({
        "eventType": kind, "eventName": "Hit", "indexUid": "films", "userId": user,
        "queryUid": answer["metadata"]["queryUid"], "objectId": object
    });
    server.post("/events", event).ok();
}

fn outcome(server: &Server, id: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let look = || server.get(&format!("/experiments/{id}")).ok();
    soon_as(look, |shown| is_wanted(&shown["outcome"]))["outcome"].clone()
}

fn user(number: usize) -> String {
    format!("user-{number}")
}

#[test]
fn clicks_on_mixed_lists_decide_and_the_winner_is_applied() {
    let server = cinema();
    let begun = begin(&server, "e", definition(clone_of_films(), "interleave")).ok();
    assert_eq!((&begun["id"], &begun["share"], &begun["goal"]), (&json!("e"), &json!(1.0), &json!("click")));
    let alien = json!({"q": "alien"});
    for number in 0..ENOUGH {
        let seen = answer(&server, &user(number), &alien);
        assert_eq!(seen["experiment"], json!({"id": "e", "variant": "interleaved"}));
        assert!([[1, 4], [4, 1]].contains(&[ids(&seen)[0], ids(&seen)[1]]), "{seen}");
        act(&server, "click", &user(number), &seen, 4);
        if number == 0 {
            server.post("/experiments/e/apply", Value::Null).refused(409, "experiment_conflict");
            // Forged by another user, about what was not shown, and repeated.
            act(&server, "click", "thief", &seen, 1);
            act(&server, "click", &user(0), &seen, 99);
            act(&server, "click", &user(0), &seen, 4);
        }
    }
    let found = outcome(&server, "e", |found| found["winner"] == "variant" && found["votes"] == ENOUGH);
    assert_eq!((&found["preference"], &found["unmatchedEvents"]), (&json!(1.0), &json!(2)), "{found}");
    assert!(found["low"].as_f64().unwrap() > 0.0, "{found}");
    assert!(found["pValue"].as_f64().unwrap() < 0.05, "{found}");
    let visits = json!({"visits": ENOUGH, "visitsWithClick": ENOUGH, "visitsWithGoal": ENOUGH});
    assert_eq!((&found["groups"], &found["fallbacks"]), (&json!({"interleaved": visits}), &json!(0)));
    let rules = server.get("/indexes/films/settings/ranking-rules").ok();
    // A task that has no effect applies nothing, and while one waits there is no other.
    let held = server.hold_queue();
    let late = server.post("/experiments/e/apply", Value::Null);
    server.post("/experiments/e/apply", Value::Null).refused(409, "experiment_conflict");
    server.post(&format!("/tasks/cancel?uids={}", late.body["taskUid"]), Value::Null).ok();
    server.release_queue(held);
    assert_eq!(server.wait(&late)["status"], "canceled");
    assert_eq!(server.get("/experiments/e").ok()["taskUid"], late.body["taskUid"]);
    let task = server.done(&server.post("/experiments/e/apply", Value::Null));
    assert_eq!(task["details"], json!({"rankingRules": ["n:desc"]}));
    let ended = server.get("/experiments/e").ok();
    assert_eq!((&ended["stopReason"], &ended["outcome"]["winner"]), (&json!("applied"), &json!("variant")));
    assert_eq!(ended["undo"], json!({"rankingRules": rules}));
    let seen = answer(&server, "user-0", &alien);
    assert_eq!((ids(&seen), seen.get("experiment")), (vec![4, 3, 2, 1], None));
    server.post("/experiments/e/apply", Value::Null).refused(409, "experiment_conflict");
    server.set("films", ended["undo"].clone());
    assert_eq!(ids(&answer(&server, "user-0", &alien)), [1, 2, 3, 4]);
}

/// Checks that lists are the same for a user and a query: again, by pages, and from memory, and that no other caller gets them.
#[test]
fn lists_go_on_where_they_began() {
    let server = cinema();
    for variant in [clone_of_films(), boost()] {
        begin(&server, "e", definition(variant, "interleave")).ok();
        let mut lists = std::collections::BTreeSet::new();
        for number in 0..12 {
            let of = |body: Value| ids(&answer(&server, &user(number), &body));
            let whole = of(json!({"q": "alien"}));
            assert_eq!(whole, of(json!({"q": "alien"})));
            for size in 1..4 {
                let by_offset =
                    (0..4).step_by(size).flat_map(|at| of(json!({"q": "alien", "offset": at, "limit": size})));
                assert_eq!(by_offset.collect::<Vec<u64>>(), whole);
            }
            let by_page = (1..3).flat_map(|page| of(json!({"q": "alien", "page": page, "hitsPerPage": 2})));
            assert_eq!(by_page.collect::<Vec<u64>>(), whole);
            lists.insert(whole);
        }
        assert!(lists.len() > 1, "{lists:?}");
        // From memory, which needs no metadata: each user has their own.
        let plain = |user: &str| {
            let request = server.request(Method::GET, "/indexes/films/search?q=alien").header("X-MS-USER-ID", user);
            let response = request.send().unwrap();
            assert!(!response.headers().contains_key("etag"));
            ids(&serde_json::from_str(&response.text().unwrap()).unwrap())
        };
        for number in 0..12 {
            let whole = ids(&answer(&server, &user(number), &json!({"q": "alien"})));
            assert_eq!([plain(&user(number)), plain(&user(number))], [whole.clone(), whole]);
        }
        server.post("/experiments/e/stop", Value::Null).ok();
        assert_eq!(ids(&answer(&server, "user-0", &json!({"q": "alien"}))), [1, 2, 3, 4]);
    }
}

#[test]
fn an_experiment_that_harms_stops_by_itself() {
    let server = cinema();
    begin(&server, "e", definition(boost(), "split")).ok();
    let mut seen_by = std::collections::BTreeMap::new();
    for number in 0..2 * ENOUGH {
        let seen = answer(&server, &user(number), &json!({"q": "alien"}));
        let group = seen["experiment"]["variant"].as_str().expect("a group").to_owned();
        assert_eq!(ids(&seen), if group == "control" { [1, 2, 3, 4] } else { [4, 3, 2, 1] });
        if group == "control" {
            act(&server, "click", &user(number), &seen, 1);
        }
        *seen_by.entry(group).or_insert(0) += 1;
    }
    assert!(seen_by.values().all(|users| *users > 20), "{seen_by:?}");
    let stopped = soon_as(|| server.get("/experiments/e").ok(), |shown| shown["stopReason"] == "guard");
    assert_eq!(stopped["outcome"]["winner"], "control", "{stopped}");
    server.post("/experiments/e/apply", Value::Null).refused(409, "experiment_conflict");
    let seen = answer(&server, "user-0", &json!({"q": "alien"}));
    assert_eq!(seen.get("experiment"), None);
}

#[test]
fn what_is_no_experiment_is_refused() {
    let server = cinema();
    let good = || definition(clone_of_films(), "interleave");
    for (name, value, code) in [
        ("indexUid", json!("none"), "index_not_found"),
        ("indexUid", json!("films-2"), "invalid_experiment"),
        ("variant", json!({"indexUid": "none"}), "index_not_found"),
        ("variant", json!({"parameters": {"filter": "n = 1"}}), "invalid_experiment"),
        ("variant", json!({"parameters": {"matchingStrategy": "most"}}), "invalid_search_matching_strategy"),
        ("variant", json!({"parameters": {"hybrid": {"embedder": "none"}}}), "invalid_experiment"),
        ("method", json!("both"), "invalid_experiment"),
        ("share", json!(1.5), "invalid_experiment"),
        ("windowSeconds", json!(0), "invalid_experiment"),
        ("surprise", json!(1), "invalid_experiment"),
    ] {
        let mut bad = good();
        bad[name] = value;
        begin(&server, "e", bad).refused(400, code);
    }
    begin(&server, "a%20b", good()).refused(400, "invalid_experiment_id");
    server.add("silent", json!([{"id": 1}]));
    let mut silent = good();
    silent["indexUid"] = json!("silent");
    begin(&server, "e", silent).refused(400, "invalid_experiment");
    for (method, path) in
        [(Method::GET, "e"), (Method::DELETE, "e"), (Method::POST, "e/stop"), (Method::POST, "e/apply")]
    {
        let request = server.request(method, &format!("/experiments/{path}"));
        server.send(request).refused(404, "experiment_not_found");
    }
    begin(&server, "e", good()).ok();
    // The same again is the same; another one is not.
    let first = begin(&server, "e", good()).ok();
    begin(&server, "e", definition(boost(), "interleave")).refused(409, "experiment_conflict");
    begin(&server, "f", definition(boost(), "split")).refused(409, "experiment_conflict");
    assert_eq!(server.get("/experiments?limit=1").ok()["results"], json!([first]));
    server.post("/experiments/e/stop", Value::Null).ok();
    assert_eq!(server.get("/experiments/e").ok()["stopReason"], "asked");
    begin(&server, "f", definition(boost(), "split")).ok();
    assert_eq!(server.get("/experiments").ok()["total"], 2);
    assert_eq!(server.delete("/experiments/e").status, 204);
    assert_eq!(server.delete("/experiments/f").status, 204);
    assert_eq!(server.get("/experiments").ok()["total"], 0);
}

/// Checks which searches take part: those whose order is a matter of relevance, of users with an id.
#[test]
fn some_searches_stay_outside() {
    let server = cinema();
    server.set("films", json!({"sortableAttributes": ["n"]}));
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    let mut of_alias = definition(boost(), "split");
    of_alias["indexUid"] = json!("movies");
    assert_eq!(begin(&server, "e", of_alias).ok()["indexUid"], "films");
    let takes_part = |body: Value| answer(&server, "a", &body).get("experiment").is_some();
    assert!(takes_part(json!({"q": "alien"})));
    assert!(takes_part(json!({"filter": "n < 3"})));
    for body in [
        json!({"q": "alien", "sort": ["n:asc"]}),
        json!({"q": "alien", "limit": 0}),
        json!({"q": "alien", "explain": true}),
        json!({"q": "alien", "pointInTime": {"keepAliveMs": 1000}}),
    ] {
        assert!(!takes_part(body.clone()), "{body}");
    }
    assert_eq!(server.search("films", json!({"q": "alien"})).get("experiment"), None);
    // Of several queries, each takes part, unless they are merged.
    let several = |body: Value| {
        let request = server.request(Method::POST, "/multi-search").header("X-MS-USER-ID", "a").json(&body);
        server.send(request).ok()
    };
    let queries = json!([{"indexUid": "movies", "q": "alien"}, {"indexUid": "films", "q": "brazil"}]);
    let apart = several(json!({"queries": queries}));
    assert_eq!(apart["results"][0]["experiment"], apart["results"][1]["experiment"]);
    assert_eq!(apart["results"][0]["experiment"]["id"], "e");
    assert_eq!(several(json!({"queries": queries, "federation": {}})).get("experiment"), None);
    server.delete("/experiments/e");
    // Distinct hits of two lists are no distinct list.
    begin(&server, "e", definition(boost(), "interleave")).ok();
    assert!(!takes_part(json!({"q": "alien", "distinct": "n"})));
    server.delete("/experiments/e");
    // Some of the users only.
    let mut few = definition(boost(), "interleave");
    few["share"] = json!(0.5);
    begin(&server, "e", few).ok();
    let group = |number| answer(&server, &user(number), &json!({"q": "alien"}))["experiment"]["variant"].clone();
    let groups: Vec<Value> = (0..40).map(group).collect();
    let outside = groups.iter().filter(|group| **group == json!("outside")).count();
    assert!((8..32).contains(&outside), "{groups:?}");
}

/// Checks that an index that lags gives no answers, and that deleted or changed documents are not shown.
#[test]
fn a_variant_that_cannot_answer_is_counted() {
    let server = cinema();
    // No look of the guard comes between.
    let mut longer = definition(clone_of_films(), "split");
    longer["windowSeconds"] = json!(3600);
    begin(&server, "e", longer).ok();
    let sees_variant =
        |number: &usize| answer(&server, &user(*number), &json!({"q": "alien"}))["experiment"]["variant"] == "variant";
    let number = (0..100).find(sees_variant).expect("half of them");
    let seen = || ids(&answer(&server, &user(number), &json!({"q": "alien"})));
    assert_eq!(seen(), [4, 3, 2, 1]);
    // Of the same number, but not the same: what is not in the index is left out.
    server.add("films-2", json!([{"id": 5, "title": "alien", "n": 5}]));
    server.done(&server.delete("/indexes/films-2/documents/1"));
    assert_eq!(seen(), [4, 3, 2]);
    server.add("films", json!([{"id": 6, "title": "alien", "n": 6}]));
    assert_eq!(seen(), [1, 2, 3, 4, 6]);
    outcome(&server, "e", |found| found["fallbacks"] == 1);
    // What the variant refuses, the index answers.
    server.done(&server.delete("/indexes/films/documents/6"));
    server.set("films-2", json!({"filterableAttributes": []}));
    let another = (number + 1..100).find(sees_variant).expect("half of them");
    assert_eq!(ids(&answer(&server, &user(another), &json!({"q": "alien", "filter": "n > 2"}))), [3, 4]);
    outcome(&server, "e", |found| found["fallbacks"] == 2);
    server.post("/experiments/e/apply", Value::Null).refused(409, "experiment_conflict");
}

#[test]
fn an_experiment_ends_with_its_indexes() {
    let server = cinema();
    let ends = |reason: &str| {
        let stopped = soon_as(|| server.get("/experiments/e").ok(), |shown| shown.get("stopReason").is_some());
        assert_eq!(stopped["stopReason"], reason);
    };
    begin(&server, "e", definition(clone_of_films(), "interleave")).ok();
    server.set("films", json!({"stopWords": ["the"]}));
    ends("settingsChanged");
    begin(&server, "e", definition(clone_of_films(), "interleave")).ok();
    server.set("films", json!({"analytics": null}));
    ends("notRecorded");
    server.set("films", json!({"analytics": {"searches": true}}));
    begin(&server, "e", definition(clone_of_films(), "interleave")).ok();
    server.done(&server.patch("/indexes/films-2", json!({"uid": "films-3"})));
    assert_eq!(ids(&answer(&server, "a", &json!({"q": "alien"}))), [1, 2, 3, 4]);
    ends("variantChanged");
    begin(&server, "e", definition(json!({"indexUid": "films-3"}), "interleave")).ok();
    // The name leads to another index at once.
    server.add("films-4", films());
    server.set("films-4", json!({"analytics": {"searches": true}}));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["films", "films-4"]}])));
    assert_eq!(answer(&server, "a", &json!({"q": "alien"})).get("experiment"), None);
    ends("indexChanged");
    begin(&server, "e", definition(json!({"indexUid": "films-3"}), "interleave")).ok();
    server.done(&server.delete("/indexes/films"));
    ends("indexChanged");
}

#[test]
fn keys_and_tenants_see_what_they_may() {
    let server = start(&[]);
    let put = |method: &str, path: &str, body: Value| ask(&server, crate::keys::MASTER, method, path, &body);
    let settings = json!({"analytics": {"searches": true}, "filterableAttributes": ["n"]});
    finish(&server, &put("PATCH", "/indexes/films/settings", settings));
    finish(&server, &put("POST", "/indexes/films/documents", films()));
    finish(&server, &put("POST", "/indexes/films/clone", json!({"uid": "films-2"})));
    finish(&server, &put("PATCH", "/indexes/films-2/settings", json!({"rankingRules": ["n:desc"]})));
    // In the clone, the document belongs to the tenant; in the index not any more.
    finish(&server, &put("PUT", "/indexes/films/documents", json!([{"id": 2, "n": 20}])));
    put("PUT", "/experiments/e", definition(clone_of_films(), "interleave")).ok();
    let searching = make(&server, &["search"], &["films"]);
    let tenant = token(&searching, json!({"films": {"filter": "n < 4"}}));
    for key in [&value(&searching), &tenant] {
        for number in 0..4 {
            let rights = (AUTHORIZATION, format!("Bearer {key}").parse().expect("a header"));
            let request = server.request(Method::POST, "/indexes/films/search").headers(HeaderMap::from_iter([rights]));
            let seen = server.send(request.header("X-MS-USER-ID", user(number)).json(&json!({"q": "alien"}))).ok();
            let mut found = ids(&seen);
            found.sort_unstable();
            assert_eq!(found, if *key == tenant { vec![1, 3] } else { vec![1, 2, 3, 4] }, "{seen}");
        }
    }
    ask(&server, &value(&searching), "GET", "/experiments", &Value::Null).refused(403, "invalid_api_key");
    let reading = make(&server, &["experiments.get"], &["*"]);
    assert_eq!(ask(&server, &value(&reading), "GET", "/experiments/e", &Value::Null).status, 200);
    ask(&server, &value(&reading), "POST", "/experiments/e/stop", &Value::Null).refused(403, "invalid_api_key");
    // Applying changes settings.
    let stopping = make(&server, &["experiments.update"], &["*"]);
    ask(&server, &value(&stopping), "POST", "/experiments/e/apply", &Value::Null).refused(403, "invalid_api_key");
    assert_eq!(ask(&server, &value(&stopping), "POST", "/experiments/e/stop", &Value::Null).status, 200);
}

#[test]
fn copies_go_on_with_them() {
    let mut server = Server::with_options(&["--events-in-backups", "all"]);
    fill(&server);
    let mut longer = definition(clone_of_films(), "interleave");
    longer["windowSeconds"] = json!(2);
    begin(&server, "e", longer).ok();
    let seen = answer(&server, "a", &json!({"q": "alien"}));
    act(&server, "click", "a", &seen, 4);
    let has_vote = |found: &Value| found["votes"] == 1;
    outcome(&server, "e", has_vote);
    server.done(&server.post("/snapshots", Value::Null));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let task = server.done(&server.post("/dumps", Value::Null));
    let dump = server.folder().join(format!("dumps/{}.dump", task["details"]["dumpUid"].as_str().unwrap()));
    for (option, copy) in [("--import-snapshot", &snapshot), ("--import-dump", &dump)] {
        let mut restored = Server::with_options(&[option, copy.to_str().unwrap()]);
        assert_eq!(outcome(&restored, "e", has_vote)["preference"], 1.0, "{option}");
        let again = answer(&restored, "a", &json!({"q": "alien"}));
        assert_eq!((ids(&again), &again["experiment"]["id"]), (ids(&seen), &json!("e")), "{option}");
        assert!(restored.terminate().success());
        let (is_sound, found) = restored.verify();
        assert!(is_sound, "{found}");
    }
    server.kill();
    server.start_again();
    assert_eq!(ids(&answer(&server, "a", &json!({"q": "alien"}))), ids(&seen));
    outcome(&server, "e", has_vote);
}

#[test]
fn replicas_stay_outside() {
    let group = Group::new();
    let address = group.address();
    let options = ["--master-key", KEY, "--publish", &address, "--public-url", "http://writer.example/"];
    let writer = Server::with_options(&options).with_key(KEY);
    fill(&writer);
    begin(&writer, "e", definition(boost(), "interleave")).ok();
    let task = writer.add("films", json!([{"id": 5, "title": "alien", "n": 5}]));
    assert!(answer(&writer, "a", &json!({"q": "alien"})).get("experiment").is_some());
    let replica = group.replica();
    after(&replica, &task, "/indexes");
    let seen = answer(&replica, "a", &json!({"q": "alien"}));
    assert_eq!((ids(&seen), seen.get("experiment")), (vec![1, 2, 3, 4, 5], None));
    let client = reqwest::blocking::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    for (method, path) in [(Method::GET, "/experiments"), (Method::POST, "/experiments/e/stop")] {
        let request = client.request(method, format!("{}{path}", replica.url)).bearer_auth(KEY);
        assert_eq!(request.send().unwrap().status().as_u16(), 307, "{path}");
    }
}
