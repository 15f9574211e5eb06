//! Ranked search against a naive oracle: it looks at every document and computes the rules from their definitions,
//! with no index, no bitmap, no automaton and no shortest path. Hits, order, totals and score details must agree on
//! random corpora, ranking rules and queries, whatever the number of segments and deleted documents.

mod cases;
mod naive;
mod strategies;
mod words;

use strategies::*;
use words::*;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};
use lamina_engine::rank::{ExactMatch, ScoreDetail, SearchThresholds};
use lamina_engine::search::{Hit, MatchingStrategy, SearchRequest, search};
use lamina_engine::segment::ListThresholds;
use lamina_engine::storage::MemoryDirectory;
use naive::{Asked, Doc, Expected, FIELDS, Order, Rule, Synonym, Vector, expected};
use proptest::prelude::*;
use proptest::sample::Index as Pick;
use serde_json::json;

/// Ranking rules of an index whose settings name none.
const DEFAULT_RULES: &[Rule] =
    &[Rule::Words, Rule::Typo, Rule::Proximity, Rule::AttributeRank, Rule::WordPosition, Rule::Exactness];

/// Documents of a corpus and how often each of them is in it.
#[derive(Clone, Debug)]
struct Corpus {
    docs: Vec<Doc>,
    copies: Vec<usize>,
    synonyms: &'static [Synonym],
    /// Texts of some documents that texts of others begin with.
    beginnings: Vec<Vec<String>>,
}

impl Corpus {
    fn of_one_each(docs: Vec<Doc>, synonyms: &'static [Synonym]) -> Corpus {
        Corpus { copies: vec![1; docs.len()], docs, synonyms, beginnings: Vec::new() }
    }

    /// Returns, for each document of the index, the number of the document that it copies. Copies are spread over the
    /// index.
    fn places(&self) -> Vec<usize> {
        let in_order: Vec<usize> =
            self.copies.iter().enumerate().flat_map(|(doc, &copies)| std::iter::repeat_n(doc, copies)).collect();
        if self.copies.iter().all(|&copies| copies == 1) {
            return in_order;
        }
        // Any prime that is larger than the corpus visits each place once.
        const STRIDE: usize = 104_729;
        assert!(in_order.len() < STRIDE);
        (0..in_order.len()).map(|place| in_order[place * STRIDE % in_order.len()]).collect()
    }
}

#[derive(Clone, Debug)]
struct Query {
    words: Vec<String>,
    /// True if the last word may be the start of a word.
    prefix: bool,
    all: bool,
    /// A word that no hit may have.
    without: Option<String>,
    limit: usize,
}

fn apply(index: &Index, batch: &mut u64, operations: &[Operation]) {
    *batch += 1;
    let note = CommitNote::new(*batch, |_| Vec::new());
    let results = index.apply(operations, note, &Progress::default(), &AtomicBool::new(false)).expect("applied");
    results.into_iter().for_each(|r| {
        r.expect("no operation fails");
    });
}

fn settings(patch: serde_json::Value) -> Operation {
    Operation::Settings(Box::new(serde_json::from_value(patch).unwrap()))
}

/// From which sizes on an index has lists that save time, and a search does more than scan.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    lists: ListThresholds,
    search: SearchThresholds,
}

/// Thresholds with which some thousand documents have every list, and searches of them take every way.
const SMALL: Thresholds = Thresholds { lists: ListThresholds::SMALL, search: SearchThresholds::SMALL };

/// Thresholds that servers use.
fn shipped() -> Thresholds {
    Thresholds { lists: ListThresholds::default(), search: SearchThresholds::default() }
}

/// An index of the documents at `places`, in segments that end at `cuts`.
fn index(docs: &[Doc], places: &[usize], cuts: &[usize], batch: &mut u64, lists: ListThresholds) -> Index {
    let options = IndexOptions { background_merges: false, list_thresholds: lists, ..IndexOptions::default() };
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).expect("created");
    apply(&index, batch, &[settings(json!({ "searchableAttributes": FIELDS, "sortableAttributes": ["number"] }))]);
    let mut start = 0;
    for end in cuts.iter().copied().chain([places.len()]) {
        let end = end.clamp(start, places.len());
        let line = |id: usize| {
            let doc = &docs[places[id]];
            let mut line = json!({ "id": id, "number": doc.number });
            for (field, words) in FIELDS.iter().zip(&doc.texts) {
                line[field] = words.join(" ").into();
            }
            format!("{line}\n")
        };
        let lines: String = (start..end).map(line).collect();
        start = end;
        if !lines.is_empty() {
            let upsert = Upsert {
                payload: Payload::Bytes(lines.into_bytes().into()),
                method: WriteMethod::Replace,
                primary_key: None,
                skip_creation: false,
            };
            apply(&index, batch, &[Operation::Upsert(upsert)]);
        }
    }
    let gone = places.iter().enumerate().filter(|&(_, &doc)| docs[doc].deleted).map(|(id, _)| id.to_string());
    apply(&index, batch, &[Operation::DeleteIds(gone.collect())]);
    index
}

