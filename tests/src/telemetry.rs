//! Telemetry, as a collector receives it: everything that is promised, and nothing of what is never sent.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::{Value, json};

use crate::receiver::{Reply, answering};
use crate::server::Server;

/// Takes every body that is posted to it.
struct Collector {
    url: String,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    fn start() -> Collector {
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&bodies);
        let origin = answering(move |request| {
            received.lock().unwrap().push(request.text().to_owned());
            Some(Reply::new(200, ""))
        });
        let url = format!("{origin}/collect");
        Collector { url, bodies }
    }

    fn options(&self) -> [&str; 4] {
        ["--telemetry-url", &self.url, "--experimental-allowed-ip-networks", "127.0.0.0/8"]
    }

    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }
}

/// Stands in everything that must not be sent.
const MARK: &str = "xyzzymark";

fn use_everything(server: &Server) {
    let mark = |text: &str| format!("{text}{MARK}");
    let index = mark("films");
    let document = |id: u32| {
        let mut document = json!({"id": id, "_geo": {"lat": 1, "lng": 2}});
        document[mark("title")] = mark("A text with ").into();
        document
    };
    server.add(&index, (0..10).map(document).collect());
    server.set(
        &index,
        json!({
            "filterableAttributes": [mark("title"), "_geo"],
            "sortableAttributes": [mark("title")],
            "rankingRules": ["words", "sort", mark("title") + ":desc"],
            "synonyms": {mark("a"): [mark("b")]},
            "stopWords": [mark("c")],
            "distinctAttribute": mark("title"),
        }),
    );
    let path = |rest: &str| format!("/indexes/{index}{rest}");
    server.search(
        &index,
        json!({"q": mark("text -"), "filter": format!("{} = '{MARK}'", mark("title")),
        "sort": [mark("title") + ":asc"], "facets": [mark("title")], "attributesToHighlight": ["*"],
        "highlightPreTag": mark("<b>"), "cropMarker": MARK, "locales": ["fra"], "limit": 7, "offset": 3}),
    );
    server.search(&index, json!({"filter": ["_geoRadius(1, 2, 3000)"], "showRankingScore": true}));
    server.post(&path("/search"), json!({"q": 3})).refused(400, "invalid_search_q");
    server.get(&path(&format!("/search?q={MARK}&filter={MARK}"))).refused(400, "invalid_search_filter");
    let queries = json!({"queries": [{"indexUid": index, "q": MARK}, {"indexUid": index, "q": "a"}]});
    server.post("/multi-search", queries).ok();
    server.post(&path("/documents/fetch"), json!({"filter": format!("{} = '{MARK}'", mark("title"))})).ok();
    server.get(&path("/documents/3")).ok();
    server.get(&format!("/tasks?indexUids={index}&statuses=failed")).ok();
    server.get("/tasks/0").ok();
    server.get("/stats").ok();
    server.done(&server.delete(&path("/documents/3")));
    server.done(&server.post(&path("/documents/delete"), json!({"filter": format!("{} = '{MARK}'", mark("title"))})));
    server.done(&server.post("/indexes", json!({"uid": mark("other"), "primaryKey": "sku"})));
    server.done(&server.post("/swap-indexes", json!([{"indexes": [index, mark("other")]}])));
    let webhook = json!({"url": format!("http://10.11.12.13/{MARK}"), "headers": {"Authorization": MARK}});
    server.post("/webhooks", webhook).ok();
    server.post("/keys", json!({"name": MARK, "actions": ["search"], "indexes": [index], "expiresAt": null})).ok();
    server.get(&format!("/keys/{MARK}")).refused(404, "api_key_not_found");
    let bad = server.request(Method::POST, &path("/documents")).header("Content-Type", "text/plain").body(MARK);
    server.send(bad).refused(415, "invalid_content_type");
}

/// Checks the reported figures of the searches in [`use_everything`].
#[track_caller]
fn check_searches(search: &Value) {
    for (name, value) in [
        ("requests.total_received", json!(4)),
        ("requests.total_succeeded", json!(2)),
        ("requests.total_failed", json!(2)),
        ("requests.total_used_negative_operator", json!(1)),
        ("q.max_terms_number", json!(2)),
        ("pagination.max_limit", json!(20)),
        ("pagination.max_offset", json!(3)),
        ("pagination.most_used_navigation", json!("estimated")),
        ("filter.with_geoRadius", json!(true)),
        ("filter.on_vectors", json!(false)),
        ("sort.avg_criteria_number", json!(1.0)),
        ("formatting.highlight_pre_tag", json!(true)),
        ("formatting.crop_length", json!(false)),
        ("scoring.show_ranking_score", json!(true)),
        ("locales", json!(["fra"])),
    ] {
        assert_eq!(search[name], value, "{name}: {search}");
    }
    assert!(search["requests.99th_response_time"].is_u64());
}

