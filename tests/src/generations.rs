//! States of an index before the present one: listed, searched, restored, given up.

use serde_json::{Value, json};

use crate::keys::{MASTER, ask, finish, make, start, value};
use crate::server::Server;

/// Three states of an index beside the empty one; the last import is a bad one.
fn three_states(options: &[&str]) -> Server {
    let server = Server::with_options(options);
    server.add("films", json!([{"id": 1, "title": "Alien"}, {"id": 2, "title": "Brazil"}]));
    server.set("films", json!({"filterableAttributes": ["title"], "synonyms": {"monster": ["alien"]}}));
    let bad = server.add("films", json!([{"id": 1, "title": "???"}, {"id": 3, "title": "broken"}]));
    assert_eq!(bad["status"], "succeeded");
    server
}

fn states(server: &Server) -> Vec<Value> {
    server.get("/indexes/films/generations").ok()["results"].as_array().expect("a list").clone()
}

fn number(state: &Value) -> u64 {
    state["generation"].as_u64().expect("a number")
}

#[test]
fn states_are_listed_searched_and_read() {
    let server = three_states(&["--keep", "24h"]);
    let list = server.get("/indexes/films/generations").ok();
    let states = list["results"].as_array().unwrap();
    let counts: Vec<&Value> = states.iter().map(|state| &state["numberOfDocuments"]).collect();
    assert_eq!(counts, [&json!(3), &json!(2), &json!(2), &json!(0)], "{list}");
    assert_eq!((&states[0]["isCurrent"], &states[1]["isCurrent"]), (&json!(true), &json!(false)));
    assert_eq!((&states[0]["batchUid"], &states[1]["batchUid"]), (&json!(2), &json!(1)));
    assert_eq!((&list["total"], &list["limit"]), (&json!(4), &json!(20)));
    let page = server.get("/indexes/films/generations?offset=1&limit=1").ok();
    assert_eq!(page["results"], json!([states[1]]));

    let (before, first) = (number(&states[1]), number(&states[2]));
    assert_eq!(server.ids("films", json!({"q": "alien"})), Vec::<Value>::new());
    assert_eq!(server.ids("films", json!({"q": "alien", "at": before})), [1]);
    assert_eq!(server.ids("films", json!({"q": "monster", "at": before})), [1], "with its settings");
    assert_eq!(server.ids("films", json!({"q": "monster", "at": first})), Vec::<Value>::new());
    assert_eq!(server.ids("films", json!({"q": "alien", "at": states[1]["committedAt"]})), [1]);
    let by_parameter = server.get(&format!("/indexes/films/search?q=alien&at={before}")).ok();
    assert_eq!(by_parameter["hits"][0]["title"], "Alien");
    let at = states[1]["committedAt"].as_str().unwrap();
    assert_eq!(server.get(&format!("/indexes/films/documents/1?at={at}")).ok()["title"], "Alien");
    assert_eq!(server.get(&format!("/indexes/films/documents?at={before}")).ok()["total"], 2);
    assert_eq!(server.post("/indexes/films/documents/fetch", json!({"at": before})).ok()["total"], 2);
    server.get(&format!("/indexes/films/documents/3?at={before}")).refused(404, "document_not_found");
    let facets = json!({"facetName": "title", "at": before});
    assert_eq!(server.post("/indexes/films/facet-search", facets).ok()["facetHits"].as_array().unwrap().len(), 2);
    let none = json!({"facetName": "title", "at": first});
    server.post("/indexes/films/facet-search", none).refused(400, "invalid_facet_search_facet_name");
    // An alias means the index here, too.
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    assert_eq!(server.ids("movies", json!({"q": "alien", "at": before})), [1]);
    assert_eq!(server.get("/indexes/movies/generations").ok()["total"], 4);
    for stats in [server.get("/indexes/films/stats").ok(), server.get("/stats").ok()["indexes"]["films"].clone()] {
        assert_eq!((&stats["aliases"], &stats["keptStates"]), (&json!(["movies"]), &json!(3)), "{stats}");
    }
}

