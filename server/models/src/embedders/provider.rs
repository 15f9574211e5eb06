//! From a configuration to what is sent where.

use std::sync::Arc;

use lamina_engine::index::embedding::EmbedFailure;
use serde_json::{Map, Value, json};

use super::budget::{Budget, Budgets};
use super::fragments::{CANNOT_INFER_DIMENSIONS, uses_fragments};
use super::side::{Side, side_of};
use super::template::{FRAGMENT, TEXT, Template};

const OPENAI_URL: &str = "https://api.openai.com/v1/embeddings";
const OPENAI_MODEL: &str = "text-embedding-3-small";
const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";
const OLLAMA_URL: &str = "http://localhost:11434/api/embeddings";

/// Texts of one request, where it takes several.
const BATCH_LENGTH: usize = 10;
/// Providers that are known to like more.
const BATCH_LENGTH_LARGE: usize = 64;

/// A provider as it is spoken to.
#[derive(Clone)]
pub(super) struct Provider {
    pub(super) url: String,
    pub(super) key: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) request: Template,
    pub(super) response: Template,
    /// Texts of one request.
    pub(super) batch_length: usize,
    /// `None`: to be measured.
    pub(super) dimensions: Option<u32>,
    /// Tokens of a text to fall back to when the provider refuses a request.
    pub(super) fallback_tokens: Option<usize>,
    /// Budget of the account.
    pub(super) budget: Arc<Budget>,
}

/// Without what may be secret: key, headers, address.
impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Provider").field("dimensions", &self.dimensions).finish_non_exhaustive()
    }
}

impl Provider {
    /// Reads a configuration that was checked for its fields.
    ///
    /// # Errors
    /// Templates and addresses that can't work, and sources that are not asked over HTTP.
    pub(super) fn new(
        configuration: &Map<String, Value>,
        side: Side,
        budgets: &Budgets,
    ) -> Result<Provider, EmbedFailure> {
        let provider = Provider::read(configuration, side)?;
        Ok(Provider { budget: budgets.of(&provider.url, provider.key.as_deref()), ..provider })
    }

    fn read(configuration: &Map<String, Value>, side: Side) -> Result<Provider, EmbedFailure> {
        let configuration = side_of(configuration, side);
        let text = |field: &str| configuration.get(field).and_then(Value::as_str).map(str::to_owned);
        let dimensions =
            configuration.get("dimensions").and_then(Value::as_u64).and_then(|size| u32::try_from(size).ok());
        match text("source").as_deref().unwrap_or("openAi") {
            "openAi" => open_ai(text("model"), text("url"), text("apiKey"), dimensions),
            "ollama" => ollama(&text("model").unwrap_or_default(), text("url"), text("apiKey"), dimensions),
            "rest" => rest(configuration, text("apiKey"), dimensions),
            "huggingFace" => Err(EmbedFailure::user(
                "this server was built without the feature `local-models`, which source `huggingFace` needs: build it \
                 without `--no-default-features`, or let a model server answer, with source `rest`, `ollama` or `openAi` \
                 and its `url`",
            )),
            other => Err(EmbedFailure::user(format!("source `{other}` makes no vectors"))),
        }
    }
}

fn open_ai(
    model: Option<String>,
    url: Option<String>,
    key: Option<String>,
    dimensions: Option<u32>,
) -> Result<Provider, EmbedFailure> {
    let is_compatible = url.is_some();
    let model = model.unwrap_or_else(|| OPENAI_MODEL.to_owned());
    let native = match model.as_str() {
        "text-embedding-3-small" | "text-embedding-ada-002" => Some(1536),
        "text-embedding-3-large" => Some(3072),
        // Another provider's, behind another address.
        _ => None,
    };
    let mut request = json!({"model": model, "input": ["{{text}}", "{{..}}"]});
    if let Some(dimensions) = dimensions.filter(|dimensions| native != Some(*dimensions) || is_compatible) {
        request["dimensions"] = json!(dimensions);
    }
    Ok(Provider {
        url: url.unwrap_or_else(|| OPENAI_URL.to_owned()),
        key: key.or_else(|| std::env::var(OPENAI_KEY_VARIABLE).ok()),
        headers: Vec::new(),
        request: known(&request, "request", "{{text}}"),
        response: known(&json!({"data": [{"embedding": "{{embedding}}"}, "{{..}}"]}), "response", "{{embedding}}"),
        batch_length: BATCH_LENGTH_LARGE,
        dimensions: dimensions.or(native),
        fallback_tokens: Some(8191),
        budget: Arc::default(),
    })
}

