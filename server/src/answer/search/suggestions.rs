//! What a query could have meant: completions, and "did you mean".

use lamina_base::budget::costs::COMPLETION_BYTES;
use lamina_base::error::{ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_engine::search::{Completion, SearchRequest, complete, corrected, documents_with};
use lamina_protocol::wire::json::{At, required};
use lamina_protocol::wire::search::{SearchQuery, completion_fields};
use serde_json::{Map, Value, json};

use super::by_kind::search_by_kind;
use super::{Context, Found, Target, engine_request, refusal};
use crate::answer::query_log::QueryLog;

/// Completions of an answer when nothing else is asked for.
const DEFAULT_LIMIT: usize = 10;
/// Completions of an answer.
pub(crate) const COMPLETIONS_MAX: u64 = 100;

/// Completions as clients ask for them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CompletionQuery {
    /// The text, and what documents count.
    pub query: SearchQuery,
    /// Completions returned at most.
    pub limit: usize,
}

impl CompletionQuery {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub(crate) fn from_body(body: &Value) -> ApiResult<CompletionQuery> {
        let (mut query, mut limit) = (SearchQuery::default(), DEFAULT_LIMIT);
        let root = At::root(body);
        root.fields(completion_fields(), |name, field| {
            if name != "limit" {
                return query.read_selecting(name, field);
            }
            let field = field.code(Code::InvalidSearchLimit);
            let wanted = field.optional(|field| field.positive_integer())?.unwrap_or(DEFAULT_LIMIT as u64);
            if wanted > COMPLETIONS_MAX {
                return Err(field.invalid(format!("at most {COMPLETIONS_MAX} completions are allowed.")));
            }
            limit = wanted as usize;
            Ok(())
        })?;
        query.q = Some(required(query.q, &root, "q", Code::InvalidSearchQ)?);
        Ok(CompletionQuery { query, limit })
    }
}

/// Maximum number of logged queries that continue the query and whose documents are counted.
const ASKED_MAX: usize = 50;

/// Completes a text by what was asked `before`, where the index allows it, and its last word by those of the index, and
/// writes the answer.
///
/// # Errors
/// What the settings of the index do not allow.
pub(crate) fn run_completions(
    target: Target<'_>,
    asked: &CompletionQuery,
    before: &QueryLog,
    context: &Context,
) -> ApiResult<Vec<u8>> {
    let request = engine_request(target, &asked.query, context)?;
    let mut of_queries = from_queries(target, &request, before)?;
    of_queries.truncate(asked.limit);
    let mut of_words =
        complete(target.snapshot, &request, asked.limit).map_err(|error| refusal::search(target.name, &error))?;
    of_words.retain(|word| !of_queries.iter().any(|query| query.text == word.text.to_lowercase()));
    of_words.truncate(asked.limit - of_queries.len());
    let all = of_queries.iter().chain(&of_words);
    context.budget.take(all.map(|completion| COMPLETION_BYTES + completion.text.len() * 2).sum())?;
    let of_word = |completion: &Completion| json!({ "q": completion.text, "documents": completion.documents });
    let of_query = |completion: &Completion| json!({ "q": completion.text, "documents": completion.documents, "source": SOURCE_QUERIES });
    let millis = u64::try_from(context.received.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answer = json!({
        "q": asked.query.q,
        "completions": of_queries.iter().map(of_query).chain(of_words.iter().map(of_word)).collect::<Vec<Value>>(),
        "processingTimeMs": millis,
    });
    Ok(answer.to_string().into_bytes())
}

/// Source of a completion from the query log.
pub(crate) const SOURCE_QUERIES: &str = "queries";

/// Returns the creation time of the index, which no other of its name has.
fn made_at(target: Target<'_>) -> i64 {
    Timestamp::from(target.snapshot.created_at()).nanos()
}

/// Returns logged queries that continue the query, if documents that the caller may see contain all of their words.
fn from_queries(target: Target<'_>, request: &SearchRequest, before: &QueryLog) -> ApiResult<Vec<Completion>> {
    let settings = target.snapshot.settings.completions;
    let Some(query) = request.query.as_deref().filter(|_| settings.from_queries) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for text in before.going_on(target.uid, made_at(target), query, settings.min_count, ASKED_MAX) {
        let asked = SearchRequest { query: Some(text.clone()), ..request.clone() };
        let documents =
            documents_with(target.snapshot, &asked).map_err(|error| refusal::search(target.name, &error))?;
        if documents > 0 {
            found.push(Completion { text, documents });
        }
    }
    Ok(found)
}

/// Counts a query where the index completes others from it. The caller sees all documents, and asks for the first hits.
pub(crate) fn count_query(target: Target<'_>, query: &SearchQuery, before: &QueryLog) {
    let is_first = query.offset == 0 && query.page.unwrap_or(1) <= 1;
    let Some(text) = query.text().filter(|_| is_first && target.snapshot.settings.completions.from_queries) else {
        return;
    };
    // Whole words that documents show together: what is typed letter by letter is no query yet.
    let asked =
        SearchRequest { query: Some(text.to_owned()), languages: query.locales.clone(), ..SearchRequest::default() };
    if documents_with(target.snapshot, &asked).is_ok_and(|documents| documents > 0) {
        before.count(target.uid, made_at(target), text);
    }
}

/// A corrected query whose hits are more or better than those that were found.
#[derive(Clone, Debug)]
pub(crate) struct DidYouMean {
    q: String,
    total: u64,
}

impl DidYouMean {
    /// Adds the suggestion to a response.
    pub(super) fn add_to(&self, fields: &mut Map<String, Value>) {
        let shown = json!({ "q": self.q, "estimatedTotalHits": self.total });
        fields.insert("didYouMean".into(), shown);
    }
}

/// Looks for a correction of the query that `found` answers.
///
/// # Errors
/// The errors of the search itself.
pub(super) fn did_you_mean(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    request: &SearchRequest,
    found: &Found,
) -> ApiResult<Option<DidYouMean>> {
    let refused = |error| refusal::search(target.name, &error);
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
