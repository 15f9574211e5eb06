use serde_json::json;

use super::FilterErrorKind as Kind;
use super::*;

/// The canonical text of what `text` means.
fn meaning(text: &str) -> String {
    Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).expect("not blank").to_string()
}

/// The kind and the columns of the error of `text`.
fn failure(text: &str) -> (FilterErrorKind, (usize, usize)) {
    let error = Filter::parse(text).expect_err(text);
    let columns = error.location().expect("a text error has a place").columns();
    let place = format!(", at {}:{} {text}", columns.0, columns.1);
    assert!(error.to_string().ends_with(&place), "{error}");
    (error.kind().clone(), columns)
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(meaning(text), expected, "{text}");
    assert_eq!(meaning(expected), expected, "the canonical text means itself");
}

#[track_caller]
fn check_error(text: &str, kind: FilterErrorKind, columns: (usize, usize)) {
    assert_eq!(failure(text), (kind, columns), "{text}");
}

#[test]
fn conditions() {
    check("channel = Ponce", r#""channel" = "Ponce""#);
    check("subscribers=12", r#""subscribers" = "12""#);
    check("n!=-3.5", r#""n" != "-3.5""#);
    check("n>1", r#""n" > "1""#);
    check("n >= 1", r#""n" >= "1""#);
    check("n<1", r#""n" < "1""#);
    check("n<= 1", r#""n" <= "1""#);
    check("n 100 TO 1000", r#""n" "100" TO "1000""#);
    check("'a''b'TO'c'", r#""a" "b" TO "c""#);
    check("c IN[]", r#""c" IN []"#);
    check(" c IN [  green , blue , ]", r#""c" IN ["green", "blue"]"#);
    check("c NOT IN[green,blue]", r#"NOT "c" IN ["green", "blue"]"#);
    check("a.b EXISTS", r#""a.b" EXISTS"#);
    check("a NOT   EXISTS", r#"NOT "a" EXISTS"#);
    check("a IS NULL", r#""a" IS NULL"#);
    check("a IS   NOT NULL", r#"NOT "a" IS NULL"#);
    check("a IS EMPTY", r#""a" IS EMPTY"#);
    check("a IS NOT EMPTY", r#"NOT "a" IS EMPTY"#);
    check("a CONTAINS hel", r#""a" CONTAINS "hel""#);
    check("a NOT CONTAINS 'hel'", r#"NOT "a" CONTAINS "hel""#);
    check("a STARTS WITH 'hel'", r#""a" STARTS WITH "hel""#);
    check("a NOT STARTS  WITH hel", r#"NOT "a" STARTS WITH "hel""#);
    check("été = 東京", r#""été" = "東京""#);
}

#[test]
fn quotes_and_escapes() {
    check("'dog race' = \"Bernese Mountain\"", r#""dog race" = "Bernese Mountain""#);
    check(r#"a = "it's""#, r#""a" = "it's""#);
    check(r#"a = 'say "hi"'"#, r#""a" = "say \"hi\"""#);
    check(r"a = 'it\'s \\ \x41\u{e9}'", r#""a" = "it's \\ Aé""#);
    check(r"a = 'x\n\t\r'", "\"a\" = \"x\n\t\r\"");
    check("a = ''", r#""a" = """#);
    check("'OR' = x AND x = \"NOT\"", r#""OR" = "x" AND "x" = "NOT""#);
    check("or = and", r#""or" = "and""#);
    check_error(r"a = 'b\q'", Kind::MalformedValue, (6, 9));
    check_error(r"a = '\xZZ'", Kind::InvalidEscapedNumber, (6, 10));
    check_error(r"a = '\u{110000}'", Kind::InvalidEscapedNumber, (6, 16));
    check_error("channel = 'ponce", Kind::MissingClosingDelimiter('\''), (11, 17));
    check_error(r"a = 'b\", Kind::MissingClosingDelimiter('\''), (5, 8));
}

#[test]
fn precedence() {
    check("a = 1 OR b = 2 AND c = 3", r#""a" = "1" OR ("b" = "2" AND "c" = "3")"#);
    check("(a = 1 OR b = 2)AND c = 3", r#"("a" = "1" OR "b" = "2") AND "c" = "3""#);
    check("NOT a = 1 AND b = 2", r#"NOT "a" = "1" AND "b" = "2""#);
    check("NOT (a = 1 AND b = 2)", r#"NOT ("a" = "1" AND "b" = "2")"#);
    check("NOT NOT a = 1", r#""a" = "1""#);
    check("NOT NOT (NOT NOT a = 1)", r#""a" = "1""#);
    check("NOT a NOT EXISTS", r#""a" EXISTS"#);
    check("((((a=1))))", r#""a" = "1""#);
    check("NOT(a=1)OR(b=2)", r#"NOT "a" = "1" OR "b" = "2""#);
}

#[test]
fn blank_filters_ask_for_nothing() {
    for blank in ["", "  ", "\n\t"] {
        assert_eq!(Filter::parse(blank), Ok(None));
    }
}

#[test]
fn geo_functions() {
    check("_geoRadius(12, 13, 14)", "_geoRadius(12, 13, 14)");
    check("_geoRadius ( -12.5,+1e1,14 , 100)", "_geoRadius(-12.5, 10, 14, 100)");
    check("_geoBoundingBox([12,13],[4, 5])", "_geoBoundingBox([12, 13], [4, 5])");
    check("NOT _geoPolygon([0,0],[0,1],[1,1])", "NOT _geoPolygon([0, 0], [0, 1], [1, 1])");

    check_error("_geoRadius", Kind::GeoRadius, (1, 11));
    check_error("_geoRadius = 12", Kind::GeoRadius, (1, 16));
    check_error("_geoRadius(nan, 1, 2)", Kind::GeoRadius, (1, 22));
    check_error("_geoRadius(1, 2)", Kind::GeoRadiusArgumentCount(2), (1, 17));
    check_error("_geoRadius(1, 2, 1e999)", Kind::NonFiniteNumber, (18, 23));
    check_error("_geoBoundingBox(1.0, 1.0)", Kind::GeoBoundingBox, (1, 26));
    check_error("_geoBoundingBox([1,2],[3])", Kind::GeoPairCount(1), (1, 27));
    check_error("_geoPolygon([1,2],[3,4])", Kind::GeoPolygonPointCount(2), (1, 25));
    check_error("_geoPolygon(1,2)", Kind::GeoPolygon, (1, 17));
    let latitude = Kind::Coordinates(CoordinatesError::Latitude(-100.0));
    check_error("_geoRadius(-100, 150, 10)", latitude, (12, 16));
    let longitude = Kind::Coordinates(CoordinatesError::Longitude(250.0));
    check_error("_geoRadius(-10, 250, 10)", longitude, (17, 20));
    let upside_down = Kind::BoxUpsideDown { top: 1.0, bottom: 3.0 };
    check_error("_geoBoundingBox([1, 2], [3, 4])", upside_down, (18, 19));
    check_error("position <= _geoRadius(12, 13, 14)", Kind::GeoOperationAsValue("_geoRadius"), (13, 35));
    for (text, name) in
        [("_geoPoint(12, 13, 14)", "_geoPoint"), ("_geo = 12", "_geo"), ("_geoDistance", "_geoDistance")]
    {
        check_error(text, Kind::ReservedGeo(name), (1, text.len() + 1));
    }
    check("_geoX = 1", r#""_geoX" = "1""#);
}

#[test]
fn vectors() {
    check("_vectors EXISTS", "_vectors EXISTS");
    check("_vector NOT EXISTS", "NOT _vectors EXISTS");
    check("_vectors.rest EXISTS", r#"_vectors."rest" EXISTS"#);
    check("_vectors.'a b'.userProvided EXISTS", r#"_vectors."a b".userProvided EXISTS"#);
    check("_vectors.rest.documentTemplate EXISTS", r#"_vectors."rest".documentTemplate EXISTS"#);
    check("_vectors.rest.regenerate EXISTS", r#"_vectors."rest".regenerate EXISTS"#);
    check("_vectors.rest.fragments.'x.y' EXISTS", r#"_vectors."rest".fragments."x.y" EXISTS"#);
    check("_vectorsX = 1", r#""_vectorsX" = "1""#);

    check_error("_vectors.rest = 1", Kind::VectorsOperation, (15, 18));
    check_error("_vectors. EXISTS", Kind::VectorsEmbedder, (9, 17));
    check_error("_vectors.a.fragments EXISTS", Kind::VectorsFragment, (12, 21));
    check_error("_vectors.a.x EXISTS", Kind::VectorsKind("x".to_owned()), (11, 20));
    check_error("_vectors.a.regenerate.x EXISTS", Kind::VectorsLeftover, (22, 31));
}

#[test]
fn foreign() {
    check("_foreign(author, name = x OR NOT a = 1)", r#"_foreign("author", "name" = "x" OR NOT "a" = "1")"#);
    check_error("_foreign(author)", Kind::Foreign, (1, 17));
    assert!(Filter::parse("a = 1 AND _foreign(b, c = 1)").unwrap().unwrap().first_foreign().is_some());
}

#[test]
fn errors() {
    check_error("title & Glass", Kind::ExpectedOperation, (1, 14));
    check_error("title = Glass XOR title = Glass", Kind::ExpectedEnd, (15, 32));
    check_error("channel = Ponce = 12", Kind::ExpectedEnd, (17, 21));
    check_error("a = 1)", Kind::ExpectedEnd, (6, 7));
    check_error("channel = ponce ORdog != 'b'", Kind::ExpectedEnd, (17, 29));
    check_error("channel =    ", Kind::ExpectedValue, (14, 14));
    check_error("channel = 🐻 AND followers < 100", Kind::ExpectedValue, (11, 12));
    check_error("'OR'", Kind::ExpectedOperation, (1, 5));
    check_error("OR", Kind::ReservedKeyword, (1, 3));
    check_error("AND = 8", Kind::ReservedKeyword, (1, 4));
    check_error("x = EXISTS", Kind::ReservedKeyword, (5, 11));
    check_error("NOT OR EXISTS", Kind::ReservedKeyword, (5, 7));
    check_error("channel = Ponce OR", Kind::ExpectedOperation, (19, 19));
    check_error("a = 1 OR (b >= 1", Kind::MissingClosingDelimiter(')'), (10, 17));
    for text in [
        "channel Ponce",
        "colour NOT EXIST",
        "n 100 TO1000",
        "n TO 3",
        "value NULL",
        "value NOT NULL",
        "value NOT EMPTY",
        "value IS",
        "value IS NOT",
        "value IS EXISTS",
        "value STARTS x",
        "🐻 = 1",
    ] {
        check_error(text, Kind::ExpectedOperation, (1, text.chars().count() + 1));
    }
    check_error("c IN blue, green]", Kind::InOpeningBracket, (6, 18));
    check_error("c IN [blue, 'blue' > 2]", Kind::InExpectedValue, (20, 24));
    check_error("c IN [blue, AND]", Kind::InExpectedValue, (13, 17));
    check_error("c IN [blue, green", Kind::InClosingBracket, (18, 18));
    check_error("c IN [", Kind::InClosingBracket, (7, 7));
    check_error("a = '\n", Kind::MissingClosingDelimiter('\''), (5, 7));
}

#[test]
fn json_form() {
    let parsed = |value| Filter::from_json(&value).unwrap().map(|filter| filter.to_string());
    assert_eq!(
        parsed(json!(["a = 1", ["b = 2", "b = 3"], "NOT c = 4"])).unwrap(),
        r#""a" = "1" AND ("b" = "2" OR "b" = "3") AND NOT "c" = "4""#
    );
    assert_eq!(parsed(json!("a = 1")).unwrap(), r#""a" = "1""#);
    assert_eq!(parsed(json!([["a = 1 AND b = 2"]])).unwrap(), r#""a" = "1" AND "b" = "2""#);
    assert_eq!(parsed(json!([["a = 1", ""], [], ""])).unwrap(), r#""a" = "1""#);
    for nothing in [json!(null), json!(""), json!([]), json!([[], ["", " "]])] {
        assert_eq!(parsed(nothing), None);
    }

    let kind = |value| Filter::from_json(&value).unwrap_err().kind().clone();
    let wrong = |expected, found: &str| Kind::JsonType { expected, found: found.to_owned() };
    assert_eq!(kind(json!(true)), wrong("String, Array", "true"));
    assert_eq!(kind(json!([12])), wrong("String, [String]", "12"));
    assert_eq!(kind(json!([[["n = 1"]]])), wrong("String", r#"["n = 1"]"#));
    let error = Filter::from_json(&json!(["a = 1", "b ="])).unwrap_err();
    assert_eq!(error.location().unwrap().to_string(), "4:4 b =");
}

#[test]
fn depth_is_bounded() {
    let limit = Kind::DepthLimit;
    let nested = |depth| format!("{}a = 1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Filter::parse(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(failure(&nested(MAX_DEPTH + 1)).0, limit);
    assert_eq!(failure(&nested(100_000)).0, limit);
    assert!(Filter::parse(&format!("{}a = 1", "NOT ".repeat(MAX_DEPTH))).is_ok());
    assert_eq!(failure(&format!("{}a = 1", "NOT ".repeat(100_000))).0, limit);
    assert_eq!(failure(&format!("{}a = 1", "NOT (".repeat(MAX_DEPTH / 2 + 1))).0, limit);
}

#[test]
fn long_flat_filters() {
    let values: Vec<String> = (0..50_000).map(|i| i.to_string()).collect();
    for keyword in [" OR ", " AND "] {
        let chain = values.iter().map(|value| format!("a = {value}")).collect::<Vec<_>>().join(keyword);
        match Filter::parse(&chain).unwrap().unwrap() {
            Filter::Or(filters) | Filter::And(filters) => assert_eq!(filters.len(), values.len()),
            other => panic!("{other:?}"),
        }
    }
    let list = format!("a IN [{}]", values.join(","));
    let Some(Filter::Condition { condition: Condition::In(parsed), .. }) = Filter::parse(&list).unwrap() else {
        panic!("a list")
    };
    assert_eq!(parsed, values);
}

#[test]
fn contains_is_found_for_the_gate() {
    let filter = Filter::parse("a = 1 AND NOT (b CONTAINS x OR c CONTAINS y)").unwrap().unwrap();
    assert_eq!(filter.first_contains().unwrap().columns(), (18, 26));
    assert_eq!(Filter::parse("a STARTS WITH x").unwrap().unwrap().first_contains(), None);
}

#[test]
fn filters_have_a_size() {
    let kind = |filter: serde_json::Value| Filter::from_json(&filter).map_err(|error| error.kind().clone());
    let chain = vec!["a = 1"; CONDITIONS_MAX].join(" OR ");
    assert!(kind(json!(chain)).is_ok());
    let error = Filter::parse(&format!("{chain} OR a = 1")).unwrap_err();
    assert_eq!(error.kind(), &FilterErrorKind::ConditionLimit);
    assert!(error.to_string().len() < 300, "without the filter: {error}");
    // All texts count together.
    let half = vec!["a = 1"; CONDITIONS_MAX / 2 + 1].join(" OR ");
    assert_eq!(kind(json!([half, half])), Err(FilterErrorKind::ConditionLimit));
    assert_eq!(kind(json!([[half, half]])), Err(FilterErrorKind::ConditionLimit));
    assert_eq!(kind(json!(vec!["a = 1"; CONDITIONS_MAX + 1])), Err(FilterErrorKind::ConditionLimit));
    let list = |count: usize| format!("a IN [{}]", vec!["1"; count].join(","));
    assert!(kind(json!(list(VALUES_MAX))).is_ok());
    assert_eq!(kind(json!(list(VALUES_MAX + 1))), Err(FilterErrorKind::ValueLimit));
    let polygon = format!("_geoPolygon({})", vec!["[1,2]"; VALUES_MAX + 1].join(","));
    assert_eq!(kind(json!(polygon)), Err(FilterErrorKind::ValueLimit));
    let numbers = format!("_geoRadius({})", vec!["1"; 1_000_000].join(","));
    assert_eq!(kind(json!(numbers)), Err(FilterErrorKind::GeoRadius));
}