/// Indexes, searches and compares, for each list of ranking rules with its queries.
fn check(corpus: &Corpus, cuts: &[usize], searches: &[(Vec<Rule>, Vec<Query>)]) -> Result<(), TestCaseError> {
    check_with(SMALL, corpus, cuts, searches)
}

/// Works like [`check`], with other thresholds.
fn check_with(
    thresholds: Thresholds,
    corpus: &Corpus,
    cuts: &[usize],
    searches: &[(Vec<Rule>, Vec<Query>)],
) -> Result<(), TestCaseError> {
    let (docs, places) = (&corpus.docs, corpus.places());
    let mut batch = 0;
    let index = index(docs, &places, cuts, &mut batch, thresholds.lists);
    let mut synonyms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for synonym in corpus.synonyms {
        synonyms.entry(synonym.of.join(" ")).or_default().push(synonym.words.join(" "));
    }
    apply(&index, &mut batch, &[settings(json!({ "synonyms": synonyms }))]);
    let mut places_of: Vec<Vec<usize>> = vec![Vec::new(); docs.len()];
    places.iter().enumerate().for_each(|(place, &doc)| places_of[doc].push(place));
    for (rules, queries) in searches {
        let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
        apply(&index, &mut batch, &[settings(json!({ "rankingRules": names }))]);
        let order = Order::of(rules);
        for query in queries {
            compare(&index, corpus, &places_of, &order, query, thresholds.search).map_err(|e| match e {
                TestCaseError::Fail(why) => TestCaseError::fail(format!("{why}\nfor {query:?} by {names:?}")),
                rejected => rejected,
            })?;
        }
    }
    Ok(())
}

/// `places_of`: of each document, where it is in the index.
fn compare(
    index: &Index,
    corpus: &Corpus,
    places_of: &[Vec<usize>],
    order: &Order,
    query: &Query,
    thresholds: SearchThresholds,
) -> Result<(), TestCaseError> {
    let snapshot = index.snapshot();
    let strategy = if query.all { MatchingStrategy::All } else { MatchingStrategy::Last };
    let end = match (&query.without, query.prefix) {
        (Some(word), _) => format!(" -{word} "),
        (None, true) => String::new(),
        (None, false) => " ".to_owned(),
    };
    let text = query.words.join(" ") + &end;
    let request =
        SearchRequest { query: Some(text), limit: query.limit, matching: strategy, thresholds, ..Default::default() };
    let result = search(&snapshot, &request).expect("valid request");
    let asked = Asked { words: &query.words, prefix_last: query.prefix, without: query.without.as_deref(), strategy };
    let one_of_each = expected(&corpus.docs, corpus.synonyms, &asked, order);
    let total: usize = one_of_each.iter().map(|e| places_of[e.doc].len()).sum();
    prop_assert_eq!(result.total, total as u64, "total");
    let got: Vec<(usize, Vector, u32)> = result
        .hits
        .iter()
        .map(|h| {
            let json: serde_json::Value = serde_json::from_slice(&snapshot.document(h.address).unwrap()).unwrap();
            let (vector, max_typos) = vector_of(&h.details);
            (json["id"].as_u64().unwrap() as usize, vector, max_typos)
        })
        .collect();
    let mut want: Vec<(usize, Vector, u32)> = Vec::new();
    for equal in one_of_each.chunk_by(|a, b| order.key(&a.vector) == order.key(&b.vector)) {
        let shown = |e: &Expected| (shown(&e.vector, order), if order.has(1) { e.max_typos } else { 0 });
        let hit = |(&place, (vector, max_typos)): (&usize, (Vector, u32))| (place, vector, max_typos);
        let start = want.len();
        want.extend(equal.iter().flat_map(|e| places_of[e.doc].iter().zip(std::iter::repeat(shown(e))).map(hit)));
        want[start..].sort_unstable_by_key(|hit| hit.0);
        if want.len() >= query.limit {
            want.truncate(query.limit);
            break;
        }
    }
    prop_assert_eq!(got, want, "hits");
    for hit in &result.hits {
        let score = score_of(&hit.details);
        prop_assert!((hit.score - score).abs() < 1e-9, "score {} instead of {score} for {:?}", hit.score, hit.details);
    }
    // Documents with joined words are among those with as many typos, and have a scale of their own for `proximity`.
    let scale = |hit: &Hit| {
        hit.details.iter().find_map(|detail| match detail {
            ScoreDetail::Proximity(rank) => Some(rank.max),
            _ => None,
        })
    };
    let falls = |pair: &[Hit]| scale(&pair[0]) != scale(&pair[1]) || pair[0].score >= pair[1].score;
    prop_assert!(!order.is_scored() || result.hits.windows(2).all(falls), "scores rise: {:?}", result.hits);
    Ok(())
}

