//! Chats: the settings of workspaces, and requests for completions.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::secret::have_same_origin;
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::json::{At, required};
use super::query_string::QueryString;
use super::schema::{count, exactly, list, one_of, open, or_null, text};

/// Provider of completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    #[default]
    OpenAi,
    Mistral,
    AzureOpenAi,
    VLlm,
}

const SOURCES: [(&str, Source); 4] = [
    ("openAi", Source::OpenAi),
    ("mistral", Source::Mistral),
    ("azureOpenAi", Source::AzureOpenAi),
    ("vLlm", Source::VLlm),
];

/// Texts for the model besides the messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompts {
    /// Before all messages.
    pub system: String,
    /// Description of the search tool.
    pub search_description: String,
    /// Description of the query parameter.
    pub search_q_param: String,
    /// Description of the filter parameter.
    pub search_filter_param: String,
    /// Description of the index parameter.
    pub search_index_uid_param: String,
}

impl Default for Prompts {
    fn default() -> Prompts {
        Prompts {
            system: "You answer questions about the documents of a search engine. Search before you answer, rely on what is \
                     found, and say so when nothing is."
                .to_owned(),
            search_description: "Searches the documents of an index. Use it whenever a question could be answered by them."
                .to_owned(),
            search_q_param: "The words to look for: a few significant words rather than a sentence. Empty to filter only."
                .to_owned(),
            search_filter_param: "An expression that documents must meet, such as `genre = Drama AND year > 1990`. Empty for \
                                  none. Only these attributes can be used:"
                .to_owned(),
            search_index_uid_param: "The index to search. There are:".to_owned(),
        }
    }
}

/// The settings of a workspace.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChatSettings {
    /// Provider of completions.
    pub source: Source,
    pub org_id: Option<String>,
    pub project_id: Option<String>,
    pub api_version: Option<String>,
    pub deployment_id: Option<String>,
    /// Base address; `None` is the address of the source.
    pub base_url: Option<String>,
    /// A secret.
    pub api_key: Option<String>,
    /// Texts for the model besides the messages.
    pub prompts: Prompts,
}

impl std::fmt::Debug for ChatSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ChatSettings").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Bytes of a setting, and of one that the model reads.
const TEXT_BYTES_MAX: usize = 4096;
const PROMPT_BYTES_MAX: usize = 20_000;

/// A text of at most so many bytes.
fn bounded(field: &At<'_>, bytes_max: usize) -> ApiResult<String> {
    let text = field.string()?;
    if text.len() > bytes_max {
        return Err(field.invalid(format!("{} bytes; at most {bytes_max} are allowed.", text.len())));
    }
    Ok(text)
}

/// A text that is sent in a header.
fn sendable(field: &At<'_>) -> ApiResult<String> {
    let text = bounded(field, TEXT_BYTES_MAX)?;
    match HeaderValue::from_str(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(field.invalid("it has a character that no HTTP header can hold.")),
    }
}

const FIELDS: [&str; 8] =
    ["source", "orgId", "projectId", "apiVersion", "deploymentId", "baseUrl", "apiKey", "prompts"];
const PROMPTS: [&str; 5] = ["system", "searchDescription", "searchQParam", "searchFilterParam", "searchIndexUidParam"];

impl ChatSettings {
    /// Returns these settings with the changes of a body: `null` resets, and so does an empty text, as clients send it that always send all fields.
    ///
    /// # Errors
    /// The first problem in the order of the text, or what the source needs and is not there.
    pub fn patched(&self, body: &Value) -> ApiResult<ChatSettings> {
        let mut new = self.clone();
        At::root(body).fields(&FIELDS, |name, field| {
            let (place, code) = match name {
                "source" => {
                    let is_set = field.value() != "";
                    let sent =
                        field.optional(|field| if is_set { field.one_of(&SOURCES) } else { Ok(Source::default()) })?;
                    new.source = sent.unwrap_or_default();
                    return Ok(());
                }
                "prompts" => {
                    let field = field.code(Code::InvalidChatCompletionPrompts);
                    let prompts = field.optional(|field| new.prompts.patched(&field))?;
                    new.prompts = prompts.unwrap_or_default();
                    return Ok(());
                }
                "orgId" => (&mut new.org_id, Code::InvalidChatCompletionOrgId),
                "projectId" => (&mut new.project_id, Code::InvalidChatCompletionProjectId),
                "apiVersion" => (&mut new.api_version, Code::InvalidChatCompletionApiVersion),
                "deploymentId" => (&mut new.deployment_id, Code::InvalidChatCompletionDeploymentId),
                "baseUrl" => (&mut new.base_url, Code::InvalidChatCompletionBaseApi),
                _ => (&mut new.api_key, Code::InvalidChatCompletionApiKey),
            };
            let sent = field.code(code).optional(|field| match name {
                "orgId" | "projectId" | "apiKey" => sendable(&field),
                _ => bounded(&field, TEXT_BYTES_MAX),
            })?;
            *place = sent.filter(|text| !text.is_empty());
            Ok(())
        })?;
        // What was given for one provider is not sent to another.
        if !have_same_origin(self.address(), new.address()) && body.get("apiKey").is_none() {
            new.api_key = None;
        }
        new.check()?;
        Ok(new)
    }

