//! Searches by words of random documents: what filter, threshold, `distinct` and window select, what is counted, and what
//! the rules report, against the whole ranked list of the same query, gone through naively.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::scan_tests::{distinct_only, values};
use super::*;
use crate::facet::{FacetField, FacetStats, Listing, distribution};
use crate::oracle::{Corpus, Facts, matches};

/// Few, so that most queries match many documents; with words a typo apart, one that begins another, and one that is two
/// others.
const WORDS: [&str; 11] =
    ["red", "fox", "river", "rivet", "stone", "store", "winter", "cloud", "cloudy", "sea", "redfox"];
/// Also misspelt, begun, as phrases, and excluded.
const ASKED: [&str; 18] = [
    "red",
    "fox",
    "river",
    "rivet",
    "stone",
    "store",
    "winter",
    "cloud",
    "cloudy",
    "sea",
    "redfox",
    "wintre",
    "rivre",
    "clo",
    "unknown",
    "\"red fox\"",
    "\"sea stone river\"",
    "-winter",
];
const FILTERS: [&str; 5] =
    ["tag = a", "size >= 2 AND size < 5", "NOT tag = b", "tag IN [a, c] OR NOT group EXISTS", "group > 3"];
const RULES: [&[&str]; 6] = [
    &["words", "typo", "proximity", "attributeRank", "sort", "wordPosition", "exactness"],
    &["words", "typo", "proximity", "attribute", "exactness"],
    &["sort", "words", "proximity", "typo"],
    &["words", "size:desc", "typo", "sort", "exactness"],
    &["exactness", "group:asc", "words", "typo"],
    &["size:asc", "sort"],
];
const SORTS: [&str; 3] = ["size:desc", "tag:asc", "group:asc"];
const STRATEGIES: [MatchingStrategy; 4] =
    [MatchingStrategy::Last, MatchingStrategy::All, MatchingStrategy::Frequency, MatchingStrategy::Any];

fn text(most: usize) -> impl Strategy<Value = String> {
    vec(prop::sample::select(WORDS.to_vec()), 0..most).prop_map(|words| words.join(" "))
}

/// Batches of documents, of which some are replaced later, and ids to delete.
fn documents() -> impl Strategy<Value = (Vec<Vec<Value>>, Vec<u64>)> {
    let fields = (
        text(5),
        text(10),
        prop::sample::subsequence(vec!["a", "b", "c", "d"], 0..3),
        prop::option::of(0u8..6),
        prop::option::of(0u8..8),
    );
    let document = (0u64..150, fields).prop_map(|(id, (title, text, tag, size, group))| {
        let mut document = json!({ "id": id, "title": title, "text": text, "tag": tag });
        for (name, value) in [("size", size), ("group", group)] {
            if let Some(value) = value {
                document[name] = json!(value);
            }
        }
        (id, document)
    });
    // The last one of equal ids counts, as in a payload.
    let batch = vec(document, 20..100)
        .prop_map(|documents| documents.into_iter().collect::<BTreeMap<u64, Value>>().into_values().collect());
    (vec(batch, 1..4), vec(0u64..150, 0..8))
}

/// One search, as it is drawn.
#[derive(Clone, Debug)]
struct Drawn {
    words: Vec<&'static str>,
    matching: MatchingStrategy,
    filter: Option<&'static str>,
    sort: Vec<&'static str>,
    distinct: Option<&'static str>,
    /// The score of a hit, or the next larger number.
    threshold: Option<(prop::sample::Index, bool)>,
    window: (usize, usize),
    exhaustive: bool,
    scores: bool,
    explain: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let asked = (
        vec(prop::sample::select(ASKED.to_vec()), 0..4),
        prop::sample::select(STRATEGIES.to_vec()),
        prop::option::of(prop::sample::select(FILTERS.to_vec())),
        prop::sample::subsequence(SORTS.to_vec(), 0..3).prop_shuffle(),
        prop::option::weighted(0.4, prop::sample::select(vec!["tag", "size", "group"])),
        prop::option::weighted(0.4, any::<(prop::sample::Index, bool)>()),
        (0usize..15, prop_oneof![4 => 0usize..15, 1 => 15usize..300]),
        any::<(bool, bool, bool)>(),
    );
    asked.prop_map(|(words, matching, filter, sort, distinct, threshold, window, (exhaustive, scores, explain))| {
        Drawn { words, matching, filter, sort, distinct, threshold, window, exhaustive, scores, explain }
    })
}

/// Hits and their scores, best first.
fn ranked<'c>(corpus: &'c Corpus, request: &SearchRequest) -> Vec<(&'c Value, f64)> {
    let found = search(&corpus.snapshot, request).unwrap();
    let document = |id: u64| corpus.documents.iter().find(|document| document["id"] == id).expect("it is there");
    assert_eq!(found.total, found.hits.len() as u64, "the list is whole: {request:?}");
    found.hits.iter().map(|hit| (document(corpus.id(hit.address)), hit.score)).collect()
}

fn id(document: &Value) -> u64 {
    document["id"].as_u64().expect("ids are numbers")
}

/// Values with their counts, and the extremes of numbers.
fn counted(documents: &[&Value], name: &str) -> (BTreeMap<String, u64>, Option<FacetStats>) {
    let mut counts = BTreeMap::new();
    for value in documents.iter().flat_map(|document| values(document, name)) {
        let (_, text) = value.split_once(' ').expect("a kind and a value");
        *counts.entry(text.to_owned()).or_insert(0) += 1;
    }
    let numbers = documents.iter().flat_map(|document| Facts::of(document, name).numbers);
    let stats = numbers.fold(None, |known: Option<FacetStats>, number| {
        let known = known.unwrap_or(FacetStats { min: number, max: number });
        Some(FacetStats { min: known.min.min(number), max: known.max.max(number) })
    });
    (counts, stats)
}

