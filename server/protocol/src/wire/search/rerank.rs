//! `rerank`: another order for the first hits.

use std::time::Duration;

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::{Value, json};

use crate::wire::json::{At, required};
use crate::wire::query_string::Parameter;
use crate::wire::schema::{exactly, or_null, text};

/// Another order for the first hits of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerank {
    /// Name of a reranker of the index.
    pub reranker: String,
    /// How many hits it orders, from the first one on.
    pub limit: usize,
    /// How long it may take.
    pub timeout: Duration,
}

const FIELDS: [&str; 3] = ["reranker", "limit", "timeoutMs"];
/// Hits that are ordered when the request does not say.
const DEFAULT_LIMIT: u64 = 50;
/// Hits that are ordered, at most.
const LIMIT_MAX: u64 = 200;
const DEFAULT_TIMEOUT_MS: u64 = 1000;
const TIMEOUT_MS_MAX: u64 = 30_000;

impl Rerank {
    pub(super) fn read(at: At<'_>) -> ApiResult<Rerank> {
        let at = at.code(Code::InvalidSearchRerank);
        let (mut reranker, mut limit, mut timeout_ms) = (None, DEFAULT_LIMIT, DEFAULT_TIMEOUT_MS);
        at.given(&FIELDS, &["reranker"], |name, field| {
            match name {
                "reranker" => reranker = Some(field.string()?),
                "limit" => limit = up_to(&field, LIMIT_MAX)?,
                _ => timeout_ms = up_to(&field, TIMEOUT_MS_MAX)?,
            }
            Ok(())
        })?;
        let reranker = required(reranker, &at, "reranker", Code::InvalidSearchRerank)?;
        Ok(Rerank::new(reranker, limit, timeout_ms))
    }

    fn new(reranker: String, limit: u64, timeout_ms: u64) -> Rerank {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Rerank { reranker, limit, timeout: Duration::from_millis(timeout_ms) }
    }
}

/// The same in a query string.
#[derive(Debug, Default)]
pub(super) struct RerankParameters {
    reranker: Option<String>,
    limit: Option<u64>,
    timeout_ms: Option<u64>,
}

impl RerankParameters {
    /// Reads `rerank`, `rerankLimit` or `rerankTimeoutMs`.
    pub(super) fn read(&mut self, name: &str, parameter: Parameter<'_>) -> ApiResult<()> {
        let parameter = parameter.code(Code::InvalidSearchRerank);
        match name {
            "rerank" => self.reranker = Some(parameter.text()?.to_owned()),
            "rerankLimit" => self.limit = Some(parameter_up_to(&parameter, LIMIT_MAX)?),
            _ => self.timeout_ms = Some(parameter_up_to(&parameter, TIMEOUT_MS_MAX)?),
        }
        Ok(())
    }

    /// # Errors
    /// A bound without a reranker that it would bound.
    pub(super) fn rerank(self) -> ApiResult<Option<Rerank>> {
        let bound = self.limit.map(|_| "rerankLimit").or(self.timeout_ms.map(|_| "rerankTimeoutMs"));
        match (self.reranker, bound) {
            (Some(reranker), _) => {
                let (limit, millis) =
                    (self.limit.unwrap_or(DEFAULT_LIMIT), self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS));
                Ok(Some(Rerank::new(reranker, limit, millis)))
            }
            (None, Some(bound)) => {
                let message = format!("`rerank` is mandatory when `{bound}` is present");
                Err(ApiError::new(Code::InvalidSearchRerank, message))
            }
            (None, None) => Ok(None),
        }
    }
}

fn up_to(at: &At<'_>, most: u64) -> ApiResult<u64> {
    let found = at.positive_integer()?;
    within(found, most).map_err(|reason| at.invalid(reason))
}

fn parameter_up_to(parameter: &Parameter<'_>, most: u64) -> ApiResult<u64> {
    let found = parameter.positive_integer()?;
    within(found, most).map_err(|reason| parameter.invalid(reason))
}

fn within(found: u64, most: u64) -> Result<u64, String> {
    let is_within = (1..=most).contains(&found);
    is_within.then_some(found).ok_or_else(|| format!("expected a number from 1 to {most}, but found {found}"))
}

/// What is read.
pub fn rerank_schema() -> Value {
    let field = |name| match name {
        "reranker" => field_schema(name),
        _ => or_null(field_schema(name)),
    };
    exactly(FIELDS.map(|name| (name, field(name))), &["reranker"])
}

fn field_schema(name: &str) -> Value {
    let up_to = |most: u64| json!({ "type": "integer", "minimum": 1, "maximum": most });
    match name {
        "limit" => up_to(LIMIT_MAX),
        "timeoutMs" => up_to(TIMEOUT_MS_MAX),
        _ => text(),
    }
}

/// What is read of a parameter of a query string.
pub fn rerank_parameter_schema(name: &str) -> Value {
    field_schema(match name {
        "rerankLimit" => "limit",
        "rerankTimeoutMs" => "timeoutMs",
        _ => "reranker",
    })
}
