//! The setting `wordForms`: which other forms of words count, and how.

use serde_json::{Value, json};

use crate::server::Server;

const NOTES: &str = "notes";

fn notes(texts: &[&str]) -> Server {
    let server = Server::start();
    let document = |(id, text): (u64, &&str)| json!({"id": id, "text": text, "code": text});
    server.add(NOTES, (1..).zip(texts).map(document).collect());
    server.set(NOTES, json!({"searchableAttributes": ["text"]}));
    server
}

fn ids(server: &Server, query: &str, strategy: &str) -> Vec<Value> {
    server.ids(NOTES, json!({"q": query, "matchingStrategy": strategy}))
}

fn numbers<const N: usize>(ids: [u64; N]) -> Vec<Value> {
    ids.map(|id| json!(id)).to_vec()
}

/// A form costs no typo, and is not exact: so it comes behind the word itself and before a misspelt one.
#[test]
fn forms_stand_between_the_word_and_a_typo() {
    let server = notes(&["one hotl here", "one hotels here", "one hotel here"]);
    assert_eq!(ids(&server, "hotel here", "last"), numbers([3, 1, 2]), "a typo before it is switched on");
    server.set(NOTES, json!({"wordForms": {"enabled": true}}));
    for strategy in ["last", "all", "frequency"] {
        assert_eq!(ids(&server, "hotel here", strategy), numbers([3, 2, 1]), "{strategy}");
    }
    let query = json!({
        "q": "hotel here", "explain": true, "attributesToHighlight": ["text"], "showRankingScoreDetails": true,
    });
    let answer = server.search(NOTES, query);
    let hit = &answer["hits"][1];
    assert_eq!(hit["_formatted"]["text"], "one <em>hotels</em> <em>here</em>");
    assert_eq!(hit["_rankingScoreDetails"]["typo"]["typoCount"], 0, "{hit}");
    assert_eq!(hit["_rankingScoreDetails"]["exactness"]["matchingWords"], 1, "{hit}");
    let word = &hit["_explanation"]["words"][0]["matches"][0];
    assert_eq!((&word["match"], &word["term"]), (&json!("stem"), &json!("hotels")));
    server.set(NOTES, json!({"wordForms": {"enabled": false}}));
    assert_eq!(ids(&server, "hotel here", "last"), numbers([3, 1, 2]));
}

#[test]
fn plurals_and_possessives_cost_no_typo() {
    let server = notes(&["the libraries of a city", "dogs at home", "a dog's life", "cars"]);
    server.set(NOTES, json!({"wordForms": {"enabled": true}, "typoTolerance": {"enabled": false}}));
    for (query, found) in [
        ("library ", numbers([1])),
        ("library's ", numbers([1])),
        ("the library\u{2019}s city", numbers([1])),
        ("dog's ", numbers([2, 3])),
        ("car ", numbers([4])),
        ("cities ", numbers([1])),
    ] {
        let mut hits = ids(&server, query, "all");
        hits.sort_by_key(Value::as_u64);
        assert_eq!(hits, found, "{query}");
    }
    let score = |query: &str| {
        let query = json!({"q": query, "showRankingScoreDetails": true});
        server.search(NOTES, query)["hits"][0]["_rankingScoreDetails"]["typo"]["typoCount"].clone()
    };
    assert_eq!(score("library "), 0);
}

