use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::oracle::{Corpus, documents, settings, sort_documents};
use crate::search::{SearchRequest, search};

/// The ids of the first `limit` documents in this order.
fn sorted(corpus: &Corpus, sort: &[&str], limit: usize) -> Vec<u64> {
    let request = SearchRequest {
        sort: sort.iter().map(|entry| SortCriterion::parse(entry).unwrap()).collect(),
        limit,
        ..SearchRequest::default()
    };
    let result = search(&corpus.snapshot, &request).unwrap();
    result.hits.iter().map(|hit| corpus.id(hit.address)).collect()
}

fn naive(corpus: &Corpus, sort: &[&str], limit: usize) -> Vec<u64> {
    let criteria: Vec<SortCriterion> = sort.iter().map(|entry| SortCriterion::parse(entry).unwrap()).collect();
    let mut documents: Vec<&Value> = corpus.documents.iter().collect();
    sort_documents(&mut documents, &criteria);
    documents.into_iter().take(limit).map(|document| document["id"].as_u64().unwrap()).collect()
}

#[test]
fn attributes_must_be_sortable() {
    let check = |settings: Value, entry: &str, need_rule: bool| {
        let settings = serde_json::from_value(settings).unwrap();
        check_sortable(&settings, &[SortCriterion::parse(entry).unwrap()], need_rule)
    };
    let settings = serde_json::json!({ "sortableAttributes": ["id", "a"], "rankingRules": ["words"] });
    assert_eq!(check(settings.clone(), "a.b:asc", false), Ok(()));
    let unsortable = |settings: &Value, entry: &str| match check(settings.clone(), entry, false) {
        Err(SortError::NotSortable { attribute, available }) => (attribute, available.shown().to_vec()),
        other => panic!("{other:?}"),
    };
    let listed = vec!["a".to_owned(), "id".to_owned()];
    assert_eq!(unsortable(&settings, "title:asc"), ("title".to_owned(), listed.clone()));
    assert_eq!(unsortable(&settings, "_geoPoint(1, 2):asc"), ("_geo".to_owned(), listed));
    assert_eq!(check(settings, "id:asc", true), Err(SortError::NoSortRule));
    assert_eq!(unsortable(&serde_json::json!({}), "title:asc"), ("title".to_owned(), Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The order is that of comparing the documents' values one by one, whole or cut.
    #[test]
    fn order_is_that_of_the_values(
        (batches, deleted) in documents(),
        entries in prop::sample::subsequence(
            vec!["tag:asc", "size:desc", "big:asc", "mixed:asc", "deep.a:desc", "deep.b.c:asc", "maybe:desc",
                 "_geoPoint(45.5, 10):asc"],
            1..4,
        ).prop_shuffle(),
        flipped in any::<bool>(),
        limit in prop_oneof![1usize..10, Just(100)],
    ) {
        let corpus = Corpus::new(settings(), &batches, &deleted);
        let entries: Vec<String> = entries
            .into_iter()
            .map(|entry| match (flipped, entry.strip_suffix("asc"), entry.strip_suffix("desc")) {
                (true, Some(by), _) => format!("{by}desc"),
                (true, _, Some(by)) => format!("{by}asc"),
                _ => entry.to_owned(),
            })
            .collect();
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        prop_assert_eq!(sorted(&corpus, &entries, limit), naive(&corpus, &entries, limit), "{:?}", entries);
    }
}
