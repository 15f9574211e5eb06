//! Questions, explanations, and limits that answers report.

use serde_json::{Value, json};

use crate::server::Server;

fn films() -> Server {
    let server = Server::start();
    server.add(
        "films",
        json!([
            {"id": 1, "title": "Alien", "about": "The crew of a ship meets an alien in space.", "kind": "horror"},
            {"id": 2, "title": "The Ship", "about": "A ship, a storm and the sea.", "kind": "drama"},
            {"id": 3, "title": "Space", "about": "A film about the sea.", "kind": "drama"},
            {"id": 4, "title": "Garden", "about": "Nothing but flowers.", "kind": "film"},
        ]),
    );
    server.set("films", json!({"filterableAttributes": ["kind"], "searchableAttributes": ["title", "about"]}));
    server
}

const QUESTION: &str = "which crew of a ship meets strangers in space?";

fn explained(server: &Server, query: Value) -> Value {
    let mut query = query;
    query["explain"] = query.get("explain").cloned().unwrap_or(json!(true));
    server.search("films", query)
}

#[test]
fn any_word_is_enough_per_request_and_per_index() {
    let server = films();
    let asked =
        json!({"q": QUESTION, "matchingStrategy": "any", "showRankingScore": true, "showRankingScoreDetails": true});
    let answer = server.search("films", asked);
    let ids: Vec<Value> = answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
    assert_eq!((&ids[0], ids.len()), (&json!(1), 3), "{answer}");
    assert_eq!(answer["estimatedTotalHits"], 3);
    let first = &answer["hits"][0];
    assert_eq!(first["_rankingScoreDetails"]["bm25"]["score"], first["_rankingScore"]);
    assert_eq!(first["_rankingScoreDetails"]["bm25"]["maxMatchingWords"], 9);
    let get = format!("/indexes/films/search?matchingStrategy=any&q={}", QUESTION.replace(' ', "%20"));
    assert_eq!(server.get(&get).ok()["estimatedTotalHits"], 3);

    assert_eq!(server.get("/indexes/films/settings").ok().get("matchingStrategy"), None);
    server.set("films", json!({"matchingStrategy": "any"}));
    assert_eq!(server.get("/indexes/films/settings").ok()["matchingStrategy"], "any");
    assert_eq!(server.get("/indexes/films/settings/matching-strategy").ok(), json!("any"));
    assert_eq!(server.ids("films", json!({"q": QUESTION})), ids);
    assert!(server.ids("films", json!({"q": QUESTION, "matchingStrategy": "all"})).is_empty());
    assert_eq!(server.ids("films", json!({"q": QUESTION, "filter": "kind = drama", "page": 1})), ids[1..]);
    let merged = json!({"federation": {}, "queries": [{"indexUid": "films", "q": QUESTION}, {"indexUid": "films", "q": "flowers"}]});
    let merged = server.post("/multi-search", merged).ok();
    assert_eq!(merged["estimatedTotalHits"], 4, "{merged}");
    server
        .put("/indexes/films/settings/matching-strategy", json!("some"))
        .refused(400, "invalid_settings_matching_strategy");
}

/// Plurals, possessives and what else shares a stem, found, marked and explained, of questions only.
#[test]
fn questions_find_other_forms_of_their_words() {
    let server = Server::start();
    let texts = ["Libraries catalogue their books.", "A librarian books a flight.", "He cataloged the shelves."];
    let document = |(id, text): (u64, &&str)| json!({"id": id, "text": text});
    server.add("notes", (1..).zip(&texts).map(document).collect());
    let query =
        json!({"q": "library's ", "matchingStrategy": "any", "explain": true, "attributesToHighlight": ["text"]});
    let answer = server.search("notes", query);
    assert_eq!(answer["estimatedTotalHits"], 1, "{answer}");
    assert_eq!(answer["hits"][0]["_formatted"]["text"], "<em>Libraries</em> catalogue their books.");
    let word = &answer["hits"][0]["_explanation"]["words"][0];
    assert_eq!((&word["matches"][0]["match"], &word["matches"][0]["term"]), (&json!("stem"), &json!("libraries")));
    let ids = |query: &str, strategy: &str| server.ids("notes", json!({"q": query, "matchingStrategy": strategy}));
    assert_eq!(ids("cataloging ", "any"), [json!(3)]);
    for strategy in ["last", "all", "frequency"] {
        assert!(ids("cataloging ", strategy).is_empty(), "{strategy}");
    }
    // Of two documents that say as much, the one with the word itself comes first.
    assert_eq!(ids("book ", "any").len(), 2);
    server.add("notes", json!([{"id": 4, "text": "A librarian book a flight."}]));
    assert_eq!(ids("book ", "any")[0], json!(4));
    // By the language that the request names: `hauser` is what `Häuser` is searched as.
    server.add("notes", json!([{"id": 5, "text": "Viele Häuser"}]));
    let german =
        |locale: &str| server.ids("notes", json!({"q": "haus ", "matchingStrategy": "any", "locales": [locale]}));
    assert_eq!((german("deu"), german("eng")), (vec![json!(5)], vec![]));
}

