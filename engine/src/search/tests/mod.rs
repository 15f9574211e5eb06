//! Searches by vectors and by both, over small indexes in memory.

mod documents_read;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_index::index::{
    CommitNote, Index, IndexOptions, Operation, Payload, Progress, SettingsPatch, Upsert, WriteMethod,
};
use lamina_segment::segment::ListThresholds;
use lamina_segment::storage::MemoryDirectory;
use serde_json::{Value, json};

use super::*;
use crate::facet::{Listing, distributions, select_facets};
use crate::rank::AppliedRule;
use crate::sort::SortTarget;

pub(super) fn index(settings: Value, batches: &[&[Value]]) -> Index {
    let options = IndexOptions { list_thresholds: ListThresholds::SMALL, ..IndexOptions::default() };
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).unwrap();
    let patch: SettingsPatch = serde_json::from_value(settings).unwrap();
    let mut operations = vec![Operation::SetPrimaryKey(Some("id".into())), Operation::Settings(Box::new(patch))];
    for batch in batches {
        operations.push(upsert(batch));
        apply(&index, &std::mem::take(&mut operations));
    }
    index
}

/// A search in which some documents are several parts.
fn small_parts() -> SearchRequest {
    SearchRequest { thresholds: SearchThresholds::SMALL, ..SearchRequest::default() }
}

fn upsert(documents: &[Value]) -> Operation {
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    Operation::Upsert(Upsert {
        payload: Payload::Bytes(lines.into_bytes().into()),
        method: WriteMethod::Replace,
        primary_key: None,
        skip_creation: false,
    })
}

fn apply(index: &Index, operations: &[Operation]) {
    let note = CommitNote::new(1, |_| Vec::new());
    for outcome in index.apply(operations, note, &Progress::new(), &AtomicBool::new(false)).unwrap() {
        outcome.unwrap();
    }
}

/// The rules of each entry of an explanation.
fn names(explanation: &Explanation) -> Vec<Vec<String>> {
    let name = |rule: &AppliedRule| match rule {
        AppliedRule::Named(name) => (*name).to_owned(),
        AppliedRule::Sort(SortCriterion { target, ascending }) => {
            let direction = if *ascending { "asc" } else { "desc" };
            match target {
                SortTarget::Field(name) | SortTarget::Elements { name, .. } => format!("{name}:{direction}"),
                SortTarget::GeoPoint { lat, lng } => format!("{lat},{lng}:{direction}"),
                SortTarget::Computed { name, .. } => (*name).to_owned(),
            }
        }
    };
    explanation.rules.iter().map(|entry| entry.rules.iter().map(name).collect()).collect()
}

/// Returns the number of documents that were read.
fn read(result: &SearchResult) -> u64 {
    let rules = &result.explanation.as_ref().expect("asked for").rules;
    rules.iter().find_map(|entry| entry.read).expect("some rule looks at documents")
}

/// Documents 1 to 4 at the corners of a square, 5 without a vector; in two segments.
fn square() -> Index {
    let document = |id: u32, text: &str, vector: Value| json!({"id": id, "text": text, "_vectors": {"e": vector}});
    index(
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}, "filterableAttributes": ["id"],
               "sortableAttributes": ["id"]}),
        &[
            &[document(1, "red fox", json!([1, 0])), document(2, "red dog", json!([0, 1]))],
            &[
                document(3, "blue fox", json!([-1, 0])),
                document(4, "blue dog", json!([[0, -1], [0.9, 0.1]])),
                document(5, "green", json!(null)),
            ],
        ],
    )
}

pub(super) fn ids(snapshot: &Snapshot, result: &SearchResult) -> Vec<u64> {
    let id = |hit: &Hit| {
        let document: Value = serde_json::from_slice(&snapshot.document(hit.address).unwrap()).unwrap();
        document["id"].as_u64().unwrap()
    };
    result.hits.iter().map(id).collect()
}

