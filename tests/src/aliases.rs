//! Aliases: other names of indexes, wherever the uid of an index can stand.

use serde_json::{Value, json};

use crate::keys::{MASTER, ask, finish, make, start, value};
use crate::server::Server;

/// Two indexes of the same films, of which the alias `films` names the first.
fn two_versions() -> Server {
    let server = Server::start();
    server.set("films-1", json!({"filterableAttributes": ["title", "year"]}));
    server.add("films-1", json!([{"id": 1, "title": "Alien", "year": 1979}]));
    server.add("films-2", json!([{"id": 2, "title": "Alien again", "year": 1986}]));
    server.done(&server.put("/aliases/films", json!({"indexUid": "films-1"})));
    server
}

fn target(server: &Server, alias: &str) -> Value {
    server.get(&format!("/aliases/{alias}")).ok()["indexUid"].clone()
}

#[test]
fn an_alias_is_accepted_wherever_a_uid_is() {
    let server = two_versions();
    assert_eq!(server.ids("films", json!({"q": "alien"})), [1]);
    assert_eq!(server.get("/indexes/films/search?q=alien").ok()["hits"][0]["id"], 1);
    assert_eq!(server.get("/indexes/films/documents/1").ok()["title"], "Alien");
    assert_eq!(server.get("/indexes/films/documents").ok()["total"], 1);
    assert_eq!(server.post("/indexes/films/documents/fetch", json!({})).ok()["total"], 1);
    assert_eq!(server.get("/indexes/films").ok()["uid"], "films-1");
    assert_eq!(server.get("/indexes/films/stats").ok()["numberOfDocuments"], 1);
    assert_eq!(server.get("/indexes/films/settings").ok()["filterableAttributes"], json!(["title", "year"]));
    assert_eq!(server.post("/indexes/films/fields", json!({})).ok()["total"], 3);
    let facets = json!({"facetName": "title", "facetQuery": "al"});
    assert_eq!(server.post("/indexes/films/facet-search", facets).ok()["facetHits"][0]["value"], "Alien");

    // The answer names what the request named.
    let several = json!({"queries": [{"indexUid": "films", "q": "alien"}, {"indexUid": "films-2", "q": "alien"}]});
    let results = server.post("/multi-search", several).ok()["results"].clone();
    assert_eq!((&results[0]["indexUid"], &results[0]["hits"][0]["id"]), (&json!("films"), &json!(1)));
    assert_eq!((&results[1]["indexUid"], &results[1]["hits"][0]["id"]), (&json!("films-2"), &json!(2)));
    let merged = json!({
        "queries": [{"indexUid": "films", "q": "alien"}, {"indexUid": "films-2", "q": "alien"}],
        "federation": {"facetsByIndex": {"films": ["year"]}}
    });
    let merged = server.post("/multi-search", merged).ok();
    assert_eq!(merged["hits"].as_array().unwrap().len(), 2, "{merged}");
    assert_eq!(merged["facetsByIndex"]["films"]["distribution"]["year"], json!({"1979": 1}));

    // Tasks are those of the index.
    let task = server.add("films", json!([{"id": 3, "title": "Up"}]));
    assert_eq!(task["indexUid"], "films-1");
    server.set("films", json!({"stopWords": ["the"]}));
    server.done(&server.delete("/indexes/films/documents/3"));
    assert_eq!(server.document_count("films-1"), 1);
    let by_alias = server.get("/tasks?indexUids=films").ok();
    assert_eq!(by_alias["total"], server.get("/tasks?indexUids=films-1").ok()["total"]);
    assert!(by_alias["total"].as_u64().unwrap() >= 5);
    server.done(&server.post("/indexes/films/compact", Value::Null));
}

/// Reads something by a name of an index.
type Read<'a> = &'a dyn Fn(&str) -> Value;

