//! `rerank`: another order for the first hits.

use std::time::Duration;

use lamina_base::error::{ApiResult, Code};
use serde_json::{Value, json};

use crate::wire::json::{At, required};
use crate::wire::schema::{exactly, or_null, text};
use crate::wire::text_fields::{self, Given, TextField, TextFields};

/// Another order for the first hits of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerank {
    /// Name of a reranker of the index.
    pub reranker: String,
    /// Number of hits to reorder, from the first one on.
    pub limit: usize,
    /// Maximum time of the reranking.
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
    /// Fields as parameters of a query string.
    pub(super) const TEXT_FIELDS: TextFields = TextFields { fields: &IN_QUERY_STRINGS, join };

    pub(super) fn read(at: At<'_>) -> ApiResult<Rerank> {
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
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Rerank { reranker, limit, timeout: Duration::from_millis(timeout_ms) })
    }

    /// The object as a body has it.
    pub(super) fn written(&self) -> Value {
        let timeout_ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        json!({ "reranker": self.reranker, "limit": self.limit, "timeoutMs": timeout_ms })
    }

    pub(super) fn schema() -> Value {
        let fields =
            [("reranker", text()), ("limit", or_null(limit_schema())), ("timeoutMs", or_null(timeout_schema()))];
        exactly(fields, &["reranker"])
    }
}

const IN_QUERY_STRINGS: [TextField; 3] = [
    TextField {
        name: "rerank",
        code: Code::InvalidSearchRerank,
        of_text: text_fields::text,
        check: |_| Ok(()),
        schema: text,
    },
    TextField {
        name: "rerankLimit",
        code: Code::InvalidSearchRerank,
        of_text: text_fields::count,
        check: |at| up_to(&at, LIMIT_MAX).map(drop),
        schema: limit_schema,
    },
    TextField {
        name: "rerankTimeoutMs",
        code: Code::InvalidSearchRerank,
        of_text: text_fields::count,
        check: |at| up_to(&at, TIMEOUT_MS_MAX).map(drop),
        schema: timeout_schema,
    },
];

fn join(given: &Given) -> ApiResult<Value> {
    let reranker = given.required("rerank", Code::InvalidSearchRerank, &["rerankLimit", "rerankTimeoutMs"])?;
    let (limit, timeout_ms) = (given.value("rerankLimit"), given.value("rerankTimeoutMs"));
    Ok(json!({ "reranker": reranker, "limit": limit, "timeoutMs": timeout_ms }))
}

fn up_to(at: &At<'_>, most: u64) -> ApiResult<u64> {
    let found = at.positive_integer()?;
    let is_within = (1..=most).contains(&found);
    if is_within {
        Ok(found)
    } else {
        Err(at.invalid(format!("expected a number from 1 to {most}, but found {found}")))
    }
}

fn limit_schema() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": LIMIT_MAX })
}

fn timeout_schema() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": TIMEOUT_MS_MAX })
}