#[test]
fn nearest_first_and_those_without_vectors_last() {
    let snapshot = square().snapshot();
    let query = SemanticQuery::new("e", vec![2.0, 0.0]);
    let result = search_semantic(&snapshot, &small_parts(), &query).unwrap();
    assert_eq!(ids(&snapshot, &result), [1, 4, 2, 3, 5]);
    assert_eq!(result.total, 5);
    assert_eq!(result.hits[0].score, 1.0);
    assert_eq!(result.hits[4].details, [ScoreDetail::Vector(None)]);
    let window = SearchRequest { offset: 1, limit: 2, ..small_parts() };
    assert_eq!(ids(&snapshot, &search_semantic(&snapshot, &window, &query).unwrap()), [4, 2]);
    let threshold = SearchRequest { score_threshold: Some(0.6), ..small_parts() };
    let result = search_semantic(&snapshot, &threshold, &query).unwrap();
    assert_eq!((ids(&snapshot, &result), result.total), (vec![1, 4], 2));
}

#[test]
fn hits_are_the_same_without_their_scores() {
    let snapshot = square().snapshot();
    for (score_threshold, distinct) in [(None, None), (Some(0.1), None), (None, Some("id".to_owned()))] {
        let request = SearchRequest { query: Some("fox".into()), score_threshold, distinct, ..small_parts() };
        let with = search(&snapshot, &request).unwrap();
        let without = search(&snapshot, &SearchRequest { scores: false, ..request }).unwrap();
        assert!(!with.hits.is_empty());
        assert!(with.hits.iter().all(|hit| hit.score > 0.0));
        assert!(with.hits.iter().all(|hit| !hit.details.is_empty()));
        assert_eq!((ids(&snapshot, &with), with.total), (ids(&snapshot, &without), without.total));
    }
}

#[test]
fn a_search_whose_time_is_up_answers_what_it_has() {
    let documents: Vec<Value> =
        (0..3000).map(|id| json!({"id": id, "text": format!("red{} fox {id}", " and".repeat(id % 7))})).collect();
    let snapshot = index(json!({}), &[&documents]).snapshot();
    let request = SearchRequest { query: Some("red fox".into()), limit: 3000, ..small_parts() };
    let whole = search(&snapshot, &request).unwrap();
    assert_eq!((whole.limits.as_slice(), whole.total), (&[][..], 3000));
    for matching in [MatchingStrategy::Last, MatchingStrategy::Any] {
        let late = SearchRequest { cutoff: Some(Duration::ZERO), matching, ..request.clone() };
        let cut = search(&snapshot, &late).unwrap();
        assert_eq!(cut.limits, [Limit::TimeBudget], "{matching:?}");
        // All that match are counted and answered, whatever is known of their order.
        assert_eq!((cut.total, cut.hits.len()), (3000, 3000));
        let all = |result: &SearchResult| ids(&snapshot, result).into_iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(all(&cut), all(&whole));
        assert_ne!(ids(&snapshot, &cut), ids(&snapshot, &whole), "{matching:?} took its time all the same");
        let patient = SearchRequest { cutoff: Some(Duration::from_secs(3600)), matching, ..request.clone() };
        assert_eq!(search(&snapshot, &patient).unwrap().limits, []);
    }
}

/// A filter that was not evaluated is not ignored.
#[test]
fn a_filter_that_takes_too_long_lets_nothing_pass() {
    let documents: Vec<Value> =
        (0..2000).map(|id| json!({"id": id, "text": "red", "tag": format!("{}{id}", "a".repeat(400))})).collect();
    let snapshot = index(json!({"filterableAttributes": ["tag"]}), &[&documents]).snapshot();
    let part = |n: usize| format!("tag CONTAINS {}", "a".repeat(n));
    let pairs = (1..40).flat_map(|one| (260..300).map(move |other| (one, other)));
    let slow =
        pairs.map(|(one, other)| format!("({} AND {})", part(one), part(other))).collect::<Vec<_>>().join(" OR ");
    for matching in [MatchingStrategy::Last, MatchingStrategy::Any] {
        let request = |filter: &str, query: Option<&str>| SearchRequest {
            query: query.map(str::to_owned),
            filter: Filter::parse(filter).unwrap(),
            cutoff: Some(Duration::ZERO),
            matching,
            ..small_parts()
        };
        for query in [Some("red"), None] {
            let start = Instant::now();
            let late = search(&snapshot, &request(&slow, query)).unwrap();
            assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
            assert_eq!((late.hits.len(), late.total, late.degraded), (0, 0, true));
            assert_eq!(late.limits, [Limit::TimeBudget]);
            assert!(late.candidates.iter().all(DocSet::is_empty), "facets count nothing");
            // One of few conditions is evaluated whatever the budget.
            assert_eq!(search(&snapshot, &request(&part(3), query)).unwrap().total, 2000);
        }
    }
}