/// Checks that reads by an alias equal reads by the uid, also for reads that need more than a search.
#[test]
fn other_reads_by_an_alias_are_those_of_its_index() {
    let server = Server::with_options(&["--keep", "1h"]);
    server.set(
        "films-1",
        json!({"filterableAttributes": ["year"], "embedders": {"e": {"source": "userProvided", "dimensions": 2}}}),
    );
    let films = [("Alien", [1, 0]), ("Aliens", [1, 1]), ("Up", [0, 1])];
    let films = (1..)
        .zip(films)
        .map(|(id, (title, vector))| json!({"id": id, "title": title, "year": 1979, "_vectors": {"e": vector}}));
    server.add("films-1", films.collect());
    server.add("films-1", json!([{"id": 4, "title": "Heat", "year": 1995, "_vectors": {"e": null}}]));
    server.done(&server.put("/aliases/films", json!({"indexUid": "films-1"})));
    let tool = |name: &str, index: &str, more: Value| {
        let mut arguments = more;
        arguments["index"] = index.into();
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        let result = server.post("/mcp", call).ok()["result"].clone();
        assert_ne!(result["isError"], true, "{name}: {result}");
        let text = result["content"][0]["text"].as_str().expect("text");
        serde_json::from_str::<Value>(text).expect("JSON")
    };
    let reads: [(&str, Read<'_>, &str); 9] = [
        (
            "similar",
            &|uid| server.post(&format!("/indexes/{uid}/similar"), json!({"id": 1, "embedder": "e"})).ok(),
            "/hits",
        ),
        (
            "explain",
            &|uid| server.search(uid, json!({"q": "alien", "explain": {"documentId": "4"}})),
            "/explanation/document",
        ),
        ("settings", &|uid| server.get(&format!("/indexes/{uid}/settings")).ok(), ""),
        ("generations", &|uid| server.get(&format!("/indexes/{uid}/generations")).ok(), "/results"),
        ("MCP search", &|uid| tool("search", uid, json!({"q": "alien"})), "/hits"),
        ("MCP fetch", &|uid| tool("fetch", uid, json!({"ids": ["3"]})), ""),
        ("MCP facets", &|uid| tool("facets", uid, json!({"facets": ["year"]})), ""),
        ("MCP settings", &|uid| tool("get_settings", uid, json!({})), ""),
        (
            "MCP explain",
            &|uid| tool("explain", uid, json!({"q": "alien", "document_id": "4"})),
            "/explanation/document",
        ),
    ];
    for (name, read, place) in reads {
        let (by_alias, by_uid) = (read("films"), read("films-1"));
        assert!(by_uid.pointer(place).is_some(), "{name}: {by_uid}");
        assert_eq!(by_alias.pointer(place), by_uid.pointer(place), "{name}");
    }
    let at = server.get("/indexes/films/generations").ok()["results"].as_array().unwrap().last().unwrap()["generation"]
        .clone();
    server.done(&server.post("/indexes/films/restore", json!({"at": at})));
    assert_ne!(server.document_count("films-1"), 4, "the state before is back");
}

#[test]
fn several_move_in_one_commit_or_none_does() {
    let server = two_versions();
    let task = server.done(&server.patch("/aliases", json!({"films": "films-2", "movies": "films-1"})));
    assert_eq!((&task["type"], &task["indexUid"]), (&json!("aliasUpdate"), &Value::Null));
    let details = json!({
        "aliases": {"films": "films-2", "movies": "films-1"},
        "before": {"films": "films-1", "movies": null}
    });
    assert_eq!(task["details"], details);
    assert_eq!(server.ids("films", json!({})), [2], "no answer of the other index is kept");
    let list = server.get("/aliases").ok();
    let names: Vec<&Value> = list["results"].as_array().unwrap().iter().map(|alias| &alias["alias"]).collect();
    assert_eq!(names, [&json!("films"), &json!("movies")]);
    assert_eq!(list["total"], 2);
    assert_eq!(server.get("/aliases?offset=1&limit=5").ok()["results"][0]["alias"], "movies");

    server.fails(&server.patch("/aliases", json!({"films": "films-1", "other": "absent"})), "index_not_found");
    assert_eq!(target(&server, "films"), "films-2");
    server.done(&server.patch("/aliases", json!({"films": null, "movies": "films-2"})));
    server.get("/aliases/films").refused(404, "alias_not_found");
    server.get("/indexes/films").refused(404, "index_not_found");
    assert_eq!(target(&server, "movies"), "films-2");
    server.done(&server.delete("/aliases/movies"));
    server.fails(&server.delete("/aliases/movies"), "alias_not_found");
    assert_eq!(server.get("/aliases").ok()["total"], 0);
}

#[test]
fn an_alias_and_an_index_never_have_the_same_name() {
    let server = two_versions();
    server.fails(&server.put("/aliases/films-1", json!({"indexUid": "films-2"})), "index_already_exists");
    server.fails(&server.put("/aliases/new", json!({"indexUid": "films"})), "index_uid_is_alias");
    server.fails(&server.post("/indexes", json!({"uid": "films"})), "alias_already_exists");
    server.fails(&server.patch("/indexes/films-2", json!({"uid": "films"})), "alias_already_exists");
    let renaming = json!([{"indexes": ["films-2", "films"], "rename": true}]);
    server.post("/swap-indexes", renaming).refused(400, "index_uid_is_alias");
    server.post("/swap-indexes", json!([{"indexes": ["films-2", "films"]}])).refused(400, "index_uid_is_alias");
    // What would change the index under its own name is not done by way of an alias.
    server.delete("/indexes/films").refused(400, "index_uid_is_alias");
    server.patch("/indexes/films", json!({"uid": "other"})).refused(400, "index_uid_is_alias");

    // In the order of the queue: what comes behind the alias finds it, what is accepted before it is by the name.
    let held = server.hold_queue();
    let put = server.put("/aliases/later", json!({"indexUid": "films-2"}));
    let creating = server.post("/indexes/later/documents", json!([{"id": 1}]));
    server.release_queue(held);
    server.done(&put);
    server.fails(&creating, "alias_already_exists");
}

#[test]
fn aliases_follow_renames_stay_with_swaps_and_end_with_their_index() {
    let server = two_versions();
    server.done(&server.put("/aliases/second", json!({"indexUid": "films-2"})));
    server.done(&server.patch("/indexes/films-1", json!({"uid": "films-one"})));
    assert_eq!((target(&server, "films"), server.ids("films", json!({}))), (json!("films-one"), vec![json!(1)]));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["films-one", "films-two"], "rename": true}])));
    assert_eq!(target(&server, "films"), "films-two");
    // The uid stays, and so does the alias of it: it shows the other documents now.
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["films-two", "films-2"]}])));
    assert_eq!((target(&server, "films"), server.ids("films", json!({}))), (json!("films-two"), vec![json!(2)]));
    server.done(&server.delete("/indexes/films-two"));
    server.get("/aliases/films").refused(404, "alias_not_found");
    server.post("/indexes/films/search", json!({})).refused(404, "index_not_found");
    assert_eq!(target(&server, "second"), "films-2");
}

