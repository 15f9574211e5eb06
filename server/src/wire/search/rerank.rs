//! `rerank`: another order for the first hits.

use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{ApiResult, Code};
use crate::wire::json::{At, required};
use crate::wire::schema::{exactly, text};

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
        at.fields(&FIELDS, |name, field| {
            match name {
                "reranker" => reranker = Some(field.string()?),
                "limit" => limit = up_to(&field, LIMIT_MAX)?,
                _ => timeout_ms = up_to(&field, TIMEOUT_MS_MAX)?,
            }
            Ok(())
        })?;
        let reranker = required(reranker, &at, "reranker", Code::InvalidSearchRerank)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Rerank { reranker, limit, timeout: Duration::from_millis(timeout_ms) })
    }
}

fn up_to(at: &At<'_>, most: u64) -> ApiResult<u64> {
    match at.positive_integer()? {
        found if (1..=most).contains(&found) => Ok(found),
        found => Err(at.invalid(format!("expected a number from 1 to {most}, but found {found}"))),
    }
}

/// What is read.
pub fn rerank_schema() -> Value {
    let up_to = |most: u64| json!({ "type": "integer", "minimum": 1, "maximum": most });
    let fields = [("reranker", text()), ("limit", up_to(LIMIT_MAX)), ("timeoutMs", up_to(TIMEOUT_MS_MAX))];
    exactly(fields, &["reranker"])
}
