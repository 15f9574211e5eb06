//! Filters in requests: a text, or lists of texts.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::filter::Filter;
use serde_json::Value;

/// Reads the JSON form of a filter; `None` when it asks for nothing.
///
/// # Errors
/// `code` for what can't be read, `feature_not_enabled` for `CONTAINS` unless it is allowed.
pub fn parse_filter(filter: &Value, code: Code, contains_allowed: bool) -> ApiResult<Option<Filter>> {
    let filter = Filter::from_json(filter).map_err(|error| ApiError::new(code, error.sentence()))?;
    if let Some(filter) = &filter {
        check_contains(filter, contains_allowed)?;
    }
    Ok(filter)
}

/// # Errors
/// `feature_not_enabled` for `CONTAINS` unless it is allowed.
pub fn check_contains(filter: &Filter, is_allowed: bool) -> ApiResult<()> {
    match filter.first_contains().filter(|_| !is_allowed) {
        Some(place) => {
            let mut refusal = ApiError::feature_not_enabled("Using `CONTAINS` in a filter", "contains filter");
            refusal.message = format!("{}\n{place}", refusal.message);
            Err(refusal)
        }
        None => Ok(()),
    }
}

/// Returns whether a word stands anywhere in a filter.
pub fn mentions(filter: &Value, word: &str) -> bool {
    match filter {
        Value::String(text) => text.contains(word),
        Value::Array(parts) => parts.iter().any(|part| mentions(part, word)),
        _ => false,
    }
}