#[test]
fn bad_requests_are_refused() {
    let server = two_versions();
    server.get("/aliases/a%20b").refused(400, "invalid_alias");
    server.put("/aliases/a%20b", json!({"indexUid": "films-1"})).refused(400, "invalid_alias");
    server.put("/aliases/a", json!({})).refused(400, "missing_alias_index_uid");
    server.put("/aliases/a", json!({"indexUid": 1})).refused(400, "invalid_alias_index_uid");
    server.put("/aliases/a", json!({"indexUid": "a b"})).refused(400, "invalid_alias_index_uid");
    server.put("/aliases/a", json!({"index": "films-1"})).refused(400, "bad_request");
    server.patch("/aliases", json!({"a b": "films-1"})).refused(400, "invalid_alias");
    server.patch("/aliases", json!({"a": false})).refused(400, "invalid_alias_index_uid");
    server.patch("/aliases", json!([])).refused(400, "bad_request");
    server.get("/aliases?limit=x").refused(400, "invalid_alias_limit");
    server.get("/aliases?offset=-1").refused(400, "invalid_alias_offset");
    server.get("/aliases?page=1").refused(400, "bad_request");
    server.get("/aliases/none").refused(404, "alias_not_found");
}

#[test]
fn aliases_survive_kills_snapshots_and_dumps() {
    let mut server = two_versions();
    server.done(&server.put("/aliases/second", json!({"indexUid": "films-2"})));
    server.kill();
    server.start_again();
    assert_eq!((target(&server, "films"), target(&server, "second")), (json!("films-1"), json!("films-2")));
    let list = server.get("/aliases").ok();
    let dump = server.done(&server.post("/dumps", Value::Null))["details"]["dumpUid"].clone();
    server.done(&server.post("/snapshots", Value::Null));
    let dump = server.folder().join(format!("dumps/{}.dump", dump.as_str().unwrap()));
    let restored = Server::with_options(&["--import-dump", dump.to_str().unwrap()]);
    assert_eq!(restored.get("/aliases").ok(), list);
    assert_eq!(restored.ids("films", json!({})), [1]);
    let snapshots = std::fs::read_dir(server.folder().join("snapshots")).unwrap();
    let snapshot = snapshots.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let copy = Server::with_options(&["--import-snapshot", snapshot.to_str().unwrap()]);
    assert_eq!(copy.get("/aliases").ok(), list);
    assert_eq!(copy.ids("second", json!({})), [2]);
}