/// The score by its definition: each rule divides the share of its place among equals of the rules before it.
fn score_of(details: &[ScoreDetail]) -> f64 {
    let places = |rank: u32, max: u32| vec![(rank, max)];
    let rules = details.iter().flat_map(|detail| match detail {
        ScoreDetail::Words { matching, max } => places(*matching, *max),
        ScoreDetail::Typo { count, max, .. } => places(max + 1 - count, max + 1),
        ScoreDetail::Proximity(r) | ScoreDetail::AttributeRank(r) | ScoreDetail::WordPosition(r) => {
            places(r.rank, r.max)
        }
        ScoreDetail::Attribute { rank, position } => vec![(rank.rank, rank.max), (position.rank, position.max)],
        ScoreDetail::Exactness(exactness) => {
            let kind = match exactness.kind {
                ExactMatch::Exact => 3,
                ExactMatch::Starts => 2,
                ExactMatch::None => 1,
            };
            vec![(kind, 3), (exactness.matching_words + 1, exactness.max_matching_words + 1)]
        }
        _ => Vec::new(),
    });
    let (mut score, mut width) = (1.0, 1.0);
    for (rank, max) in rules {
        // What is worse than the best takes that many parts off what the rules before left.
        width /= f64::from(max);
        score -= f64::from(max - rank) * width;
    }
    score
}

/// Returns the costs that the details of a hit show: those of the rules of the index. The number of a document is
/// compared through the order of hits.
fn shown(vector: &Vector, order: &Order) -> Vector {
    let mut shown = [0, 0, 0, 0, 0, 2, 0, 0];
    (0..7).filter(|&cost| order.has(cost)).for_each(|cost| shown[cost] = vector[cost]);
    shown
}

