//! Boosts, in the ranking rules of settings and in searches.

use lamina_base::error::{ApiError, ApiResult};
use lamina_engine::index::settings::{BOOSTS_MAX, Boost, BoostRule, decay_functions, functions};
use serde_json::{Value, json};

use super::json::At;
use super::schema::{exactly, one_of, or_null};

/// Bytes of a boost, its filter included.
const BOOST_BYTES_MAX: usize = 10_000;

/// One boost.
///
/// # Errors
/// With the code of `at`, what is wrong in a sentence.
pub(super) fn read(at: &At<'_>) -> ApiResult<BoostRule> {
    let rule = BoostRule::try_from(at.value().clone()).map_err(|error| at.invalid(format!("{error}.")))?;
    let bytes = rule.sent().to_string().len();
    if bytes > BOOST_BYTES_MAX {
        return Err(at.invalid(format!("a boost of {bytes} bytes; the longest may have {BOOST_BYTES_MAX}.")));
    }
    Ok(rule)
}

/// The boosts of a search.
///
/// # Errors
/// The errors of [`read`], and when there are too many.
pub(super) fn read_list(at: At<'_>) -> ApiResult<Vec<BoostRule>> {
    let rules = at.list(|element| read(&element))?;
    check_count(&at, rules.len())?;
    Ok(rules)
}

/// Refuses too many.
///
/// # Errors
/// With the code of `at`.
pub(super) fn check_count(at: &At<'_>, found: usize) -> ApiResult<()> {
    if found <= BOOSTS_MAX {
        return Ok(());
    }
    Err(at.invalid(format!("{found} boosts; at most {BOOSTS_MAX} are allowed.")))
}

/// Refuses a filter with `CONTAINS` where that is off.
///
/// # Errors
/// `feature_not_enabled`
pub fn check_contains<'r>(rules: impl IntoIterator<Item = &'r BoostRule>, is_allowed: bool) -> ApiResult<()> {
    let uses =
        |rule: &BoostRule| matches!(rule.boost(), Boost::Filter(boost) if boost.filter.first_contains().is_some());
    if !is_allowed && rules.into_iter().any(uses) {
        return Err(ApiError::feature_not_enabled("Using `CONTAINS` in a filter", "contains filter"));
    }
    Ok(())
}

/// A filter that asks for something.
fn some_filter() -> Value {
    let said = || json!({ "type": "string", "pattern": r"\S" });
    json!({ "anyOf": [said(), { "type": "array", "items": { "type": ["string", "array"] }, "minItems": 1 }] })
}

/// The schema of one.
pub fn schema() -> Value {
    let field = || json!({ "type": "string", "pattern": r"[\s\S]" });
    let weight = || json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1_000_000 });
    // A number with a unit; times and distances have theirs.
    let amount = r"^\d+(\.\d+)?(s|m|h|d|w|km|mi)$";
    let extent = || json!({ "type": ["string", "number"], "pattern": amount });
    let point = exactly(
        [
            ("lat", json!({ "type": "number", "minimum": -90, "maximum": 90 })),
            ("lng", json!({ "type": "number", "minimum": -180, "maximum": 180 })),
        ],
        &["lat", "lng"],
    );
    let boost = [("field", field()), ("function", or_null(one_of(&functions()))), ("weight", or_null(weight()))];
    let decay = [
        ("field", field()),
        (
            "origin",
            json!({ "anyOf": [{ "type": ["string", "number"], "pattern": r"^(now|\d{4}-\d{2}-\d{2})" }, point] }),
        ),
        ("scale", extent()),
        ("offset", json!({ "type": ["string", "number", "null"], "pattern": amount })),
        ("function", or_null(one_of(&decay_functions()))),
        ("decay", or_null(json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }))),
        ("weight", or_null(weight())),
    ];
    let boost_if = [("filter", some_filter()), ("weight", weight())];
    json!({ "anyOf": [
        exactly([("boost", exactly(boost, &["field"]))], &["boost"]),
        exactly([("decay", exactly(decay, &["field", "origin", "scale"]))], &["decay"]),
        exactly([("boostIf", exactly(boost_if, &["filter", "weight"]))], &["boostIf"]),
    ] })
}