/// In a question, what is quoted weighs much and is not asked for; a plus insists.
#[test]
fn phrases_of_questions_are_words_unless_they_are_insisted_on() {
    let server = films();
    let ids = |query: &str| server.ids("films", json!({"q": query, "matchingStrategy": "any"}));
    assert_eq!(ids("the sea \"meets an alien\""), [1, 3, 2].map(|id| json!(id)));
    assert_eq!(ids("the sea \"unheard of\"").len(), 3);
    assert_eq!(ids("the sea +\"meets an alien\""), [json!(1)]);
    assert!(ids("the sea +\"unheard of\"").is_empty());
    for strategy in ["last", "all", "frequency"] {
        let query = json!({"q": "sea \"meets an alien\"", "matchingStrategy": strategy});
        assert!(server.ids("films", query).iter().all(|id| *id == json!(1)), "{strategy}");
    }
}

/// Long questions are cut to their most significant words, wherever they stand; what is said again is one word that counts as often.
#[test]
fn the_rarest_words_of_a_long_question_count() {
    let server = Server::start();
    let documents = (0..120).map(|id| json!({"id": id, "text": format!("{} rare{id}", "common ".repeat(2))}));
    server.add("notes", documents.collect());
    let asked = |question: String| server.search("notes", json!({"q": question, "matchingStrategy": "any"}));
    let answer = asked(format!("{}rare7 common", "common ".repeat(300)));
    assert_eq!(answer["hits"][0]["id"], 7, "{answer}");
    assert_eq!(answer.get("degradedReasons"), None, "two different words");
    let rare: String = (0..119).map(|id| format!("rare{id} ")).collect();
    let answer = asked(format!("common {rare}rare119 rare119 "));
    assert_eq!(answer["hits"][0]["id"], 119, "{answer}");
    assert_eq!(answer["hits"][1]["id"], 0, "words of equal weight count in their order");
    assert_eq!((&answer["degradedReasons"], &answer["estimatedTotalHits"]), (&json!(["queryTerms"]), &json!(100)));
}

#[test]
fn hits_report_why_they_are_hits() {
    let server = films();
    let answer = explained(&server, json!({"q": "alein spa"}));
    let reported = &answer["hits"][0]["_explanation"];
    assert_eq!(reported["words"][0]["word"], "alein");
    assert_eq!(reported["words"][0]["matches"][0]["match"], "oneTypo", "{answer}");
    assert_eq!(reported["words"][0]["matches"][0]["term"], "alien");
    assert_eq!(
        reported["words"][1]["matches"][0],
        json!({"attribute": "about", "term": "space", "match": "prefix", "positions": [9]})
    );
    assert_eq!(reported["rules"]["words"]["matchingWords"], 2);
    let whole = &answer["explanation"];
    assert_eq!(whole["words"], json!(["alein", "spa"]));
    assert!(whole["stages"].as_array().unwrap().iter().all(|stage| stage["took"].is_string()), "{whole}");
    assert_eq!(whole["rules"][0]["groups"]["2 of 2 words"], 1, "{whole}");
    assert_eq!(whole["limits"], json!([]));
    let plain = server.search("films", json!({"q": "alein spa"}));
    assert!(plain.get("explanation").is_none());
    assert!(plain["hits"][0].get("_explanation").is_none());
    server.post("/indexes/films/search", json!({"explain": 3})).refused(400, "invalid_search_explain");
    assert!(
        server.get("/indexes/films/search?q=alien&explainDocumentId=2").ok()["explanation"]["document"].is_object()
    );
}

