//! Tenant tokens: what their rules let through on every route that searches.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::keys::{MASTER, ask, finish, make, start, value};
use crate::server::Server;

pub(crate) fn sign(algorithm: Algorithm, claims: &Value, secret: &str) -> String {
    encode(&Header::new(algorithm), claims, &EncodingKey::from_secret(secret.as_bytes())).expect("plain claims")
}

/// A server with films of two companies in each of three indexes, and a key that may search two of them.
fn cinema() -> (Server, Value) {
    let server = start(&[]);
    for index in ["films", "films_fr", "secret"] {
        let settings = json!({"filterableAttributes": ["company", "year"]});
        finish(&server, &ask(&server, MASTER, "PATCH", &format!("/indexes/{index}/settings"), &settings));
        let documents = json!([
            {"id": 1, "company": "a", "year": 1979, "title": "Alien"},
            {"id": 2, "company": "a", "year": 1986, "title": "Aliens"},
            {"id": 3, "company": "b", "year": 1992, "title": "Alien three"}
        ]);
        finish(&server, &ask(&server, MASTER, "POST", &format!("/indexes/{index}/documents"), &documents));
    }
    let key = make(&server, &["search"], &["films*"]);
    (server, key)
}

pub(crate) fn token(key: &Value, rules: Value) -> String {
    sign(Algorithm::HS256, &json!({"apiKeyUid": key["uid"], "searchRules": rules}), &value(key))
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["hits"].as_array().expect("hits").iter().map(|hit| hit["id"].as_u64().expect("an id")).collect()
}

#[test]
fn rules_of_all_forms() {
    let (server, key) = cinema();
    for (rules, films, french) in [
        (json!(["*"]), Some(vec![1, 2, 3]), Some(vec![1, 2, 3])),
        (json!(["films"]), Some(vec![1, 2, 3]), None),
        (json!({"films*": null}), Some(vec![1, 2, 3]), Some(vec![1, 2, 3])),
        (json!({"films": {}}), Some(vec![1, 2, 3]), None),
        (json!({"*": {"filter": "company = a"}}), Some(vec![1, 2]), Some(vec![1, 2])),
        (
            json!({"*": {"filter": "company = a"}, "films_fr": {"filter": ["company = b", ["year > 1"]]}}),
            Some(vec![1, 2]),
            Some(vec![3]),
        ),
        (json!({"films": {}, "films*": {"filter": "company = b"}}), Some(vec![1, 2, 3]), Some(vec![3])),
        (json!({}), None, None),
        (json!([]), None, None),
        // Not understood, or emptied by a mistake: nothing is open.
        (json!({"films": {"filter": null}}), None, None),
        (json!({"films": {"filter": ""}}), None, None),
        (json!({"films": {"filter": ["company = a", []]}}), None, None),
        (json!({"films": {"filters": "company = a"}}), None, None),
    ] {
        let token = token(&key, rules.clone());
        for (index, expected) in [("films", films), ("films_fr", french)] {
            let answer = ask(&server, &token, "POST", &format!("/indexes/{index}/search"), &json!({"q": ""}));
            match expected {
                Some(expected) => assert_eq!(ids(&answer.ok()), expected, "{rules} on {index}"),
                None => answer.refused(403, "invalid_api_key"),
            }
        }
        let outside = ask(&server, &token, "POST", "/indexes/secret/search", &json!({}));
        outside.refused(403, "invalid_api_key");
    }
}

