//! What people type beside what stands in texts: signs, letters, digits, stop words, and which of the found documents is exact.

use serde_json::{Value, json};

use crate::server::Server;

/// Ids of what is found with every word of a query, ascending.
fn found(server: &Server, index: &str, query: &str) -> Vec<i64> {
    let ids = server.ids(index, json!({"q": query, "matchingStrategy": "all"}));
    let mut ids: Vec<i64> = ids.iter().map(|id| id.as_i64().expect("ids are numbers")).collect();
    ids.sort_unstable();
    ids
}

fn match_types(server: &Server, index: &str, mut query: Value) -> Vec<(i64, String)> {
    query["showRankingScoreDetails"] = json!(true);
    let answer = server.search(index, query);
    let hits = answer["hits"].as_array().unwrap().iter();
    let of = |hit: &Value| {
        let kind = &hit["_rankingScoreDetails"]["exactness"]["matchType"];
        (hit["id"].as_i64().unwrap(), kind.as_str().unwrap_or_default().to_owned())
    };
    hits.map(of).collect()
}

#[test]
fn signs_beside_words_hide_none() {
    let server = Server::start();
    let signs = "=<>|~^$€£¥°©®™§¶•→←⇒★❤😀✓□▲♥∞≈√µ\u{a0}\u{ad}\u{200b}\u{200d}\u{200e}\u{202e}\u{2028}\u{2029}\u{202f}\u{2060}\u{feff}\u{fffd}";
    let signs: Vec<char> = signs.chars().filter(|c| *c != 'µ').collect();
    let documents: Vec<Value> = signs
        .iter()
        .enumerate()
        .map(|(id, c)| json!({"id": id, "t": format!("{c}before{id} after{id}{c} left{id}{c}right{id}")}))
        .collect();
    server.add("signs", Value::Array(documents));
    server.set("signs", json!({"typoTolerance": {"enabled": false}, "prefixSearch": "disabled"}));
    for (id, c) in signs.iter().enumerate() {
        for word in ["before", "after", "left", "right"] {
            assert_eq!(
                found(&server, "signs", &format!("{word}{id}")),
                [id as i64],
                "{word} {c:?} {:x}",
                u32::from(*c)
            );
        }
        assert_eq!(found(&server, "signs", &format!("{c}before{id}{c}")), [id as i64], "in the query: {c:?}");
    }
    server.set("signs", json!({"nonSeparatorTokens": ["€", "❤"]}));
    let euro = signs.iter().position(|c| *c == '€').unwrap();
    assert_eq!(found(&server, "signs", &format!("€before{euro}")), [euro as i64], "settings make a sign part of words");
    assert!(found(&server, "signs", &format!("before{euro}")).is_empty());
}

#[test]
fn a_sign_that_stands_for_letters_is_a_word() {
    let server = Server::start();
    server.add("units", json!([{"id": 1, "t": "5㎏ Reis"}, {"id": 2, "t": "５ｋｇ"}, {"id": 3, "t": "№7"}]));
    assert_eq!(found(&server, "units", "kg"), [1]);
    assert_eq!(found(&server, "units", "no 7"), [3]);
    let shown = server.search("units", json!({"q": "kg", "attributesToHighlight": ["t"]}));
    assert_eq!(shown["hits"][0]["_formatted"]["t"], json!("5<em>㎏</em> Reis"));
}