/// Every rule of the index in its place, sorts too, and how many documents came to it.
#[test]
fn rules_report_how_many_documents_came() {
    let server = Server::start();
    let place = |id: u32| {
        let text = if id % 10 == 9 { "red" } else { "red river" };
        json!({"id": id, "text": text, "y": id % 7, "secret": id, "_geo": {"lat": id, "lng": 1}})
    };
    server.add("places", (0..40).map(place).collect());
    server.set(
        "places",
        json!({"sortableAttributes": ["y", "secret", "_geo"], "filterableAttributes": ["y"], "searchableAttributes": ["text"],
               "displayedAttributes": ["id", "text", "y", "_geo"]}),
    );
    let reported = |rules: Value, query: Value| -> Vec<(String, u64, bool)> {
        server.set("places", json!({"rankingRules": rules}));
        let mut query = query;
        query["explain"] = json!(true);
        let answer = server.search("places", query);
        let seen = answer["explanation"]["rules"].as_array().unwrap();
        let names: Vec<&Value> = seen.iter().flat_map(|seen| seen["rules"].as_array().unwrap()).collect();
        let of_hit = answer["hits"][0]["_explanation"]["rules"].as_object().unwrap();
        assert_eq!(names, of_hit.keys().collect::<Vec<_>>(), "as hits name them: {answer}");
        let one = |seen: &Value| {
            let names = seen["rules"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            let read = seen.get("read").map(|read| read.as_u64().unwrap());
            assert!(read.is_none_or(|read| read <= seen["documents"].as_u64().unwrap()), "{answer}");
            (names.collect::<Vec<_>>().join(" "), seen["documents"].as_u64().unwrap(), read.is_some())
        };
        seen.iter().map(one).collect()
    };
    let seen = |names: &str, documents: u64, is_read: bool| (names.to_owned(), documents, is_read);
    let custom = json!(["words", "y:desc", "secret:asc"]);
    assert_eq!(
        reported(custom.clone(), json!({"q": "red river"})),
        [seen("words", 40, false), seen("y:desc <hidden-rule-2>", 36, true)]
    );
    assert_eq!(reported(custom, json!({"filter": "y = 1"})), [seen("y:desc <hidden-rule-1>", 6, true)]);
    let sort_first = json!(["sort", "words", "typo"]);
    assert_eq!(
        reported(sort_first.clone(), json!({"q": "red river", "sort": ["y:asc"]})),
        [seen("y:asc", 40, true), seen("words", 40, false), seen("typo", 40, true)]
    );
    let near = "_geoPoint(1.5, 2):asc";
    assert_eq!(reported(sort_first.clone(), json!({"q": "", "sort": [near]})), [seen(near, 40, true)]);
    assert_eq!(reported(sort_first.clone(), json!({})), []);
    assert_eq!(
        reported(sort_first, json!({"q": "red river", "matchingStrategy": "any", "sort": ["y:asc"]})),
        [seen("y:asc bm25", 40, true)]
    );
}

#[test]
fn merged_lists_are_explained() {
    let server = films();
    let queries = json!([
        {"indexUid": "films", "q": "sea"}, {"indexUid": "films", "q": "alien", "explain": {"documentId": 3}}
    ]);
    let body = |federation: Value, queries: &Value| json!({"federation": federation, "queries": queries});
    let answer = server.post("/multi-search", body(json!({}), &queries)).ok();
    let reported = &answer["explanations"];
    assert_eq!((&reported[0]["indexUid"], &reported[0]["queriesPosition"]), (&json!("films"), &json!(1)), "{answer}");
    assert_eq!(reported[0]["explanation"]["document"]["reason"], "missingWords");
    assert_eq!(reported.as_array().unwrap().len(), 1);
    assert!(answer.get("explanation").is_none());
    let explained: Vec<bool> =
        answer["hits"].as_array().unwrap().iter().map(|hit| hit.get("_explanation").is_some()).collect();
    assert!(explained.contains(&true), "{answer}");
    assert!(explained.contains(&false), "{answer}");
    let wrong = json!([{"indexUid": "films", "explain": 3}]);
    server.post("/multi-search", body(json!({}), &wrong)).refused(400, "invalid_search_explain");
}

#[test]
fn a_document_reports_why_it_is_no_hit() {
    let server = films();
    let standing = |query: Value| explained(&server, query)["explanation"]["document"].clone();
    let why = |query: Value| standing(query)["reason"].as_str().unwrap().to_owned();
    let ask = |id: u64| json!({"documentId": id});
    assert_eq!(why(json!({"q": "alien", "explain": ask(1)})), "hit");
    assert_eq!(why(json!({"q": "alien", "explain": ask(77)})), "documentNotFound");
    let missing = standing(json!({"q": "ship garden", "matchingStrategy": "all", "explain": ask(4)}));
    assert_eq!((&missing["reason"], &missing["missingWords"]), (&json!("missingWords"), &json!(["ship"])));
    assert_eq!(missing["isHit"], false);
    let filtered = standing(json!({"q": "sea", "filter": "kind EXISTS AND kind = horror", "explain": ask(3)}));
    assert_eq!(filtered["reason"], "filteredOut");
    assert_eq!(filtered["failingFilters"].as_array().unwrap().len(), 1, "{filtered}");
    let excluded = standing(json!({"q": "sea -storm", "explain": ask(2)}));
    assert_eq!((&excluded["reason"], &excluded["excludedWords"]), (&json!("excludedByQuery"), &json!(["storm"])));
    assert_eq!(
        why(json!({"q": QUESTION, "matchingStrategy": "any", "rankingScoreThreshold": 0.6, "explain": ask(3)})),
        "belowRankingScoreThreshold"
    );
    assert_eq!(why(json!({"q": "", "distinct": "kind", "explain": ask(3)})), "notDistinct");
    let second = server.ids("films", json!({"q": "sea"}))[1].as_u64().expect("a number");
    let beyond = standing(json!({"q": "sea", "limit": 1, "explain": ask(second)}));
    assert_eq!((&beyond["reason"], &beyond["position"]), (&json!("outsideOfPage"), &json!(1)));
    server.set("films", json!({"pagination": {"maxTotalHits": 1}}));
    assert_eq!(why(json!({"q": "sea", "explain": ask(second)})), "beyondMaxTotalHits");
    server.done(&server.delete("/indexes/films/documents/3"));
    assert_eq!(why(json!({"q": "sea", "explain": ask(3)})), "documentDeleted");
}

#[test]
fn what_a_limit_cuts_is_reported() {
    let server = films();
    let limits_of = |path: &str, query: Value| {
        let answer = server.post(path, query);
        (answer.limits.clone(), answer.ok())
    };
    let limits = |query: Value| limits_of("/indexes/films/search", query);
    let (reported, answer) = limits(json!({"q": "sea"}));
    assert_eq!((reported, answer.get("degraded")), (None, None));
    let (reported, answer) = limits(json!({"q": "sea ".repeat(101)}));
    assert_eq!(reported.as_deref(), Some("queryTerms"));
    assert_eq!((&answer["degraded"], &answer["degradedReasons"]), (&json!(true), &json!(["queryTerms"])));
    server.set("films", json!({"pagination": {"maxTotalHits": 1}, "faceting": {"maxValuesPerFacet": 2}}));
    let (reported, answer) = limits(json!({"facets": ["kind"], "explain": true}));
    assert_eq!(reported.as_deref(), Some("maxTotalHits, maxValuesPerFacet:kind"));
    assert_eq!(answer["explanation"]["limits"], json!(["maxTotalHits", "maxValuesPerFacet:kind"]));
    let stages = answer["explanation"]["stages"].as_array().unwrap();
    let last: Vec<&Value> = stages.iter().rev().take(2).map(|stage| &stage["stage"]).collect();
    assert_eq!(last, ["format", "facets"], "all that took time is listed");
    assert!(answer.get("degraded").is_none(), "bodies stay as clients know them");
    assert_eq!(limits(json!({"q": "garden", "facets": ["kind"]})).0, None);
    let values = |query: Value| limits_of("/indexes/films/facet-search", query);
    assert_eq!(values(json!({"facetName": "kind"})).0.as_deref(), Some("maxValuesPerFacet:kind"));
    assert_eq!(values(json!({"facetName": "kind", "q": "garden"})).0, None);
    let (reported, answer) = values(json!({"facetName": "kind", "q": "garden ".repeat(101)}));
    assert_eq!((reported.as_deref(), &answer["degradedReasons"]), (Some("queryTerms"), &json!(["queryTerms"])));

    // Of several searches, each limit once.
    let all = json!({"indexUid": "films", "facets": ["kind"]});
    let long = json!({"indexUid": "films", "q": "sea ".repeat(101), "limit": 1});
    let (reported, answer) = limits_of("/multi-search", json!({"queries": [all, long, all]}));
    assert_eq!(reported.as_deref(), Some("maxTotalHits, maxValuesPerFacet:kind, queryTerms"));
    assert_eq!(answer["results"][1]["degradedReasons"], json!(["queryTerms"]));
    let merged = |federation: Value, queries: Value| {
        limits_of("/multi-search", json!({"federation": federation, "queries": queries}))
    };
    let by_index = json!({"limit": 1, "facetsByIndex": {"films": ["kind"]}});
    assert_eq!(merged(by_index, json!([{"indexUid": "films"}])).0.as_deref(), Some("maxValuesPerFacet:kind"));
    let in_one = json!({"limit": 2, "facetsByIndex": {"films": ["kind"]}, "mergeFacets": {"maxValuesPerFacet": 1}});
    let (reported, answer) =
        merged(in_one, json!([{"indexUid": "films", "q": "sea ".repeat(101)}, {"indexUid": "films"}]));
    assert_eq!(reported.as_deref(), Some("queryTerms, maxTotalHits, maxValuesPerFacet:kind"));
    assert_eq!((&answer["degraded"], &answer["degradedReasons"]), (&json!(true), &json!(["queryTerms"])));
    assert_eq!(merged(json!({"limit": 1}), json!([{"indexUid": "films"}])).0, None);
}

/// `bm25` and `searchableAttributesWeights` act at once, on questions only.
#[test]
fn constants_and_weights_order_the_hits_of_questions() {
    let server = Server::start();
    server.add(
        "notes",
        json!([
            {"id": 1, "title": "storm storm storm", "about": "A long text of many words that say nothing of it at all."},
            {"id": 2, "title": "storm", "about": "nothing"},
            {"id": 3, "title": "nothing", "about": "storm and some more words"},
            {"id": 4, "title": "other", "about": "other"},
        ]),
    );
    server.set("notes", json!({"searchableAttributes": ["title", "about"]}));
    let order = |strategy: &str| -> Vec<u64> {
        let ids = server.ids("notes", json!({"q": "storm ", "matchingStrategy": strategy}));
        ids.iter().filter_map(Value::as_u64).collect()
    };
    assert_eq!(order("any"), [1, 2, 3]);
    let by_rules = order("last");
    // How often a word occurs is nothing: 1 and 2 are equal, and so is 3.
    server.set("notes", json!({"bm25": {"k1": 0}}));
    let scores = |query: Value| -> Vec<Value> {
        let answer = server.search("notes", query);
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["_rankingScore"].clone()).collect()
    };
    let same = scores(json!({"q": "storm ", "matchingStrategy": "any", "showRankingScore": true}));
    assert_eq!(same.len(), 3, "{same:?}");
    assert!(same.iter().all(|score| *score == same[0]), "{same:?}");
    // A long field counts less, unless b is 0.
    server.set("notes", json!({"bm25": {"k1": null, "b": 0}}));
    assert_eq!(server.get("/indexes/notes/settings/bm25").ok(), json!({"k1": 1.2, "b": 0.0}));
    assert_eq!(order("any"), [1, 2, 3]);
    server.set("notes", json!({"bm25": null, "searchableAttributesWeights": {"title": 0.5, "about": 5}}));
    assert_eq!(order("any")[0], 3);
    assert_eq!(order("last"), by_rules);
    server.set("notes", json!({"searchableAttributesWeights": null}));
    assert_eq!(order("any"), [1, 2, 3]);
    assert_eq!(server.get("/indexes/notes/settings").ok().get("bm25"), None);
    server.patch("/indexes/notes/settings/bm25", json!({"b": 2})).refused(400, "invalid_settings_bm25");
    server
        .put("/indexes/notes/settings/searchable-attributes-weights", json!({"title": 0}))
        .refused(400, "invalid_settings_searchable_attributes_weights");
}

/// Neighbours of a question count a little more side by side, and no more than that.
#[test]
fn words_side_by_side_count_more() {
    let server = Server::start();
    server.add(
        "notes",
        json!([
            {"id": 1, "text": "paper made of the red white and blue"},
            {"id": 2, "text": "the red paper made of white and blue"},
            {"id": 3, "text": "red paper red paper red paper"},
            {"id": 4, "text": "something else"},
            {"id": 5, "text": "something else"},
            {"id": 6, "text": "something else"},
        ]),
    );
    let ids = |query: &str| server.ids("notes", json!({"q": query, "matchingStrategy": "any"}));
    assert_eq!(ids("red paper ")[1..], [2, 1].map(|id| json!(id)));
    assert_eq!(ids("white paper red blue ")[..2], [1, 2].map(|id| json!(id)), "equal: in their order");
}