    /// Address of the provider; empty where none was given.
    pub fn address(&self) -> &str {
        let of_source = match self.source {
            Source::OpenAi => "https://api.openai.com/v1",
            Source::Mistral => "https://api.mistral.ai/v1",
            Source::VLlm | Source::AzureOpenAi => "",
        };
        self.base_url.as_deref().unwrap_or(of_source)
    }

    fn check(&self) -> ApiResult<()> {
        let needed: &[(&str, &Option<String>)] = match self.source {
            Source::VLlm => &[("baseUrl", &self.base_url)],
            Source::AzureOpenAi => {
                &[("baseUrl", &self.base_url), ("deploymentId", &self.deployment_id), ("apiVersion", &self.api_version)]
            }
            Source::OpenAi | Source::Mistral => &[],
        };
        match needed.iter().find(|(_, value)| value.is_none()) {
            None => Ok(()),
            Some((missing, _)) => {
                let source = SOURCES.iter().find(|(_, source)| *source == self.source).map_or("", |(name, _)| name);
                Err(ApiError::new(Code::BadRequest, format!("The source `{source}` needs `{missing}`.")))
            }
        }
    }
}

impl Prompts {
    fn patched(&self, field: &At<'_>) -> ApiResult<Prompts> {
        let (mut new, default) = (self.clone(), Prompts::default());
        field.fields(&PROMPTS, |name, field| {
            let (place, default, code) = match name {
                "system" => (&mut new.system, &default.system, Code::InvalidChatCompletionSystemPrompt),
                "searchDescription" => (
                    &mut new.search_description,
                    &default.search_description,
                    Code::InvalidChatCompletionSearchDescriptionPrompt,
                ),
                "searchQParam" => (
                    &mut new.search_q_param,
                    &default.search_q_param,
                    Code::InvalidChatCompletionSearchQueryParamPrompt,
                ),
                "searchFilterParam" => (
                    &mut new.search_filter_param,
                    &default.search_filter_param,
                    Code::InvalidChatCompletionSearchFilterParamPrompt,
                ),
                _ => (
                    &mut new.search_index_uid_param,
                    &default.search_index_uid_param,
                    Code::InvalidChatCompletionSearchIndexUidParamPrompt,
                ),
            };
            let sent = field.code(code).optional(|field| bounded(&field, PROMPT_BYTES_MAX))?;
            *place = sent.filter(|text| !text.is_empty()).unwrap_or_else(|| default.clone());
            Ok(())
        })?;
        Ok(new)
    }
}

/// Reads the range of workspaces to list: offset and limit.
///
/// # Errors
/// The first problem in the order of the text.
pub fn page(query: &QueryString) -> ApiResult<(usize, usize)> {
    let (mut offset, mut limit) = (0, 20);
    query.parameters(&["offset", "limit"], |name, parameter| {
        let number = usize::try_from(parameter.positive_integer()?).unwrap_or(usize::MAX);
        *(if name == "offset" { &mut offset } else { &mut limit }) = number;
        Ok(())
    })?;
    Ok((offset, limit))
}

/// The function that the model searches with, and the names of those that clients declare to be shown what happens.
pub const SEARCH_TOOL: &str = "_meiliSearchInIndex";
pub const PROGRESS_TOOL: &str = "_meiliSearchProgress";
pub const APPEND_TOOL: &str = "_meiliAppendConversationMessage";
pub const SOURCES_TOOL: &str = "_meiliSearchSources";
const SHOWN_TOOLS: [&str; 3] = [PROGRESS_TOOL, APPEND_TOOL, SOURCES_TOOL];

/// A request for a completion.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The conversation so far.
    pub messages: Vec<Value>,
    /// Model, by the name that the provider uses.
    pub model: String,
    /// Flags of the tools that the client declared, in the order of [`SHOWN_TOOLS`].
    pub shows: [bool; 3],
    /// Everything else, which goes to the provider as it is.
    pub rest: Map<String, Value>,
}