#[test]
fn letters_are_found_as_they_are_typed() {
    let server = Server::start();
    let rows = [
        ("Łódź", "lodz"),
        ("Øresund", "oresund"),
        ("Straße", "strasse"),
        ("Þingvellir", "thingvellir"),
        ("Għaxaq", "ghaxaq"),
        ("Ёлка", "елка"),
        ("ґрунт", "грунт"),
        ("Hawaiʻi", "hawaii"),
        ("عام ٢٠٢٤", "2024"),
        ("सन २०२३", "2023"),
        ("سال ۱۴۰۳", "1403"),
        ("電腦", "电脑"),
        ("图书馆", "圖書館"),
        ("國會", "国会"),
        ("舊字體", "旧字体"),
        ("中华", "中華"),
    ];
    let documents: Vec<Value> = rows.iter().enumerate().map(|(id, (text, _))| json!({"id": id, "t": text})).collect();
    server.add("letters", Value::Array(documents));
    for (id, (text, query)) in rows.iter().enumerate() {
        assert_eq!(found(&server, "letters", query), [id as i64], "{query} finds {text}");
        let word = text.split(' ').next_back().unwrap();
        assert_eq!(found(&server, "letters", word), [id as i64], "{word} finds {text}");
    }
    let shown = |query: &str| {
        let answer = server.search(
            "letters",
            json!({"q": query, "attributesToHighlight": ["t"], "attributesToCrop": ["t"], "showMatchesPosition": true}),
        );
        let hit = &answer["hits"][0];
        (hit["_formatted"]["t"].as_str().unwrap().to_owned(), hit["_matchesPosition"]["t"][0].clone())
    };
    assert_eq!(shown("strasse"), ("<em>Straße</em>".to_owned(), json!({"start": 0, "length": 7})));
    assert_eq!(
        shown("stras"),
        ("<em>Straß</em>e".to_owned(), json!({"start": 0, "length": 6})),
        "half a letter is the whole"
    );
    assert_eq!(shown("thing"), ("<em>Þing</em>vellir".to_owned(), json!({"start": 0, "length": 5})));
    assert_eq!(shown("2024"), ("عام <em>٢٠٢٤</em>".to_owned(), json!({"start": 7, "length": 8})));
}

#[test]
fn dictionary_words_are_one_in_any_case() {
    let server = Server::start();
    server.set("names", json!({"dictionary": ["J. R. R.", "Émile-Zola"]}));
    server.add(
        "names",
        json!([{"id": 1, "t": "by j. r. r. Tolkien"}, {"id": 2, "t": "J. and R."}, {"id": 3, "t": "rue ÉMILE-ZOLA"}]),
    );
    for query in ["J. R. R.", "j. r. r.", "J. r. R. tolkien"] {
        assert_eq!(found(&server, "names", query), [1], "{query}");
    }
    assert_eq!(found(&server, "names", "émile-zola"), [3]);
    assert!(found(&server, "names", "zola").is_empty(), "it is one word");
}

#[test]
fn stop_words_have_one_form() {
    let server = Server::start();
    server.add("birds", json!([{"id": 1, "t": "The bird"}, {"id": 2, "t": "l'été sec"}, {"id": 3, "t": "ETE SEC"}]));
    for words in [json!(["the", "ete"]), json!(["The", "été"]), json!(["THE", "E\u{301}TE\u{301}"])] {
        server.set("birds", json!({"stopWords": words}));
        for query in ["the bird", "The bird", "THE bird"] {
            assert_eq!(found(&server, "birds", query), [1], "{query} with {words}");
        }
        for query in ["été sec", "ete sec", "Été sec"] {
            assert_eq!(found(&server, "birds", query), [2, 3], "{query} with {words}");
        }
    }
}

#[test]
fn stop_words_in_phrases_and_synonyms_stand_for_themselves() {
    let server = Server::start();
    server.add(
        "soups",
        json!([{"id": 1, "t": "The soup of the day"}, {"id": 2, "t": "soup big green day"}, {"id": 3, "t": "of mice"},
            {"id": 4, "t": "lord rings"}, {"id": 5, "t": "The Lord of the Rings"}]),
    );
    let synonyms = json!({"lotr": ["lord of the rings"], "special": ["The Soup"]});
    server.set("soups", json!({"stopWords": ["of", "the"], "synonyms": synonyms}));
    assert_eq!(found(&server, "soups", "\"soup of the day\""), [1]);
    assert_eq!(found(&server, "soups", "\"of the\""), [1, 5]);
    assert_eq!(found(&server, "soups", "-\"soup of the day\""), [2, 3, 4, 5]);
    assert_eq!(
        found(&server, "soups", "-\"of the\""),
        [1, 2, 3, 4, 5],
        "as an excluded stop word, it excludes nothing"
    );
    assert_eq!(found(&server, "soups", "lotr"), [5]);
    assert_eq!(found(&server, "soups", "special"), [1]);
    let shown = server.search("soups", json!({"q": "\"of the day\"", "attributesToHighlight": ["t"]}));
    assert_eq!(shown["hits"][0]["_formatted"]["t"], json!("The soup <em>of the day</em>"));
}