/// Asks for all documents that match by their words.
fn unfiltered(drawn: &Drawn, takes_sort: bool) -> SearchRequest {
    let sort = drawn.sort.iter().filter(|_| takes_sort);
    SearchRequest {
        query: Some(drawn.words.join(" ")),
        limit: 1000,
        matching: drawn.matching,
        sort: sort.map(|entry| SortCriterion::parse(entry).unwrap()).collect(),
        thresholds: SearchThresholds::SMALL,
        ..SearchRequest::default()
    }
}

fn check(corpus: &Corpus, rules: &[&str], drawn: &Drawn) -> Result<(), TestCaseError> {
    let filter = drawn.filter.map(|filter| Filter::parse(filter).unwrap().unwrap());
    let query = drawn.words.join(" ");
    let unfiltered = unfiltered(drawn, rules.contains(&"sort"));
    let whole = SearchRequest { filter: filter.clone(), ..unfiltered.clone() };
    let list = ranked(corpus, &whole);
    let passes = |document: &Value| filter.as_ref().is_none_or(|filter| matches(document, filter));
    let mut passing: Vec<u64> =
        ranked(corpus, &unfiltered).iter().filter(|(document, _)| passes(document)).map(|(d, _)| id(d)).collect();
    let mut listed: Vec<u64> = list.iter().map(|(document, _)| id(document)).collect();
    // Whether words are joined is decided for all documents that pass.
    if query.contains("red fox") || query.contains("redfox") {
        passing.sort_unstable();
        listed.sort_unstable();
    }
    prop_assert_eq!(listed, passing, "{:?}", whole);

    let score_threshold = drawn.threshold.map(|(at, above)| {
        let score = if list.is_empty() { 0.5 } else { list[at.index(list.len())].1 };
        if above { score.next_up() } else { score }
    });
    let is_enough = |score: f64| score_threshold.is_none_or(|least| score >= least);
    let mut hits: Vec<&Value> = list.iter().filter(|(_, score)| is_enough(*score)).map(|(d, _)| *d).collect();
    if let Some(field) = drawn.distinct {
        hits = distinct_only(hits, field);
    }
    let (offset, limit) = drawn.window;
    let request = SearchRequest {
        offset,
        limit,
        distinct: drawn.distinct.map(str::to_owned),
        score_threshold,
        exhaustive: drawn.exhaustive,
        scores: drawn.scores,
        explain: drawn.explain.then(Explain::default),
        ..whole
    };
    let found = search(&corpus.snapshot, &request).unwrap();
    let window: Vec<u64> = hits.iter().skip(offset).take(limit).map(|document| id(document)).collect();
    prop_assert_eq!(found.hits.iter().map(|hit| corpus.id(hit.address)).collect::<Vec<_>>(), window, "{:?}", request);
    prop_assert_eq!(found.total, hits.len() as u64, "{:?}", request);
    let mut all: Vec<u64> = hits.iter().map(|document| id(document)).collect();
    all.sort_unstable();
    prop_assert_eq!(corpus.ids(&found.candidates), all, "{:?}", request);
    prop_assert!(!found.degraded);
    prop_assert!(found.limits.is_empty());
    for hit in found.hits.iter().filter(|_| drawn.scores) {
        let of = corpus.id(hit.address);
        prop_assert!(list.iter().any(|(document, score)| id(document) == of && *score == hit.score), "{:?}", request);
    }
    check_facets(corpus, &found, &hits)?;
    check_explanation(&found, drawn, list.len() as u64)
}

fn check_facets(corpus: &Corpus, found: &SearchResult, hits: &[&Value]) -> Result<(), TestCaseError> {
    for name in ["tag", "size"] {
        let Some(field) = corpus.snapshot.fields.get(name) else { continue };
        let facet = FacetField::new(name, field);
        let facet = distribution(&corpus.snapshot, &found.candidates, &facet, Listing::up_to(usize::MAX));
        let (counts, stats) = counted(hits, name);
        prop_assert_eq!(facet.values.into_iter().collect::<BTreeMap<_, _>>(), counts, "{}", name);
        prop_assert_eq!(facet.stats, stats);
    }
    Ok(())
}

/// Checks the explanation of the rules, for `count` documents.
fn check_explanation(found: &SearchResult, drawn: &Drawn, count: u64) -> Result<(), TestCaseError> {
    let rules = found.explanation.iter().flat_map(|explanation| &explanation.rules);
    let mut places = 0;
    for seen in rules {
        prop_assert_eq!(seen.first, places, "{:?}", seen);
        places += seen.rules.len();
        prop_assert!(!seen.rules.is_empty(), "{:?} {:?}", seen, drawn);
        prop_assert!(seen.documents <= count, "{:?} {:?}", seen, drawn);
        prop_assert!(seen.read.is_none_or(|read| read <= seen.documents), "{:?} {:?}", seen, drawn);
    }
    let is_complete = |hit: &Hit| !drawn.explain || !drawn.scores || hit.details.len() == places;
    prop_assert!(found.hits.iter().all(is_complete), "all rules: {:?}", drawn);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn searches_by_words_select_from_the_whole_list(
        (batches, deleted) in documents(),
        rules in prop::sample::select(RULES.to_vec()),
        searches in vec(drawn(), 8),
    ) {
        let settings = json!({
            "searchableAttributes": ["title", "text"],
            "filterableAttributes": ["tag", "size", "group"],
            "sortableAttributes": ["tag", "size", "group"],
            "rankingRules": rules,
        });
        let corpus = Corpus::new(settings, &batches, &deleted);
        for drawn in &searches {
            check(&corpus, rules, drawn)?;
        }
    }
}