impl Completion {
    /// Reads a body.
    ///
    /// # Errors
    /// `bad_request`, or what is not done here.
    pub fn from_body(body: &Value) -> ApiResult<Completion> {
        let root = At::root(body);
        let (mut messages, mut model, mut shows) = (None, None, [false; 3]);
        let (mut is_stream, mut choices) = (false, 1);
        let mut rest = Map::new();
        root.entries(|name, field| {
            match name {
                "messages" => {
                    let read = |element: At<'_>| element.object().map(|message| Value::Object(message.clone()));
                    messages = Some(field.list(read)?);
                }
                "model" => model = Some(field.string()?),
                "stream" => is_stream = field.optional(|field| field.boolean())?.unwrap_or(false),
                "n" => choices = field.optional(|field| field.positive_integer())?.unwrap_or(1),
                "tools" => shows = field.optional(|field| tools(&field))?.unwrap_or_default(),
                // It is ours to say which function may be called.
                "tool_choice" | "stream_options" => {}
                other => drop(rest.insert(other.to_owned(), field.value().clone())),
            }
            Ok(())
        })?;
        let messages = required(messages, &root, "messages", Code::BadRequest)?;
        let model = required(model, &root, "model", Code::BadRequest)?;
        if !is_stream {
            return Err(ApiError::new(
                Code::UnimplementedNonStreamingChatCompletions,
                "Completions are streamed only: send `\"stream\": true`.",
            ));
        }
        if choices != 1 {
            return Err(ApiError::new(
                Code::UnimplementedMultiChoiceChatCompletions,
                format!("There is one completion of a request: `n` is {choices}, and can be 1."),
            ));
        }
        Ok(Completion { messages, model, shows, rest })
    }

    /// Reports whether the client is shown calls of this name.
    pub fn is_shown(&self, tool: &str) -> bool {
        SHOWN_TOOLS.iter().zip(self.shows).any(|(name, is_shown)| *name == tool && is_shown)
    }
}

fn tools(field: &At<'_>) -> ApiResult<[bool; 3]> {
    let mut shows = [false; 3];
    field.list(|tool| {
        let name = tool.object()?.get("function").and_then(|function| function.get("name")).and_then(Value::as_str);
        let name =
            name.ok_or_else(|| tool.invalid("a tool is `{\"type\": \"function\", \"function\": {\"name\": …}}`"))?;
        if name == SEARCH_TOOL {
            return Err(tool.invalid(format!("`{SEARCH_TOOL}` is added by the server")));
        }
        let Some(position) = SHOWN_TOOLS.iter().position(|known| *known == name) else {
            return Err(ApiError::new(
                Code::UnimplementedExternalFunctionCalling,
                format!("Functions of the client are not called: `{name}` is none of `{}`.", SHOWN_TOOLS.join("`, `")),
            ));
        };
        shows[position] = true;
        Ok(())
    })?;
    Ok(shows)
}

/// The schema of a change of settings.
pub fn settings_schema() -> Value {
    let prompts = exactly(PROMPTS.map(|name| (name, or_null(text()))), &[]);
    let names: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).chain([""]).collect();
    let fields = FIELDS.map(|name| {
        let schema = match name {
            "source" => or_null(one_of(&names)),
            "prompts" => or_null(prompts.clone()),
            "baseUrl" => {
                let pattern = "^$|^[Hh][Tt][Tt][Pp][Ss]?:";
                json!({ "type": ["string", "null"], "pattern": pattern })
            }
            _ => or_null(text()),
        };
        (name, schema)
    });
    exactly(fields, &[])
}