#[test]
fn an_import_is_undone_and_the_undoing_too() {
    let mut server = three_states(&["--keep", "24h"]);
    let seen = states(&server);
    let (bad, before) = (number(&seen[0]), number(&seen[1]));
    let task = server.done(&server.post("/indexes/films/restore", json!({"at": before})));
    assert_eq!((&task["type"], &task["indexUid"]), (&json!("indexRestoration"), &json!("films")));
    assert_eq!(task["details"], json!({"at": before, "generation": before, "before": bad}));
    assert_eq!(server.document_count("films"), 2);
    assert_eq!(server.ids("films", json!({"q": "monster"})), [1]);
    assert_eq!(states(&server).len(), 5);
    server.kill();
    let inspected = std::process::Command::new(crate::server::binary())
        .args(["inspect", "--index", "films", "--db-path"])
        .arg(server.data_folder())
        .output()
        .expect("runs");
    assert!(inspected.status.success(), "{}", String::from_utf8_lossy(&inspected.stderr));
    assert_eq!(String::from_utf8_lossy(&inspected.stdout).matches("\nkept state   ").count(), 4);
    server.start_again();
    assert_eq!(server.document_count("films"), 2);
    assert_eq!(states(&server).len(), 5, "they survive");
    server.done(&server.post("/indexes/films/restore", json!({"at": bad})));
    assert_eq!(server.ids("films", json!({"q": "broken"})), [3]);
    // By time, and by the way of compactions.
    server.done(&server.post("/indexes/films/compact", Value::Null));
    let by_time = server.post("/indexes/films/restore", json!({"at": seen[2]["committedAt"]}));
    assert_eq!(server.done(&by_time)["details"]["generation"], seen[2]["generation"]);
    let settings = server.get("/indexes/films/settings").ok();
    assert_eq!((&settings["filterableAttributes"], &settings["synonyms"]), (&json!([]), &json!({})));
    server.add("films", json!([{"id": 9, "title": "goes on"}]));
    assert_eq!(server.document_count("films"), 3);
    server.terminate();
    let (is_sound, said) = server.verify();
    assert!(is_sound, "{said}");
}

#[test]
fn without_the_option_nothing_is_kept_and_a_start_without_it_gives_up_what_was() {
    let server = three_states(&[]);
    assert_eq!(states(&server).len(), 1);
    let old = json!({"q": "alien", "at": 1});
    server.post("/indexes/films/search", old).refused(404, "generation_not_found");
    server.fails(&server.post("/indexes/films/restore", json!({"at": 1})), "generation_not_found");
    drop(server);

    let mut server = three_states(&["--keep", "1d"]);
    let files = |server: &Server| {
        let folder = std::fs::read_dir(server.data_folder().join("indexes")).unwrap().next().unwrap().unwrap().path();
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("kept-")).count()
    };
    assert_eq!(files(&server), 3);
    server.terminate();
    let server = server.with_other_options(&[]);
    assert_eq!(server.document_count("films"), 3);
    assert_eq!(server.ids("films", json!({"q": "broken"})), [3]);
    assert_eq!((states(&server).len(), files(&server)), (1, 0));
}