#[test]
fn words_that_are_left_out_by_frequency_are_left_out_in_every_way() {
    // The word `w<n>` is in more documents than those behind it; documents hold five words of the query.
    let words = |count: u32| (0..count).map(|n| format!("w{n:02}")).collect::<Vec<_>>();
    let document = |id: usize, words: Vec<&String>| {
        let text: Vec<&str> = words.into_iter().map(String::as_str).collect();
        json!({"id": id, "text": text.join(" ")})
    };
    let frequent = |count: u32| {
        let rows = move |n: usize| (0..(count as usize - n) * 300).map(move |i| (n, i));
        (0..count as usize).flat_map(rows).map(|(n, i)| (1_000_000 + n * 10_000 + i, n))
    };
    for (count, is_cut) in [(10, false), (12, true)] {
        let all = words(count);
        let sets = (0u32..1 << count).filter(|set| set.count_ones() == 5);
        let fives = sets.enumerate().map(|(id, set)| {
            document(id, all.iter().zip(0..).filter(|(_, bit)| set >> bit & 1 == 1).map(|(word, _)| word).collect())
        });
        let documents: Vec<Value> = fives.chain(frequent(count).map(|(id, n)| document(id, vec![&all[n]]))).collect();
        let settings = json!({"typoTolerance": {"enabled": false}});
        let snapshot = index(settings, &[&documents]).snapshot();
        let request = SearchRequest {
            query: Some(all.join(" ")),
            limit: 200,
            matching: MatchingStrategy::Frequency,
            ..small_parts()
        };
        let found = search(&snapshot, &request).unwrap();
        let matching = |hit: &Hit| match hit.details[0] {
            ScoreDetail::Words { matching, .. } => matching,
            ref other => panic!("{other:?}"),
        };
        let best = found.hits.iter().filter(|hit| matching(hit) == 5).count();
        let with_the_rarest = if is_cut { 1..120 } else { 126..127 };
        assert!(with_the_rarest.contains(&best), "{best} of {count} words");
        assert_eq!(found.limits.contains(&Limit::QueryReadings), is_cut, "{:?}", found.limits);
    }
}

#[test]
fn nearness_explains_its_stages() {
    let snapshot = square().snapshot();
    let near = || SemanticQuery::new("e", vec![1.0, 0.0]);
    let filter = lamina_text::filter::Filter::from_json(&json!("id < 5")).unwrap();
    let explain = Some(Explain::default());
    let request = SearchRequest { query: Some("fox".into()), filter, explain, ..small_parts() };
    let explanation = search_semantic(&snapshot, &request, &near()).unwrap().explanation.expect("asked for");
    let stages: Vec<(&str, Option<u64>)> =
        explanation.stages.iter().map(|stage| (stage.name, stage.documents)).collect();
    assert_eq!(stages, [("filter for vectors", Some(4)), ("nearness", Some(4)), ("hits by nearness", Some(4))]);
    assert_eq!((names(&explanation), explanation.rules[0].documents), (vec![vec!["vectorSort".to_owned()]], 4));
    let both = search_hybrid(&snapshot, &request, 0.9, Fusion::Score, || Some(near()))
        .unwrap()
        .result
        .explanation
        .expect("asked for");
    let stages: Vec<&str> = both.stages.iter().map(|stage| stage.name).collect();
    assert!(stages.contains(&"match and filter"), "{stages:?}");
    assert!(stages.ends_with(&["nearness", "hits by nearness"]), "{stages:?}");
    let rules = names(&both);
    assert_eq!(rules[0], ["words"], "{rules:?}");
    assert!(rules.ends_with(&[vec!["vectorSort".to_owned()]]), "{rules:?}");
    let sort = vec![SortCriterion::field("id", false)];
    let sorted = search_semantic(&snapshot, &SearchRequest { sort, ..request }, &near()).unwrap();
    assert_eq!(names(&sorted.explanation.expect("asked for")), [["vectorSort", "id:desc"]]);
}

