//! A conversation: the model says something, or searches and is shown what was found, until it is done.

use std::time::Duration;

use lamina_base::budget::{VALUE_BYTES, json_heap_bytes};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::Outbound;
use lamina_protocol::events::RETRY;
use lamina_protocol::wire::chats::{
    APPEND_TOOL, ChatSettings, Completion, PROGRESS_TOOL, SEARCH_TOOL, SOURCES_TOOL, Source,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::events::{Events, Fault, Gone};
use super::provider::{Provider, Turn, ended_early};

/// Turns of the model in one conversation.
const TURNS_MAX: usize = 20;
/// Searches of one turn.
const CALLS_MAX: usize = 8;
/// Maximum size of the arguments of one search.
const ARGUMENTS_BYTES_MAX: usize = 64 << 10;
/// Maximum memory of all messages and their values.
const HELD_BYTES_MAX: usize = 16 << 20;
/// For all turns and searches.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(300);

/// A search that the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchCall {
    pub index_uid: String,
    pub q: String,
    /// Empty ones are none.
    pub filter: Option<String>,
}

/// Result of a search.
#[derive(Debug)]
pub(crate) struct SearchOutcome {
    /// The documents, as clients see them.
    pub sources: Vec<Value>,
    /// The same as the model reads them.
    pub content: String,
}

/// All that a conversation needs.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub outbound: Outbound,
    pub settings: ChatSettings,
    pub completion: Completion,
    /// Uids of the indexes that can be searched, with what the model learns of each.
    pub indexes: Vec<(String, String)>,
    pub events: Events,
    /// For all of it, see [`TIME_MAX`].
    pub time_max: Duration,
}

/// Request to a provider for a turn.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    rest: &'a Map<String, Value>,
    model: &'a str,
    messages: &'a [Value],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
}

/// Reason why a conversation ends early.
enum End {
    Fault(Fault),
    Gone,
}

impl From<Fault> for End {
    fn from(fault: Fault) -> End {
        End::Fault(fault)
    }
}

impl From<Gone> for End {
    fn from(_: Gone) -> End {
        End::Gone
    }
}

/// A call of a function, as it comes piece by piece.
#[derive(Debug, Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// Result of a turn.
struct Said {
    calls: Vec<Call>,
    /// Fields of the last chunk that are repeated in chunks of this server.
    frame: Value,
}

/// # Errors
/// `payload_too_large` for a completion that would take more than its share of memory from the start.
pub(crate) fn check_size(completion: &Completion) -> ApiResult<()> {
    let held = held_bytes(&completion.messages) + held_bytes(&completion.rest);
    if held <= HELD_BYTES_MAX {
        return Ok(());
    }
    let message =
        format!("The messages take {held} bytes in memory, and {HELD_BYTES_MAX} are the maximum of a conversation.");
    Err(ApiError::new(Code::PayloadTooLarge, message))
}

fn held_bytes(value: &impl Serialize) -> usize {
    json_heap_bytes(&serde_json::to_vec(value).unwrap_or_default(), VALUE_BYTES)
}

impl Conversation {
    /// Holds it, and sends what happens. Ends when the model is done, something fails, the client is gone, or `ending` says why it must end.
    pub(crate) async fn run<F: Future<Output = Result<SearchOutcome, String>>>(
        self,
        search: impl Fn(SearchCall) -> F,
        ending: impl Future<Output = Fault>,
    ) {
        let hold = async {
            tokio::select! {
                held = self.hold(&search) => held,
                fault = ending => Err(fault.into()),
            }
        };
        let held = async {
            self.events.text(RETRY).await?;
            match tokio::time::timeout(self.time_max, hold).await {
                Ok(Err(End::Fault(fault))) => self.events.fault(&fault).await?,
                Ok(Err(End::Gone)) => return Err(Gone),
                Ok(Ok(())) => {}
                Err(_) => {
                    let why = format!("the conversation took longer than {:?}", self.time_max);
                    self.events.fault(&Fault::new("timeout", why)).await?;
                }
            }
            self.events.done().await
        };
        tokio::select! {
            _ = held => {}
            () = self.events.closed() => {}
        }
    }

