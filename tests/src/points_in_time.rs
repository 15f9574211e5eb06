//! Several pages of one state of an index, and answers that need not be sent again.

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, soon_as};

fn pages(server: &Server, point: &Value) -> Vec<u64> {
    (0..4)
        .flat_map(|page| {
            let query = json!({"q": "film", "offset": page * 10, "limit": 10, "pointInTime": {"id": point}});
            server.ids("films", query)
        })
        .map(|id| id.as_u64().expect("ids are numbers"))
        .collect()
}

fn film(id: u64) -> Value {
    json!({"id": id, "title": format!("film number {id}")})
}

/// Names of the segment files on disk.
fn segment_files(data: &Path) -> Vec<String> {
    let indexes = std::fs::read_dir(data.join("indexes")).expect("the folder of indexes");
    let files = indexes.flat_map(|index| std::fs::read_dir(index.expect("an entry").path()).expect("a folder"));
    let names = files.map(|file| file.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("seg-")).collect()
}

/// Files go with the last reader, which may be just about to let go of them.
#[track_caller]
fn wait_until_gone(server: &Server, files: &[String]) {
    soon_as(|| segment_files(&server.data_folder()), |now| !files.iter().any(|file| now.contains(file)));
}

#[test]
fn pages_stay_the_same_while_writes_go_on() {
    let mut server = Server::start();
    server.add("films", (0..40).map(film).collect());
    let first = server.search("films", json!({"q": "film", "limit": 1, "pointInTime": {}}));
    let point = first["pointInTime"]["id"].clone();
    assert!(point.is_string(), "{first}");
    assert!(first["pointInTime"]["expiresAt"].is_string(), "{first}");
    let old_files = segment_files(&server.data_folder());
    let before = pages(&server, &point);
    assert_eq!(before.len(), 40);

    server.done(&server.delete("/indexes/films/documents"));
    server.add("films", (100..110).map(film).collect());
    server.set("films", json!({"searchableAttributes": ["id"], "displayedAttributes": ["title"]}));
    server.done(&server.post("/indexes/films/compact", Value::Null));
    assert_eq!(pages(&server, &point), before, "documents and settings are those of the view");
    assert_eq!(server.document_count("films"), 10);
    let now = segment_files(&server.data_folder());
    assert!(old_files.iter().all(|file| now.contains(file)), "{old_files:?} {now:?}");

    // By GET, which ends it.
    let path = "/indexes/films/search?q=film&limit=2";
    let last = format!("{path}&pointInTimeKeepAliveMs=0&pointInTime={}", point.as_str().expect("text"));
    assert_eq!(server.get(&last).ok()["hits"].as_array().expect("hits").len(), 2);
    let gone = server.post("/indexes/films/search", json!({"pointInTime": {"id": point}}));
    gone.refused(404, "point_in_time_not_found");
    wait_until_gone(&server, &old_files);

    // What is held when the process ends is gone with it.
    let held = server.get(&format!("{path}&pointInTime=")).ok()["pointInTime"]["id"].clone();
    let old_files = segment_files(&server.data_folder());
    server.done(&server.delete("/indexes/films/documents"));
    assert!(old_files.iter().all(|file| segment_files(&server.data_folder()).contains(file)));
    server.kill();
    server.start_again();
    server.post("/indexes/films/search", json!({"pointInTime": {"id": held}})).refused(404, "point_in_time_not_found");
    wait_until_gone(&server, &old_files);
}

