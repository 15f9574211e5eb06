use serde_json::json;

use super::*;

/// The canonical text of what `text` means.
fn meaning(text: &str) -> String {
    Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).expect("not blank").to_string()
}

/// The sentence and the columns of the error of `text`.
fn failure(text: &str) -> (String, (usize, usize)) {
    let error = Filter::parse(text).expect_err(text);
    let columns = error.location().expect("a text error has a place").columns();
    let shown = error.to_string();
    let (sentence, place) = shown.split_once('\n').expect("two lines");
    assert_eq!(place, format!("{}:{} {text}", columns.0, columns.1));
    (sentence.to_owned(), columns)
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(meaning(text), expected, "{text}");
    assert_eq!(meaning(expected), expected, "the canonical text means itself");
}

#[track_caller]
fn check_error(text: &str, sentence: &str, columns: (usize, usize)) {
    assert_eq!(failure(text), (sentence.to_owned(), columns), "{text}");
}

const OPERATIONS: &str = "Was expecting an operation `=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, `TO`, \
    `EXISTS`, `NOT EXISTS`, `IS NULL`, `IS NOT NULL`, `IS EMPTY`, `IS NOT EMPTY`, `CONTAINS`, `NOT CONTAINS`, \
    `STARTS WITH`, `NOT STARTS WITH`, `_geoRadius`, `_geoBoundingBox` or `_geoPolygon`";

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
    check_error(r"a = 'b\q'", r"Malformed value: `b\\q`.", (6, 9));
    check_error(r"a = '\xZZ'", r"Found an invalid escaped sequence number: `\\xZZ`.", (6, 10));
    check_error(r"a = '\u{110000}'", r"Found an invalid escaped sequence number: `\\u{110000}`.", (6, 16));
    check_error("channel = 'ponce", r"Expression `\'ponce` is missing the following closing delimiter: `'`.", (11, 17));
    check_error(r"a = 'b\", r"Expression `\'b\\` is missing the following closing delimiter: `'`.", (5, 8));
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

    let radius = "The `_geoRadius` filter must be in the form: `_geoRadius(latitude, longitude, radius, \
                  optionalResolution)`.";
    check_error("_geoRadius", radius, (1, 11));
    check_error("_geoRadius = 12", radius, (1, 16));
    check_error("_geoRadius(nan, 1, 2)", radius, (1, 22));
    let count = "Was expecting 3 or 4 arguments for `_geoRadius`, but instead found 2.";
    check_error("_geoRadius(1, 2)", count, (1, 17));
    check_error("_geoRadius(1, 2, 1e999)", "Non finite floats are not supported", (18, 23));
    let boxed = "The `_geoBoundingBox` filter expects two pairs of arguments: `_geoBoundingBox([latitude, longitude], \
                 [latitude, longitude])`.";
    check_error("_geoBoundingBox(1.0, 1.0)", boxed, (1, 26));
    check_error("_geoBoundingBox([1,2],[3])", "Was expecting 2 coordinates but instead found 1.", (1, 27));
    check_error(
        "_geoPolygon([1,2],[3,4])",
        "The `_geoPolygon` filter expects at least 3 points but only 2 were specified",
        (1, 25),
    );
    let polygon = "The `_geoPolygon` filter doesn't match the expected format: `_geoPolygon([latitude, longitude], \
                   [latitude, longitude])`.";
    check_error("_geoPolygon(1,2)", polygon, (1, 17));
    check_error(
        "_geoRadius(-100, 150, 10)",
        "Bad latitude `-100`. Latitude must be contained between -90 and 90 degrees.",
        (12, 16),
    );
    check_error(
        "_geoRadius(-10, 250, 10)",
        "Bad longitude `250`. Longitude must be contained between -180 and 180 degrees. Hint: try using `-110` instead.",
        (17, 20),
    );
    check_error("_geoBoundingBox([1, 2], [3, 4])", "The top latitude `1` is below the bottom latitude `3`.", (18, 19));
    let misused = "The `_geoRadius` filter is an operation and can't be used as a value.";
    check_error("position <= _geoRadius(12, 13, 14)", misused, (13, 35));
    for (text, name) in
        [("_geoPoint(12, 13, 14)", "_geoPoint"), ("_geo = 12", "_geo"), ("_geoDistance", "_geoDistance")]
    {
        let (sentence, columns) = failure(text);
        assert!(sentence.starts_with(&format!("`{name}` is a reserved keyword and thus can't be used as a filter")));
        assert_eq!(columns, (1, text.len() + 1));
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

    let operation = "Was expecting an operation like `EXISTS` or `NOT EXISTS` after the vector filter.";
    check_error("_vectors.rest = 1", operation, (15, 18));
    check_error("_vectors. EXISTS", "Was expecting embedder name but found nothing.", (9, 17));
    check_error("_vectors.a.fragments EXISTS", "The vector filter is missing a fragment name.", (12, 21));
    let kind = "Was expecting one of `fragments`, `userProvided`, `documentTemplate`, `regenerate` or nothing, but \
                instead found `x`.";
    check_error("_vectors.a.x EXISTS", kind, (11, 20));
    let leftover = "The vector filter has leftover tokens.";
    check_error("_vectors.a.regenerate.x EXISTS", leftover, (22, 31));
}

#[test]
fn foreign() {
    check("_foreign(author, name = x OR NOT a = 1)", r#"_foreign("author", "name" = "x" OR NOT "a" = "1")"#);
    let malformed = "The `_foreign` filter must be in the form: `_foreign(field, filter)`.";
    check_error("_foreign(author)", malformed, (1, 17));
    assert!(Filter::parse("a = 1 AND _foreign(b, c = 1)").unwrap().unwrap().first_foreign().is_some());
}

#[test]
fn errors() {
    let at = |text: &str| format!("{OPERATIONS} at `{text}`.");
    let value = |text: &str| format!("Was expecting a value but instead got `{text}`.");
    let nothing = "Was expecting a value but instead got nothing.";
    let reserved = |word: &str| {
        format!(
            "Was expecting a value but instead got `{word}`, which is a reserved keyword. To use `{word}` as a field \
             name or a value, surround it by quotes."
        )
    };
    let trailing = |text: &str| {
        format!(
            "Found unexpected characters at the end of the filter: `{text}`. You probably forgot an `OR` or an `AND` \
             rule."
        )
    };
    check_error("title & Glass", &at("title & Glass"), (1, 14));
    check_error("title = Glass XOR title = Glass", &trailing("XOR title = Glass"), (15, 32));
    check_error("channel = Ponce = 12", &trailing("= 12"), (17, 21));
    check_error("a = 1)", &trailing(")"), (6, 7));
    check_error("channel = ponce ORdog != 'b'", &trailing(r"ORdog != \'b\'"), (17, 29));
    check_error("channel =    ", nothing, (14, 14));
    check_error("channel = 🐻 AND followers < 100", &value("🐻"), (11, 12));
    check_error("'OR'", &at(r"\'OR\'"), (1, 5));
    check_error("OR", &reserved("OR"), (1, 3));
    check_error("AND = 8", &reserved("AND"), (1, 4));
    check_error("x = EXISTS", &reserved("EXISTS"), (5, 11));
    check_error("NOT OR EXISTS", &reserved("OR"), (5, 7));
    check_error("channel = Ponce OR", &format!("{OPERATIONS} but instead got nothing."), (19, 19));
    check_error("a = 1 OR (b >= 1", "Expression `(b >= 1` is missing the following closing delimiter: `)`.", (10, 17));
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
        check_error(text, &at(text), (1, text.chars().count() + 1));
    }
    check_error("c IN blue, green]", "Expected `[` after `IN` keyword.", (6, 18));
    let only =
        |text: &str| format!("Expected only comma-separated field names inside `IN[..]` but instead found `{text}`.");
    check_error("c IN [blue, 'blue' > 2]", &only("> 2]"), (20, 24));
    check_error("c IN [blue, AND]", &only("AND]"), (13, 17));
    let unclosed = "Expected matching `]` after the list of field names given to `IN[`";
    check_error("c IN [blue, green", unclosed, (18, 18));
    check_error("c IN [", unclosed, (7, 7));
    check_error("a = '\n", r"Expression `\'\n` is missing the following closing delimiter: `'`.", (5, 7));
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

    let error = |value| Filter::from_json(&value).unwrap_err().to_string();
    assert_eq!(error(json!(true)), "Invalid syntax for the filter parameter: `expected String, Array, found: true`.");
    assert_eq!(error(json!([12])), "Invalid syntax for the filter parameter: `expected String, [String], found: 12`.");
    assert_eq!(
        error(json!([[["n = 1"]]])),
        r#"Invalid syntax for the filter parameter: `expected String, found: ["n = 1"]`."#
    );
    assert!(error(json!(["a = 1", "b ="])).ends_with("\n4:4 b ="));
}

#[test]
fn depth_is_bounded() {
    let limit = "The filter exceeded the maximum depth limit. Try rewriting the filter so that it contains fewer nested \
                 conditions.";
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
    assert!(error.to_string().len() < 300, "the filter is not repeated: {error}");
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