    async fn hold<F: Future<Output = Result<SearchOutcome, String>>>(
        &self,
        search: &impl Fn(SearchCall) -> F,
    ) -> Result<(), End> {
        let provider = Provider { outbound: &self.outbound, settings: &self.settings };
        let mut messages = vec![json!({ "role": self.system_role(), "content": self.settings.prompts.system })];
        messages.extend(self.completion.messages.iter().cloned());
        let mut held = held_bytes(&messages);
        for _ in 0..TURNS_MAX {
            // The time of the whole conversation is over before that.
            let mut turn = provider.begin(&self.body(&messages), 2 * self.time_max).await?;
            let Said { calls, frame } = self.listen(&provider, &mut turn).await?;
            if calls.is_empty() {
                return Ok(());
            }
            let before = messages.len();
            self.carry_out(&calls, &frame, (&mut messages, HELD_BYTES_MAX.saturating_sub(held)), search).await?;
            held += held_bytes(&&messages[before..]);
        }
        Err(Fault::new("too_many_turns", format!("the model did not come to an end in {TURNS_MAX} turns")).into())
    }

    /// Newer models of OpenAI take their instructions from another role.
    fn system_role(&self) -> &'static str {
        let model = self.completion.model.as_bytes();
        let is_reasoning = matches!(model, [b'o', digit, ..] if digit.is_ascii_digit());
        if self.settings.source == Source::OpenAi && is_reasoning { "developer" } else { "system" }
    }

    fn body<'a>(&'a self, messages: &'a [Value]) -> Body<'a> {
        let counts_usage = matches!(self.settings.source, Source::OpenAi | Source::AzureOpenAi);
        Body {
            rest: &self.completion.rest,
            model: &self.completion.model,
            messages,
            stream: true,
            tools: (!self.indexes.is_empty()).then(|| json!([self.tool()])),
            stream_options: counts_usage.then(|| json!({ "include_usage": true })),
        }
    }

    fn tool(&self) -> Value {
        let prompts = &self.settings.prompts;
        let uids: Vec<&str> = self.indexes.iter().map(|(uid, _)| uid.as_str()).collect();
        let about: Vec<String> = self.indexes.iter().map(|(uid, about)| format!("- `{uid}`: {about}")).collect();
        let with_indexes = |text: &str| format!("{text}\n{}", about.join("\n"));
        json!({
            "type": "function",
            "function": {
                "name": SEARCH_TOOL,
                "description": prompts.search_description,
                "strict": true,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "index_uid": {
                            "type": "string", "enum": uids, "description": with_indexes(&prompts.search_index_uid_param),
                        },
                        "q": { "type": "string", "description": prompts.search_q_param },
                        "filter": { "type": "string", "description": with_indexes(&prompts.search_filter_param) },
                    },
                    "required": ["index_uid", "q", "filter"],
                    "additionalProperties": false,
                },
            },
        })
    }

    /// Passes on what the model says, and gathers the searches that it asks for.
    async fn listen(&self, provider: &Provider<'_>, turn: &mut Turn) -> Result<Said, End> {
        let (mut calls, mut frame, mut is_finished) = (Vec::<Call>::new(), json!({}), false);
        while let Some(mut chunk) = turn.next().await? {
            if let Some(fault) = provider.fault_in(&chunk) {
                return Err(fault.into());
            }
            for key in ["id", "created", "model"] {
                frame[key] = chunk[key].clone();
            }
            let finish = chunk["choices"][0]["finish_reason"].clone();
            is_finished |= !finish.is_null();
            let says_something = chunk["choices"][0]["delta"]["content"].as_str().is_some_and(|text| !text.is_empty());
            let delta = chunk.pointer_mut("/choices/0/delta").and_then(Value::as_object_mut);
            let pieces = delta.and_then(|delta| delta.remove("tool_calls"));
            let has_pieces = pieces.as_ref().is_some_and(Value::is_array);
            for piece in pieces.iter().filter_map(Value::as_array).flatten() {
                gather(&mut calls, piece)?;
            }
            // Some providers call the end of a turn with calls "stop".
            let is_turn_over = finish == "tool_calls" || (!finish.is_null() && !calls.is_empty());
            if (!has_pieces && !is_turn_over) || says_something {
                self.events.data(&completed(chunk)).await?;
            }
        }
        if !turn.is_done() && !is_finished {
            return Err(ended_early().into());
        }
        Ok(Said { calls, frame })
    }

    /// Searches as `calls` ask for it, shows the client what it wants to see of it, and the model what was found: as far as it
    /// fits into the bytes that are left.
    async fn carry_out<F: Future<Output = Result<SearchOutcome, String>>>(
        &self,
        calls: &[Call],
        frame: &Value,
        (messages, mut left): (&mut Vec<Value>, usize),
        search: &impl Fn(SearchCall) -> F,
    ) -> Result<(), End> {
        let as_sent = |call: &Call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        };
        for call in calls {
            let progress = json!({
                "call_id": call.id, "function_name": SEARCH_TOOL, "function_arguments": call.arguments,
            });
            self.show(PROGRESS_TOOL, frame, &progress).await?;
        }
        let sent: Vec<Value> = calls.iter().map(as_sent).collect();
        let asked = json!({ "role": "assistant", "tool_calls": sent });
        self.show(APPEND_TOOL, frame, &asked).await?;
        messages.push(asked);
        for call in calls {
            let outcome = match parsed(call) {
                Ok(asked) => search(asked).await,
                Err(wrong) => Err(wrong),
            };
            let (sources, content) = match outcome {
                Ok(SearchOutcome { sources, content }) => (sources, content),
                Err(wrong) => (Vec::new(), wrong),
            };
            left = left.checked_sub(content.len()).ok_or_else(|| {
                let why = format!("the messages and what was found take more than {HELD_BYTES_MAX} bytes in memory");
                Fault::new("conversation_too_long", why)
            })?;
            self.show(SOURCES_TOOL, frame, &json!({ "call_id": call.id, "sources": sources })).await?;
            let found = json!({ "role": "tool", "content": content, "tool_call_id": call.id });
            self.show(APPEND_TOOL, frame, &found).await?;
            messages.push(found);
        }
        Ok(())
    }

    /// Shows the client a call of one of its functions, if it declared it.
    async fn show(&self, tool: &str, frame: &Value, arguments: &Value) -> Result<(), Gone> {
        if !self.completion.is_shown(tool) {
            return Ok(());
        }
        let function = json!({ "name": tool, "arguments": arguments.to_string() });
        let call = json!({ "index": 0, "id": Uuid::new_v4(), "type": "function", "function": function });
        let delta = json!({ "role": "assistant", "tool_calls": [call] });
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
        let mut chunk = frame.clone();
        chunk["object"] = "chat.completion.chunk".into();
        chunk["choices"] = json!([choice]);
        self.events.data(&completed(chunk)).await
    }
}

