//! Whole searches without words against a scan of all documents: filter, sort, distinct, window, totals and the
//! candidates that facets count, all at once, on random documents in several segments.

use std::collections::BTreeSet;

use lamina_text::text::same_facet_number;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::facet::{FacetField, Listing, distribution};
use crate::oracle::{Corpus, Facts, documents, matches, normal, settings, sort_documents};

const FILTERS: [&str; 11] = [
    "big > 9007199254740992 OR big IN [-9223372036854775807, red]",
    "tag = red OR tag = green",
    "size >= 2 AND size < 10",
    "NOT mixed EXISTS",
    "mixed IN [red, 10, true] OR deep.a > 3",
    "deep.b.c IS NOT NULL AND NOT tag = 'éclair'",
    "_geoRadius(0, 0, 3000000)",
    "_geoBoundingBox([60, 20], [-10, -120]) OR tag = ab",
    "_geoPolygon([-5, -5], [-5, 5], [5, 5], [6, -4])",
    "NOT _geoPolygon([0, 0], [9, 9], [9, 0]) AND maybe IS EMPTY",
    "size 1 TO 8 AND NOT (tag STARTS WITH a OR mixed CONTAINS e)",
];
const SORTS: [&str; 7] = [
    "big:desc",
    "tag:asc",
    "size:desc",
    "mixed:asc",
    "deep.a:desc",
    "_geoPoint(45.5, 10):asc",
    "_geoPoint(0, -90):desc",
];
const FIELDS: [&str; 6] = ["tag", "size", "big", "mixed", "deep.a", "maybe"];

/// The values of a field that make two documents the same for `distinct`.
pub(super) fn values(document: &Value, field: &str) -> BTreeSet<String> {
    let facts = Facts::of(document, field);
    let numbers = facts.numbers.iter().map(|number| format!("number {}", number + 0.0));
    numbers.chain(facts.strings.iter().map(|string| format!("string {}", normal(string)))).collect()
}

/// Works like [`values`], but a string that equals the displayed form of a number counts as this number.
fn distinct_values(document: &Value, field: &str) -> BTreeSet<String> {
    let as_number = |value: String| {
        let number = value.strip_prefix("string ").and_then(same_facet_number);
        number.map_or(value, |number| format!("number {number}"))
    };
    values(document, field).into_iter().map(as_number).collect()
}

/// The first of each value, in this order.
pub(super) fn distinct_only<'d>(documents: Vec<&'d Value>, field: &str) -> Vec<&'d Value> {
    let mut used = BTreeSet::new();
    let mut keep = |document: &&Value| {
        let own = distinct_values(document, field);
        let is_new = own.is_disjoint(&used);
        if is_new {
            used.extend(own);
        }
        is_new
    };
    documents.into_iter().filter(|document| keep(document)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn searches_without_words_are_scans(
        (batches, deleted) in documents(),
        searches in vec(
            (
                prop::option::weighted(0.8, prop::sample::select(FILTERS.to_vec())),
                prop::sample::subsequence(SORTS.to_vec(), 0..3).prop_shuffle(),
                prop::option::of(prop::sample::select(FIELDS.to_vec())),
                (0usize..12, 0usize..30),
            ),
            16,
        ),
    ) {
        let corpus = Corpus::new(settings(), &batches, &deleted);
        for (filter, sort, distinct, (offset, limit)) in searches {
            let filter = filter.map(|filter| Filter::parse(filter).unwrap().unwrap());
            let sort: Vec<SortCriterion> = sort.iter().map(|entry| SortCriterion::parse(entry).unwrap()).collect();
            let request = SearchRequest {
                filter: filter.clone(),
                sort: sort.clone(),
                distinct: distinct.map(str::to_owned),
                offset,
                limit,
                exhaustive: true,
                ..SearchRequest::default()
            };
            let found = search(&corpus.snapshot, &request).unwrap();

            let passes = |document: &&Value| filter.as_ref().is_none_or(|filter| matches(document, filter));
            let mut expected: Vec<&Value> = corpus.documents.iter().filter(passes).collect();
            sort_documents(&mut expected, &sort);
            if let Some(field) = distinct {
                expected = distinct_only(expected, field);
            }
            let id = |document: &&Value| document["id"].as_u64().unwrap();
            let window: Vec<u64> = expected.iter().skip(offset).take(limit).map(id).collect();
            let hits: Vec<u64> = found.hits.iter().map(|hit| corpus.id(hit.address)).collect();
            prop_assert_eq!(hits, window, "{:?}", request);
            prop_assert_eq!(found.total, expected.len() as u64);
            prop_assert!(!found.degraded);

            let mut all: Vec<u64> = expected.iter().map(id).collect();
            all.sort_unstable();
            prop_assert_eq!(corpus.ids(&found.candidates), all);
            for name in FIELDS {
                let Some(field) = corpus.snapshot.fields.get(name) else { continue };
                let facet = FacetField::new(name, field);
                let facet = distribution(&corpus.snapshot, &found.candidates, &facet, Listing::up_to(usize::MAX));
                let counted: u64 = facet.values.iter().map(|(_, count)| count).sum();
                let own: usize = expected.iter().map(|document| values(document, name).len()).sum();
                // A number and a string that read alike are listed as one value.
                let alike = expected.iter().flat_map(|document| values(document, name)).collect::<BTreeSet<_>>();
                let is_alike = alike.iter().any(|value| value.strip_prefix("number ").is_some_and(|number| alike.contains(&format!("string {number}"))));
                prop_assert!(is_alike || counted == own as u64, "{}: {} {}", name, counted, own);
            }
        }
    }
}