#[test]
fn keys_and_tenants_need_the_name_and_what_it_stands_for() {
    let server = start(&[]);
    let admin = |method: &str, path: &str, body: Value| finish(&server, &ask(&server, MASTER, method, path, &body));
    for uid in ["films-1", "secret"] {
        admin("PATCH", &format!("/indexes/{uid}/settings"), json!({"filterableAttributes": ["year", "id"]}));
        let documents = json!([{"id": 1, "year": 1}, {"id": 2, "year": 1}, {"id": 3, "year": 2}]);
        admin("POST", &format!("/indexes/{uid}/documents"), documents);
    }
    admin("PATCH", "/aliases", json!({"films": "films-1", "films-x": "secret", "other": "films-1"}));

    let key = make(&server, &["*"], &["films*"]);
    let secret = value(&key);
    let search = |token: &str, uid: &str| ask(&server, token, "POST", &format!("/indexes/{uid}/search"), &json!({}));
    assert_eq!(search(&secret, "films").ok()["hits"].as_array().unwrap().len(), 3);
    search(&secret, "films-x").refused(403, "invalid_api_key");
    search(&secret, "other").refused(403, "invalid_api_key");
    let several = json!({"queries": [{"indexUid": "films-x"}]});
    ask(&server, &secret, "POST", "/multi-search", &several).refused(403, "invalid_api_key");
    let list = ask(&server, &secret, "GET", "/aliases", &Value::Null).ok();
    assert_eq!((&list["total"], &list["results"][0]["alias"]), (&json!(1), &json!("films")));
    ask(&server, &secret, "GET", "/aliases/films-x", &Value::Null).refused(403, "invalid_api_key");
    for (method, path, body) in [
        ("PUT", "/aliases/films", json!({"indexUid": "secret"})),
        ("PUT", "/aliases/mine", json!({"indexUid": "films-1"})),
        ("PATCH", "/aliases", json!({"films": "secret"})),
        ("PATCH", "/aliases", json!({"other": null})),
        ("DELETE", "/aliases/films-x", Value::Null),
        ("DELETE", "/aliases/other", Value::Null),
    ] {
        ask(&server, &secret, method, path, &body).refused(403, "invalid_api_key");
    }
    let task = finish(&server, &ask(&server, &secret, "PUT", "/aliases/films-y", &json!({"indexUid": "films-1"})));
    assert_eq!(task["status"], "succeeded", "{task}");

    let ids = |rules: Value| {
        let claims = json!({"apiKeyUid": key["uid"], "searchRules": rules});
        let token = crate::tenants::sign(jsonwebtoken::Algorithm::HS256, &claims, &secret);
        let answer = search(&token, "films");
        (answer.status == 200).then(|| {
            let hits = answer.body["hits"].as_array().unwrap().clone();
            hits.iter().map(|hit| hit["id"].as_u64().unwrap()).collect::<Vec<_>>()
        })
    };
    assert_eq!(ids(json!(["films", "films-1"])), Some(vec![1, 2, 3]));
    assert_eq!(ids(json!(["films"])), None);
    assert_eq!(ids(json!(["films-1"])), None);
    assert_eq!(ids(json!({"films": {"filter": "year = 1"}, "films-1": {"filter": "id > 1"}})), Some(vec![2]));
    assert_eq!(ids(json!({"films": null, "films-1": {"filter": "id > 1"}})), Some(vec![2, 3]));
    assert_eq!(ids(json!({"*": {"filter": "year = 2"}})), Some(vec![3]));
}