/// Each rule in its place, the sorts among them, and nothing that is none.
#[test]
fn rules_report_what_came_to_them() {
    // 40 hold both words, one of them misspelt, and five hold the first one.
    let document = |id: u64| {
        let text = ["red river", "red", "red rivet"][usize::from(id < 5) + 2 * usize::from(id == 7)];
        json!({"id": id, "text": text, "y": id % 5, "_geo": {"lat": id, "lng": 0}})
    };
    let documents: Vec<Value> = (0..45).map(document).collect();
    let reported = |rules: Value, query: &str, sort: &[&str], matching: MatchingStrategy| {
        let settings =
            json!({"rankingRules": rules, "searchableAttributes": ["text"], "sortableAttributes": ["y", "_geo"]});
        let snapshot = index(settings, &[&documents[..20], &documents[20..]]).snapshot();
        let request = SearchRequest {
            query: Some(query.into()),
            limit: 4,
            matching,
            sort: sort.iter().map(|entry| SortCriterion::parse(entry).unwrap()).collect(),
            explain: Some(Explain::default()),
            ..small_parts()
        };
        let explanation = search(&snapshot, &request).unwrap().explanation.expect("asked for");
        let mut first = 0;
        for entry in &explanation.rules {
            assert_eq!(entry.first, first);
            first += entry.rules.len();
            assert!(entry.read.is_none_or(|read| read <= entry.documents), "{entry:?}");
            assert!(entry.groups.iter().map(|(_, documents)| documents).sum::<u64>() <= entry.documents, "{entry:?}");
        }
        let names = names(&explanation).into_iter().map(|names| names.join(" "));
        names.zip(explanation.rules.iter().map(|entry| entry.documents)).collect::<Vec<(String, u64)>>()
    };
    let rules = |list: &[(&str, u64)]| -> Vec<(String, u64)> {
        list.iter().map(|(names, documents)| ((*names).to_owned(), *documents)).collect()
    };
    let (last, all, any) = (MatchingStrategy::Last, MatchingStrategy::All, MatchingStrategy::Any);
    let custom = |query: &str| reported(json!(["words", "y:desc"]), query, &[], last);
    assert_eq!(custom("red river"), rules(&[("words", 45), ("y:desc", 40)]));
    assert_eq!(custom(""), rules(&[("y:desc", 45)]));
    let sort_first = |query: &str, sort: &[&str]| reported(json!(["sort", "words", "typo"]), query, sort, last);
    let each = [("y:asc", 45), ("words", 45), ("typo", 45)];
    assert_eq!(sort_first("red river", &["y:asc"]), rules(&each));
    assert_eq!(sort_first("", &["y:asc"]), rules(&each[..1]));
    assert_eq!(sort_first("", &[]), rules(&[]));
    let standard = json!(["words", "typo", "proximity", "attribute", "sort", "exactness"]);
    let of_all = |sort: &[&str], matching| reported(standard.clone(), "red river", sort, matching);
    assert_eq!(
        of_all(&["_geoPoint(1.5, 2):desc", "y:asc"], last),
        rules(&[("words", 45), ("typo", 40), ("proximity attribute 1.5,2:desc y:asc exactness", 39)])
    );
    // Every word is required: `words` is no rule.
    assert_eq!(of_all(&[], all), rules(&[("typo", 40), ("proximity attribute exactness", 39)]));
    assert_eq!(of_all(&["y:asc"], any), rules(&[("bm25 y:asc", 45)]));
    assert_eq!(reported(json!(["sort", "words"]), "red river", &["y:asc"], any), rules(&[("y:asc bm25", 45)]));
}