/// Adds a piece of a call.
fn gather(calls: &mut Vec<Call>, piece: &Value) -> Result<(), Fault> {
    let index = piece["index"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(calls.len());
    if index >= CALLS_MAX || index > calls.len() {
        let why = format!("the model asks for more than {CALLS_MAX} searches at once, or leaves one out");
        return Err(Fault::new("provider_bad_response", why));
    }
    if index == calls.len() {
        calls.push(Call::default());
    }
    let call = &mut calls[index];
    if let Some(id) = piece["id"].as_str().filter(|id| !id.is_empty()) {
        id.clone_into(&mut call.id);
    }
    call.name.push_str(piece["function"]["name"].as_str().unwrap_or_default());
    call.arguments.push_str(piece["function"]["arguments"].as_str().unwrap_or_default());
    if call.name.len() + call.arguments.len() > ARGUMENTS_BYTES_MAX {
        let why = format!("the model asks for a search with more than {ARGUMENTS_BYTES_MAX} bytes of arguments");
        return Err(Fault::new("provider_bad_response", why));
    }
    Ok(())
}

/// The search that a call asks for, or what the model is to read of what is wrong with it.
fn parsed(call: &Call) -> Result<SearchCall, String> {
    if call.name != SEARCH_TOOL {
        return Err(format!("There is no function `{}`: `{SEARCH_TOOL}` is the only one.", call.name));
    }
    let arguments: Value = serde_json::from_str(&call.arguments)
        .map_err(|error| format!("The arguments of `{SEARCH_TOOL}` are no JSON: {error}"))?;
    let text = |name: &str| arguments[name].as_str().map(str::to_owned);
    let index_uid = text("index_uid").ok_or_else(|| "The argument `index_uid` is missing.".to_owned())?;
    let filter = text("filter").filter(|filter| !filter.trim().is_empty());
    Ok(SearchCall { index_uid, q: text("q").unwrap_or_default(), filter })
}

/// A chunk in which keys that may be missing are null.
fn completed(mut chunk: Value) -> Value {
    let fill = |object: &mut Value, keys: &[&str]| {
        if let Some(object) = object.as_object_mut() {
            for key in keys {
                object.entry(*key).or_insert(Value::Null);
            }
        }
    };
    fill(&mut chunk, &["usage", "service_tier", "system_fingerprint"]);
    for choice in chunk.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
        fill(choice, &["finish_reason", "logprobs"]);
        if let Some(delta) = choice.get_mut("delta") {
            fill(delta, &["content", "function_call", "tool_calls", "role", "refusal"]);
        }
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_in_pieces_and_are_bounded() {
        let mut calls = Vec::new();
        for piece in [
            json!({"index": 0, "id": "c", "function": {"name": SEARCH_TOOL, "arguments": ""}}),
            json!({"index": 0, "function": {"arguments": "{\"index_uid\":\"films\","}}),
            json!({"index": 0, "id": null, "function": {"arguments": "\"q\":\"dune\",\"filter\":\" \"}"}}),
        ] {
            gather(&mut calls, &piece).unwrap();
        }
        let asked = SearchCall { index_uid: "films".into(), q: "dune".into(), filter: None };
        assert_eq!(parsed(&calls[0]), Ok(asked));
        assert!(gather(&mut calls, &json!({"index": 5})).is_err(), "one is left out");
        assert!(gather(&mut calls, &json!({"index": 8})).is_err());
        let long = "x".repeat(ARGUMENTS_BYTES_MAX);
        assert!(gather(&mut calls, &json!({"index": 0, "function": {"arguments": long}})).is_err());
        for (name, arguments) in [("other", "{}"), (SEARCH_TOOL, "{"), (SEARCH_TOOL, "{}"), (SEARCH_TOOL, "[]")] {
            let call = Call { id: String::new(), name: name.into(), arguments: arguments.into() };
            assert!(parsed(&call).is_err(), "{name} {arguments}");
        }
    }

    #[test]
    fn chunks_have_all_keys() {
        let chunk = completed(json!({"id": "x", "choices": [{"index": 0, "delta": {"content": "a"}}]}));
        assert_eq!(chunk["choices"][0]["finish_reason"], Value::Null);
        assert_eq!(chunk["choices"][0]["delta"]["content"], "a");
        assert!(chunk["choices"][0]["delta"].as_object().unwrap().contains_key("tool_calls"));
        assert!(chunk.as_object().unwrap().contains_key("usage"));
    }
}
