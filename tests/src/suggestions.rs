//! Completions and "did you mean", over HTTP, and what tokens of tenants see of them.

use serde_json::{Value, json};

use crate::server::Server;

fn films() -> Server {
    let server = Server::start();
    let film = |id: u64, title: &str, company: &str| json!({"id": id, "title": title, "company": company});
    server.add(
        "films",
        json!([
            film(1, "Alien ship", "a"),
            film(2, "Alien", "a"),
            film(3, "Alibi of a spaceship", "b"),
            film(4, "Albatross", "b"),
        ]),
    );
    server.set("films", json!({"filterableAttributes": ["company"], "searchableAttributes": ["title"]}));
    server
}

fn complete(server: &Server, body: Value) -> Vec<(String, u64)> {
    let answer = server.post("/indexes/films/completions", body).ok();
    let found = answer["completions"].as_array().unwrap().iter();
    found.map(|one| (one["q"].as_str().unwrap().to_owned(), one["documents"].as_u64().unwrap())).collect()
}

fn list(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(text, documents)| ((*text).to_owned(), *documents)).collect()
}

#[test]
fn the_last_word_is_completed() {
    let server = films();
    assert_eq!(complete(&server, json!({"q": "al"})), list(&[("alien", 2), ("albatross", 1), ("alibi", 1)]));
    assert_eq!(complete(&server, json!({"q": "al", "limit": 1})), list(&[("alien", 2)]));
    assert_eq!(complete(&server, json!({"q": "Alien s"})), list(&[("Alien ship", 1)]));
    assert_eq!(complete(&server, json!({"q": "al", "filter": "company = b"})), list(&[("albatross", 1), ("alibi", 1)]));
    assert_eq!(complete(&server, json!({"q": "zz"})), []);
    let answer = server.post("/indexes/films/completions", json!({"q": "al"})).ok();
    assert_eq!(answer["q"], "al");
    assert!(answer["processingTimeMs"].is_u64());
}

#[test]
fn a_better_query_is_named() {
    let server = films();
    let ask = |q: &str| server.search("films", json!({"q": q, "didYouMean": true}));
    let answer = ask("alein ship");
    assert_eq!(answer["didYouMean"], json!({"q": "alien ship", "estimatedTotalHits": 2}), "{answer}");
    for right in ["alien ship", "al", "", "zzzzzzzz"] {
        assert_eq!(ask(right).get("didYouMean"), None, "{right}");
    }
    assert_eq!(server.search("films", json!({"q": "alein"})).get("didYouMean"), None);
    let strict = json!({"q": "albatrozs", "didYouMean": true, "matchingStrategy": "any"});
    assert_eq!(server.search("films", strict)["didYouMean"]["q"], "albatross");
    let get = server.get("/indexes/films/search?q=alein&didYouMean=true").ok();
    assert_eq!(get["didYouMean"]["q"], "alien");
    // Of what a filter hides, nothing is said.
    let hidden = json!({"q": "albatrozs", "didYouMean": true, "filter": "company = a"});
    assert_eq!(server.search("films", hidden).get("didYouMean"), None);
}

/// Checks completions from the query log, where the index permits them, and for callers whose documents contain the
/// words.
#[test]
fn what_was_asked_before_completes_queries() {
    let mut server = films();
    let ask = |server: &Server, q: &str, more: Value| {
        let mut query = json!({"q": q, "limit": 1});
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.search("films", query);
    };
    ask(&server, "Alien ship", json!({}));
    server.set("films", json!({"completions": {"fromQueries": true, "minCount": 2}}));
    let of_words = list(&[("alien", 2), ("alibi", 1)]);
    assert_eq!(complete(&server, json!({"q": "ali"})), of_words, "what was asked before that is not known");
    for q in ["Alien  ship", "alien ship", "alien", "alien", "ali", "ali", "alien nothing", "alien nothing"] {
        ask(&server, q, json!({}));
    }
    (0..2).for_each(|_| ask(&server, "alien spaceship", json!({"offset": 1})));
    let with_queries = list(&[("alien", 2), ("alien ship", 1), ("alibi", 1)]);
    assert_eq!(complete(&server, json!({"q": "ali"})), with_queries);
    let answer = server.post("/indexes/films/completions", json!({"q": "Alien "})).ok();
    let one = json!([{"q": "alien ship", "documents": 1, "source": "queries"}]);
    assert_eq!(answer["completions"], one, "{answer}");
    assert_eq!(complete(&server, json!({"q": "ali", "limit": 1})), list(&[("alien", 2)]));
    assert_eq!(complete(&server, json!({"q": "ali", "filter": "company = b"})), list(&[("alibi", 1)]));
    server.set("films", json!({"completions": {"minCount": 3}}));
    assert_eq!(complete(&server, json!({"q": "ali"})), of_words);
    server.set("films", json!({"completions": {"minCount": 2}}));
    assert!(server.terminate().success());
    server.start_again();
    assert_eq!(complete(&server, json!({"q": "ali"})), with_queries, "it survives a restart");
    server.set("films", json!({"completions": null}));
    assert_eq!(complete(&server, json!({"q": "ali"})), of_words);
    assert!(server.terminate().success());
    let kept = std::fs::read_to_string(server.data_folder().join("asked-queries.json")).unwrap();
    assert_eq!(kept, "{}", "it is forgotten where it is switched off");
}

#[test]
fn tenants_get_no_word_of_others() {
    let server = films();
    server.set("films", json!({"displayedAttributes": ["id", "title"]}));
    assert_eq!(complete(&server, json!({"q": "al"})).len(), 3);
    server.set("films", json!({"displayedAttributes": ["id"]}));
    assert_eq!(complete(&server, json!({"q": "al"})), [], "what is not displayed is not completed");
    assert_eq!(server.search("films", json!({"q": "alein", "didYouMean": true})).get("didYouMean"), None);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let server = films();
    let refused = |body: Value, code: &str| server.post("/indexes/films/completions", body).refused(400, code);
    refused(json!({}), "invalid_search_q");
    refused(json!({"q": 1}), "invalid_search_q");
    refused(json!({"q": "a", "limit": 101}), "invalid_search_limit");
    refused(json!({"q": "a", "filter": "title = x"}), "invalid_search_filter");
    refused(json!({"q": "a", "attributesToSearchOn": ["nothing"]}), "invalid_search_attributes_to_search_on");
    refused(json!({"q": "a", "sort": []}), "bad_request");
    server.post("/indexes/nothing/completions", json!({"q": "a"})).refused(404, "index_not_found");
    let search = |body: Value| server.post("/indexes/films/search", body);
    search(json!({"q": "a", "didYouMean": 1})).refused(400, "invalid_search_did_you_mean");
    search(json!({"q": "a", "didYouMean": true, "useNetwork": true})).refused(400, "invalid_search_did_you_mean");
    let query = json!({"indexUid": "films", "q": "a", "didYouMean": true});
    server
        .post("/multi-search", json!({"federation": {}, "queries": [query]}))
        .refused(400, "invalid_search_did_you_mean");
}
