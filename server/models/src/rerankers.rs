//! Rerankers: what says how well texts answer a query, models of this server or providers that are asked over HTTP.
//!
//! Most of them take a query and a list of texts, and answer with a list of scores by the places of the texts. They differ
//! in a few names: those of the request are a template, those of the answer are all read.

use std::time::Instant;

use lamina_base::outbound::{Outbound, OutboundError};
use lamina_base::plural::counted;
use lamina_engine::index::settings::DEFAULT_TEMPLATE;
use reqwest::Method;
use serde_json::{Map, Value, json};

/// Placeholder of the query in a request.
pub(crate) const QUERY: &str = "{{query}}";
/// Placeholder of the list of texts.
pub const DOCUMENTS: &str = "{{documents}}";
/// Bytes of the text of a document when the configuration does not say: as much as most models take.
pub const DEFAULT_TEXT_BYTES_MAX: usize = 2000;
/// Bytes of the text of a document, at most.
pub const TEXT_BYTES_MAX: u64 = 65_536;
/// Longest answer that is read.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// The source of models that run in this server.
pub const HUGGING_FACE: &str = "huggingFace";
/// The source of providers.
pub const REST: &str = "rest";
/// Model for configurations that name none. It is small enough for some dozens of texts a second on two cores.
pub const DEFAULT_MODEL: &str = "cross-encoder/ms-marco-MiniLM-L-6-v2";
/// Revision of models for configurations that name none.
pub const DEFAULT_REVISION: &str = "main";

/// Place where texts are compared with queries.
#[derive(Clone, Debug)]
pub enum Place {
    /// In this server.
    Here {
        /// Name of the model.
        model: String,
        /// Branch, tag or commit of the model.
        revision: String,
    },
    /// By a provider.
    Elsewhere(Provider),
}

/// Provider that is reached over HTTP.
#[derive(Clone)]
pub struct Provider {
    url: String,
    key: Option<String>,
    headers: Vec<(String, String)>,
    request: Value,
}

/// One reranker of the settings.
#[derive(Clone, Debug)]
pub struct Reranker {
    /// Place where the reranker runs.
    pub place: Place,
    /// Makes the text of a document.
    pub template: String,
    /// Longest text of a document, in bytes.
    pub text_bytes_max: usize,
}

/// Without what may be secret: key, headers, address.
impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Provider").finish_non_exhaustive()
    }
}

/// The request of most providers.
fn default_request() -> Value {
    json!({ "query": QUERY, "documents": DOCUMENTS })
}

/// Refuses a request that would not say what is to be compared with what.
///
/// # Errors
/// The placeholder that is missing.
pub fn check_request(request: &Value) -> Result<(), String> {
    match [(QUERY, "the query"), (DOCUMENTS, "the list of texts")].into_iter().find(|(text, _)| !holds(request, text)) {
        Some((text, meaning)) => Err(format!("`request` needs the text `\"{text}\"` at the place of {meaning}")),
        None => Ok(()),
    }
}

fn holds(json: &Value, placeholder: &str) -> bool {
    match json {
        Value::String(text) => text == placeholder,
        Value::Array(elements) => elements.iter().any(|element| holds(element, placeholder)),
        Value::Object(members) => members.values().any(|member| holds(member, placeholder)),
        _ => false,
    }
}