#[test]
fn bad_requests_are_refused() {
    let server = three_states(&["--keep", "24h"]);
    for at in [json!(-1), json!("soon"), json!([])] {
        server.post("/indexes/films/search", json!({"at": at})).refused(400, "invalid_search_at");
        server.post("/indexes/films/documents/fetch", json!({"at": at})).refused(400, "invalid_document_at");
        server.post("/indexes/films/restore", json!({"at": at})).refused(400, "invalid_restore_at");
    }
    server.get("/indexes/films/search?at=x").refused(400, "invalid_search_at");
    server.get("/indexes/films/documents?at=x").refused(400, "invalid_document_at");
    server.get("/indexes/films/documents/1?at=x").refused(400, "invalid_document_at");
    server.post("/indexes/films/restore", json!({})).refused(400, "missing_restore_at");
    server.post("/indexes/films/search", json!({"at": 1, "pointInTime": {}})).refused(400, "invalid_search_at");
    let several = |queries: Value, more: Value| {
        let mut body = json!({"queries": queries});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.post("/multi-search", body)
    };
    several(json!([{"indexUid": "films", "at": "soon"}]), json!({})).refused(400, "invalid_search_at");
    several(json!([{"indexUid": "films", "at": 1}]), json!({"pointInTime": {}})).refused(400, "invalid_search_at");
    several(json!([{"indexUid": "films", "at": 1, "pointInTime": {}}]), json!({})).refused(400, "invalid_search_at");
    let two = json!([{"indexUid": "films", "at": 1}, {"indexUid": "films"}]);
    several(two, json!({"federation": {}})).refused(400, "invalid_search_at");
    let past = several(json!([{"indexUid": "films"}, {"indexUid": "films", "at": 1000}]), json!({}));
    assert!(past.body["message"].as_str().unwrap().starts_with("Inside `.queries[1]`: "), "{past:?}");
    past.refused(404, "generation_not_found");
    let past = several(json!([{"indexUid": "films", "at": 1000}]), json!({"federation": {}}));
    past.refused(404, "generation_not_found");
    server.get("/indexes/films/generations?limit=x").refused(400, "invalid_generation_limit");
    server.get("/indexes/films/generations?offset=x").refused(400, "invalid_generation_offset");
    server.get("/indexes/none/generations").refused(404, "index_not_found");
    server.fails(&server.post("/indexes/none/restore", json!({"at": 1})), "index_not_found");
    server.fails(&server.post("/indexes/films/restore", json!({"at": 1000})), "generation_not_found");
    server.post("/indexes/films/search", json!({"at": "1999-01-01T00:00:00Z"})).refused(404, "generation_not_found");
}

#[test]
fn a_multi_search_looks_back_too() {
    let server = three_states(&["--keep", "24h"]);
    server.add("books", json!([{"id": 7, "title": "Alien"}]));
    let before = number(&states(&server)[1]);
    let ids = |list: &Value| -> Vec<Value> {
        list["hits"].as_array().expect("hits").iter().map(|hit| hit["id"].clone()).collect()
    };
    let queries = json!([
        {"indexUid": "films", "q": "alien", "at": before},
        {"indexUid": "films", "q": "alien"},
        {"indexUid": "books", "q": "alien"}
    ]);
    let answer = server.post("/multi-search", json!({"queries": queries})).ok();
    let found: Vec<Vec<Value>> = answer["results"].as_array().unwrap().iter().map(&ids).collect();
    assert_eq!(found, [vec![json!(1)], vec![], vec![json!(7)]]);
    // Merged, all queries of an index see one state of it.
    let queries = json!([
        {"indexUid": "films", "q": "alien", "at": before},
        {"indexUid": "films", "q": "brazil", "at": before},
        {"indexUid": "books", "q": "alien"}
    ]);
    let merged = json!({"queries": queries, "federation": {"facetsByIndex": {"films": ["title"]}}});
    let answer = server.post("/multi-search", merged).ok();
    let mut found = ids(&answer);
    found.sort_by_key(Value::to_string);
    assert_eq!(found, [1, 2, 7]);
    assert_eq!(answer["facetsByIndex"]["films"]["distribution"]["title"], json!({"Alien": 1, "Brazil": 1}));
}

