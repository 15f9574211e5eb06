//! Settings: the whole object, every part, and that most take effect without reindexing.

use serde_json::{Value, json};

use crate::server::Server;

fn films() -> Value {
    json!([
        {"id": 1, "title": "The Thing", "about": "ice and fear", "year": 1982},
        {"id": 2, "title": "Ice Age", "about": "a mammoth thing", "year": 2002},
        {"id": 3, "title": "Frozen", "about": "the ice queen", "year": 2013},
    ])
}

#[test]
fn defaults_changes_and_resets() {
    let server = Server::start();
    server.add("films", films());
    let defaults = server.get("/indexes/films/settings").ok();
    assert_eq!(defaults["searchableAttributes"], json!(["*"]));
    assert_eq!(defaults["rankingRules"].as_array().unwrap().first(), Some(&json!("words")), "{defaults}");
    server
        .set("films", json!({"stopWords": ["the"], "synonyms": {"cold": ["ice"]}, "pagination": {"maxTotalHits": 2}}));
    let changed = server.get("/indexes/films/settings").ok();
    assert_eq!(changed["stopWords"], json!(["the"]));
    assert_eq!(changed["synonyms"], json!({"cold": ["ice"]}));
    assert_eq!(changed["pagination"], json!({"maxTotalHits": 2}));
    assert_eq!(changed["rankingRules"], defaults["rankingRules"], "untouched");
    assert_eq!(server.set("films", json!({}))["details"], json!({}), "an object, though an empty one");
    let task = server.done(&server.delete("/indexes/films/settings"));
    assert_eq!(task["type"], "settingsUpdate");
    assert_eq!(server.get("/indexes/films/settings").ok(), defaults);
    server.get("/indexes/absent/settings").refused(404, "index_not_found");
}

/// Checks that foreign keys are absent from all settings, and empty by themselves, while their feature is off.
#[test]
fn foreign_keys_are_none_without_their_feature() {
    let server = Server::start();
    server.add("films", films());
    for is_on in [false, true] {
        server.patch("/experimental-features", json!({"foreignKeys": is_on})).ok();
        assert_eq!(server.get("/indexes/films/settings/foreign-keys").ok(), json!([]));
        assert_eq!(server.get("/indexes/films/settings").ok().get("foreignKeys").is_some(), is_on);
    }
    server.get("/indexes/absent/settings/foreign-keys").refused(404, "index_not_found");
}

/// Every part has its own route: read, write, reset to the default.
#[test]
fn every_part_has_its_route() {
    let server = Server::start();
    server.add("films", films());
    for (route, verb, value) in [
        ("displayed-attributes", "PUT", json!(["id", "title"])),
        ("searchable-attributes", "PUT", json!(["title", "about"])),
        ("filterable-attributes", "PUT", json!(["title"])),
        ("sortable-attributes", "PUT", json!(["year"])),
        ("ranking-rules", "PUT", json!(["words", "year:desc"])),
        ("stop-words", "PUT", json!(["the"])),
        ("non-separator-tokens", "PUT", json!(["#"])),
        ("separator-tokens", "PUT", json!(["&sep"])),
        ("dictionary", "PUT", json!(["J. R. R."])),
        ("synonyms", "PUT", json!({"cold": ["ice"]})),
        ("distinct-attribute", "PUT", json!("title")),
        ("proximity-precision", "PUT", json!("byAttribute")),
        ("search-cutoff-ms", "PUT", json!(150)),
        ("localized-attributes", "PUT", json!([{"attributePatterns": ["title"], "locales": ["jpn"]}])),
        ("facet-search", "PUT", json!(false)),
        ("prefix-search", "PUT", json!("disabled")),
        ("expiry-attribute", "PUT", json!("expiresAt")),
    ] {
        let path = format!("/indexes/films/settings/{route}");
        let default = server.get(&path).ok();
        assert_ne!(default, value, "{route}: the test would show nothing");
        let request = server.request(verb.parse().unwrap(), &path).json(&value);
        server.done(&server.send(request));
        assert_eq!(server.get(&path).ok(), value, "{route}");
        server.done(&server.delete(&path));
        assert_eq!(server.get(&path).ok(), default, "{route} after the reset");
    }
    for (route, value) in [
        ("typo-tolerance", json!({"enabled": false})),
        ("faceting", json!({"maxValuesPerFacet": 7})),
        ("pagination", json!({"maxTotalHits": 7})),
    ] {
        let path = format!("/indexes/films/settings/{route}");
        let default = server.get(&path).ok();
        server.done(&server.patch(&path, value.clone()));
        let now = server.get(&path).ok();
        for (key, value) in value.as_object().unwrap() {
            assert_eq!(&now[key], value, "{route}");
        }
        server.done(&server.delete(&path));
        assert_eq!(server.get(&path).ok(), default, "{route} after the reset");
    }
}

