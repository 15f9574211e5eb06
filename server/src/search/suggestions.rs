//! What a query could have meant: completions, and "did you mean".

use lamina_engine::search::{SearchRequest, complete, corrected};
use serde_json::{Map, Value, json};

use super::meaning::search_by_kind;
use super::{Context, Found, Target, engine_request, refusal};
use crate::error::{ApiResult, Code};
use crate::wire::json::{At, required};
use crate::wire::search::SearchQuery;

/// Completions of an answer when nothing else is asked for.
const DEFAULT_LIMIT: usize = 10;
/// Completions of an answer.
pub const COMPLETIONS_MAX: u64 = 100;
/// A completion in a list and as an object, beside its text.
const COMPLETION_BYTES: usize = 256;

/// Completions as clients ask for them.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionQuery {
    /// The text, and what documents count.
    pub query: SearchQuery,
    /// Completions returned at most.
    pub limit: usize,
}

/// The fields of a request for completions, in the order in which messages list them.
pub const COMPLETION_FIELDS: [&str; 5] = ["q", "limit", "filter", "attributesToSearchOn", "locales"];

impl CompletionQuery {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<CompletionQuery> {
        let (mut query, mut limit) = (SearchQuery::default(), DEFAULT_LIMIT);
        let root = At::root(body);
        root.fields(&COMPLETION_FIELDS, |name, field| {
            if name != "limit" {
                return query.read_field(name, field);
            }
            let field = field.code(Code::InvalidSearchLimit);
            let wanted = field.optional(|field| field.positive_integer())?.unwrap_or(DEFAULT_LIMIT as u64);
            if wanted > COMPLETIONS_MAX {
                return Err(field.invalid(format!("there may be {COMPLETIONS_MAX} completions at most.")));
            }
            limit = wanted as usize;
            Ok(())
        })?;
        query.q = Some(required(query.q, &root, "q", Code::InvalidSearchQ)?);
        Ok(CompletionQuery { query, limit })
    }
}

/// Completes the last word of a text, and writes the answer.
///
/// # Errors
/// What the settings of the index do not allow.
pub fn run_completions(target: Target<'_>, asked: &CompletionQuery, context: &Context) -> ApiResult<Vec<u8>> {
    let request = engine_request(target, &asked.query, context)?;
    let found =
        complete(target.snapshot, &request, asked.limit).map_err(|error| refusal::search(target.uid, &error))?;
    context.budget.take(found.iter().map(|completion| COMPLETION_BYTES + completion.text.len() * 2).sum())?;
    let one = |completion: &lamina_engine::search::Completion| json!({ "q": completion.text, "documents": completion.documents });
    let millis = u64::try_from(context.received.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answer = json!({
        "q": asked.query.q,
        "completions": found.iter().map(one).collect::<Vec<Value>>(),
        "processingTimeMs": millis,
    });
    Ok(answer.to_string().into_bytes())
}

/// A corrected query whose hits are more or better than those that were found.
#[derive(Clone, Debug)]
pub struct DidYouMean {
    q: String,
    total: u64,
}

impl DidYouMean {
    /// As it is shown.
    pub(super) fn add_to(&self, fields: &mut Map<String, Value>) {
        let shown = json!({ "q": self.q, "estimatedTotalHits": self.total });
        fields.insert("didYouMean".into(), shown);
    }
}

/// Looks for a correction of the query that `found` answers.
///
/// # Errors
/// As the search itself.
pub(super) fn did_you_mean(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    request: &SearchRequest,
    found: &Found,
) -> ApiResult<Option<DidYouMean>> {
    let refused = |error| refusal::search(target.uid, &error);
    let Some(q) = corrected(target.snapshot, request).map_err(refused)? else { return Ok(None) };
    // By its words: vectors of a text that was not sent are not asked for.
    let query = SearchQuery { q: Some(q.clone()), hybrid: None, vector: None, media: None, ..query.clone() };
    let best = |limit| SearchRequest {
        query: Some(q.clone()),
        offset: 0,
        limit,
        scores: true,
        explain: None,
        matching_terms: false,
        ..request.clone()
    };
    let result = search_by_kind(target, &query, context, &best(1))?.result;
    let score = |hits: &[lamina_engine::search::Hit]| hits.first().map_or(0.0, |hit| hit.score);
    // As many that hold the word as it is spelt are better than those that need a typo.
    let is_better = result.total >= found.result.total || score(&result.hits) > score(&found.result.hits);
    Ok((!result.hits.is_empty() && is_better).then_some(DidYouMean { q, total: result.total }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let refused = |body: Value| CompletionQuery::from_body(&body).unwrap_err().code;
        assert_eq!(refused(json!({})), Code::InvalidSearchQ);
        assert_eq!(refused(json!({"q": null})), Code::InvalidSearchQ);
        assert_eq!(refused(json!({"q": "a", "limit": 101})), Code::InvalidSearchLimit);
        assert_eq!(refused(json!({"q": "a", "limit": "x"})), Code::InvalidSearchLimit);
        assert_eq!(refused(json!({"q": "a", "offset": 1})), Code::BadRequest);
        let read = CompletionQuery::from_body(&json!({"q": "a", "filter": "x = 1", "limit": 3})).unwrap();
        assert_eq!((read.limit, read.query.filter), (3, Some(json!("x = 1"))));
    }
}
