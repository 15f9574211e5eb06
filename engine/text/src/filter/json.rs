//! The JSON form of a filter: a text, or an array of texts and arrays of texts.

use serde_json::Value;

use super::size::Size;
use super::{Filter, FilterError};

impl Filter {
    /// Reads the JSON form: a text is an expression, an array says `AND`, an array inside it says `OR`. `None` when
    /// nothing is asked for (null, blank texts, empty arrays).
    ///
    /// # Errors
    /// The errors of [`Filter::parse`], and for other types.
    pub fn from_json(value: &Value) -> Result<Option<Filter>, FilterError> {
        let mut size = Size::default();
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Filter::parse_within(text, &mut size),
            Value::Array(elements) => {
                let filters = elements.iter().map(|value| element(value, &mut size));
                combined(filters, Filter::And)
            }
            other => Err(FilterError::json("String, Array", other)),
        }
    }
}

fn element(value: &Value, size: &mut Size) -> Result<Option<Filter>, FilterError> {
    match value {
        Value::String(text) => Filter::parse_within(text, size),
        Value::Array(alternatives) => {
            let filters = alternatives.iter().map(|alternative| match alternative {
                Value::String(text) => Filter::parse_within(text, size),
                other => Err(FilterError::json("String", other)),
            });
            combined(filters, Filter::Or)
        }
        other => Err(FilterError::json("String, [String]", other)),
    }
}

fn combined(
    filters: impl Iterator<Item = Result<Option<Filter>, FilterError>>,
    build: fn(Vec<Filter>) -> Filter,
) -> Result<Option<Filter>, FilterError> {
    let mut filters = filters.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
    Ok(match filters.len() {
        0 => None,
        1 => filters.pop(),
        _ => Some(build(filters)),
    })
}