#[test]
fn queries_follow_the_settings_at_once() {
    let server = Server::start();
    server.add("films", films());
    assert_eq!(server.ids("films", json!({"q": "thing"})).len(), 2);
    server.set("films", json!({"searchableAttributes": ["about", "title"]}));
    assert_eq!(server.ids("films", json!({"q": "ice"})), [1, 3, 2], "`about` first");
    server.set("films", json!({"searchableAttributes": ["title"]}));
    assert_eq!(server.ids("films", json!({"q": "ice"})), [2], "`about` is not searched any more");
    server.set("films", json!({"searchableAttributes": ["*"], "rankingRules": ["words", "year:desc"]}));
    assert_eq!(server.ids("films", json!({"q": "ice"})), [3, 2, 1]);
    server.set("films", json!({"synonyms": {"cold": ["ice"]}}));
    assert_eq!(server.ids("films", json!({"q": "cold"})), [3, 2, 1]);
    server.set("films", json!({"stopWords": ["thing"]}));
    assert_eq!(server.ids("films", json!({"q": "thing ice "})), [3, 2, 1], "stop words are not needed");
    server.set("films", json!({"typoTolerance": {"enabled": false}}));
    assert_eq!(server.ids("films", json!({"q": "frozzen"})), Vec::<Value>::new());
    server.set("films", json!({"typoTolerance": {"enabled": true}}));
    assert_eq!(server.ids("films", json!({"q": "frozzen"})), [3]);
    server.set("films", json!({"prefixSearch": "disabled"}));
    assert_eq!(server.ids("films", json!({"q": "froz"})), Vec::<Value>::new());
    server.set("films", json!({"displayedAttributes": ["title"]}));
    assert_eq!(server.search("films", json!({"q": "frozen"}))["hits"], json!([{"title": "Frozen"}]));
}

#[test]
fn wrong_settings_are_refused_and_nothing_changes() {
    let server = Server::start();
    server.add("films", films());
    let before = server.get("/indexes/films/settings").ok();
    let path = "/indexes/films/settings";
    server.patch(path, json!({"rankingRules": ["words", "colour"]})).refused(400, "invalid_settings_ranking_rules");
    server.patch(path, json!({"stopWords": 3})).refused(400, "invalid_settings_stop_words");
    server.patch(path, json!({"searchableAttributes": "title"})).refused(400, "invalid_settings_searchable_attributes");
    server.patch(path, json!({"typoTolerance": {"x": 1}})).refused(400, "invalid_settings_typo_tolerance");
    server.patch(path, json!({"colour": 1})).refused(400, "bad_request");
    server.put(&format!("{path}/search-cutoff-ms"), json!("fast")).refused(400, "invalid_settings_search_cutoff_ms");
    server.put("/indexes/a%20b/settings/stop-words", json!([])).refused(400, "invalid_index_uid");
    assert_eq!(server.get(path).ok(), before);
}