#[test]
fn filters_sorts_and_sizes_count() {
    let snapshot = square().snapshot();
    let query = SemanticQuery::new("e", vec![1.0, 0.0]);
    let filter = lamina_text::filter::Filter::from_json(&json!("id > 1 AND id < 5")).unwrap();
    let filtered = SearchRequest { filter, ..small_parts() };
    assert_eq!(ids(&snapshot, &search_semantic(&snapshot, &filtered, &query).unwrap()), [4, 2, 3]);
    let sort = vec![SortCriterion::field("id", false)];
    // Nearness stands where relevancy does, before the sort.
    let sorted = SearchRequest { sort, ..small_parts() };
    let result = search_semantic(&snapshot, &sorted, &query).unwrap();
    assert_eq!(ids(&snapshot, &result), [1, 4, 2, 3, 5]);
    assert!(matches!(result.hits[0].details[..], [ScoreDetail::Vector(_), ScoreDetail::Sort { .. }]));
    let wrong = SemanticQuery::new("e", vec![1.0]);
    let refused = search_semantic(&snapshot, &small_parts(), &wrong);
    assert!(matches!(refused, Err(SearchError::VectorDimensions { expected: 2, found: 1 })));
    let unknown = SemanticQuery::new("x", vec![1.0]);
    let refused = search_semantic(&snapshot, &small_parts(), &unknown);
    assert!(matches!(refused, Err(SearchError::UnknownEmbedder { .. })));
}

#[test]
fn documents_like_one() {
    let snapshot = square().snapshot();
    let like = |id: &str| {
        let address = snapshot.find(id).unwrap();
        let result = search_similar(&snapshot, &small_parts(), "e", address).unwrap();
        (ids(&snapshot, &result), result.total)
    };
    // Of document 4 only the first vector has a counterpart. Document 5 has none: it is a candidate, and no hit.
    assert_eq!(like("1"), (vec![2, 4, 3], 4));
    assert_eq!(like("5"), (vec![], 4));
}

#[test]
fn words_and_nearness_together() {
    let snapshot = square().snapshot();
    let request = SearchRequest { query: Some("red fox".into()), ..small_parts() };
    let near = || Some(SemanticQuery::new("e", vec![-1.0, 0.0]));
    let both = search_hybrid(&snapshot, &request, 0.5, Fusion::Score, near).unwrap();
    // Document 1 is what the words say, 3 what the vector says.
    assert_eq!(ids(&snapshot, &both.result)[..2], [3, 1]);
    assert_eq!(both.semantic_hit_count, 4);
    let words = search_hybrid(&snapshot, &request, 0.5, Fusion::Score, || None).unwrap();
    assert_eq!((ids(&snapshot, &words.result), words.semantic_hit_count), (vec![1, 2], 0));
    // Words alone when they do well enough: the vector is not even asked for.
    let one = SearchRequest { limit: 1, ..request.clone() };
    let alone = search_hybrid(&snapshot, &one, 0.1, Fusion::Score, || panic!("not needed")).unwrap();
    assert_eq!(ids(&snapshot, &alone.result), [1]);
    let without = SearchRequest { query: Some("red -dog".into()), ..small_parts() };
    let both = search_hybrid(&snapshot, &without, 0.9, Fusion::Score, near).unwrap();
    let mut found = ids(&snapshot, &both.result);
    found.sort_unstable();
    assert_eq!(found, [1, 3, 5]);
}

#[test]
fn pages_of_a_hybrid_search_repeat_and_miss_nothing() {
    let document = |id: u32, text: &str, vector: Value| json!({"id": id, "text": text, "_vectors": {"e": vector}});
    let index = index(
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}}),
        &[
            &[document(1, "red fox", json!([0, 1])), document(2, "red fox", json!([1, 0.1]))],
            &[
                document(3, "red fox", json!([0, -1])),
                document(4, "red dog", json!([1, 0])),
                document(5, "blue", json!([1, 0])),
            ],
        ],
    );
    let snapshot = index.snapshot();
    let page = |offset, limit| {
        let request = SearchRequest { query: Some("red fox".into()), offset, limit, ..small_parts() };
        let near = || Some(SemanticQuery::new("e", vec![1.0, 0.0]));
        ids(&snapshot, &search_hybrid(&snapshot, &request, 0.5, Fusion::Score, near).unwrap().result)
    };
    for size in 1..=6 {
        let mut found: Vec<u64> = (0..6).flat_map(|number| page(number * size, size)).collect();
        let first = found.clone();
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4, 5], "pages of {size}: {first:?}");
    }
    // The page counts the same, whichever it is.
    let total = |offset| {
        let query = Some("red fox".into());
        let request = SearchRequest { query, offset, limit: 1, exhaustive: true, ..small_parts() };
        let near = || Some(SemanticQuery::new("e", vec![1.0, 0.0]));
        search_hybrid(&snapshot, &request, 0.5, Fusion::Score, near).unwrap().result.total
    };
    assert_eq!([0, 1, 2, 3, 4].map(total), [5; 5]);
    // What words find fills the first page of three, and stays first. Of four it does not.
    assert_eq!(page(0, 3), [1, 2, 3]);
    assert_eq!(page(0, 4)[..3], [4, 5, 1]);
}

