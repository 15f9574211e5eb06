//! Versions of the protocol, and which one a message is of. Up to 2025-11-25 a handshake agrees on one; since 2026-07-28 each
//! request names its own, beside it also in headers if it comes over HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::excerpt;

/// The version whose requests name it themselves.
const STATELESS: &str = "2026-07-28";
/// Versions that begin with `initialize`, the newest first.
pub(super) const WITH_HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Members of `params._meta` and of the `_meta` of results.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// All versions, the newest first.
pub(super) fn all() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(WITH_HANDSHAKE).collect()
}

/// HTTP headers that describe the message of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`
    pub version: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
}

/// By which rules a message is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Handshake,
    Stateless,
}

/// Reason why a message belongs to no version.
#[derive(Debug, PartialEq)]
pub(super) enum Unfit {
    /// A version that is not known here.
    Unknown(String),
    /// Headers that say something else than the message.
    Mismatch(String),
    /// `_meta` lacks something.
    Incomplete(&'static str),
    /// Several messages, where the version has one a request.
    Several,
}

impl Unfit {
    /// The code, the sentence, and what programs read.
    pub(super) fn error(&self) -> (i32, String, Option<Value>) {
        match self {
            Unfit::Unknown(version) => {
                let known = all().join("`, `");
                let said = format!("the version `{version}` of the protocol is not known here; known are `{known}`");
                (-32022, said, Some(json!({ "supported": all(), "requested": version })))
            }
            Unfit::Mismatch(reason) => (-32020, reason.clone(), None),
            Unfit::Incomplete(reason) => (-32602, (*reason).to_owned(), None),
            Unfit::Several => {
                (-32600, format!("a request of the version {STATELESS} is one message, not an array"), None)
            }
        }
    }
}

/// The rules for a message. `headers` are absent where none can come.
///
/// # Errors
/// When the version is not known, or the message does not say what its version needs.
pub(super) fn era(message: &Value, headers: Option<&Headers<'_>>) -> Result<Era, Unfit> {
    let sent = headers.and_then(|headers| headers.version);
    let meta = &message["params"]["_meta"];
    // The versions are agreed on inside the message.
    if message["method"] == "initialize" && meta[VERSION] != STATELESS {
        return Ok(Era::Handshake);
    }
    let Some(named) = meta.get(VERSION) else {
        return match sent {
            Some(version) if version == STATELESS && message.get("id").is_some() => {
                Err(Unfit::Incomplete("`params._meta` needs `io.modelcontextprotocol/protocolVersion`"))
            }
            Some(version) => check_known(version).map(|()| Era::Handshake),
            None => Ok(Era::Handshake),
        };
    };
    let version = named.as_str();
    let version = version.ok_or(Unfit::Incomplete("`io.modelcontextprotocol/protocolVersion` must be a string"))?;
    if let Some(sent) = sent.filter(|sent| *sent != version) {
        return Err(mismatch("MCP-Protocol-Version", Some(sent), version));
    }
    check_known(version)?;
    if version != STATELESS {
        return Ok(Era::Handshake);
    }
    if let Some(headers) = headers {
        check_headers(message, headers)?;
    }
    match meta[CAPABILITIES].is_object() {
        true => Ok(Era::Stateless),
        false => Err(Unfit::Incomplete("`params._meta` needs `io.modelcontextprotocol/clientCapabilities`, an object")),
    }
}

/// The rules for several messages that come together. No version but those with a handshake has them.
pub(super) fn check_several(messages: &[Value], headers: Option<&Headers<'_>>) -> Result<(), Unfit> {
    let begins = messages.iter().any(|message| message["method"] == "initialize");
    match headers.and_then(|headers| headers.version) {
        Some(STATELESS) if !begins => Err(Unfit::Several),
        Some(version) if !begins => check_known(version),
        _ => Ok(()),
    }
}

fn check_known(version: &str) -> Result<(), Unfit> {
    let is_known = version == STATELESS || WITH_HANDSHAKE.contains(&version);
    if is_known { Ok(()) } else { Err(Unfit::Unknown(excerpt(version))) }
}

/// Compares headers with the message. What stands between client and server may have acted on the headers: they say what the message says.
fn check_headers(message: &Value, headers: &Headers<'_>) -> Result<(), Unfit> {
    if headers.version.is_none() {
        return Err(mismatch("MCP-Protocol-Version", None, STATELESS));
    }
    let method = message["method"].as_str().unwrap_or_default();
    if headers.method != Some(method) {
        return Err(mismatch("Mcp-Method", headers.method, method));
    }
    let Some(name) = message["params"]["name"].as_str().filter(|_| method == "tools/call") else { return Ok(()) };
    match headers.name.and_then(decoded) {
        Some(sent) if sent == name => Ok(()),
        _ => Err(mismatch("Mcp-Name", headers.name, name)),
    }
}

/// The value of a header that may be written in base64, as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn mismatch(header: &str, sent: Option<&str>, meant: &str) -> Unfit {
    let meant = excerpt(meant);
    Unfit::Mismatch(match sent {
        Some(sent) => format!("the header `{header}` says `{}`, the message `{meant}`", excerpt(sent)),
        None => format!("the header `{header}` is missing; the message says `{meant}`"),
    })
}
