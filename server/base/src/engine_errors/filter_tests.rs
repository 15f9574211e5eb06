use lamina_engine::condition::PreparedFilter;
use lamina_engine::document::FieldMap;
use lamina_engine::filter::Filter;
use lamina_engine::index::Settings;
use lamina_engine::index::settings::AvailableAttributes;
use serde_json::{Value, json};

use super::*;

/// The sentence and the columns of the error of `text`.
fn failure(text: &str) -> (String, (usize, usize)) {
    let error = Filter::parse(text).expect_err(text);
    let columns = error.location().expect("a text error has a place").columns();
    let shown = error.sentence();
    let (sentence, place) = shown.split_once('\n').expect("two lines");
    assert_eq!(place, format!("{}:{} {text}", columns.0, columns.1));
    (sentence.to_owned(), columns)
}

#[track_caller]
fn check_error(text: &str, sentence: &str, columns: (usize, usize)) {
    assert_eq!(failure(text), (sentence.to_owned(), columns), "{text}");
}

const OPERATIONS: &str = "Was expecting an operation `=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, `TO`, \
    `EXISTS`, `NOT EXISTS`, `IS NULL`, `IS NOT NULL`, `IS EMPTY`, `IS NOT EMPTY`, `CONTAINS`, `NOT CONTAINS`, \
    `STARTS WITH`, `NOT STARTS WITH`, `_geoRadius`, `_geoBoundingBox` or `_geoPolygon`";

#[test]
fn geo_functions() {
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
}

#[test]
fn vectors() {
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
    let malformed = "The `_foreign` filter must be in the form: `_foreign(field, filter)`.";
    check_error("_foreign(author)", malformed, (1, 17));
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
    let error = |value| Filter::from_json(&value).unwrap_err().sentence();
    assert_eq!(error(json!(true)), "Invalid syntax for the filter parameter: `expected String, Array, found: true`.");
    assert_eq!(error(json!([12])), "Invalid syntax for the filter parameter: `expected String, [String], found: 12`.");
    assert_eq!(
        error(json!([[["n = 1"]]])),
        r#"Invalid syntax for the filter parameter: `expected String, found: ["n = 1"]`."#
    );
    assert!(error(json!(["a = 1", "b ="])).ends_with("\n4:4 b ="));
}

#[test]
fn depth() {
    let limit = "The filter exceeded the maximum depth limit. Try rewriting the filter so that it contains fewer nested \
                 conditions.";
    assert_eq!(failure(&format!("{}a = 1", "(".repeat(100_000))).0, limit);
}

/// Returns the message with which `filter` is refused under these `filterableAttributes`.
fn refusal(filterable: Value, filter: &str) -> String {
    let settings: Settings = serde_json::from_value(json!({
        "filterableAttributes": filterable,
        "embedders": { "rest": { "indexingFragments": { "basic": {}, "other": {} } }, "local": {} },
    }))
    .unwrap();
    let fields = FieldMap::default().snapshot();
    PreparedFilter::new(&Filter::parse(filter).unwrap().unwrap(), &settings, &fields).expect_err(filter).sentence()
}

#[test]
fn fields_must_be_filterable() {
    assert_eq!(
        refusal(json!([]), "many = Glass"),
        "Attribute `many` is not filterable. This index does not have configured filterable attributes. \
         `lamina settings add filterableAttributes many` changes that.\n1:5 many = Glass"
    );
    assert_eq!(
        refusal(json!(["title", { "attributePatterns": ["cat_*", "a"] }]), "title = 1 OR NOT many = Glass"),
        "Attribute `many` is not filterable. Available filterable attribute patterns are: `a`, `cat_*`, `title`. \
         `lamina settings add filterableAttributes many` changes that.\n\
         18:22 title = 1 OR NOT many = Glass"
    );
    assert_eq!(
        refusal(json!(["title"]), "_geoRadius(1, 2, 3)"),
        "Attribute `_geo/_geojson` is not filterable. Available filterable attribute patterns are: `title`. \
         `lamina settings add filterableAttributes _geo` changes that.\n\
         1:20 _geoRadius(1, 2, 3)"
    );
    assert!(refusal(json!(["geo"]), "_geoPolygon([0,0],[0,1],[1,1])").starts_with("Attribute `_geojson` is not"));
    assert!(refusal(json!(["_geo"]), "'_geo' EXISTS").starts_with("`_geo` is a reserved keyword"));
}

#[test]
fn operators_must_be_enabled() {
    let rule = json!([{ "attributePatterns": ["a.b"] }]);
    assert_eq!(
        refusal(rule.clone(), "a.b > 1"),
        "Filter operator `>` is not allowed for the attribute `a.b`.\n  - Note: allowed operators: OR, AND, NOT, =, !=, \
         IN, IS EMPTY, IS NULL, EXISTS.\n  - Note: field `a.b` matched rule #0 in `filterableAttributes`\n  - Hint: \
         enable comparison in rule #0 by modifying the features.filter object\n  - Hint: prepend another rule matching \
         `a.b` with appropriate filter features before rule #0"
    );
    assert!(refusal(rule.clone(), "a.b 1 TO 2").starts_with("Filter operator `TO` is not allowed"));
    let comparison_only = json!(["x", { "attributePatterns": ["*"], "features": { "filter": { "equality": false, "comparison": true } } }]);
    for (filter, operator) in [("y = 1", "="), ("y != 1", "!="), ("y NOT IN [1]", "IN")] {
        let refused = refusal(comparison_only.clone(), filter);
        assert!(refused.starts_with(&format!("Filter operator `{operator}` is not allowed")), "{refused}");
        assert!(refused.contains("enable equality in rule #1"), "{refused}");
    }
}

#[test]
fn embedders_must_exist() {
    assert_eq!(
        refusal(json!([]), "_vectors.rset EXISTS"),
        "The embedder `rset` does not exist. Available embedders are: `local`, `rest`. Did you mean `rest`?\n\
         10:14 _vectors.rset EXISTS"
    );
    assert_eq!(
        refusal(json!([]), "_vectors.rest.fragments.nothing EXISTS"),
        "The fragment `nothing` does not exist on embedder `rest`. Available fragments on this embedder are: `basic`, \
         `other`.\n25:32 _vectors.rest.fragments.nothing EXISTS"
    );
}

#[test]
fn hidden_names_are_not_shown() {
    let settings: Settings = serde_json::from_value(json!({
        "filterableAttributes": ["secret", "title", "other"],
        "displayedAttributes": ["title"],
    }))
    .unwrap();
    let available = AvailableAttributes::filterable(&settings);
    assert_eq!(each_quoted(&available), "`title`, `<..hidden-attributes>`");
    assert_eq!(super::super::sentence::joined(&available), "title, <..hidden-attributes>");
}

#[test]
fn quotes_and_escapes() {
    check_error(r"a = 'b\q'", r"Malformed value: `b\\q`.", (6, 9));
    check_error(r"a = '\xZZ'", r"Found an invalid escaped sequence number: `\\xZZ`.", (6, 10));
    check_error(r"a = '\u{110000}'", r"Found an invalid escaped sequence number: `\\u{110000}`.", (6, 16));
    check_error("channel = 'ponce", r"Expression `\'ponce` is missing the following closing delimiter: `'`.", (11, 17));
    check_error(r"a = 'b\", r"Expression `\'b\\` is missing the following closing delimiter: `'`.", (5, 8));
}