fn filled(template: &Value, query: &str, texts: &[String]) -> Value {
    match template {
        Value::String(text) if text == QUERY => json!(query),
        Value::String(text) if text == DOCUMENTS => json!(texts),
        Value::Array(elements) => elements.iter().map(|element| filled(element, query, texts)).collect(),
        Value::Object(members) => {
            let member = |(name, member): (&String, &Value)| (name.clone(), filled(member, query, texts));
            Value::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

impl Reranker {
    /// Reads a configuration that was checked.
    pub fn new(configuration: &Map<String, Value>) -> Reranker {
        let text = |field: &str| configuration.get(field).and_then(Value::as_str).map(str::to_owned);
        let bytes = configuration.get("documentTemplateMaxBytes").and_then(Value::as_u64);
        let place = match text("source").as_deref() {
            Some(HUGGING_FACE) => Place::Here {
                model: text("model").unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
                revision: text("revision").unwrap_or_else(|| DEFAULT_REVISION.to_owned()),
            },
            _ => Place::Elsewhere(Provider::new(configuration)),
        };
        Reranker {
            place,
            template: text("documentTemplate").unwrap_or_else(|| DEFAULT_TEMPLATE.to_owned()),
            text_bytes_max: bytes
                .and_then(|bytes| usize::try_from(bytes.min(TEXT_BYTES_MAX)).ok())
                .unwrap_or(DEFAULT_TEXT_BYTES_MAX),
        }
    }
}

impl Provider {
    fn new(configuration: &Map<String, Value>) -> Provider {
        let text = |field: &str| configuration.get(field).and_then(Value::as_str).map(str::to_owned);
        let mut request = configuration.get("request").cloned().unwrap_or_else(default_request);
        if let (Some(model), Value::Object(request)) = (text("model"), &mut request) {
            request.insert("model".to_owned(), model.into());
        }
        let headers = configuration.get("headers").and_then(Value::as_object).into_iter().flatten();
        Provider {
            url: text("url").unwrap_or_default(),
            key: text("apiKey"),
            headers: headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect(),
            request,
        }
    }

    /// Scores how well each text answers `query`. Returns the scored ones, best first, as their position in `texts` and
    /// their score. Makes one try, which ends at `deadline`.
    ///
    /// # Errors
    /// Returns the reason why there are no scores, without the secrets that were sent.
    pub async fn rerank(
        &self,
        outbound: &Outbound,
        query: &str,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Vec<(usize, f64)>, String> {
        let asked = self.ask(outbound, query, texts, deadline);
        let Ok(reply) = tokio::time::timeout_at(deadline.into(), asked).await else {
            return Err("the reranker did not answer in time".to_owned());
        };
        let body = reply?;
        scores(&body, texts.len()).map_err(|reason| format!("could not read the answer of the reranker: {reason}"))
    }

    async fn ask(
        &self,
        outbound: &Outbound,
        query: &str,
        texts: &[String],
        deadline: Instant,
    ) -> Result<bytes::Bytes, String> {
        let unreached = |error: OutboundError| format!("could not reach the reranker: {error}");
        let left = deadline.saturating_duration_since(Instant::now());
        let request = outbound.request(Method::POST, &self.url).map_err(unreached)?;
        let mut request = request.timeout(left).json(&filled(&self.request, query, texts));
        if let Some(key) = self.key.as_ref().filter(|key| !key.is_empty()) {
            request = request.bearer_auth(key);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let reply = outbound.send(request, ANSWER_BYTES_MAX).await.map_err(unreached)?;
        if reply.status.is_success() { Ok(reply.body) } else { Err(format!("the reranker answered {}", reply.status)) }
    }
}

/// The scores of an answer about `count` texts, best first. A provider may leave out texts, for instance the worst.
fn scores(body: &[u8], count: usize) -> Result<Vec<(usize, f64)>, String> {
    let answer: Value = serde_json::from_slice(body).map_err(|error| format!("it is no JSON: {error}"))?;
    let lists = [Some(&answer), answer.get("results"), answer.get("data")];
    let list = lists.into_iter().flatten().find_map(Value::as_array);
    let list = list.ok_or("it has no list of scores, at the top level, as `results` or as `data`")?;
    let mut found: Vec<Option<f64>> = vec![None; count];
    for entry in list {
        let place = entry.get("index").and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok());
        let score = ["relevance_score", "score"].into_iter().find_map(|name| entry.get(name)?.as_f64());
        let (Some(place), Some(score)) = (place, score) else {
            return Err("an entry lacks `index`, or `relevance_score` and `score`".to_owned());
        };
        let known = found.get_mut(place);
        let known =
            known.ok_or_else(|| format!("it has a score of text {place}, and was sent {}", counted(count, "text")))?;
        if known.replace(score).is_some() {
            return Err(format!("it has two scores of text {place}"));
        }
    }
    Ok(best_first((0..).zip(found).filter_map(|(place, score)| Some((place, score?)))))
}

/// Places with their scores, best first; equal ones stay in their order.
pub fn best_first(scores: impl Iterator<Item = (usize, f64)>) -> Vec<(usize, f64)> {
    let mut scores: Vec<(usize, f64)> = scores.collect();
    scores.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(configuration: Value) -> Provider {
        Provider::new(configuration.as_object().unwrap())
    }

    #[test]
    fn a_configuration_says_where_it_runs() {
        let place = |configuration: Value| match Reranker::new(configuration.as_object().unwrap()).place {
            Place::Here { model, revision } => Some((model, revision)),
            Place::Elsewhere(_) => None,
        };
        let named = |model: &str, revision: &str| Some((model.to_owned(), revision.to_owned()));
        assert_eq!(place(json!({"source": "huggingFace"})), named("cross-encoder/ms-marco-MiniLM-L-6-v2", "main"));
        assert_eq!(place(json!({"source": "huggingFace", "model": "m", "revision": "r"})), named("m", "r"));
        assert_eq!(place(json!({"source": "rest", "url": "u"})), None);
        assert_eq!(place(json!({"url": "u"})), None);
    }

    #[test]
    fn requests_of_several_dialects() {
        let body =
            |configuration: Value| filled(&provider(configuration).request, "a {{documents}}", &["t".to_owned()]);
        let plain = json!({"query": "a {{documents}}", "documents": ["t"], "model": "m"});
        assert_eq!(body(json!({"url": "u", "model": "m"})), plain);
        let own = json!({"request": {"texts": "{{documents}}", "of": [{"q": "{{query}}"}], "truncate": true}});
        assert_eq!(body(own), json!({"texts": ["t"], "of": [{"q": "a {{documents}}"}], "truncate": true}));
        assert!(check_request(&default_request()).is_ok());
        for (wrong, missing) in [
            (json!({"query": "{{query}}"}), DOCUMENTS),
            (json!({"query": "about {{query}}", "documents": "{{documents}}"}), QUERY),
            (json!(7), QUERY),
        ] {
            assert!(check_request(&wrong).unwrap_err().contains(missing), "{wrong}");
        }
    }

    #[test]
    fn answers_of_several_dialects() {
        let read = |answer: Value| scores(answer.to_string().as_bytes(), 3);
        let expected = Ok(vec![(2, 0.9), (0, -1.5)]);
        assert_eq!(
            read(json!({"results": [{"index": 0, "relevance_score": -1.5}, {"index": 2, "relevance_score": 0.9}]})),
            expected
        );
        assert_eq!(read(json!([{"index": 2, "score": 0.9, "text": "t"}, {"index": 0, "score": -1.5}])), expected);
        assert_eq!(
            read(json!({"data": [{"index": 2, "relevance_score": 0.9}, {"index": 0, "score": -1.5}]})),
            expected
        );
        let level = read(json!([{"index": 1, "score": 1}, {"index": 0, "score": 1}]));
        assert_eq!(level, Ok(vec![(0, 1.0), (1, 1.0)]), "equal ones stay in their order");
        for wrong in [
            json!({"error": "no"}),
            json!([{"index": 3, "score": 1}]),
            json!([{"index": 1, "score": 1}, {"index": 1, "score": 2}]),
            json!([{"index": 1}]),
            json!([{"score": 1}]),
            json!([{"index": 1, "score": "1"}]),
            json!([0.5, 0.2, 0.1]),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(scores(b"<html>", 3).is_err());
    }
}
