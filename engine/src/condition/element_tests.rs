use lamina_index::index::settings::Settings;
use lamina_segment::bits::DocSet;
use lamina_segment::document::FieldMap;
use lamina_text::filter::Filter;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::oracle::{Corpus, matches};

fn parse(filter: &str) -> Filter {
    Filter::parse(filter).unwrap_or_else(|error| panic!("{error}")).expect("not blank")
}

fn select(corpus: &Corpus, filter: &Filter) -> Vec<DocSet> {
    let snapshot = &corpus.snapshot;
    let prepared = PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields).unwrap();
    snapshot.segments.iter().map(|segment| prepared.evaluate(segment, TimeLimit::NONE).unwrap()).collect()
}

fn settings() -> Value {
    json!({ "filterableAttributes": ["offers", "size", "shop"] })
}

#[test]
fn one_element_must_pass_all_conditions() {
    let documents = [
        json!({ "id": 1, "offers": [{ "price": 5, "stock": 0 }, { "price": 20, "stock": 3 }] }),
        json!({ "id": 2, "offers": [{ "price": 5, "stock": 3 }, { "price": 20, "stock": 0 }] }),
        json!({ "id": 3, "offers": { "price": 9, "stock": 1, "sizes": [{ "n": 40, "left": 0 }, { "n": 41, "left": 2 }] } }),
        json!({ "id": 4, "offers": [5, "x", null, []] }),
        json!({ "id": 5, "shop": { "offers": [[{ "price": 1, "stock": 1 }]] } }),
        json!({ "id": 6 }),
    ];
    let corpus = Corpus::new(settings(), &[documents.to_vec()], &[]);
    for (filter, expected) in [
        ("offers.price < 10 AND offers.stock > 0", &[1, 2, 3][..]),
        ("offers[price < 10 AND stock > 0]", &[2, 3]),
        ("NOT offers[price < 10 AND stock > 0]", &[1, 4, 5, 6]),
        ("offers[NOT price < 10]", &[1, 2]),
        ("offers[price != 5]", &[1, 2, 3]),
        ("offers[price < 10 AND stock > 0] AND offers.price = 20", &[2]),
        ("offers[sizes[n = 40 AND left > 0]]", &[]),
        ("offers[sizes[n = 41 AND left > 0] AND price = 9]", &[3]),
        ("offers.sizes[n = 41 AND left > 0]", &[3]),
        ("shop.offers[price = 1 AND stock = 1]", &[5]),
        ("shop[offers[price = 1] AND offers.stock = 1]", &[5]),
        ("offers[sizes NOT EXISTS] AND NOT offers[price > 100]", &[1, 2]),
        ("size = 1 OR offers [ price IN [9, 100] ]", &[3]),
    ] {
        assert_eq!(corpus.ids(&select(&corpus, &parse(filter))), expected, "{filter}");
        assert_eq!(corpus.ids(&select(&corpus, &parse(filter))), expected, "kept: {filter}");
    }
}

#[test]
fn fields_of_elements_must_be_filterable() {
    let settings: Settings = serde_json::from_value(settings()).unwrap();
    let refused = PreparedFilter::new(
        &parse("offers[a = 1] OR other[in[price = 1]]"),
        &settings,
        &FieldMap::default().snapshot(),
    );
    assert!(matches!(refused, Err(ConditionError::NotFilterable { attribute, .. }) if attribute == "other.in.price"));
}

#[test]
fn only_conditions_on_fields_stand_between_brackets() {
    for wrong in [
        "offers[_geoRadius(1, 2, 3)]",
        "offers[price = 1 AND _geoBoundingBox([2, 1], [1, 2])]",
        "offers[NOT sizes[_geoPolygon([0, 0], [1, 1], [2, 0])]]",
        "offers[_vectors EXISTS]",
        "offers[_foreign(a, b = 1)]",
    ] {
        let error = Filter::parse(wrong).expect_err(wrong);
        assert!(matches!(error.kind(), lamina_text::filter::FilterErrorKind::Element), "{wrong}: {error}");
    }
    for wrong in ["offers[", "offers[]", "offers[price]", "offers[price = 1", "offers[price = 1)", "[price = 1]"] {
        assert!(Filter::parse(wrong).is_err(), "{wrong}");
    }
    let deep = |depth: usize| format!("{}a = 1{}", "a[".repeat(depth), "]".repeat(depth));
    assert!(Filter::parse(&deep(25)).is_ok());
    assert!(Filter::parse(&deep(26)).is_err());
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0i64..4).prop_map(Value::from),
        1 => Just(json!(2.5)),
        1 => Just(json!(9_007_199_254_740_993_u64)),
        3 => prop::sample::select(vec!["red", "Red ", "green", "2", "", " ", "2024-03-01T00:30:00+02:00"]).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!([])),
        1 => Just(json!({})),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => scalar(), 1 => vec(scalar(), 0..3).prop_map(Value::from)]
}

