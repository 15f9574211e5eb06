//! Sorts and facets by the elements that pass a condition, compared with a scan.

use std::collections::BTreeMap;

use lamina_text::filter::{ElementField, Filter};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::condition::TimeLimit;
use crate::facet::{FacetField, Key, Listing, Measure, Scale, Span, distribution, measure};
use crate::oracle::{Corpus, Facts, matches, normal, sort_documents};

const FIELDS: [&str; 7] = [
    "offers[stock > 0].price",
    "offers[stock > 0].color",
    "offers[NOT color = red AND stock EXISTS].price",
    "offers[price < 3 OR sizes[left = 1]].color",
    "offers[sizes[eu = 42 AND left > 0]].sizes.eu",
    "offers.sizes[left > 0].eu",
    "offers[missing = 1].price",
];

fn settings() -> Value {
    json!({ "filterableAttributes": ["offers", "kind"], "sortableAttributes": ["offers", "kind"] })
}

fn offer() -> impl Strategy<Value = Value> {
    let some = |values: Vec<Value>| prop::option::weighted(0.8, prop::sample::select(values));
    let prices = vec![json!(0), json!(1), json!(2.5), json!(4), json!("4"), json!([3, 1]), json!(null), json!("dear")];
    let colors = vec![json!("red"), json!("Red "), json!("green"), json!(""), json!(true), json!(["blue", "green"])];
    let size = (40u64..43, 0u64..2).prop_map(|(eu, left)| json!({ "eu": eu, "left": left }));
    (some(prices), some(vec![json!(0), json!(1), json!(2)]), some(colors), prop::option::of(vec(size, 0..3))).prop_map(
        |(price, stock, color, sizes)| {
            let mut offer = json!({});
            let fields = [("price", price), ("stock", stock), ("color", color), ("sizes", sizes.map(Value::from))];
            fields.into_iter().for_each(|(name, value)| value.into_iter().for_each(|value| offer[name] = value));
            offer
        },
    )
}

fn documents() -> impl Strategy<Value = Vec<Value>> {
    let offers = prop_oneof![8 => vec(offer(), 0..4).prop_map(Value::from), 1 => offer(), 1 => Just(json!("none"))];
    vec((offers, 0u64..2), 1..50).prop_map(|documents| {
        let document = |(id, (offers, kind)): (u64, (Value, u64))| json!({ "id": id, "offers": offers, "kind": kind });
        (0..).zip(documents).map(document).collect()
    })
}

