use lamina_index::index::settings::{AvailableAttributes, Settings};
use lamina_segment::bits::DocSet;
use lamina_segment::document::FieldMap;
use lamina_text::filter::Filter;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::oracle::{Corpus, LONG, documents, matches, settings};

fn parse(filter: &str) -> Filter {
    Filter::parse(filter).unwrap_or_else(|error| panic!("{error}")).expect("not blank")
}

fn select(corpus: &Corpus, filter: &Filter) -> Vec<DocSet> {
    let snapshot = &corpus.snapshot;
    let prepared = PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields).unwrap();
    snapshot.segments.iter().map(|segment| prepared.evaluate(segment, TimeLimit::NONE).unwrap()).collect()
}

/// Returns the error for `filter` under these `filterableAttributes`.
fn refusal(filterable: Value, filter: &str) -> ConditionError {
    let settings: Settings = serde_json::from_value(json!({
        "filterableAttributes": filterable,
        "embedders": { "rest": { "indexingFragments": { "basic": {}, "other": {} } }, "local": {} },
    }))
    .unwrap();
    let fields = FieldMap::default().snapshot();
    PreparedFilter::new(&parse(filter), &settings, &fields).expect_err(filter)
}

/// The attribute that is refused, what is offered, and where.
fn unfilterable(filterable: Value, filter: &str) -> (String, Vec<String>, String) {
    match refusal(filterable, filter) {
        ConditionError::NotFilterable { attribute, available, at } => {
            (attribute, available.shown().to_vec(), at.to_string())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_must_be_filterable() {
    let expected = |attribute: &str, offered: &[&str], at: &str| {
        (attribute.to_owned(), offered.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), at.to_owned())
    };
    assert_eq!(unfilterable(json!([]), "many = Glass"), expected("many", &[], "1:5 many = Glass"));
    assert_eq!(
        unfilterable(json!(["title", { "attributePatterns": ["cat_*", "a"] }]), "title = 1 OR NOT many = Glass"),
        expected("many", &["a", "cat_*", "title"], "18:22 title = 1 OR NOT many = Glass")
    );
    assert_eq!(
        unfilterable(json!(["title"]), "_geoRadius(1, 2, 3)"),
        expected("_geo/_geojson", &["title"], "1:20 _geoRadius(1, 2, 3)")
    );
    assert_eq!(unfilterable(json!(["geo"]), "_geoPolygon([0,0],[0,1],[1,1])").0, "_geojson");
    assert!(matches!(refusal(json!(["_geo"]), "'_geo' EXISTS"), ConditionError::ReservedGeo { .. }));
}

#[test]
fn hidden_names_are_not_shown() {
    let settings: Settings = serde_json::from_value(json!({
        "filterableAttributes": ["secret", "title", "other"],
        "displayedAttributes": ["title"],
    }))
    .unwrap();
    let available = AvailableAttributes::filterable(&settings);
    assert_eq!((available.shown(), available.has_hidden()), (&["title".to_owned()][..], true));
}

#[test]
fn operators_must_be_enabled() {
    let rule = json!([{ "attributePatterns": ["a.b"] }]);
    let not_allowed = |filterable: &Value, filter: &str| match refusal(filterable.clone(), filter) {
        ConditionError::OperatorNotAllowed { operator, rule, .. } => (operator, rule),
        other => panic!("{other:?}"),
    };
    assert_eq!(not_allowed(&rule, "a.b > 1"), (">", 0));
    assert_eq!(not_allowed(&rule, "a.b 1 TO 2"), ("TO", 0));
    let comparison_only = json!(["x", { "attributePatterns": ["*"], "features": { "filter": { "equality": false, "comparison": true } } }]);
    for (filter, operator) in [("y = 1", "="), ("y != 1", "!="), ("y NOT IN [1]", "IN")] {
        assert_eq!(not_allowed(&comparison_only, filter), (operator, 1));
    }
    let settings: Settings = serde_json::from_value(json!({ "filterableAttributes": rule })).unwrap();
    for allowed in ["a.b = 1", "a.b IN [1]", "a.b EXISTS", "a.b IS NULL", "a.b IS EMPTY", "a.b STARTS WITH x"] {
        PreparedFilter::new(&parse(allowed), &settings, &FieldMap::default().snapshot()).expect(allowed);
    }
}

#[test]
fn embedders_must_exist() {
    let ConditionError::UnknownEmbedder(unknown) = refusal(json!([]), "_vectors.rset EXISTS") else { panic!() };
    assert_eq!((unknown.available.len(), unknown.suggestion.as_deref()), (2, Some("rest")));
    let refused = refusal(json!([]), "_vectors.rest.fragments.nothing EXISTS");
    let ConditionError::UnknownFragment { embedder, fragment } = refused else { panic!("{refused:?}") };
    assert_eq!((embedder.as_str(), fragment.name.as_str()), ("rest", "nothing"));
    assert_eq!(fragment.available, ["basic", "other"]);
}

#[test]
fn fields_of_objects_in_arrays_can_be_null_or_empty() {
    let deep = [
        json!([{ "y": null }]),
        json!([{ "y": "" }]),
        json!([{ "y": [] }]),
        json!([[{ "y": {} }], 1]),
        json!({ "y": null }),
        json!([{ "y": 1 }]),
        json!([{ "y": [null, "", [], {}] }]),
    ];
    let documents = (1..).zip(deep).map(|(id, deep)| json!({ "id": id, "deep": deep })).collect();
    let corpus = Corpus::new(settings(), &[documents], &[]);
    let found = |filter: &str| corpus.ids(&select(&corpus, &parse(filter)));
    assert_eq!(found("deep.y IS NULL"), [1, 5]);
    assert_eq!(found("deep.y IS NOT NULL"), [2, 3, 4, 6, 7]);
    assert_eq!(found("deep.y IS EMPTY"), [2, 3, 4]);
    assert_eq!(found("deep.y IS NOT EMPTY"), [1, 5, 6, 7]);
    assert_eq!(found("deep.y EXISTS"), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn values_are_compared_by_their_forms() {
    let documents = [
        json!({ "id": 1, "tag": "Red", "size": 12, "deep": { "a": "x" } }),
        json!({ "id": 2, "tag": " red ", "size": "12", "maybe": null }),
        json!({ "id": 3, "tag": "Éclair", "size": 2.5, "maybe": [] }),
        json!({ "id": 4, "size": [1, 100], "mixed": true, "deep": [{ "a": 1, "b": { "c": 2 } }, { "a": 3 }] }),
    ];
    let corpus = Corpus::new(settings(), &[documents[..2].to_vec(), documents[2..].to_vec()], &[]);
    let found = |filter: &str| corpus.ids(&select(&corpus, &parse(filter)));
    assert_eq!(found("tag = RED"), [1, 2]);
    assert_eq!(found("tag = eclair"), [0u64; 0]);
    assert_eq!(found("tag = éclair"), [3]);
    assert_eq!(found("tag != red"), [3, 4]);
    assert_eq!(found("size = 12"), [1, 2]);
    assert_eq!(found("size = '12.0'"), [1]);
    assert_eq!(found("size > 12"), [4]);
    assert_eq!(found("size 2 TO 13"), [1, 3]);
    assert_eq!(found("size 11 TO 13"), [1, 2]);
    assert_eq!(found("size IN [2.5, 100, nope]"), [3, 4]);
    assert_eq!(found("mixed = true"), [4]);
    assert_eq!(found("maybe EXISTS"), [2, 3]);
    assert_eq!(found("maybe IS NULL"), [2]);
    assert_eq!(found("maybe IS NOT EMPTY"), [1, 2, 4]);
    assert_eq!(found("deep EXISTS"), [1, 4]);
    assert_eq!(found("deep = x"), [0u64; 0]);
    assert_eq!(found("deep.a = 3 AND deep.b.c = 2"), [4]);
    assert_eq!(found("tag CONTAINS E"), [1, 2, 3]);
    assert_eq!(found("tag STARTS WITH re"), [1, 2]);
    assert_eq!(found("tag STARTS WITH ''"), [1, 2, 3]);
    assert_eq!(found("tag STARTS WITH ' '"), [1, 2, 3]);
    assert_eq!(found("deep.unknown = 1"), [0u64; 0]);
    assert_eq!(found("deep.unknown != 1"), [1, 2, 3, 4]);
    assert_eq!(found("NOT (tag = red OR size = 2.5)"), [4]);
}

/// The prepared form of a filter on `tag` and `size`.
fn prepared(filter: &str) -> String {
    let documents = vec![json!({ "id": 1, "size": 1, "tag": "a" })];
    let corpus = Corpus::new(settings(), &[documents], &[]);
    let snapshot = &corpus.snapshot;
    let prepared = PreparedFilter::new(&parse(filter), &snapshot.settings, &snapshot.fields).unwrap();
    format!("{:?}", prepared.root)
}

/// 400,000 conditions took 29 seconds, and 4,000 `CONTAINS` seven.
#[test]
fn many_conditions_on_one_field_are_one_question() {
    let chain = |operator: &str, keyword: &str| {
        (0..4000).map(|n| format!("tag {operator} 'v{n}'")).collect::<Vec<_>>().join(keyword)
    };
    let questions = |filter: &str| {
        let prepared = prepared(filter);
        ["OneOf(", "Contains(", "StartsWith("].map(|question| prepared.matches(question).count())
    };
    assert_eq!(questions(&chain("=", " OR ")), [1, 0, 0]);
    assert_eq!(questions(&chain("!=", " AND ")), [1, 0, 0]);
    assert_eq!(questions(&chain("NOT CONTAINS", " AND ")), [0, 1, 0]);
    let contains = prepared(&chain("CONTAINS", " OR "));
    assert_eq!(contains.matches("Several(").count(), 4, "a thousand texts are looked for at once");
    assert_eq!(questions(&format!("({}) OR ({})", chain("=", " OR "), chain("CONTAINS", " OR "))), [1, 1, 0]);
    assert_eq!(questions(&vec!["tag STARTS WITH v"; 4000].join(" AND ")), [0, 0, 1], "what is repeated is asked once");
    assert_eq!(questions("tag = a AND tag = b"), [2, 0, 0], "a document may have both");
    let large = (0..4000).map(|n| format!("size = {}", (1_u64 << 60) + n)).collect::<Vec<_>>().join(" OR ");
    assert_eq!(questions(&large), [1, 0, 0]);
}

#[test]
fn what_takes_too_long_is_not_answered() {
    let documents: Vec<Value> = (0..200).map(|id| json!({ "id": id, "size": id, "tag": format!("v{id}") })).collect();
    let corpus = Corpus::new(settings(), &[documents], &[]);
    let snapshot = &corpus.snapshot;
    let flag = std::sync::atomic::AtomicBool::new(true);
    for filter in
        ["size = 1", "tag CONTAINS v OR size > 3", "NOT (size = 1 AND tag STARTS WITH v)", "size IN [1, 2, 3]"]
    {
        let prepared = PreparedFilter::new(&parse(filter), &snapshot.settings, &snapshot.fields).unwrap();
        for limit in [TimeLimit::until(std::time::Instant::now()), TimeLimit::unless(&flag)] {
            assert_eq!(prepared.evaluate(&snapshot.segments[0], limit), Err(OutOfTime), "{filter}");
        }
    }
}

/// Conditions on many values, on few documents: what is looked at is neither all values nor all documents.
#[test]
fn a_scan_behind_other_conditions_looks_at_what_they_leave() {
    let documents: Vec<Value> = (0..400)
        .map(|id| json!({ "id": id, "size": id, "tag": [format!("red {id}"), format!("blue {id}")] }))
        .collect();
    let corpus = Corpus::new(settings(), &[documents], &[7]);
    for (filter, expected) in [
        ("size 5 TO 8 AND tag CONTAINS 'red '", vec![5, 6, 8]),
        ("size 5 TO 8 AND tag CONTAINS 'd 6'", vec![6]),
        ("size 5 TO 8 AND tag NOT CONTAINS 'd 6'", vec![5, 8]),
        ("size 5 TO 8 AND (tag CONTAINS 'd 6' OR tag CONTAINS 'e 8' OR tag = 'blue 5')", vec![5, 6, 8]),
        ("size 5 TO 8 AND tag CONTAINS 'd 6' AND tag CONTAINS 'e 6' AND tag CONTAINS green", vec![]),
    ] {
        assert_eq!(corpus.ids(&select(&corpus, &parse(filter))), expected, "{filter}");
    }
}

#[test]
fn long_chains_are_evaluated() {
    let documents: Vec<Value> = (0..200).map(|id| json!({ "id": id, "size": id })).collect();
    let corpus = Corpus::new(settings(), &[documents], &[7]);
    let chain = |keyword: &str, operator: &str| {
        (0..20_000).map(|size| format!("size {operator} {size}")).collect::<Vec<_>>().join(keyword)
    };
    assert_eq!(corpus.ids(&select(&corpus, &parse(&chain(" OR ", "=")))).len(), 199);
    assert_eq!(corpus.ids(&select(&corpus, &parse(&chain(" AND ", "!=")))).len(), 0);
    let list = (0..20_000).map(|size| size.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(corpus.ids(&select(&corpus, &parse(&format!("size IN [{list}]")))).len(), 199);
    assert_eq!(corpus.ids(&select(&corpus, &parse(&format!("size NOT IN [{list}]")))).len(), 0);
}

/// The texts of two moments can stand a day and more from each other's place.
#[test]
fn date_times_compare_in_time() {
    let dates = [
        "2024-02-29T12:00:00-12:30",
        "2024-03-01T13:59:00+14:00",
        "2024-02-29T22:30:00Z",
        "2024-03-01T00:30:00Z",
        "2024-02-29",
    ];
    let documents: Vec<Value> = (0u64..).zip(dates).map(|(id, date)| json!({ "id": id, "tag": date })).collect();
    let corpus = Corpus::new(settings(), &[documents[..2].to_vec(), documents[2..].to_vec()], &[]);
    for (filter, expected) in [
        ("tag > '2024-03-01T00:00:00Z'", &[0, 3][..]),
        ("tag < '2024-03-01T00:00:00Z'", &[1, 2, 4]),
        ("tag >= '2024-03-01T00:30:00.000Z'", &[0, 3]),
        ("tag <= '2024-02-29T22:30:00Z'", &[2, 4]),
        ("tag '2024-02-29T23:00:00Z' TO '2024-03-01T01:30:00+01:00'", &[0, 1, 3]),
        ("tag = '2024-03-01T00:30:00Z'", &[3]),
        ("tag > '2024-02-28'", &[0, 1, 2, 3, 4]),
    ] {
        assert_eq!(corpus.ids(&select(&corpus, &parse(filter))), expected, "{filter}");
    }
}

fn operand() -> impl Strategy<Value = String> {
    let long = prop::sample::select(vec!["x".repeat(LONG - 10), "x".repeat(LONG) + "z", "É".repeat(LONG)]);
    let usual = prop::sample::select(vec![
        "red",
        "RED",
        "éclair",
        "Ecl",
        "ab",
        "abc",
        "a",
        "12",
        "10",
        "0",
        "-0",
        "2.5",
        "1e10",
        "5",
        "true",
        "inf",
        "",
        "e",
        "2024-03-01",
        "2024-03-01T00:30:00+02:00",
        "2024-02-29T22:30:00z",
        "2024-02-29T23:00:01Z",
        "2024-02-29 18:00:00-08:00",
        "2024-02-29T23:30:00",
        "2024-03-01 00:30:00",
        "9007199254740992",
        "9007199254740993",
        "9007199254740994.0",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775807",
        "-9007199254740993",
        "9.1e15",
    ])
    .prop_map(str::to_owned);
    prop_oneof![20 => usual, 1 => long]
}

/// A day alone and a time behind a blank stand before all other texts of their day.
#[test]
fn dates_of_all_forms_compare_in_time() {
    let documents: Vec<Value> = (0u64..)
        .zip([
            "2024-02-29 23:59:00-08:00",
            "2024-03-01",
            "2024-03-01T00:00:00Z",
            "2024-03-01 00:30:00",
            "2024-03-02T01:00:00+14:00",
            "9999-12-31T23:59:59-12:00",
            "2024-02-30",
        ])
        .map(|(id, tag)| json!({ "id": id, "tag": tag }))
        .collect();
    let corpus = Corpus::new(settings(), &[documents], &[]);
    for (filter, expected) in [
        ("tag < '2024-03-01 00:30:00'", &[1, 2, 6][..]),
        ("tag >= '2024-03-01T00:30:00Z'", &[0, 3, 4, 5]),
        ("tag > '2024-03-01'", &[0, 3, 4, 5]),
        ("tag >= '2024-03-01' AND tag <= '2024-03-01T00:00:00'", &[1, 2]),
        ("tag > '2024-03-01T07:00:00Z'", &[0, 4, 5]),
        ("tag > '9999-12-31T23:59:59Z'", &[5]),
        ("tag = '2024-03-01'", &[1]),
    ] {
        assert_eq!(corpus.ids(&select(&corpus, &parse(filter))), expected, "{filter}");
    }
}

/// A large integer has the documents read, and their date-times are compared in time there, too.
#[test]
fn date_times_beside_large_integers_compare_in_time() {
    let documents = vec![json!({ "id": 1, "big": [9_007_199_254_740_992_u64, "2024-02-29T12:00:00-12:30"] })];
    let corpus = Corpus::new(settings(), &[documents], &[]);
    let found = |filter: &str| corpus.ids(&select(&corpus, &parse(filter)));
    assert_eq!(found("big '2024-02-29T23:00:01Z' TO '9007199254740993'"), [1]);
    assert_eq!(found("big '2024-03-01T00:31:00Z' TO '9007199254740993'"), [0u64; 0]);
    // Equal is the text, not the time.
    assert_eq!(found("big IN ['2024-03-01T00:30:00Z', 9007199254740993]"), [0u64; 0]);
    assert_eq!(found("big IN ['2024-02-29T12:00:00-12:30', 9007199254740993]"), [1]);
}

#[test]
fn large_integers_are_distinguished_by_their_digits() {
    let ids = ["9007199254740992", "9007199254740993", "9007199254740994", "18446744073709551615", "-9007199254740993"];
    let documents: Vec<Value> = (0u64..)
        .zip(ids)
        .map(|(id, size)| {
            serde_json::from_str(&format!(r#"{{"id":{id},"size":{size},"mixed":["x",{size}]}}"#)).unwrap()
        })
        .collect();
    let corpus = Corpus::new(settings(), &[documents[..2].to_vec(), documents[2..].to_vec()], &[]);
    for (filter, expected) in [
        ("size = 9007199254740993", &[1][..]),
        ("size = 9007199254740992", &[0]),
        ("size != 9007199254740993", &[0, 2, 3, 4]),
        ("size = 9007199254740995", &[]),
        ("size > 9007199254740992", &[1, 2, 3]),
        ("size >= 9007199254740993", &[1, 2, 3]),
        ("size < 9007199254740993", &[0, 4]),
        ("size <= 9007199254740993", &[0, 1, 4]),
        ("size 9007199254740993 TO 9007199254740994", &[1, 2]),
        ("size IN [9007199254740993, 18446744073709551615, 7]", &[1, 3]),
        ("size = 18446744073709551614", &[]),
        ("size = -9007199254740993 OR mixed = 9007199254740994", &[2, 4]),
        ("mixed = x AND NOT mixed < 9007199254740993", &[1, 2, 3]),
    ] {
        assert_eq!(corpus.ids(&select(&corpus, &parse(filter))), expected, "{filter}");
    }
}

fn negation() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "NOT "])
}

fn leaf() -> impl Strategy<Value = String> {
    let field = prop::sample::select(vec![
        "tag", "size", "big", "mixed", "deep", "deep.a", "deep.b.c", "deep.b", "maybe", "deep.x",
    ]);
    let condition = prop_oneof![
        (prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]), operand())
            .prop_map(|(symbol, value)| format!("{symbol} '{value}'")),
        (operand(), operand()).prop_map(|(from, to)| format!("'{from}' TO '{to}'")),
        (negation(), vec(operand(), 0..4)).prop_map(|(not, values)| format!(
            "{not}IN [{}]",
            values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(",")
        )),
        negation().prop_map(|not| format!("{not}EXISTS")),
        (negation(), prop::sample::select(vec!["NULL", "EMPTY"])).prop_map(|(not, what)| format!("IS {not}{what}")),
        (negation(), operand()).prop_map(|(not, value)| format!("{not}CONTAINS '{value}'")),
        (negation(), operand()).prop_map(|(not, value)| format!("{not}STARTS WITH '{value}'")),
    ];
    prop_oneof![
        12 => (field, condition).prop_map(|(field, condition)| format!("{field} {condition}")),
        1 => (-90.0..=90.0f64, -180.0..=180.0f64, 0.0..2e7f64)
            .prop_map(|(lat, lng, radius)| format!("_geoRadius({lat}, {lng}, {radius})")),
        1 => (0.0..=90.0f64, -180.0..=180.0f64, -90.0..=0.0f64, -180.0..=180.0f64)
            .prop_map(|(top, right, bottom, left)| format!("_geoBoundingBox([{top}, {right}], [{bottom}, {left}])")),
        1 => (-9i8..=9, -9i8..=9, 1e4..1e6f64)
            .prop_map(|(lat, lng, radius)| format!("_geoRadius({lat}, {lng}, {radius})")),
        2 => vec((-9i16..=9, -9i16..=9), 3..7).prop_map(|corners| polygon(&corners)),
        2 => vec((-90i16..=90, prop_oneof![3 => -180i16..=180, 1 => Just(180), 1 => Just(-180)]), 3..7)
            .prop_map(|corners| polygon(&corners)),
    ]
}

fn polygon(corners: &[(i16, i16)]) -> String {
    let corners: Vec<_> = corners.iter().map(|(lat, lng)| format!("[{lat}, {lng}]")).collect();
    format!("_geoPolygon({})", corners.join(", "))
}

fn filter() -> impl Strategy<Value = String> {
    leaf().prop_recursive(4, 16, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..7).prop_map(|filters| format!("({})", filters.join(" AND "))),
            vec(inner.clone(), 2..7).prop_map(|filters| format!("({})", filters.join(" OR "))),
            inner.prop_map(|filter| format!("NOT ({filter})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The documents found are those that pass the filter when read one by one.
    #[test]
    fn filters_find_what_a_scan_finds((batches, deleted) in documents(), filters in vec(filter(), 24)) {
        let corpus = Corpus::new(settings(), &batches, &deleted);
        for filter in filters {
            let filter = parse(&filter);
            let found = corpus.ids(&select(&corpus, &filter));
            prop_assert_eq!(found, corpus.expected_ids(|document| matches(document, &filter)), "{}", filter);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// So they do in segments with long lists, bitsets and more than one word of them.
    #[test]
    fn filters_find_what_a_scan_finds_in_larger_segments(
        (batches, _) in documents(),
        filters in vec(filter(), 12),
        count in 65u64..400,
    ) {
        let kinds: Vec<&Value> = batches.iter().flatten().collect();
        prop_assume!(!kinds.is_empty());
        let document = |id: u64| {
            let mut document = kinds[(id * 7 + id / 5) as usize % kinds.len()].clone();
            document["id"] = id.into();
            document
        };
        let documents: Vec<Value> = (0..count).map(document).collect();
        let deleted: Vec<u64> = (0..count).filter(|id| id % 13 == 5).collect();
        let corpus = Corpus::new(settings(), &[documents], &deleted);
        for filter in filters {
            let filter = parse(&filter);
            let found = corpus.ids(&select(&corpus, &filter));
            prop_assert_eq!(found, corpus.expected_ids(|document| matches(document, &filter)), "{}", filter);
        }
    }
}
