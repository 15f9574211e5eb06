//! The JSON form of a filter: a text, or an array of texts and arrays of texts.

use serde_json::Value;

use super::{Filter, FilterError};

impl Filter {
    /// Reads the JSON form: a text is an expression, an array says `AND`, an array inside it says `OR`. `None` when
    /// nothing is asked for (null, blank texts, empty arrays).
    pub fn from_json(value: &Value) -> Result<Option<Filter>, FilterError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Filter::parse(text),
            Value::Array(elements) => {
                let filters = elements.iter().map(element);
                combined(filters, Filter::And)
            }
            other => Err(FilterError::json("String, Array", other)),
        }
    }
}

fn element(value: &Value) -> Result<Option<Filter>, FilterError> {
    match value {
        Value::String(text) => Filter::parse(text),
        Value::Array(alternatives) => {
            let filters = alternatives.iter().map(|alternative| match alternative {
                Value::String(text) => Filter::parse(text),
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