#[test]
fn requests_are_sent_as_spans() {
    let collector = Collector::start();
    let networks = "--experimental-allowed-ip-networks";
    let mut server = Server::with_options(&["--trace-url", &collector.url, networks, "127.0.0.0/8"]);
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0";
    for flags in ["1", "0"] {
        let search = server.request(Method::GET, "/indexes/films/search?q=alien");
        let answer = search.header("traceparent", format!("{parent}{flags}")).send().expect("an answer");
        assert_eq!(answer.status().as_u16(), 200);
    }
    server.get("/keys/secret-of-a-key");
    assert!(server.terminate().success());
    let bodies = collector.bodies();
    for secret in ["secret-of-a-key", "alien"] {
        assert!(bodies.iter().all(|body| !body.contains(secret)), "{secret}: {bodies:?}");
    }
    let spans: Vec<Value> = bodies
        .iter()
        .flat_map(|body| {
            let body: Value = serde_json::from_str(body).expect("JSON");
            assert_eq!(body["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "lamina");
            body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans").clone()
        })
        .collect();
    let searches: Vec<&Value> = spans.iter().filter(|span| span["name"] == "GET /indexes/{indexUid}/search").collect();
    assert_eq!(searches.len(), 1, "the other trace is not recorded: {spans:?}");
    assert_eq!(searches[0]["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(searches[0]["parentSpanId"], "b7ad6b7169203331");
    assert!(
        spans.iter().any(|span| span["name"] == "POST /indexes/{indexUid}/documents" && span["parentSpanId"].is_null())
    );
}

#[test]
fn figures_are_sent_and_nothing_that_was_stored_or_asked_for() {
    let collector = Collector::start();
    let master = format!("a master key with {MARK} in it");
    let options = [&collector.options()[..], &["--master-key", &master]].concat();
    let mut server = Server::with_options(&options).with_key(&master);
    // What is sent, where, and how to stop it.
    let to = collector.options()[1].rsplit_once('/').expect("a path").0.to_owned();
    let notice = format!("anonymous usage figures go to {to} every hour; --no-analytics stops them");
    assert!(server.log().contains(&notice), "{}", server.log());
    use_everything(&server);
    assert!(collector.bodies().is_empty(), "nothing is sent at once");
    let uid = std::fs::read_to_string(server.data_folder().join("instance-uid")).unwrap();
    assert!(server.terminate().success());

    let bodies = collector.bodies();
    assert_eq!(bodies.len(), 1, "what is left is sent at the end");
    let body = &bodies[0];
    assert!(body.len() <= 500_000);
    let secrets = [MARK, "127.0.0.1", "10.11.12.13", server.folder().to_str().unwrap(), &collector.url];
    for secret in secrets {
        assert!(!body.contains(secret), "{secret}: {body}");
    }
    let batch: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(batch["instanceUid"], uid);
    assert!(server.log().contains(&format!("Instance UID         {uid}\n")), "{}", server.log());
    let event = |name: &str| {
        let events = batch["events"].as_array().expect("events");
        let found = events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("{name}: {body}"));
        found["properties"].clone()
    };
    let instance = event("Instance");
    assert_eq!(instance["context.app.version"], env!("CARGO_PKG_VERSION"));
    assert!(instance["system.cores"].as_u64().unwrap() > 0);
    assert!(instance["system.ram_size"].as_u64().unwrap() > 0);
    assert_eq!((&instance["stats.indexes_number"], &instance["infos.env"]), (&json!(2), &json!("development")));
    assert_eq!((&instance["infos.db_path"], &instance["infos.import_dump"]), (&json!(true), &json!(false)));
    check_searches(&event("Documents Searched"));
    assert_eq!(event("Documents Searched by Multi-Search")["searches.total_search_count"], 2);
    assert_eq!(event("Documents Added")["payload_type"], json!(["application/json", "text/plain"]));
    assert_eq!(event("Settings Updated")["ranking_rules.values"], "words, sort, *:desc");
    assert_eq!(event("Index Created")["primary_key"], "sku");
    assert_eq!(event("Indexes Swapped")["swap_operation_number"], 1);
    assert_eq!(event("Tasks Seen")["filtered_by_status"], true);
    assert_eq!(event("Webhook Created")["webhooks_created"], 1);
    let deleted = event("Documents Deleted");
    assert_eq!(
        (&deleted["per_document_id"], &deleted["per_filter"], &deleted["clear_all"]),
        (&json!(true), &json!(true), &json!(false))
    );
}

/// Uses the rest that `use_everything` omits: the other settings, and routes that need a switch or another server.
fn use_the_rest(server: &Server) {
    let path = "/indexes/books";
    server.send(server.request(Method::GET, "/stats").header("User-Agent", "tests/1"));
    server.patch("/experimental-features", json!({"network": true, "editDocumentsByFunction": true})).ok();
    server.patch("/network", json!({"self": "here", "remotes": {"there": {"url": "http://127.0.0.1:9"}}})).ok();
    let embedder = json!({"source": "rest", "url": "http://127.0.0.1:9", "dimensions": 2, "request": {"input": "{{text}}"},
        "response": {"output": "{{embedding}}"}, "documentTemplate": "{{doc.id}}", "documentTemplateMaxBytes": 10});
    server.set(
        "books",
        json!({
            "searchableAttributes": ["*"], "displayedAttributes": ["*"], "proximityPrecision": "byWord",
            "facetSearch": true, "prefixSearch": "indexingTime", "separatorTokens": ["|"], "nonSeparatorTokens": ["#"],
            "dictionary": ["J. R. R."], "pagination": {"maxTotalHits": 100}, "embedders": {"e": embedder},
            "faceting": {"maxValuesPerFacet": 10, "sortFacetValuesBy": {"*": "count"}},
            "typoTolerance": {"enabled": true, "minWordSizeForTypos": {"oneTypo": 4, "twoTypos": 8}},
        }),
    );
    let there = json!({"indexUid": "books", "federationOptions": {"remote": "there"}});
    server.post("/multi-search", json!({"federation": {}, "queries": [{"indexUid": "books"}, there]})).ok();
    server.post(&format!("{path}/documents/edit"), json!({"function": ""})).ok();
    server.wait(&server.post(&format!("{path}/documents/delete-batch"), json!([1])));
    let export = json!({"url": "http://127.0.0.1:9", "indexes": {"nothing*": {}}});
    server.wait(&server.post("/export", export));
    let webhook = server.post("/webhooks", json!({"url": "http://10.11.12.13/tasks"})).ok();
    let webhook = webhook["uuid"].as_str().expect("a uuid").to_owned();
    server.patch(&format!("/webhooks/{webhook}"), json!({"headers": {"a": "b"}})).ok();
}

/// Every name of the specification and those of what only this server has, and no others.
#[test]
fn names_are_those_that_are_promised() {
    let collector = Collector::start();
    let master = "a master key of the tests";
    let options = [&collector.options()[..], &["--master-key", master]].concat();
    let mut server = Server::with_options(&options).with_key(master);
    use_everything(&server);
    use_the_rest(&server);
    assert!(server.terminate().success());
    let mut names = std::collections::BTreeSet::new();
    for body in collector.bodies() {
        let batch: Value = serde_json::from_str(&body).expect("JSON");
        for event in batch["events"].as_array().expect("events") {
            names.extend(event["properties"].as_object().expect("properties").keys().cloned());
        }
    }
    let promised = include_str!("telemetry_names.txt").lines().map(str::to_owned).collect();
    assert_eq!(names.difference(&promised).collect::<Vec<_>>(), Vec::<&String>::new(), "the page does not list these");
    assert_eq!(promised.difference(&names).collect::<Vec<_>>(), Vec::<&String>::new(), "these are missing");
}

#[test]
fn nothing_is_sent_unless_asked_for() {
    let collector = Collector::start();
    for options in [vec![], [&collector.options()[..], &["--no-analytics"]].concat()] {
        let mut server = Server::bare(&options);
        server.add("films", json!([{"id": 1}]));
        assert!(server.log().contains("Disabled"), "{}", server.log());
        server.terminate();
    }
    assert!(collector.bodies().is_empty());
}