#[test]
fn filters_are_added_on_every_route_that_searches() {
    let (server, key) = cinema();
    let token = token(&key, json!({"*": {"filter": "company = a"}}));
    let none = Value::Null;
    let post = |path: &str, body: Value| ask(&server, &token, "POST", path, &body).ok();

    assert_eq!(ids(&post("/indexes/films/search", json!({"filter": "year > 1980"}))), [2]);
    assert_eq!(ids(&post("/indexes/films/search", json!({"filter": ["year > 1980", "company = b"]}))), [] as [u64; 0]);
    // What a request says cannot loosen the rule.
    assert_eq!(ids(&post("/indexes/films/search", json!({"filter": "company = a OR company = b"}))), [1, 2]);
    let get = ask(&server, &token, "GET", "/indexes/films/search?filter=year%20%3E%201980", &none).ok();
    assert_eq!(ids(&get), [2]);
    let facets = post("/indexes/films/search", json!({"facets": ["company"], "limit": 0}));
    assert_eq!(facets["facetDistribution"], json!({"company": {"a": 2}}));
    let found = post("/indexes/films/facet-search", json!({"facetName": "company"}));
    assert_eq!(found["facetHits"], json!([{"value": "a", "count": 2}]));

    // No word that only hidden documents have.
    let completions = |q: &str| post("/indexes/films/completions", json!({ "q": q }))["completions"].clone();
    assert_eq!(completions("ali"), json!([{"q": "alien", "documents": 1}, {"q": "aliens", "documents": 1}]));
    assert_eq!(completions("thr"), json!([]));
    let meant = post("/indexes/films/search", json!({"q": "threee", "didYouMean": true}));
    assert_eq!(meant.get("didYouMean"), None);

    let queries = json!([{"indexUid": "films"}, {"indexUid": "films_fr", "filter": "year < 1980"}]);
    let multi = post("/multi-search", json!({"queries": queries}));
    assert_eq!((ids(&multi["results"][0]), ids(&multi["results"][1])), (vec![1, 2], vec![1]));
    let federated = post("/multi-search", json!({"queries": queries, "federation": {}}));
    assert_eq!(federated["estimatedTotalHits"], 3, "{federated}");
    assert!(federated["hits"].as_array().unwrap().iter().all(|hit| hit["company"] == "a"), "{federated}");
    let outside = json!({"queries": [{"indexUid": "films"}, {"indexUid": "secret"}]});
    ask(&server, &token, "POST", "/multi-search", &outside).refused(403, "invalid_api_key");

    let bad = self::token(&key, json!({"*": {"filter": "company = "}}));
    ask(&server, &bad, "POST", "/indexes/films/search", &json!({})).refused(400, "invalid_search_filter");
    let undeclared = self::token(&key, json!({"*": {"filter": "title = x"}}));
    ask(&server, &undeclared, "POST", "/indexes/films/search", &json!({})).refused(400, "invalid_search_filter");
}

/// Checks that queries of a tenant complete nothing, and that those of others are shown to tenants whose documents
/// contain them.
#[test]
fn completions_from_queries_keep_tenants_apart() {
    let (server, key) = cinema();
    let settings = json!({"completions": {"fromQueries": true, "minCount": 1}});
    finish(&server, &ask(&server, MASTER, "PATCH", "/indexes/films/settings", &settings));
    let [one, other] = ["a", "b"].map(|company| token(&key, json!({"*": {"filter": format!("company = {company}")}})));
    let search = |key: &str| ask(&server, key, "POST", "/indexes/films/search", &json!({"q": "alien three"})).ok();
    let completions = |key: &str| {
        let body = json!({"q": "alien t"});
        ask(&server, key, "POST", "/indexes/films/completions", &body).ok()["completions"].clone()
    };
    search(&other);
    assert_eq!(completions(&other), json!([{"q": "alien three", "documents": 1}]), "from its words");
    search(&value(&key));
    assert_eq!(completions(&other), json!([{"q": "alien three", "documents": 1, "source": "queries"}]));
    assert_eq!(completions(&one), json!([]));
}

#[test]
fn tokens_open_no_other_route() {
    let (server, _) = cinema();
    let key = make(&server, &["*"], &["*"]);
    let token = token(&key, json!(["*"]));
    assert_eq!(ask(&server, &token, "POST", "/indexes/films/search", &json!({})).status, 200);
    for (method, path) in [
        ("GET", "/indexes"),
        ("GET", "/indexes/films/documents"),
        ("POST", "/indexes/films/documents/fetch"),
        ("POST", "/indexes/films/documents"),
        ("GET", "/keys"),
        ("GET", "/tasks"),
        ("GET", "/stats"),
        ("GET", "/version"),
        ("GET", "/experimental-features"),
    ] {
        ask(&server, &token, method, path, &Value::Null).refused(403, "invalid_api_key");
    }
}