fn ollama(
    model: &str,
    url: Option<String>,
    key: Option<String>,
    dimensions: Option<u32>,
) -> Result<Provider, EmbedFailure> {
    let url = url.unwrap_or_else(|| OLLAMA_URL.to_owned());
    let (request, response, batch_length) = if url.ends_with("/api/embed") {
        (
            json!({"model": model, "input": ["{{text}}", "{{..}}"]}),
            json!({"embeddings": ["{{embedding}}", "{{..}}"]}),
            BATCH_LENGTH_LARGE,
        )
    } else if url.ends_with("/api/embeddings") {
        (json!({"model": model, "prompt": "{{text}}"}), json!({"embedding": "{{embedding}}"}), 1)
    } else {
        return Err(EmbedFailure::user(
            "unsupported Ollama URL.\n  - For `ollama` sources, the URL must end with `/api/embed` or \
             `/api/embeddings`",
        ));
    };
    Ok(Provider {
        url,
        key,
        headers: Vec::new(),
        request: known(&request, "request", "{{text}}"),
        response: known(&response, "response", "{{embedding}}"),
        batch_length,
        dimensions,
        fallback_tokens: None,
        budget: Arc::default(),
    })
}

fn rest(
    configuration: &Map<String, Value>,
    key: Option<String>,
    dimensions: Option<u32>,
) -> Result<Provider, EmbedFailure> {
    let field = |field: &str| configuration.get(field).unwrap_or(&Value::Null);
    let (Some(request), Some(response)) = rest_templates(configuration).map_err(EmbedFailure::user)? else {
        return Err(EmbedFailure::user("`request` and `response` are missing"));
    };
    if uses_fragments(configuration) && dimensions.is_none() {
        return Err(EmbedFailure::user(CANNOT_INFER_DIMENSIONS));
    }
    let headers = field("headers").as_object().into_iter().flatten();
    let headers = headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Ok(Provider {
        url: field("url").as_str().unwrap_or_default().to_owned(),
        key,
        headers: headers.collect(),
        batch_length: if request.repeats() { BATCH_LENGTH } else { 1 },
        request,
        response,
        dimensions,
        fallback_tokens: None,
        budget: Arc::default(),
    })
}

/// The templates of a `rest` configuration, as far as it has them: of the request and of the response.
fn rest_templates(configuration: &Map<String, Value>) -> Result<(Option<Template>, Option<Template>), String> {
    let field = |field: &str| configuration.get(field).filter(|value| !value.is_null());
    let (user, expected, other) = if uses_fragments(configuration) {
        ("fragments", FRAGMENT, TEXT)
    } else {
        ("a document template", TEXT, FRAGMENT)
    };
    let request = field("request").map(|request| {
        Template::new(request, "request", expected).map_err(|reason| {
            format!(
                "{reason}\n  - Note: this template is using {user}, and so expects to contain the placeholder \
                 \"{expected}\" rather than \"{other}\""
            )
        })
    });
    let request = request.transpose()?;
    // A request that is missing is reported before what is wrong with the response.
    let response = field("response").filter(|_| request.is_some());
    let response = response.map(|response| Template::new(response, "response", "{{embedding}}"));
    let response = response.transpose()?;
    match (request.as_ref().map(Template::repeats), response.as_ref().map(Template::repeats)) {
        (Some(false), Some(true)) => {
            Err("`response` has multiple embeddings, but `request` has only one text to embed".to_owned())
        }
        (Some(true), Some(false)) => {
            Err("`request` has multiple texts to embed, but `response` has only one embedding".to_owned())
        }
        _ => Ok((request, response)),
    }
}

/// Checks the templates of a configuration of one side, as far as it has them.
///
/// # Errors
/// What can't work, in public words.
pub fn check_templates(configuration: &Map<String, Value>) -> Result<(), String> {
    match configuration.get("source").and_then(Value::as_str) {
        Some("rest") => rest_templates(configuration).map(drop),
        _ => Ok(()),
    }
}

/// A template of ours.
fn known(json: &Value, name: &'static str, placeholder: &str) -> Template {
    Template::new(json, name, placeholder).expect("it is written here")
}
