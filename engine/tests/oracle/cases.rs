//! Single cases, which random ones meet seldom.

use super::*;

/// A document with these texts.
fn doc_of(texts: [&str; FIELDS.len()]) -> Doc {
    let texts = texts.map(|text| text.split_whitespace().map(str::to_owned).collect());
    Doc { texts, number: 0, deleted: false }
}

/// Returns a corpus of these documents, each so many times.
fn corpus_of<const N: usize>(docs: [(Doc, usize); N]) -> Corpus {
    let (docs, copies) = docs.into_iter().unzip();
    Corpus { docs, copies, synonyms: &[], beginnings: Vec::new() }
}

/// One segment of a corpus, ranked by these rules.
fn ranked_by(rules: &[&str], corpus: &Corpus) -> Index {
    let mut batch = 0;
    let index = index(&corpus.docs, &corpus.places(), &[], &mut batch, SMALL.lists);
    apply(&index, &mut batch, &[settings(json!({ "rankingRules": rules }))]);
    index
}

/// Two misspelt words cost as many typos as what both are together, so that the bounds of documents that hold the words
/// are none of those that hold that too.
#[test]
fn documents_that_hold_a_concatenation_are_bounded_by_it() {
    let corpus = corpus_of([
        (doc_of(["of king house", "", ""]), 4_000),
        (doc_of(["kinnghuose", "", "of of of of of of of king house"]), 2),
        (doc_of(["of of", "of king of house", ""]), 4_000),
    ]);
    let query = |limit| Query {
        words: ["kinng", "huose"].map(str::to_owned).to_vec(),
        prefix: false,
        all: true,
        without: None,
        limit,
    };
    let rules = vec![Rule::Words, Rule::Typo, Rule::AttributeRank, Rule::WordPosition];
    check(&corpus, &[], &[(rules, vec![query(1), query(5)])]).unwrap();
}

/// Checks that one way to leave out a word does not fill the list with misspelt documents that rank below those of
/// another way, whichever comes first.
#[test]
fn ways_to_leave_out_words_take_no_place_from_each_other() {
    let doc = |text: &str, number: u32| Doc { number, ..doc_of([text, "", ""]) };
    for (one, other) in [(1, 2), (2, 1)] {
        let docs = [
            (doc("sea", 0), 60),
            (doc("king", 0), 40),
            (doc("king gardner", one), 10),
            (doc("sea gardner", other), 10),
        ];
        let index = ranked_by(&["words", "typo", "number:asc"], &corpus_of(docs));
        let request = SearchRequest {
            query: Some("sea king gardener ".to_owned()),
            matching: MatchingStrategy::Frequency,
            limit: 5,
            thresholds: SMALL.search,
            ..SearchRequest::default()
        };
        let snapshot = index.snapshot();
        let hits = search(&snapshot, &request).expect("valid request").hits;
        let number = |hit: &lamina_engine::search::Hit| -> serde_json::Value {
            let json: serde_json::Value = serde_json::from_slice(&snapshot.document(hit.address).unwrap()).unwrap();
            json["number"].clone()
        };
        assert_eq!(hits.iter().map(number).collect::<Vec<_>>(), vec![json!(1); 5]);
    }
}

/// A document that matches by the completion of a word may hold the word itself where no search looks, which counts.
#[test]
fn attributes_that_are_not_searched_count_however_many_hits_are_asked_for() {
    let docs = [(doc_of(["sea of king", "", ""]), 400), (doc_of(["to kingdom", "king of the sea", ""]), 10)];
    let index = ranked_by(&["words", "typo", "exactness"], &corpus_of(docs));
    let hits = |limit: usize| {
        let request = SearchRequest {
            query: Some("king".to_owned()),
            search_on: Some(vec![FIELDS[0].to_owned()]),
            limit,
            thresholds: SMALL.search,
            ..SearchRequest::default()
        };
        let hits = search(&index.snapshot(), &request).expect("valid request").hits;
        hits.into_iter().map(|hit| hit.address).collect::<Vec<_>>()
    };
    let all = hits(1000);
    assert_eq!(all.len(), 410);
    assert_eq!(hits(5), all[..5]);
}

/// Joined words are a little apart: less than words with two others between them.
#[test]
fn scores_of_joined_words_are_in_the_order_of_hits() {
    let docs = ["king of the house", "kinghouse", "king house"].map(|text| (doc_of([text, "", ""]), 1));
    let index = ranked_by(&["words", "proximity", "typo"], &corpus_of(docs));
    let query = Some("king house ".to_owned());
    let request = SearchRequest { query, thresholds: SMALL.search, ..SearchRequest::default() };
    let hits = search(&index.snapshot(), &request).expect("valid request").hits;
    assert_eq!(hits.iter().map(|hit| hit.address.doc).collect::<Vec<_>>(), [2, 1, 0]);
    assert!(hits.is_sorted_by(|better, worse| better.score > worse.score), "{hits:?}");
}

/// All but one document hold a completion of the word where it is searched; that one holds the word itself elsewhere.
#[test]
fn documents_without_the_word_itself_are_hits_by_its_completions() {
    let docs = [(doc_of(["", "sea", ""]), 5_000), (doc_of(["", "", "s"]), 1)];
    let index = ranked_by(&["words", "typo", "number:asc", "exactness", "wordPosition"], &corpus_of(docs));
    let request = SearchRequest {
        query: Some("s".to_owned()),
        search_on: Some(vec![FIELDS[1].to_owned()]),
        limit: 3,
        thresholds: SMALL.search,
        ..SearchRequest::default()
    };
    let found = search(&index.snapshot(), &request).expect("valid request");
    assert_eq!(found.hits.len(), 3);
}

/// Checks a word that the query contains twice. The number of misplaced words does not matter to `exactness`, so
/// several groups have the same key, and the best of their documents are spread over these groups.
#[test]
fn a_word_asked_for_twice_is_ranked_like_two() {
    let texts =
        ["s", "the s", "", "", "s", "", "", "", "", "the the the the the s", "the s", "", "", "", "", "", "", ""];
    let copies = vec![597, 1, 1, 597, 1, 597, 597, 597, 597, 3, 1, 597, 597, 1, 597, 597, 597, 597];
    let corpus = Corpus {
        docs: texts.map(|text| doc_of(["", "", text])).to_vec(),
        copies,
        synonyms: &[],
        beginnings: Vec::new(),
    };
    let query = |limit| Query {
        words: ["s", "s"].map(str::to_owned).to_vec(),
        prefix: false,
        all: false,
        without: None,
        limit,
    };
    let rules = vec![Rule::Words, Rule::Typo, Rule::AttributeRank, Rule::Exactness];
    check(&corpus, &[1250], &[(rules, (85..110).map(query).collect())]).unwrap();
}
