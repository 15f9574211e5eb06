//! Asking a provider that speaks the completions of OpenAI.

use std::time::Duration;

use lamina_base::outbound::{Outbound, OutboundError};
use lamina_base::secret::{redacted, secrets_of_url};
use lamina_protocol::events::Lines;
use lamina_protocol::wire::chats::{ChatSettings, Source};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde_json::Value;

use super::events::Fault;

/// Maximum size of all data of a provider for one turn.
const TURN_BYTES_MAX: usize = 8 << 20;
/// Maximum size of one event.
const EVENT_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a refusal.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Number of characters shown of a text of the provider.
const EXCERPT_CHARS: usize = 500;

/// The provider of a workspace.
pub(super) struct Provider<'a> {
    pub(super) outbound: &'a Outbound,
    pub(super) settings: &'a ChatSettings,
}

/// Stream of one turn.
pub(super) struct Turn {
    response: Response,
    lines: Lines,
    bytes_left: usize,
    is_over: bool,
    is_done: bool,
}

impl Provider<'_> {
    /// Begins a turn, which may take `time_max`.
    ///
    /// # Errors
    /// The provider cannot be asked, or says no.
    pub(super) async fn begin(&self, body: &impl Serialize, time_max: Duration) -> Result<Turn, Fault> {
        let unreachable =
            |error: &OutboundError| Fault::new("provider_unreachable", self.without_key(&error.to_string()));
        let request = self.request().map_err(|error| unreachable(&error))?.timeout(time_max).json(body);
        let response = self.outbound.follow(request).await.map_err(|error| unreachable(&error))?;
        if response.status().is_success() {
            return Ok(Turn {
                response,
                lines: Lines::default(),
                bytes_left: TURN_BYTES_MAX,
                is_over: false,
                is_done: false,
            });
        }
        Err(self.refusal(response).await)
    }

    fn request(&self) -> Result<RequestBuilder, OutboundError> {
        let settings = self.settings;
        let base = settings.address().trim_end_matches('/');
        let url = match settings.source {
            Source::OpenAi | Source::Mistral | Source::VLlm => format!("{base}/chat/completions"),
            Source::AzureOpenAi => {
                let part = |value: &Option<String>| {
                    let text = value.as_deref().unwrap_or_default();
                    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
                };
                let (deployment, version) = (part(&settings.deployment_id), part(&settings.api_version));
                format!("{base}/openai/deployments/{deployment}/chat/completions?api-version={version}")
            }
        };
        let mut request = self.outbound.request(Method::POST, &url)?;
        if let Some(key) = &settings.api_key {
            request = match settings.source {
                Source::AzureOpenAi => request.header("api-key", key),
                _ => request.bearer_auth(key),
            };
        }
        for (header, value) in [("OpenAI-Organization", &settings.org_id), ("OpenAI-Project", &settings.project_id)] {
            if let (Source::OpenAi, Some(value)) = (settings.source, value) {
                request = request.header(header, value);
            }
        }
        Ok(request)
    }

    async fn refusal(&self, mut response: Response) -> Fault {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > REFUSAL_BYTES_MAX {
                break;
            }
        }
        if let Some(fault) = serde_json::from_slice(&body).ok().and_then(|said| self.fault_in(&said)) {
            return fault;
        }
        let excerpt = self.excerpt(&String::from_utf8_lossy(&body));
        let message = format!("the provider answered with status {status}: {excerpt}");
        Fault { code: Some(status.to_string()), ..Fault::new("", message) }
    }

    /// Reads the error that a provider reports.
    pub(super) fn fault_in(&self, said: &Value) -> Option<Fault> {
        let error = said.get("error").filter(|error| !error.is_null())?;
        let text = |field: &str| error.get(field).and_then(Value::as_str).map(|text| self.excerpt(text));
        let code = text("code").or_else(|| error.get("code").and_then(Value::as_i64).map(|code| code.to_string()));
        Some(Fault {
            kind: text("type").unwrap_or_else(|| "invalid_request_error".to_owned()),
            code,
            message: text("message").unwrap_or_else(|| self.excerpt(&error.to_string())),
            param: text("param"),
        })
    }

    /// The beginning of a text of the provider. What is secret goes first: a part of it is a secret, too.
    fn excerpt(&self, text: &str) -> String {
        self.without_key(text).chars().take(EXCERPT_CHARS).collect()
    }

    /// A text of the provider or of the network, in which the key is masked, and what is secret in the address.
    fn without_key(&self, text: &str) -> String {
        let in_address = self.settings.base_url.as_deref().map(secrets_of_url).unwrap_or_default();
        let secrets = self.settings.api_key.iter().cloned().chain(in_address).filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| text.replace(&secret, &redacted(&secret)))
    }
}

impl Turn {
    /// The next chunk; `None` at the end.
    ///
    /// # Errors
    /// The stream breaks off, is too long, or holds what is no JSON object.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, Fault> {
        loop {
            let data = if self.is_over { self.lines.rest() } else { self.lines.next_data() };
            match data {
                Some(data) if data == "[DONE]" => {
                    self.is_done = true;
                    return Ok(None);
                }
                Some(data) if data.is_empty() => {}
                Some(data) => match parsed(&data) {
                    // The beginning of a line.
                    Err(_) if self.is_over => return Err(ended_early()),
                    parsed => return parsed.map(Some),
                },
                None if self.is_over => return Ok(None),
                None => self.read().await?,
            }
        }
    }

    /// Reports whether the provider has announced the end of the turn.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let piece = self.response.chunk().await.map_err(|error| {
            let broken = OutboundError::from(error);
            Fault::new("provider_broke_off", format!("the answer of the provider broke off: {broken}"))
        })?;
        let Some(piece) = piece else {
            self.is_over = true;
            return Ok(());
        };
        self.bytes_left = self.bytes_left.checked_sub(piece.len()).ok_or_else(too_long)?;
        self.lines.push(&piece);
        if self.lines.waiting_bytes() > EVENT_BYTES_MAX { Err(too_long()) } else { Ok(()) }
    }
}

fn parsed(data: &str) -> Result<Value, Fault> {
    match serde_json::from_str(data) {
        Ok(chunk @ Value::Object(_)) => Ok(chunk),
        _ => Err(Fault::new("provider_bad_response", "the provider sent an event that is no JSON object")),
    }
}

/// The provider left without a word.
pub(super) fn ended_early() -> Fault {
    Fault::new("provider_broke_off", "the answer of the provider ended before it was whole")
}

fn too_long() -> Fault {
    Fault::new(
        "provider_bad_response",
        format!("the provider sent more than {TURN_BYTES_MAX} bytes, or a line without end"),
    )
}