/// The same films, found through two names of their index and through the name of another one.
fn films_by_all_names() -> Server {
    let server = Server::start();
    server.set(
        "films-1",
        json!({"filterableAttributes": ["kind", "year"], "completions": {"fromQueries": true, "minCount": 2}}),
    );
    let films = json!([
        {"id": 1, "title": "red planet", "kind": "a", "year": 2000},
        {"id": 2, "title": "red rose", "kind": "b", "year": 2010},
    ]);
    server.add("films-1", films);
    server.set("other", json!({"filterableAttributes": ["kind"]}));
    server.add("other", json!([{"id": 1, "title": "red sea", "kind": "a"}]));
    server.done(&server.patch("/aliases", json!({"films": "films-1", "movies": "films-1"})));
    server
}

#[test]
fn merged_lists_have_a_document_once_whatever_its_index_is_called() {
    let server = films_by_all_names();
    let merged = |names: &[&str], federation: Value| {
        let queries: Vec<Value> = names.iter().map(|name| json!({"indexUid": name, "q": "red"})).collect();
        server.post("/multi-search", json!({"federation": federation, "queries": queries})).ok()
    };
    let measure = || json!({"facet": "year", "histogram": {"interval": 10}, "statistics": true});
    for names in [&["films", "films-1"][..], &["films", "movies"], &["films-1", "films", "movies"]] {
        let facets: Value = names.iter().map(|name| ((*name).to_owned(), json!(["kind", measure()]))).collect();
        let answer = merged(names, json!({"facetsByIndex": facets, "mergeFacets": {}}));
        assert_eq!(
            (&answer["hits"].as_array().unwrap().len(), &answer["estimatedTotalHits"]),
            (&2, &json!(2)),
            "{answer}"
        );
        assert_eq!(answer["hits"][0]["_federation"]["indexUid"], names[0]);
        assert_eq!(answer["facetDistribution"]["kind"], json!({"a": 1, "b": 1}), "{answer}");
        let details = &answer["facetDetails"][0];
        assert_eq!((&details["statistics"]["count"], &details["histogram"][0]["count"]), (&json!(2), &json!(1)));
        let answer = merged(names, json!({"facetsByIndex": facets, "page": 1, "hitsPerPage": 1}));
        assert_eq!((&answer["totalHits"], &answer["totalPages"]), (&json!(2), &json!(2)));
        for name in names {
            assert_eq!(answer["facetsByIndex"][name]["distribution"]["kind"], json!({"a": 1, "b": 1}), "{name}");
            assert_eq!(answer["facetsByIndex"][name]["details"][0]["statistics"]["count"], 2, "{name}");
        }
        let distinct = merged(names, json!({"distinct": "kind"}));
        assert_eq!(distinct["estimatedTotalHits"], 2, "{distinct}");
    }
    // Facets by a name that no query uses are those of its index.
    let answer = merged(&["films"], json!({"facetsByIndex": {"films-1": ["kind"], "movies": ["kind"]}}));
    assert_eq!(answer["facetsByIndex"]["films-1"]["distribution"]["kind"], json!({"a": 1, "b": 1}));
    assert_eq!(answer["facetsByIndex"]["movies"], answer["facetsByIndex"]["films-1"]);
    // Those of another index are other documents.
    assert_eq!(merged(&["films", "other"], json!({}))["estimatedTotalHits"], 3);
    // All queries of one index see one state.
    let states = json!({"federation": {}, "queries": [{"indexUid": "films", "at": 0}, {"indexUid": "films-1"}]});
    server.post("/multi-search", states).refused(400, "invalid_search_at");
}