#[test]
fn keys_of_synonyms_are_found_with_their_stop_words() {
    let server = Server::start();
    let synonyms = json!({"Lord of the Rings": ["lotr"], "guess who": ["whois"], "the": ["article"]});
    server.set("f", json!({"stopWords": ["of", "the", "who"], "synonyms": synonyms}));
    let titles = ["lotr", "lord rings", "lordrings", "whois", "article", "rings lord"];
    server.add("f", (0..).zip(titles).map(|(id, title)| json!({"id": id, "title": title})).collect());
    for strategy in ["last", "all", "frequency", "any"] {
        let search = |q: &str| server.search("f", json!({"q": q, "matchingStrategy": strategy}));
        let ids = |q: &str| -> Vec<u64> {
            search(q)["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap()).collect()
        };
        for q in ["lord of the rings", "Lord the rings", "the lord of rings"] {
            assert!(ids(q).contains(&0), "{strategy}: {q}");
            assert!(!ids(q).contains(&2), "words with others between them are not one: {strategy}: {q}");
        }
        assert_eq!(ids("lord rings").contains(&2), strategy != "any", "{strategy}");
        assert!(!ids("lord, of rings").contains(&0), "a comma parts: {strategy}");
        assert!(ids("guess").contains(&3), "{strategy}");
        assert!(ids("the").contains(&4), "{strategy}");
    }
}

#[test]
fn exactness_counts_words_without_stop_words() {
    let server = Server::start();
    server.add(
        "titles",
        json!([{"id": 1, "t": "The Lord of the Rings: extended edition"}, {"id": 2, "t": "The Lord of the Rings"},
            {"id": 3, "t": "the office party"}, {"id": 4, "t": "the office"}, {"id": 5, "t": "new office"}]),
    );
    server.set("titles", json!({"stopWords": ["The", "of"]}));
    let kinds = |query: &str| match_types(&server, "titles", json!({"q": query}));
    let kind = |id: i64, kind: &str| (id, kind.to_owned());
    for query in
        ["the lord of the rings", "The Lord OF the rings", "\"the lord of the rings\"", "\"the lord\" of the rings"]
    {
        let found = kinds(query);
        assert_eq!(found[0], kind(2, "exactMatch"), "{query}");
        assert!(found.contains(&kind(1, "matchesStart")), "{query}: {found:?}");
    }
    let found = kinds("the office");
    assert_eq!(found[0], kind(4, "exactMatch"));
    assert!(found.contains(&kind(3, "matchesStart")), "{found:?}");
}

#[test]
fn only_searched_attributes_are_exact() {
    let server = Server::start();
    server.add(
        "films",
        json!([{"id": 1, "title": "Batman returns once more", "cast": ["Batman"]}, {"id": 2, "title": "Batman", "cast": ["x"]},
            {"id": 3, "title": "Batman begins", "cast": ["Batman begins"]}]),
    );
    let kinds = match_types(&server, "films", json!({"q": "batman", "attributesToSearchOn": ["title"]}));
    let kind = |id: i64| kinds.iter().find(|(known, _)| *known == id).unwrap().1.as_str();
    assert_eq!([kind(1), kind(2), kind(3)], ["matchesStart", "exactMatch", "matchesStart"]);
    let kinds = match_types(&server, "films", json!({"q": "batman", "attributesToSearchOn": ["cast"]}));
    assert_eq!(kinds.iter().find(|(id, _)| *id == 1).unwrap().1, "exactMatch");
    assert_eq!(
        match_types(&server, "films", json!({"q": "batman"}))[..2].iter().map(|(_, k)| k.as_str()).collect::<Vec<_>>(),
        ["exactMatch"; 2]
    );
}

/// The rarest word stays; of words that are equally rare, any.
#[test]
fn of_equally_rare_words_one_must_be_there() {
    let server = Server::start();
    let rows = ["river journey", "the forest reloaded", "common tale", "common forest"];
    server.add("t", (0..).zip(rows).map(|(id, text): (u64, _)| json!({"id": id, "t": text})).collect());
    let ids = |q: &str| server.ids("t", json!({"q": q, "matchingStrategy": "frequency"}));
    assert_eq!(ids("journey reloaded").len(), 2);
    assert_eq!(ids("river journey reloaded"), [0, 1]);
    assert_eq!(ids("common tale journey").len(), 2);
    assert_eq!(ids("journey xyzzy"), [0]);
}