/// Counts the documents that have each value. Numbers and texts that look alike are one value.
fn counted(documents: &[&Value], field: &ElementField) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for document in documents {
        let facts = Facts::of_elements(document, field);
        let mut own: Vec<String> = facts.numbers.iter().map(f64::to_string).collect();
        own.extend(facts.strings.iter().map(|text| normal(text)));
        own.sort_unstable();
        own.dedup();
        own.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn elements_that_pass_are_sorted_and_counted_by(
        documents in documents(),
        (cut, deleted) in (0usize..50, vec(0u64..50, 0..4)),
        searches in vec(
            (
                prop::sample::subsequence(FIELDS.to_vec(), 1..3).prop_shuffle(),
                vec(any::<bool>(), 3),
                prop::option::of(prop::sample::select(vec!["kind = 1", "offers[price < 2]"])),
                (0usize..5, 1usize..20),
            ),
            8,
        ),
    ) {
        let cut = cut.min(documents.len());
        let deleted: Vec<u64> = deleted.into_iter().filter(|id| (*id as usize) < documents.len()).collect();
        let corpus = Corpus::new(settings(), &[documents[..cut].to_vec(), documents[cut..].to_vec()], &deleted);
        for (fields, directions, filter, (offset, limit)) in searches {
            let direction = |ascending: bool| if ascending { "asc" } else { "desc" };
            let entry = |(field, ascending): (&&str, &bool)| format!("{field}:{}", direction(*ascending));
            let entries: Vec<String> = fields.iter().zip(&directions).map(entry).collect();
            let sort: Vec<SortCriterion> =
                entries.iter().map(|entry| SortCriterion::parse(entry).unwrap()).collect();
            let filter = filter.map(|filter| Filter::parse(filter).unwrap().unwrap());
            let (filter_of, sort_of) = (filter.clone(), sort.clone());
            let request = SearchRequest { filter: filter_of, sort: sort_of, offset, limit, ..SearchRequest::default() };
            let found = search(&corpus.snapshot, &request).unwrap();
            let passes = |document: &&Value| filter.as_ref().is_none_or(|filter| matches(document, filter));
            let mut expected: Vec<&Value> = corpus.documents.iter().filter(passes).collect();
            sort_documents(&mut expected, &sort);
            let id = |document: &&Value| document["id"].as_u64().unwrap();
            let window: Vec<u64> = expected.iter().skip(offset).take(limit).map(id).collect();
            let hits: Vec<u64> = found.hits.iter().map(|hit| corpus.id(hit.address)).collect();
            prop_assert_eq!(hits, window, "{:?}", entries);

            for name in fields {
                let field = ElementField::parse(name).unwrap().unwrap();
                let (snapshot, candidates) = (&corpus.snapshot, &found.candidates);
                let facet = FacetField::of_elements(name, &field, snapshot, candidates, TimeLimit::NONE).unwrap();
                let listed = distribution(snapshot, candidates, &facet, Listing::up_to(usize::MAX));
                let listed: BTreeMap<String, u64> =
                    listed.values.into_iter().map(|(value, count)| (normal(&value), count)).collect();
                prop_assert_eq!(listed, counted(&expected, &field), "{}", name);
                let span = Span { from: Some(Key::Number(1.0)), to: Some(Key::Number(41.0)) };
                let asked = Measure {
                    facet: name.to_owned(),
                    elements: Some(Box::new(field.clone())),
                    scale: Scale::Numbers,
                    ranges: vec![span],
                    histogram: None,
                    statistics: None,
                };
                let measured = measure(snapshot, candidates, &asked, TimeLimit::NONE).unwrap();
                let within = |document: &&&Value| {
                    Facts::of_elements(document, &field).numbers.iter().any(|number| (1.0..41.0).contains(number))
                };
                prop_assert_eq!(measured.ranges[0], expected.iter().filter(within).count() as u64, "{}", name);
            }
        }
    }
}

#[test]
fn what_settings_do_not_allow_is_refused() {
    let settings = json!({ "filterableAttributes": ["offers.stock"], "sortableAttributes": ["offers.price"] });
    let corpus = Corpus::new(settings, &[vec![json!({ "id": 1, "offers": [{ "price": 1, "stock": 1 }] })]], &[]);
    let sorted = |entry: &str| {
        let sort = vec![SortCriterion::parse(entry).unwrap()];
        search(&corpus.snapshot, &SearchRequest { sort, ..SearchRequest::default() }).map(|found| found.total)
    };
    assert!(matches!(sorted("offers[stock = 1].price:asc"), Ok(1)));
    assert!(matches!(sorted("offers[stock = 1].stock:asc"), Err(SearchError::Sort(SortError::NotSortable { .. }))));
    assert!(matches!(sorted("offers[price = 1].price:asc"), Err(SearchError::Sort(SortError::Condition(_)))));
    let facet = |name: &str| {
        let field = ElementField::parse(name).unwrap().unwrap();
        let live = corpus.live();
        FacetField::of_elements(name, &field, &corpus.snapshot, &live, TimeLimit::NONE).map(drop)
    };
    assert_eq!(facet("offers[stock = 1].stock"), Ok(()));
    assert!(matches!(facet("offers[stock = 1].price"), Err(crate::facet::FacetError::NotFilterable { .. })));
    assert!(matches!(facet("offers[price = 1].stock"), Err(crate::facet::FacetError::Condition(_))));
}
