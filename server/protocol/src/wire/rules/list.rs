//! The body of a list of rules.

use lamina_base::error::{ApiResult, Code};
use serde_json::Value;

use crate::wire::json::At;

/// Rules to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListBody {
    /// Passed over.
    pub offset: usize,
    /// Listed at most.
    pub limit: usize,
    /// Words of descriptions and conditions.
    pub query: Option<String>,
    /// Only those that may act, or that may not.
    pub active: Option<bool>,
}

/// The body of POST `/dynamic-search-rules`.
///
/// # Errors
/// The first problem in the order of the text.
pub fn list_body(body: &Value) -> ApiResult<ListBody> {
    let mut asked = ListBody { offset: 0, limit: 20, query: None, active: None };
    let clamp = |number| usize::try_from(number).unwrap_or(usize::MAX);
    At::root(body).fields(&["offset", "limit", "filter"], |name, field| {
        match name {
            "offset" => {
                asked.offset = clamp(field.code(Code::InvalidDynamicSearchRuleOffset).positive_integer()?);
            }
            "limit" => asked.limit = clamp(field.code(Code::InvalidDynamicSearchRuleLimit).positive_integer()?),
            _ => {
                let field = field.code(Code::InvalidDynamicSearchRuleFilter);
                (asked.query, asked.active) = field.optional(|field| filter(&field))?.unwrap_or_default();
            }
        }
        Ok(())
    })?;
    Ok(asked)
}

fn filter(field: &At<'_>) -> ApiResult<(Option<String>, Option<bool>)> {
    let (mut query, mut active) = (None, None);
    field.fields(&["query", "active"], |name, field| {
        match name {
            "query" => {
                let field = field.code(Code::InvalidDynamicSearchRuleFilterQuery);
                query = field.optional(|field| field.string())?;
            }
            _ => {
                let field = field.code(Code::InvalidDynamicSearchRuleFilterActive);
                active = field.optional(|field| field.boolean())?;
            }
        }
        Ok(())
    })?;
    Ok((query, active))
}