#[test]
fn queries_are_counted_and_completed_by_any_name() {
    let server = films_by_all_names();
    let complete = |name: &str, q: &str| {
        let answer = server.post(&format!("/indexes/{name}/completions"), json!({"q": q})).ok();
        answer["completions"].as_array().unwrap().iter().map(|one| one["q"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(complete("films", "pla"), ["planet"]);
    server.search("films", json!({"q": "red planet"}));
    server.get("/indexes/films-1/search?q=red%20planet").ok();
    for name in ["films", "movies", "films-1"] {
        assert_eq!(complete(name, "red")[0], "red planet", "{name}");
    }
    server.post("/indexes/none/completions", json!({"q": "red"})).refused(404, "index_not_found");
}

#[test]
fn a_view_is_found_by_any_name_of_its_index() {
    let server = films_by_all_names();
    let held = server.search("films", json!({"pointInTime": {}}))["pointInTime"]["id"].clone();
    server.add("films-1", json!([{"id": 3, "title": "red"}]));
    for name in ["films", "movies", "films-1"] {
        assert_eq!(server.ids(name, json!({"pointInTime": {"id": held}})), [1, 2], "{name}");
        assert_eq!(server.ids(name, json!({})), [1, 2, 3], "{name}");
    }
    server.post("/indexes/other/search", json!({"pointInTime": {"id": held}})).refused(404, "point_in_time_not_found");
    let several = json!({"pointInTime": {}, "queries": [{"indexUid": "films"}, {"indexUid": "films-1"}]});
    let several = server.post("/multi-search", several).ok();
    let hits = |of: usize| several["results"][of]["hits"].as_array().unwrap().len();
    assert_eq!((hits(0), hits(1)), (3, 3));
    // An alias that moves stays the index of its views.
    server.done(&server.put("/aliases/films", json!({"indexUid": "other"})));
    assert_eq!(server.ids("films", json!({"pointInTime": {"id": held}})), [1, 2]);
}

/// Writes by an alias whose index is renamed or deleted before they run create no index of the name that it had.
#[test]
fn a_write_by_an_alias_creates_no_index() {
    let server = two_versions();
    let held = server.hold_queue();
    let renamed = server.patch("/indexes/films-1", json!({"uid": "films-3"}));
    let late = [
        server.post("/indexes/films/documents", json!([{"id": 9, "title": "Late"}])),
        server.put("/indexes/films/documents", json!([{"id": 9, "title": "Late"}])),
        server.patch("/indexes/films/settings", json!({"stopWords": ["the"]})),
    ];
    server.release_queue(held);
    server.done(&renamed);
    late.iter().for_each(|late| drop(server.fails(late, "index_not_found")));
    server.get("/indexes/films-1").refused(404, "index_not_found");
    assert_eq!(target(&server, "films"), "films-3");
    server.add("films", json!([{"id": 9, "title": "Later"}]));
    assert_eq!(server.document_count("films-3"), 2);
}