#[test]
fn a_hybrid_search_for_candidates_alone_has_those_of_both_lists() {
    let snapshot = square().snapshot();
    let near = || Some(SemanticQuery::new("e", vec![1.0, 0.0]));
    let filter = lamina_text::filter::Filter::from_json(&json!("id != 4")).unwrap();
    let request = |exhaustive| {
        let filter = filter.clone();
        SearchRequest { query: Some("fox".into()), filter, limit: 0, exhaustive, ..small_parts() }
    };
    let found = search_hybrid(&snapshot, &request(true), 0.5, Fusion::Score, near).unwrap().result;
    let candidates: u32 = found.candidates.iter().map(lamina_segment::bits::DocSet::len).sum();
    assert_eq!((found.total, candidates, found.hits.len()), (4, 4, 0));
    // Without an embedder that answers, those of the words.
    assert_eq!(search_hybrid(&snapshot, &request(true), 0.5, Fusion::Score, || None).unwrap().result.total, 2);
}

#[test]
fn totals_of_a_hybrid_search_are_of_both_lists() {
    let document = |id: u32, text: &str, kind: &str, vector: Value| json!({"id": id, "text": text, "kind": kind, "_vectors": {"e": vector}});
    let index = index(
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}, "filterableAttributes": ["kind"]}),
        &[
            &[document(1, "red fox", "a", json!([1, 0])), document(2, "red dog", "a", json!([0, 1]))],
            &[
                document(3, "blue fox", "b", json!([-1, 0])),
                document(4, "blue dog", "b", json!([0, -1])),
                document(5, "green", "c", json!(null)),
            ],
        ],
    );
    let snapshot = index.snapshot();
    let both = |request: SearchRequest| {
        let request = SearchRequest { query: Some("fox".into()), ..request };
        let found =
            search_hybrid(&snapshot, &request, 0.5, Fusion::Score, || Some(SemanticQuery::new("e", vec![0.0, 1.0])))
                .unwrap();
        let fields = select_facets(&["kind".to_owned()], &snapshot.settings, &snapshot.fields).unwrap();
        let counted = distributions(&snapshot, &found.result.candidates, &fields, Listing::up_to(100));
        let counts = counted[0].values.iter().map(|(_, count)| *count).collect::<Vec<_>>();
        (ids(&snapshot, &found.result), found.result.total, counts)
    };
    let filter = |filter: &str| lamina_text::filter::Filter::from_json(&json!(filter)).unwrap();
    assert_eq!(both(small_parts()), (vec![2, 1, 3, 4, 5], 5, vec![2, 2, 1]));
    assert_eq!(both(SearchRequest { filter: filter("kind != a"), ..small_parts() }).1, 3);
    let near_enough = SearchRequest { score_threshold: Some(0.6), exhaustive: true, ..small_parts() };
    assert_eq!(both(near_enough), (vec![2, 1, 3], 3, vec![2, 1]), "words find two, nearness the dog");
    // For the kind `a` words choose another document than nearness does: it counts once all the same.
    for (exhaustive, limit) in [(false, 20), (true, 20), (true, 3)] {
        let request = SearchRequest { distinct: Some("kind".into()), exhaustive, limit, ..small_parts() };
        let (hits, total, counts) = both(request);
        assert_eq!((&hits[..], total, counts), (&[2, 3, 5][..limit.min(3)], 3, vec![1, 1, 1]), "{exhaustive} {limit}");
    }
}