/// The schema of a request for a completion.
pub fn completion_schema() -> Value {
    let fields = [
        ("model", text()),
        ("messages", list(json!({ "type": "object" }))),
        ("stream", json!({ "type": ["boolean", "null"] })),
        ("n", or_null(count())),
        ("tools", or_null(list(json!({ "type": "object" })))),
    ];
    open(fields, &["model", "messages"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_changed_key_by_key() {
        let settings = ChatSettings::default();
        let one = settings
            .patched(&json!({"source": "vLlm", "baseUrl": "http://a/v1", "apiKey": "k", "prompts": {"system": "s"}}))
            .unwrap();
        assert_eq!((one.source, one.prompts.system.as_str()), (Source::VLlm, "s"));
        assert_eq!(one.prompts.search_q_param, Prompts::default().search_q_param);
        let two = one.patched(&json!({"source": null, "baseUrl": null, "prompts": {"system": null}})).unwrap();
        assert_eq!(two, ChatSettings::default(), "the key was for another server");
        let three = one.patched(&json!({"baseUrl": "http://a/v2"})).unwrap();
        assert_eq!(three.api_key.as_deref(), Some("k"));
        for change in [json!({"baseUrl": "http://b/v1"}), json!({"source": "mistral", "baseUrl": null})] {
            assert_eq!(three.patched(&change).unwrap().api_key, None, "{change}");
        }
        let four = three.patched(&json!({"baseUrl": "http://b/v1", "apiKey": "new"})).unwrap();
        assert_eq!(four.api_key.as_deref(), Some("new"));
        assert_eq!(one.patched(&json!({"prompts": null})).unwrap().prompts, Prompts::default());
        for (body, code) in [
            (json!({"source": "vLlm"}), Code::BadRequest),
            (json!({"source": "azureOpenAi", "baseUrl": "http://a", "deploymentId": "d"}), Code::BadRequest),
            (json!({"source": "other"}), Code::BadRequest),
            (json!({"sauce": "openAi"}), Code::BadRequest),
            (json!({"apiKey": 1}), Code::InvalidChatCompletionApiKey),
            (json!({"baseUrl": 1}), Code::InvalidChatCompletionBaseApi),
            (json!({"prompts": 1}), Code::InvalidChatCompletionPrompts),
            (json!({"prompts": {"system": 1}}), Code::InvalidChatCompletionSystemPrompt),
            (json!({"prompts": {"preQuery": ""}}), Code::InvalidChatCompletionPrompts),
            (json!({"apiKey": "two\nlines"}), Code::InvalidChatCompletionApiKey),
            (json!({"orgId": "a\u{1}"}), Code::InvalidChatCompletionOrgId),
            (json!({"projectId": "x".repeat(4097)}), Code::InvalidChatCompletionProjectId),
            (json!({"deploymentId": "x".repeat(4097)}), Code::InvalidChatCompletionDeploymentId),
            (json!({"prompts": {"system": "x".repeat(20_001)}}), Code::InvalidChatCompletionSystemPrompt),
        ] {
            assert_eq!(settings.patched(&body).unwrap_err().code, code, "{body}");
        }
        assert!(!format!("{one:?}").contains('k') || !format!("{one:?}").contains("\"k\""));
    }

    #[test]
    fn an_empty_text_unsets() {
        let set = json!({
            "source": "openAi", "orgId": "o", "projectId": "p", "apiVersion": "v", "deploymentId": "d",
            "baseUrl": "http://a.org", "apiKey": "k",
            "prompts": {"system": "s", "searchDescription": "s", "searchQParam": "s", "searchFilterParam": "s", "searchIndexUidParam": "s"},
        });
        let set = ChatSettings::default().patched(&set).unwrap();
        for unset in [json!(""), Value::Null] {
            let mut body: Map<String, Value> =
                FIELDS.map(|name| (name.to_owned(), unset.clone())).into_iter().collect();
            body["prompts"] = PROMPTS.map(|name| (name.to_owned(), unset.clone())).into_iter().collect();
            assert_eq!(set.patched(&Value::Object(body)).unwrap(), ChatSettings::default(), "{unset}");
        }
        let needs = ChatSettings::default().patched(&json!({"source": "vLlm", "baseUrl": ""})).unwrap_err();
        assert_eq!((needs.code, needs.message.as_str()), (Code::BadRequest, "The source `vLlm` needs `baseUrl`."));
    }

    #[test]
    fn completions_are_read_and_what_is_not_done_is_named() {
        let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
        let read = Completion::from_body(&json!({
            "model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": true, "temperature": 0.5,
            "tools": [tool(SOURCES_TOOL)], "tool_choice": "auto", "n": 1,
        }))
        .unwrap();
        assert!(read.is_shown(SOURCES_TOOL));
        assert!(!read.is_shown(PROGRESS_TOOL));
        assert!(!read.is_shown("other"));
        assert_eq!(Value::Object(read.rest), json!({"temperature": 0.5}));
        let with = |field: &str, value: Value| {
            let mut body = json!({"model": "m", "messages": [], "stream": true});
            body[field] = value;
            Completion::from_body(&body).unwrap_err().code
        };
        assert_eq!(with("stream", json!(false)), Code::UnimplementedNonStreamingChatCompletions);
        assert_eq!(with("n", json!(2)), Code::UnimplementedMultiChoiceChatCompletions);
        assert_eq!(with("tools", json!([tool("own")])), Code::UnimplementedExternalFunctionCalling);
        assert_eq!(with("tools", json!([tool(SEARCH_TOOL)])), Code::BadRequest);
        assert_eq!(with("tools", json!([{}])), Code::BadRequest);
        assert_eq!(with("messages", json!([1])), Code::BadRequest);
        assert_eq!(Completion::from_body(&json!({"model": "m", "stream": true})).unwrap_err().code, Code::BadRequest);
    }
}