#[test]
fn tokens_end_with_their_time_and_with_their_key() {
    let (server, key) = cinema();
    let uid = &key["uid"];
    let search = |token: &str| ask(&server, token, "POST", "/indexes/films/search", &json!({}));
    for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        let claims = json!({"apiKeyUid": uid, "searchRules": ["*"], "exp": null, "iss": "ignored", "aud": "x"});
        assert_eq!(search(&sign(algorithm, &claims, &value(&key))).status, 200, "{algorithm:?}");
        search(&sign(algorithm, &claims, "another secret")).refused(403, "invalid_api_key");
    }
    let with_end =
        |exp: u64| sign(Algorithm::HS256, &json!({"apiKeyUid": uid, "searchRules": ["*"], "exp": exp}), &value(&key));
    assert_eq!(search(&with_end(4_000_000_000)).status, 200);
    let late = search(&with_end(1_000_000_000));
    late.refused(403, "invalid_api_key");
    let message = late.body["message"].as_str().unwrap();
    assert!(message.starts_with("Tenant token expired. Was valid up to `1000000000` and we're now `"), "{message}");

    let good = token(&key, json!(["*"]));
    assert_eq!(search(&good).status, 200);
    ask(&server, MASTER, "DELETE", &format!("/keys/{}", value(&key)), &Value::Null);
    search(&good).refused(403, "invalid_api_key");

    let key = make(&server, &["documents.*"], &["*"]);
    search(&token(&key, json!(["*"]))).refused(403, "invalid_api_key");
}

/// The state of an alias is that of the index that it stood for, and so are the rights to it.
#[test]
fn an_alias_that_moves_opens_no_state_of_the_index_before() {
    let (server, _) = cinema();
    let key = make(&server, &["search"], &["*"]);
    finish(&server, &ask(&server, MASTER, "PATCH", "/aliases", &json!({"now": "films"})));
    let tenant = token(&key, json!({"now": {}, "films": {"filter": "company = a"}, "films_fr": {}}));
    let search = |bearer: &str, point: Value| {
        ask(&server, bearer, "POST", "/indexes/now/search", &json!({"pointInTime": point, "facets": ["company"]}))
    };
    let begun = search(&tenant, json!({}));
    assert_eq!(ids(&begun.body), [1, 2]);
    let point = json!({"id": begun.body["pointInTime"]["id"]});
    finish(&server, &ask(&server, MASTER, "PUT", "/aliases/now", &json!({"indexUid": "films_fr"})));
    assert_eq!(ids(&search(&tenant, json!({})).body), [1, 2, 3], "the other index has no rule");
    let again = search(&tenant, point.clone());
    assert_eq!((ids(&again.body), &again.body["facetDistribution"]["company"]), (vec![1, 2], &json!({"a": 2})));
    let query = json!({"indexUid": "now", "pointInTime": point});
    for asked in [
        json!({"queries": [query]}),
        json!({"queries": [{"indexUid": "now"}], "pointInTime": point}),
        json!({"federation": {}, "queries": [{"indexUid": "now"}], "pointInTime": point}),
    ] {
        let answer = ask(&server, &tenant, "POST", "/multi-search", &asked).body;
        let answer = answer.get("results").map_or(&answer, |results| &results[0]);
        assert_eq!(ids(answer), [1, 2], "{asked}");
    }
    let facets = json!({"facetName": "company", "pointInTime": point});
    let values = ask(&server, &tenant, "POST", "/indexes/now/facet-search", &facets).body["facetHits"].clone();
    assert_eq!(values, json!([{"value": "a", "count": 2}]));
    // Neither a tenant nor a key that may not search the index of the state.
    let none = token(&key, json!({"now": {}, "films_fr": {}}));
    let narrow = value(&make(&server, &["search"], &["now", "films_fr"]));
    for bearer in [none, narrow] {
        search(&bearer, point.clone()).refused(403, "invalid_api_key");
        ask(&server, &bearer, "POST", "/multi-search", &json!({"queries": [query]})).refused(403, "invalid_api_key");
    }
    assert_eq!(ids(&search(MASTER, point).body), [1, 2, 3]);
}