#[test]
fn a_damaged_state_is_named_and_stops_nothing() {
    let mut server = three_states(&["--keep", "24h"]);
    let seen = states(&server);
    server.terminate();
    let folder = std::fs::read_dir(server.data_folder().join("indexes")).unwrap().next().unwrap().unwrap().path();
    let manifest = folder.join(format!("kept-{:016x}.lam", number(&seen[1])));
    let mut bytes = std::fs::read(&manifest).expect("kept");
    bytes[100] ^= 1;
    std::fs::write(&manifest, bytes).unwrap();
    let (is_sound, said) = server.verify();
    assert!(!is_sound, "{said}");
    assert!(said.contains("kept beside the present one"), "{said}");
    server.start_again();
    assert_eq!(server.ids("films", json!({"q": "broken"})), [3]);
    let now = states(&server);
    assert!(now[1]["damage"].as_str().is_some_and(|damage| damage.contains("damaged")), "{now:?}");
    let at = |state: &Value| json!({"q": "", "at": number(state)});
    server.post("/indexes/films/search", at(&seen[1])).refused(500, "invalid_store_file");
    server.fails(&server.post("/indexes/films/restore", json!({"at": number(&seen[1])})), "invalid_store_file");
    assert_eq!(server.ids("films", at(&seen[2])), [1, 2]);
    server.add("films", json!([{"id": 9}]));
}

#[test]
fn who_searches_for_the_public_sees_nothing_that_is_gone() {
    let server = start(&["--keep", "24h"]);
    for documents in [json!([{"id": 1, "title": "secret"}]), json!([{"id": 1, "title": "public"}])] {
        finish(&server, &ask(&server, MASTER, "POST", "/indexes/films/documents", &documents));
    }
    let list = ask(&server, MASTER, "GET", "/indexes/films/generations", &Value::Null).ok();
    let before = list["results"][1]["generation"].clone();
    let search = |key: &str| ask(&server, key, "POST", "/indexes/films/search", &json!({"at": before}));
    let public = make(&server, &["search"], &["*"]);
    search(&value(&public)).refused(403, "invalid_api_key");
    let facets = json!({"facetName": "title", "at": before});
    ask(&server, &value(&public), "POST", "/indexes/films/facet-search", &facets).refused(403, "invalid_api_key");
    let claims = json!({"apiKeyUid": public["uid"], "searchRules": ["*"]});
    let token = crate::tenants::sign(jsonwebtoken::Algorithm::HS256, &claims, &value(&public));
    search(&token).refused(403, "invalid_api_key");
    let reader = value(&make(&server, &["search", "documents.get"], &["*"]));
    assert_eq!(search(&reader).ok()["hits"][0]["title"], "secret");
    // What comes back are documents and settings.
    let restore = |key: &str| ask(&server, key, "POST", "/indexes/films/restore", &json!({"at": before}));
    for actions in [&["documents.*"][..], &["settings.*"], &["indexes.*"]] {
        restore(&value(&make(&server, actions, &["*"]))).refused(403, "invalid_api_key");
    }
    let may = value(&make(&server, &["documents.*", "settings.update"], &["*"]));
    assert_eq!(finish(&server, &restore(&may))["status"], "succeeded");
}

/// The present state by its number, or by a time that is not over yet, is what is there without.
#[test]
fn the_present_state_by_its_number_is_the_present_state() {
    let server = Server::with_options(&["--keep", "1h"]);
    server.set("films", json!({"expiryAttribute": "until", "sortableAttributes": ["id"]}));
    server.add("films", json!([{"id": 1, "until": "2001-01-01"}, {"id": 2}, {"id": 3, "until": "9999-12-31"}]));
    let states = server.get("/indexes/films/generations").ok();
    let present = &states["results"][0]["generation"];
    for at in [present.clone(), json!("2999-01-01T00:00:00Z")] {
        assert_eq!(server.ids("films", json!({"at": at, "sort": ["id:asc"]})), [2, 3], "{at}");
        assert_eq!(server.post("/indexes/films/documents/fetch", json!({"at": at})).ok()["total"], 2);
        let at = at.as_str().map_or_else(|| at.to_string(), str::to_owned);
        server.get(&format!("/indexes/films/documents/1?at={at}")).refused(404, "document_not_found");
        assert_eq!(server.get(&format!("/indexes/films/documents?at={at}")).ok()["total"], 2);
    }
    let changes = server.get(&format!("/indexes/films/changes?since={present}"));
    let nothing = json!({"generation": present, "since": present, "changes": 0});
    assert_eq!((changes.status, changes.text.trim()), (200, nothing.to_string().as_str()));
}