fn vector_of(details: &[ScoreDetail]) -> (Vector, u32) {
    let mut v = [0, 0, 0, 0, 0, 2, 0, 0];
    let mut max_typos = 0;
    for d in details {
        match d {
            ScoreDetail::Words { matching, max } => v[0] = max - matching,
            ScoreDetail::Typo { count, max, .. } => {
                v[1] = *count;
                max_typos = *max;
            }
            ScoreDetail::Proximity(r) => v[2] = r.max - r.rank,
            ScoreDetail::AttributeRank(r) => v[3] = r.max - r.rank,
            ScoreDetail::WordPosition(r) => v[4] = r.max - r.rank,
            ScoreDetail::Attribute { rank, position } => {
                v[3] = rank.max - rank.rank;
                v[4] = position.max - position.rank;
            }
            ScoreDetail::Exactness(exactness) => {
                v[5] = match exactness.kind {
                    ExactMatch::Exact => 0,
                    ExactMatch::Starts => 1,
                    ExactMatch::None => 2,
                };
                v[6] = exactness.max_matching_words - exactness.matching_words;
            }
            ScoreDetail::Sort { .. } => {}
            other => panic!("unexpected detail {other:?}"),
        }
    }
    (v, max_typos)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 3 / 8, ..ProptestConfig::default() })]

    #[test]
    fn search_agrees_with_the_oracle(
        docs in proptest::collection::vec(doc(WORDS, [5, 9, 2]), 1..24),
        cuts in proptest::collection::btree_set(0usize..24, 0..3),
        queries in proptest::collection::vec(query(QUERY_WORDS, 4, 1usize..30), 1..8),
        synonyms in synonyms(SYNONYMS),
    ) {
        let cuts: Vec<usize> = cuts.into_iter().collect();
        check(&Corpus::of_one_each(docs, synonyms), &cuts, &[(DEFAULT_RULES.to_vec(), queries)])?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 16, ..ProptestConfig::default() })]

    /// Large groups are cut by neighbours, bounds and stored unions, filtered by lengths, and shared out to threads.
    #[test]
    fn many_documents_are_ranked_like_few(
        corpus in large_corpus(),
        cut in 0usize..4000,
        searches in proptest::collection::vec(
            (
                rules(),
                proptest::collection::vec(query_of_corpus(), 8),
            ),
            4,
        ),
    ) {
        let resolved = |queries: Vec<_>| queries.into_iter().map(|query| resolved(query, &corpus)).collect();
        let searches: Vec<_> = searches.into_iter().map(|(rules, queries)| (rules, resolved(queries))).collect();
        check(&corpus, &[cut], &searches)?;
    }

    /// Large groups of documents that match with a typo are cut by bounds too.
    #[test]
    fn many_documents_with_typos_are_ranked_like_few(
        corpus in large_corpus(),
        searches in proptest::collection::vec(
            (rules(), proptest::collection::vec(query(MISSPELT_QUERY_WORDS, 3, 1usize..60), 8)),
            4,
        ),
    ) {
        check(&corpus, &[], &searches)?;
    }

    /// Nothing is cut when all hits are asked for. Strategies with several ways to leave out words, and searches of some
    /// attributes only, which the oracle does not know.
    #[test]
    fn the_first_hits_are_the_same_however_many_are_asked_for(
        corpus in large_corpus(),
        cut in 0usize..4000,
        searches in proptest::collection::vec(
            (
                rules(),
                proptest::collection::vec(
                    (query(LIMITED_QUERY_WORDS, 4, 1usize..100), proptest::option::of(0..FIELDS.len())),
                    4,
                ),
            ),
            4,
        ),
    ) {
        let mut batch = 0;
        let index = index(&corpus.docs, &corpus.places(), &[cut], &mut batch, SMALL.lists);
        for (rules, queries) in searches {
            let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
            apply(&index, &mut batch, &[settings(json!({ "rankingRules": names }))]);
            for (query, field) in queries {
                let hits = |limit: usize| {
                    let request = SearchRequest {
                        query: Some(query.words.join(" ") + if query.prefix { "" } else { " " }),
                        limit,
                        matching: if query.all { MatchingStrategy::Last } else { MatchingStrategy::Frequency },
                        search_on: field.map(|field| vec![FIELDS[field].to_owned()]),
                        scores: true,
                        thresholds: SMALL.search,
                        ..SearchRequest::default()
                    };
                    let hits = search(&index.snapshot(), &request).expect("valid request").hits;
                    hits.into_iter().map(|hit| (hit.address, hit.score, hit.details)).collect::<Vec<_>>()
                };
                let all = hits(usize::MAX >> 1);
                let first = hits(query.limit);
                // Scores know nothing of numbers.
                if !rules.contains(&Rule::Number) {
                    let worse = all.windows(2).find(|pair| pair[0].1 < pair[1].1);
                    prop_assert!(worse.is_none(), "{query:?} by {names:?} in {field:?}: {worse:?}");
                }
                prop_assert_eq!(&first[..], &all[..query.limit.min(all.len())], "{:?} by {:?} in {:?}", query, names, field);
            }
        }
    }

    /// Bounds of one word, and of several of which only one is looked into, are different ones.
    #[test]
    fn texts_that_are_the_query_come_before_those_that_begin_with_it(
        (corpus, words) in corpus_of_a_query(),
        searches in proptest::collection::vec((rules(), any::<bool>(), any::<bool>(), 1usize..40), 6),
    ) {
        let of = |(rules, prefix, all, limit)| (rules, vec![Query { words: words.clone(), prefix, all, without: None, limit }]);
        let searches: Vec<_> = searches.into_iter().map(of).collect();
        check(&corpus, &[], &searches)?;
    }
}

/// So many documents that segments have every list, with the thresholds that ship.
const SHIPPED_DOCS: std::ops::Range<usize> = 20_000..40_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 80, ..ProptestConfig::default() })]

    #[test]
    fn many_documents_are_ranked_like_few_by_what_ships(
        corpus in large_corpus_of(SHIPPED_DOCS),
        cut in 0usize..4000,
        searches in proptest::collection::vec((rules(), proptest::collection::vec(query_of_corpus(), 8)), 4),
    ) {
        let resolved = |queries: Vec<_>| queries.into_iter().map(|query| resolved(query, &corpus)).collect();
        let searches: Vec<_> = searches.into_iter().map(|(rules, queries)| (rules, resolved(queries))).collect();
        check_with(shipped(), &corpus, &[cut], &searches)?;
    }

    #[test]
    fn many_documents_with_typos_are_ranked_like_few_by_what_ships(
        corpus in large_corpus_of(SHIPPED_DOCS),
        searches in proptest::collection::vec(
            (rules(), proptest::collection::vec(query(MISSPELT_QUERY_WORDS, 3, 1usize..60), 8)),
            4,
        ),
    ) {
        check_with(shipped(), &corpus, &[], &searches)?;
    }
}
