//! The canonical text is read back as the same tree, and no text makes the parser panic.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

fn located<T>(value: T) -> Located<T> {
    Located { value, at: Location::new(&Arc::from(""), 0, 0) }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_.-]{1,8}",
        "\\PC{0,8}",
        ".{0,4}",
        Just("OR".to_owned()),
        Just("_geo".to_owned()),
        Just("\\\"'".to_owned()),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let comparison = prop_oneof![
        Just(Comparison::Greater),
        Just(Comparison::GreaterOrEqual),
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual)
    ];
    prop_oneof![
        text().prop_map(Condition::Equal),
        text().prop_map(Condition::NotEqual),
        (comparison, text()).prop_map(|(comparison, value)| Condition::Compare(comparison, value)),
        (text(), text()).prop_map(|(from, to)| Condition::Between { from, to }),
        vec(text(), 0..4).prop_map(Condition::In),
        Just(Condition::Exists),
        Just(Condition::Null),
        Just(Condition::Empty),
        text().prop_map(|value| Condition::Contains(located(value))),
        text().prop_map(Condition::StartsWith),
    ]
}

fn coordinates() -> impl Strategy<Value = Coordinates> {
    (-90.0..=90.0, -180.0..=180.0).prop_map(|(latitude, longitude)| Coordinates::new(latitude, longitude).unwrap())
}

fn vectors() -> impl Strategy<Value = Vectors> {
    let kind = prop_oneof![
        Just(VectorsKind::UserProvided),
        Just(VectorsKind::DocumentTemplate),
        Just(VectorsKind::Regenerate),
        text().prop_map(|name| VectorsKind::Fragment(located(name))),
    ];
    option::of((text(), option::of(kind))).prop_map(|embedder| match embedder {
        None => Vectors { embedder: None, kind: None },
        Some((name, kind)) => Vectors { embedder: Some(located(name)), kind },
    })
}

fn leaf() -> impl Strategy<Value = Filter> {
    prop_oneof![
        8 => (text(), condition())
            .prop_map(|(field, condition)| Filter::Condition { field: located(field), condition }),
        1 => (coordinates(), 0.0..1e7, option::of(3.0..1000.0)).prop_map(|(center, radius_m, resolution)| {
            Filter::GeoRadius { center, radius_m, resolution, at: located(()) }
        }),
        1 => (coordinates(), coordinates()).prop_map(|(a, b)| {
            let (top_right, bottom_left) = if a.latitude() < b.latitude() { (b, a) } else { (a, b) };
            Filter::GeoBoundingBox { top_right, bottom_left, at: located(()) }
        }),
        1 => vec(coordinates(), 3..6).prop_map(|points| Filter::GeoPolygon { points, at: located(()) }),
        1 => vectors().prop_map(|vectors| Filter::Vectors(located(vectors))),
    ]
}

/// Generates filters that may stand between brackets.
fn of_element() -> impl Strategy<Value = Filter> {
    let leaf =
        (text(), condition()).prop_map(|(field, condition)| Filter::Condition { field: located(field), condition });
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Filter::And),
            vec(inner.clone(), 2..4).prop_map(Filter::Or),
            inner.clone().prop_map(|filter| !filter),
            (text(), inner)
                .prop_map(|(field, filter)| { Filter::Element { field: located(field), filter: Box::new(filter) } }),
        ]
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    leaf().prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Filter::And),
            vec(inner.clone(), 2..4).prop_map(Filter::Or),
            inner.clone().prop_map(|filter| !filter),
            (text(), of_element())
                .prop_map(|(field, filter)| { Filter::Element { field: located(field), filter: Box::new(filter) } }),
            (text(), inner).prop_map(|(field, filter)| {
                Filter::Foreign { field: located(field), filter: Box::new(filter), at: located(()) }
            }),
        ]
    })
}

/// Pieces of the language in any order get further than random characters.
fn almost_a_filter() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "1",
        "'b'",
        "\"",
        "'",
        "\\",
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "=",
        "!=",
        "<",
        ">=",
        "AND",
        "OR",
        "NOT",
        "IN",
        "TO",
        "EXISTS",
        "IS",
        "NULL",
        "EMPTY",
        "CONTAINS",
        "STARTS",
        "WITH",
        "_geoRadius",
        "_geoBoundingBox",
        "_geoPolygon",
        "_vectors",
        ".fragments",
        "_foreign",
        "_geo",
        "1e5",
        "-",
        "é",
        "🐻",
        "\n",
    ]);
    vec((piece, prop::sample::select(vec!["", " "])), 0..24)
        .prop_map(|pieces| pieces.into_iter().flat_map(|(piece, space)| [piece, space]).collect())
}

proptest! {
    #[test]
    fn canonical_text_means_the_same(filter in filter()) {
        let text = filter.to_string();
        prop_assert_eq!(Filter::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?, Some(filter));
    }

    #[test]
    fn any_text_is_answered(text in prop_oneof![any::<String>(), almost_a_filter()]) {
        if let Err(error) = Filter::parse(&text) {
            let (start, end) = error.location().expect("a text error has a place").columns();
            prop_assert!(1 <= start);
            prop_assert!(start <= end);
            prop_assert!(end <= text.chars().count() + 1);
            prop_assert!(error.to_string().ends_with(&text));
        }
    }
}