#[test]
fn exceptions_a_dictionary_languages_and_attributes_decide_which_forms_count() {
    let server = notes(&["universe", "university", "mice", "mouse", "häuser", "running"]);
    let typos = json!({"enabled": false});
    server.set(NOTES, json!({"wordForms": {"enabled": true, "languages": ["eng"]}, "typoTolerance": typos}));
    assert_eq!(ids(&server, "universe ", "all"), numbers([1, 2]), "one stem");
    assert_eq!(ids(&server, "mouse ", "all"), numbers([4]));
    assert!(ids(&server, "haus ", "all").is_empty());
    // Merged field by field, at once.
    server.set(NOTES, json!({"wordForms": {"exceptions": ["University"], "dictionary": {"Mouse": ["mice", "mousy"]}}}));
    assert_eq!(ids(&server, "universe ", "all"), numbers([1]));
    assert_eq!(ids(&server, "university ", "all"), numbers([2]));
    assert_eq!(ids(&server, "mouse ", "all"), numbers([4, 3]));
    for word in ["mice ", "mousy "] {
        assert_eq!(ids(&server, word, "all").len(), 2, "{word}");
    }
    assert_eq!(ids(&server, "mousy ", "any").len(), 2);
    server.set(NOTES, json!({"wordForms": {"languages": ["deu"]}}));
    assert_eq!(ids(&server, "haus ", "all"), numbers([5]));
    let english = json!({"q": "haus ", "matchingStrategy": "all", "locales": ["eng"]});
    assert!(server.ids(NOTES, english).is_empty(), "a request knows better");
    server.set(NOTES, json!({"wordForms": {"languages": null}, "searchableAttributes": ["text", "code"]}));
    for strategy in ["all", "any"] {
        server.set(NOTES, json!({"wordForms": {"disableOnAttributes": null}}));
        assert_eq!(ids(&server, "runs ", strategy), numbers([6]), "{strategy}");
        server.set(NOTES, json!({"wordForms": {"disableOnAttributes": ["code"]}}));
        assert_eq!(ids(&server, "runs ", strategy), numbers([6]), "{strategy}");
        server.set(NOTES, json!({"wordForms": {"disableOnAttributes": ["code", "text"]}}));
        assert!(ids(&server, "runs ", strategy).is_empty(), "{strategy}");
    }
    server
        .patch("/indexes/notes/settings/word-forms", json!({"languages": ["jpn"]}))
        .refused(400, "invalid_settings_word_forms");
    server.set(NOTES, json!({"wordForms": null}));
    assert_eq!(server.get("/indexes/notes/settings").ok().get("wordForms"), None);
    assert!(ids(&server, "runs ", "all").is_empty());
    assert_eq!(ids(&server, "runs ", "any"), numbers([6]), "on for questions");
    server.set(NOTES, json!({"wordForms": {"enabled": false}}));
    assert!(ids(&server, "runs ", "any").is_empty());
}

#[test]
fn phrases_have_forms_when_asked() {
    let server = notes(&["a red house", "red houses", "houses in red", "reds house"]);
    server.set(NOTES, json!({"wordForms": {"enabled": true}}));
    assert_eq!(ids(&server, "\"red house\"", "last"), numbers([1]));
    server.set(NOTES, json!({"wordForms": {"inPhrases": true}}));
    for strategy in ["last", "all", "frequency", "any"] {
        let mut hits = ids(&server, "+\"red house\"", strategy);
        hits.sort_by_key(Value::as_u64);
        assert_eq!(hits, numbers([1, 2, 4]), "{strategy}");
    }
    let answer = server.search(NOTES, json!({"q": "\"red house\"", "attributesToHighlight": ["text"]}));
    let shown: Vec<&Value> = answer["hits"].as_array().unwrap().iter().map(|hit| &hit["_formatted"]["text"]).collect();
    assert!(
        shown.contains(&&json!("<em>red houses</em>")) || shown.contains(&&json!("<em>red</em> <em>houses</em>")),
        "{shown:?}"
    );
}

/// The word itself stands before its forms wherever it is, in merged lists too.
#[test]
fn the_word_itself_comes_before_its_forms_wherever_it_is() {
    let server = notes(&["housing in red", "the red and old houses", "a red houwes"]);
    server.set(NOTES, json!({"wordForms": {"enabled": true, "languages": ["eng"]}}));
    let merged = |q: &str| {
        let queries = json!([{"indexUid": NOTES, "q": q}]);
        let answer = server.post("/multi-search", json!({"federation": {}, "queries": queries})).ok();
        answer["hits"].as_array().expect("hits").iter().map(|hit| hit["id"].clone()).collect::<Vec<Value>>()
    };
    for strategy in ["last", "all", "frequency"] {
        assert_eq!(ids(&server, "houses ", strategy), numbers([2, 1, 3]), "{strategy}");
        assert_eq!(ids(&server, "red houses ", strategy), numbers([2, 1, 3]), "{strategy}");
    }
    assert_eq!((merged("houses "), merged("red houses ")), (numbers([2, 1, 3]), numbers([2, 1, 3])));
    let scores = server.search(NOTES, json!({"q": "houses ", "showRankingScore": true}));
    let scores: Vec<f64> =
        scores["hits"].as_array().unwrap().iter().map(|hit| hit["_rankingScore"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, next| one > next), "{scores:?}");
}

/// Short words have forms too, and those that Snowball joins although they begin otherwise.
#[test]
fn short_words_find_their_forms() {
    let server = notes(&["was dying there", "the lying cat", "tying a knot", "many ads here", "she is going"]);
    server.set(
        NOTES,
        json!({"wordForms": {"enabled": true, "languages": ["eng"]}, "typoTolerance": {"enabled": false}, "prefixSearch": "disabled"}),
    );
    for (word, id) in [("die", 1), ("dies", 1), ("lie", 2), ("tie", 3), ("ad", 4), ("go", 5)] {
        assert_eq!(ids(&server, word, "last"), numbers([id]), "{word}");
    }
}