#[test]
fn views_end_by_themselves_and_belong_to_their_index() {
    let server = Server::start();
    server.add("films", json!([film(1)]));
    server.add("books", json!([film(1)]));
    let opened = server.search("films", json!({"pointInTime": {"keepAliveMs": 300_000}}))["pointInTime"]["id"].clone();
    let query = json!({"pointInTime": {"id": opened}});
    server.post("/indexes/books/search", query.clone()).refused(404, "point_in_time_not_found");
    server.post("/indexes/films/search", query.clone()).ok();
    let opened = server.search("films", json!({"pointInTime": {"keepAliveMs": 1}}))["pointInTime"]["id"].clone();
    // Longer than it is kept.
    std::thread::sleep(Duration::from_millis(20));
    let query = json!({"pointInTime": {"id": opened}});
    server.post("/indexes/films/search", query).refused(404, "point_in_time_not_found");

    for wrong in [json!("now"), json!({"id": "x"}), json!({"keepAliveMs": "1m"}), json!({"seconds": 1})] {
        let answer = server.post("/indexes/films/search", json!({"pointInTime": wrong}));
        assert_eq!(answer.status, 400, "{}", answer.text);
    }
    server.get("/indexes/films/search?pointInTime=x").refused(400, "invalid_search_point_in_time");
    // A search that fails holds nothing: otherwise the last of these would be one too many.
    for _ in 0..101 {
        let refused = server.post("/indexes/films/search", json!({"pointInTime": {}, "filter": "year = 1"}));
        refused.refused(400, "invalid_search_filter");
    }
    for _ in 0..100 {
        let answer = server.post("/indexes/films/search", json!({"pointInTime": {"keepAliveMs": 3_600_000}}));
        if answer.status == 429 {
            return answer.refused(429, "too_many_points_in_time");
        }
        answer.ok();
    }
    server.post("/indexes/films/search", json!({"pointInTime": {}})).refused(429, "too_many_points_in_time");
}

#[test]
fn multi_searches_and_facet_searches_see_the_same_state() {
    let server = Server::start();
    let genres = |genres: &[&str]| -> Value {
        genres.iter().enumerate().map(|(id, genre)| json!({"id": id, "title": "film", "genre": genre})).collect()
    };
    for index in ["films", "books"] {
        server.set(index, json!({"filterableAttributes": ["genre"]}));
        server.add(index, genres(&["War", "Noir"]));
    }
    let queries = json!([{"indexUid": "films", "q": "film"}, {"indexUid": "books", "limit": 1}]);
    let opened = server.post("/multi-search", json!({"queries": queries, "pointInTime": {}})).ok();
    let point = opened["pointInTime"].clone();
    assert!(point["expiresAt"].is_string(), "{opened}");
    assert!(opened["results"][0]["pointInTime"].is_null(), "{opened}");
    let point = json!({"id": point["id"]});
    let own = json!({"queries": [{"indexUid": "films", "pointInTime": {}}, {"indexUid": "films"}]});
    let own = server.post("/multi-search", own).ok()["results"][0]["pointInTime"]["id"].clone();
    for index in ["films", "books"] {
        server.add(index, genres(&["Crime", "Comedy", "Drama"]));
    }

    let totals = |body: Value| -> Vec<Value> {
        let results = server.post("/multi-search", body).ok()["results"].clone();
        results.as_array().expect("results").iter().map(|result| result["estimatedTotalHits"].clone()).collect()
    };
    assert_eq!(totals(json!({"queries": queries, "pointInTime": point})), [2, 2]);
    assert_eq!(totals(json!({"queries": queries})), [3, 3]);
    let with_own = json!([{"indexUid": "films", "pointInTime": {"id": own}}, {"indexUid": "films"}]);
    assert_eq!(totals(json!({"queries": with_own})), [2, 3]);
    let federated = json!({"queries": [{"indexUid": "films"}, {"indexUid": "books"}], "pointInTime": point,
        "federation": {"facetsByIndex": {"films": ["genre"]}}});
    let merged = server.post("/multi-search", federated).ok();
    assert_eq!((&merged["estimatedTotalHits"], &merged["pointInTime"]["id"]), (&json!(4), &point["id"]));
    assert_eq!(merged["facetsByIndex"]["films"]["distribution"]["genre"], json!({"Noir": 1, "War": 1}));
    // One of its indexes alone, by any route.
    assert_eq!(server.ids("books", json!({"pointInTime": point})).len(), 2);
    let values = |body: Value| server.post("/indexes/films/facet-search", body).ok();
    let found = values(json!({"facetName": "genre", "pointInTime": point}));
    assert_eq!(found["facetHits"], json!([{"value": "Noir", "count": 1}, {"value": "War", "count": 1}]));
    assert_eq!(found["pointInTime"]["id"], point["id"]);
    assert_eq!(values(json!({"facetName": "genre"}))["facetHits"].as_array().map(Vec::len), Some(3));

    let refused = |status, code, body| server.post("/multi-search", body).refused(status, code);
    refused(404, "point_in_time_not_found", json!({"queries": [{"indexUid": "songs"}], "pointInTime": point}));
    let foreign = json!([{"indexUid": "films"}, {"indexUid": "books", "pointInTime": {"id": own}}]);
    refused(404, "point_in_time_not_found", json!({"queries": foreign}));
    let inside = json!({"queries": [{"indexUid": "films", "pointInTime": {}}], "federation": {}});
    refused(400, "invalid_search_point_in_time", inside);
    refused(400, "invalid_search_point_in_time", json!({"queries": [], "pointInTime": "now"}));
}