#[test]
fn similarities_are_moved_to_where_they_are_expected() {
    let embedder = json!({"source": "userProvided", "dimensions": 2, "distribution": {"mean": 0.75, "sigma": 0.1}});
    let documents = [
        json!({"id": 1, "text": "fox", "_vectors": {"e": [0, 1]}}),
        json!({"id": 2, "text": "dog", "_vectors": {"e": [0.4, 0.9165151]}}),
        json!({"id": 3, "text": "cat", "_vectors": {"e": [1, 0]}}),
        json!({"id": 4, "text": "cow", "_vectors": {"e": [0, 0]}}),
    ];
    let index = index(json!({"embedders": {"e": embedder}}), &[&documents]);
    let snapshot = index.snapshot();
    let query = SemanticQuery::new("e", vec![1.0, 0.0]);
    let scores = |request: &SearchRequest| -> Vec<f32> {
        search_semantic(&snapshot, request, &query).unwrap().hits.iter().map(|hit| hit.score as f32).collect()
    };
    // Similarities of 1, 0.7, 0.5 and 0.5 (nothing is near to a vector of zeros, or far from it).
    let found = scores(&small_parts());
    assert_eq!((found[0], found[2], found[3]), (1.0, f32::EPSILON, f32::EPSILON));
    assert!((found[1] - 0.3).abs() < 1e-5, "{found:?}");
    let threshold = SearchRequest { score_threshold: Some(0.5), ..small_parts() };
    assert_eq!(scores(&threshold), [1.0], "thresholds are for what is shown");
    // What is shown has limits; nearer documents come first beyond them, too.
    let narrow = json!({"source": "userProvided", "dimensions": 2, "distribution": {"mean": 0.998, "sigma": 0.01}});
    let documents: Vec<Value> = [(1, 3), (1, 2), (2, 3)]
        .iter()
        .zip(1..)
        .map(|((x, y), id)| json!({"id": id, "_vectors": {"e": [x, y]}}))
        .collect();
    let beyond = self::index(json!({"embedders": {"e": narrow}}), &[&documents]).snapshot();
    let found = search_semantic(&beyond, &small_parts(), &SemanticQuery::new("e", vec![1.0, 1.0])).unwrap();
    assert_eq!(ids(&beyond, &found), [3, 2, 1]);
    assert_eq!(found.hits[1].score, found.hits[2].score);
    // Unmoved, 0.6 times 0.7 of the dog would be before 0.4 of the fox, whose words are right.
    let request = SearchRequest { query: Some("fox".into()), limit: 3, ..small_parts() };
    let both = search_hybrid(&snapshot, &request, 0.6, Fusion::Score, || Some(query.clone())).unwrap();
    assert_eq!(ids(&snapshot, &both.result), [3, 1, 2]);
}

/// A misspelt, split or joined word is not the exact one, unless `typo` has put those that have it apart.
#[test]
fn misspelt_words_begin_no_attribute() {
    let documents = [
        json!({"id": 0, "text": "Fear The Batman"}),
        json!({"id": 1, "text": "The Batmen"}),
        json!({"id": 2, "text": "The Bat Man"}),
        json!({"id": 3, "text": "The Batman of Gotham"}),
    ];
    let found = |rules: Value, query: &str| {
        let index = index(json!({"rankingRules": rules}), &[&documents]);
        let snapshot = index.snapshot();
        let request = SearchRequest { query: Some(query.to_owned()), ..small_parts() };
        ids(&snapshot, &search(&snapshot, &request).unwrap())
    };
    for rules in [json!(["words", "exactness"]), json!(["exactness", "words", "typo"])] {
        assert_eq!(found(rules.clone(), "the batman"), [3, 0, 1, 2], "{rules}");
        // No document writes it so: the word has no part in how exact documents are.
        assert_eq!(found(rules.clone(), "the batmun"), [1, 3, 0, 2], "{rules}");
        assert_eq!(found(rules.clone(), "the bat man"), [2, 0, 3, 1], "{rules}");
    }
    assert_eq!(found(json!(["words", "typo", "exactness"]), "the batman"), [3, 0, 1, 2]);
}