fn element(depth: u32) -> BoxedStrategy<Value> {
    let fields = (prop::option::of(value()), prop::option::of(value()), prop::option::of(value()));
    let inner = if depth == 0 { Just(None).boxed() } else { prop::option::of(elements(depth - 1)).boxed() };
    (fields, inner)
        .prop_map(|((a, b, dotted), inner)| {
            let named = [("a", a), ("b", b), ("c.d", dotted), ("in", inner)];
            Value::Object(
                named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>(),
            )
        })
        .boxed()
}

fn elements(depth: u32) -> BoxedStrategy<Value> {
    prop_oneof![
        6 => vec(element(depth), 0..4).prop_map(Value::from),
        1 => element(depth),
        1 => scalar(),
        1 => vec(vec(element(depth), 0..3).prop_map(Value::from), 0..2).prop_map(Value::from),
    ]
    .boxed()
}

/// `offers`, `size`, and the offers in `shop`.
type Fields = (Option<Value>, Option<i64>, Option<Value>);

fn documents() -> impl Strategy<Value = Vec<Value>> {
    let document = (prop::option::of(elements(1)), prop::option::of(0i64..3), prop::option::weighted(0.2, elements(0)));
    vec(document, 1..40).prop_map(|documents| {
        let document = |(id, (offers, size, in_shop)): (u64, Fields)| {
            let mut document = json!({ "id": id });
            offers.into_iter().for_each(|offers| document["offers"] = offers);
            size.into_iter().for_each(|size| document["size"] = size.into());
            in_shop.into_iter().for_each(|offers| document["shop"] = json!({ "offers": offers }));
            document
        };
        (0u64..).zip(documents).map(document).collect()
    })
}

fn condition() -> impl Strategy<Value = String> {
    let field = prop::sample::select(vec!["a", "b", "c.d", "in.a", "in", "missing"]);
    let operand = || {
        prop::sample::select(vec![
            "0",
            "1",
            "2",
            "2.0",
            "2.5",
            "9007199254740993",
            "red",
            "RED",
            "",
            "true",
            "2024-02-29T22:30:00Z",
        ])
    };
    let condition = prop_oneof![
        (prop::sample::select(vec!["=", "!=", ">", ">=", "<", "<="]), operand())
            .prop_map(|(o, v)| format!("{o} '{v}'")),
        (operand(), operand()).prop_map(|(from, to)| format!("'{from}' TO '{to}'")),
        vec(operand(), 0..3).prop_map(|list| format!("IN ['{}']", list.join("', '"))),
        prop::sample::select(vec!["EXISTS", "NOT EXISTS", "IS NULL", "IS NOT NULL", "IS EMPTY"])
            .prop_map(str::to_owned),
        operand().prop_map(|value| format!("CONTAINS '{value}'")),
        operand().prop_map(|value| format!("STARTS WITH '{value}'")),
    ];
    (field, condition).prop_map(|(field, condition)| format!("{field} {condition}"))
}

fn inside() -> impl Strategy<Value = String> {
    condition().prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(|all| format!("({})", all.join(" AND "))),
            vec(inner.clone(), 2..3).prop_map(|all| format!("({})", all.join(" OR "))),
            inner.clone().prop_map(|one| format!("NOT {one}")),
            inner.prop_map(|one| format!("in[{one}]")),
        ]
    })
}

fn filter() -> impl Strategy<Value = String> {
    let of_element = (prop::sample::select(vec!["offers", "shop.offers", "offers.in", "shop"]), inside())
        .prop_map(|(path, inside)| format!("{path}[{inside}]"));
    let leaf = prop_oneof![4 => of_element, 1 => (0i64..3).prop_map(|size| format!("size = {size}"))];
    leaf.prop_recursive(2, 5, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(|all| format!("({})", all.join(" AND "))),
            vec(inner.clone(), 2..3).prop_map(|all| format!("({})", all.join(" OR "))),
            inner.prop_map(|one| format!("NOT {one}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The documents found are those of which a scan says so, element by element; also when they are asked for again.
    #[test]
    fn filters_on_elements_find_what_a_scan_finds(
        documents in documents(),
        cut in 0usize..40,
        deleted in vec(0u64..40, 0..4),
        filters in vec(filter(), 16),
    ) {
        let cut = cut.min(documents.len());
        let deleted: Vec<u64> = deleted.into_iter().filter(|id| (*id as usize) < documents.len()).collect();
        let corpus = Corpus::new(settings(), &[documents[..cut].to_vec(), documents[cut..].to_vec()], &deleted);
        for filter in filters {
            let filter = parse(&filter);
            let expected = corpus.expected_ids(|document| matches(document, &filter));
            prop_assert_eq!(corpus.ids(&select(&corpus, &filter)), &expected[..], "{}", filter);
            prop_assert_eq!(corpus.ids(&select(&corpus, &filter)), &expected[..], "again: {}", filter);
        }
    }
}