#[test]
fn answers_that_the_client_has_are_not_sent_again() {
    let server = Server::start();
    server.add("films", json!([film(1), film(2)]));
    let ask = |path: &str, tag: Option<&str>| {
        let request = server.request(Method::GET, path);
        let request = tag.iter().fold(request, |request, tag| request.header("If-None-Match", *tag));
        let response = request.send().expect("an answer");
        let etag = response.headers().get("ETag").map(|tag| tag.to_str().expect("text").to_owned());
        (response.status().as_u16(), etag, response.text().expect("a body"))
    };
    let path = "/indexes/films/search?q=film";
    let (status, tag, _) = ask(path, None);
    let tag = tag.expect("a tag");
    assert_eq!(status, 200);
    assert_eq!(ask(path, Some(&tag)), (304, Some(tag.clone()), String::new()));
    assert_eq!(ask("/indexes/films/search?q=other", Some(&tag)).0, 200, "another question");
    // Any answer will do, if there is one.
    for _ in 0..2 {
        assert_eq!(ask(path, Some("*")), (304, Some(tag.clone()), String::new()));
    }
    assert_eq!(ask("/indexes/films/search?filter=title%20%3D%20x", Some("*")).0, 400);
    assert_eq!(ask("/indexes/nope/search", Some("*")).0, 404);
    assert_eq!(ask("/indexes/films/search?pointInTime=", Some("*")).0, 200, "it holds a state");
    server.add("films", json!([film(3)]));
    let (status, newer, body) = ask(path, Some(&tag));
    assert_eq!(status, 200, "{body}");
    assert!(newer.as_ref() != Some(&tag), "{body}");
    assert!(body.contains("number 3"), "{body}");
    server.set("films", json!({"displayedAttributes": ["id"]}));
    let (status, newest, body) = ask(path, newer.as_deref());
    assert_eq!(status, 200, "{body}");
    assert!(newest != newer, "{body}");
    assert!(!body.contains("number"), "{body}");
    server.done(&server.delete("/indexes/films"));
    assert_eq!(ask(path, newest.as_deref()).0, 404);
    server.add("films", json!([film(1), film(2)]));
    assert_eq!(ask(path, Some(&tag)).0, 200, "another index of the same name");
    assert_eq!(ask("/indexes/films/search?pointInTime=", None).1, None);
}

#[test]
fn an_index_that_is_renamed_keeps_its_points_in_time() {
    let server = Server::start();
    server.add("films", json!([film(1), film(2)]));
    server.done(&server.patch("/aliases", json!({"now": "films"})));
    let held = server.search("films", json!({"pointInTime": {}}));
    let point = json!({"pointInTime": {"id": held["pointInTime"]["id"]}});
    server.done(&server.patch("/indexes/films", json!({"uid": "movies"})));
    server.add("movies", json!([film(3)]));
    for name in ["movies", "now"] {
        assert_eq!(server.ids(name, point.clone()), [1, 2].map(Value::from), "{name}");
    }
    // Another index of the old name has nothing to do with it.
    server.add("books", json!([film(4)]));
    server.post("/indexes/books/search", point).refused(404, "point_in_time_not_found");
}
