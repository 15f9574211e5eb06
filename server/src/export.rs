//! Sending indexes to another server of the protocol, over its public routes.
//!
//! Documents go in compressed pieces, some of them at the same time. What the other server makes of them is its own
//! business: its tasks are not waited for.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use lamina_engine::bits::DocSet;
use lamina_engine::condition::{PreparedFilter, TimeLimit};
use lamina_engine::filter::Filter;
use lamina_engine::index::{DocumentAddress, IndexError, Snapshot};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::access::matches;
use crate::engine_errors::Sentence;
use crate::error::{ApiError, Code};
use crate::instance::Instance;
use crate::outbound::{Outbound, OutboundError, Reply};
use crate::tasks::{Export, ExportedIndex, LiveBatch};
use crate::wire::settings::{remove_secrets, written};

/// For a request that carries little.
const SMALL_TIME: Duration = Duration::from_secs(5);
/// For a piece of documents.
const PIECE_TIME: Duration = Duration::from_secs(60);
const ATTEMPTS: u32 = 6;
/// Before the second attempt; twice as long before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Pieces under way at the same time; this many are also in memory.
const PARALLEL: usize = 4;
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Why an export ended early.
#[derive(Debug)]
pub(crate) enum ExportError {
    /// Canceled.
    Cancelled,
    /// What failed here.
    Api(ApiError),
    /// The other server cannot be reached.
    Outbound(OutboundError),
    /// The other server refused.
    Refused { code: String, kind: String, message: String, link: String },
}

impl From<ExportError> for ApiError {
    fn from(error: ExportError) -> ApiError {
        match error {
            ExportError::Api(error) => error,
            ExportError::Cancelled => ApiError::internal("the export was given up"),
            ExportError::Outbound(error) => {
                ApiError::internal(format!("Failed to export documents to remote server: {error}"))
            }
            ExportError::Refused { code, kind, message, link } => ApiError::internal(format!(
                "Failed to export documents to remote server `{code}` (`{kind}`): `{message}` <`{link}`>"
            )),
        }
    }
}

impl From<OutboundError> for ExportError {
    fn from(error: OutboundError) -> ExportError {
        ExportError::Outbound(error)
    }
}

impl From<ApiError> for ExportError {
    fn from(error: ApiError) -> ExportError {
        ExportError::Api(error)
    }
}

/// Carries an export out and reports what was sent, by index. Blocks.
///
/// # Errors
/// The first thing that fails; what was sent before stays where it is.
pub(crate) fn export(
    instance: &Instance,
    outbound: &Outbound,
    asked: &Export,
    live: &LiveBatch,
) -> Result<Map<String, Value>, ExportError> {
    if asked.url.is_empty() {
        let message = "The export has no `url`. Name the server that the indexes are to be sent to.";
        return Err(ApiError::new(Code::InvalidExportUrl, message).into());
    }
    let remote = Remote { outbound, live, url: asked.url.trim_end_matches('/').to_owned(), key: asked.api_key.clone() };
    let mut sent = Map::new();
    let how = |uid: &str| asked.indexes.iter().find(|index| matches(&index.pattern, uid));
    let uids: Vec<String> = instance.uids().into_iter().filter(|uid| how(uid).is_some()).collect();
    live.steps.enter("sending indexes", 0, uids.len() as u64);
    for uid in uids {
        let Some(how) = how(&uid) else { continue };
        let snapshot = instance.snapshot(&uid)?;
        let count = send_index(&remote, &uid, &snapshot, how, asked, live)?;
        live.steps.leave_inner(1);
        let report =
            json!({ "filter": how.filter, "overrideSettings": how.override_settings, "matchedDocuments": count });
        sent.insert(uid, report);
    }
    let mut report = Map::new();
    report.insert("indexes".to_owned(), Value::Object(sent));
    Ok(report)
}

fn send_index(
    remote: &Remote,
    uid: &str,
    snapshot: &Snapshot,
    how: &ExportedIndex,
    asked: &Export,
    live: &LiveBatch,
) -> Result<u64, ExportError> {
    let unreadable = |error: IndexError| ApiError::from(error).prefixed(format_args!("Index `{uid}`: "));
    // Before anything is sent: the other server would take it for sound.
    snapshot.verify_sources().map_err(unreadable)?;
    let addresses = matching(uid, snapshot, how.filter.as_ref(), &live.cancelled)?;
    prepare(remote, uid, snapshot, how.override_settings, asked.with_secrets)?;
    let path = match snapshot.primary_key.as_deref() {
        Some(key) => format!("/indexes/{uid}/documents?primaryKey={}", encoded(key)),
        None => format!("/indexes/{uid}/documents"),
    };
    live.steps.enter_inner(1, format!("documents of `{uid}`"), addresses.len() as u64);
    let mut under_way = UnderWay { remote, path, sends: VecDeque::new() };
    let mut piece = Piece::new();
    for address in &addresses {
        if live.is_cancelled() {
            return Err(ExportError::Cancelled);
        }
        let document = snapshot.document_with_vectors(*address).map_err(unreadable)?;
        if piece.bytes > 0 && piece.bytes + document.len() as u64 + 1 > asked.payload_bytes {
            under_way.send(std::mem::replace(&mut piece, Piece::new()).finish()?)?;
        }
        piece.push(&document)?;
        live.steps.advance();
    }
    if piece.bytes > 0 {
        under_way.send(piece.finish()?)?;
    }
    under_way.finish()?;
    Ok(addresses.len() as u64)
}

/// Makes sure that the index is there, with its settings when it is new or they are to be overridden.
fn prepare(
    remote: &Remote,
    uid: &str,
    snapshot: &Snapshot,
    override_settings: bool,
    with_secrets: bool,
) -> Result<(), ExportError> {
    let path = format!("/indexes/{uid}");
    let primary_key = snapshot.primary_key.as_deref();
    let reply = remote.ask(Method::GET, &path, None)?;
    let is_new = reply.status == StatusCode::NOT_FOUND;
    let creation = json!({ "uid": uid, "primaryKey": primary_key });
    if is_new {
        accepted(remote.ask(Method::POST, "/indexes", Some(creation))?)?;
    } else {
        accepted(reply)?;
        if !override_settings {
            return Ok(());
        }
        accepted(remote.ask(Method::PATCH, &path, Some(json!({ "primaryKey": primary_key })))?)?;
    }
    // Secrets in clear, for those who may write them: the other server is to work like this one.
    let mut settings = written(&snapshot.settings);
    if !with_secrets {
        remove_secrets(&mut settings);
    }
    accepted(remote.ask(Method::PATCH, &format!("{path}/settings"), Some(settings))?)?;
    Ok(())
}

/// In the order of the index.
fn matching(
    uid: &str,
    snapshot: &Snapshot,
    filter: Option<&Value>,
    cancelled: &AtomicBool,
) -> Result<Vec<DocumentAddress>, ExportError> {
    let refuse = |reason: String| {
        ExportError::Api(ApiError::new(Code::InvalidExportIndexFilter, format!("Index `{uid}`: {reason}")))
    };
    let filter = match filter {
        Some(filter) => Filter::from_json(filter).map_err(|error| refuse(error.sentence()))?,
        None => None,
    };
    let Some(filter) = filter else { return Ok(snapshot.documents(0, u64::MAX)) };
    let filter =
        PreparedFilter::new(&filter, &snapshot.settings, &snapshot.fields).map_err(|error| refuse(error.sentence()))?;
    let limit = TimeLimit::unless(cancelled);
    let sets = snapshot.segments.iter().map(|segment| filter.evaluate(segment, limit));
    let sets: Vec<DocSet> = sets.collect::<Result<_, _>>().map_err(|_| ExportError::Cancelled)?;
    snapshot.check_health().map_err(ApiError::from)?;
    Ok(snapshot.documents_among(&sets, 0, u64::MAX))
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Documents that travel together.
struct Piece {
    lines: GzEncoder<Vec<u8>>,
    /// Before compression.
    bytes: u64,
}

impl Piece {
    fn new() -> Piece {
        Piece { lines: GzEncoder::new(Vec::new(), Compression::fast()), bytes: 0 }
    }

    fn push(&mut self, document: &[u8]) -> Result<(), ExportError> {
        self.lines.write_all(document).and_then(|()| self.lines.write_all(b"\n")).map_err(ApiError::from)?;
        self.bytes += document.len() as u64 + 1;
        Ok(())
    }

    fn finish(self) -> Result<Bytes, ExportError> {
        Ok(self.lines.finish().map_err(ApiError::from)?.into())
    }
}

/// The pieces that were sent and not answered yet.
struct UnderWay<'a> {
    remote: &'a Remote<'a>,
    path: String,
    sends: VecDeque<JoinHandle<Result<Reply, OutboundError>>>,
}

impl UnderWay<'_> {
    fn send(&mut self, piece: Bytes) -> Result<(), ExportError> {
        if self.sends.len() >= PARALLEL {
            self.answer()?;
        }
        let send = self.remote.send(Method::POST, &self.path, Body::Lines(piece));
        self.sends.push_back(self.remote.outbound.runtime().spawn(send));
        Ok(())
    }

    fn finish(mut self) -> Result<(), ExportError> {
        while !self.sends.is_empty() {
            self.answer()?;
        }
        Ok(())
    }

    /// Waits for the oldest.
    fn answer(&mut self) -> Result<(), ExportError> {
        // It stays in the list until it is done, so that all are ended together when it is not wanted any more.
        let Some(send) = self.sends.front_mut() else { return Ok(()) };
        let sent = self.remote.wait_for(send)?;
        self.sends.pop_front();
        let reply = sent.map_err(|error| ApiError::internal(format!("a part of an export was lost: {error}")))??;
        accepted(reply).map(drop)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.sends.iter().for_each(JoinHandle::abort);
    }
}

/// The other server, as long as the export is wanted.
struct Remote<'a> {
    outbound: &'a Outbound,
    live: &'a LiveBatch,
    url: String,
    key: Option<String>,
}

#[derive(Clone)]
enum Body {
    None,
    Json(Value),
    /// Compressed.
    Lines(Bytes),
}

impl Remote<'_> {
    fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Reply, ExportError> {
        let body = body.map_or(Body::None, Body::Json);
        Ok(self.wait_for(self.send(method, path, body))??)
    }

    fn wait_for<T>(&self, work: impl Future<Output = T>) -> Result<T, ExportError> {
        self.live.wait_for(self.outbound.runtime(), work).ok_or(ExportError::Cancelled)
    }

    /// Again and again where that may help. Needs nothing of the export while it is under way.
    fn send(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> impl Future<Output = Result<Reply, OutboundError>> + Send + 'static {
        let (outbound, key, url) = (self.outbound.clone(), self.key.clone(), format!("{}{path}", self.url));
        async move {
            let mut pause = FIRST_PAUSE;
            let mut attempt = 1;
            loop {
                let sent = send_once(&outbound, key.as_deref(), method.clone(), &url, body.clone()).await;
                let may_pass = match &sent {
                    Ok(reply) => {
                        matches!(reply.status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
                            || reply.status.is_server_error()
                    }
                    Err(error) => error.is_transient(),
                };
                if !may_pass || attempt == ATTEMPTS {
                    return sent;
                }
                tokio::time::sleep(pause).await;
                pause *= 2;
                attempt += 1;
            }
        }
    }
}

async fn send_once(
    outbound: &Outbound,
    key: Option<&str>,
    method: Method,
    url: &str,
    body: Body,
) -> Result<Reply, OutboundError> {
    let mut request = outbound.request(method, url)?;
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let request = match body {
        Body::None => request.timeout(SMALL_TIME),
        Body::Json(body) => request.timeout(SMALL_TIME).json(&body),
        Body::Lines(lines) => request
            .timeout(PIECE_TIME)
            .header(CONTENT_TYPE, "application/x-ndjson")
            .header(CONTENT_ENCODING, "gzip")
            .body(lines),
    };
    outbound.send(request, ANSWER_BYTES_MAX).await
}

/// A reply that says yes.
fn accepted(reply: Reply) -> Result<Reply, ExportError> {
    if reply.status.is_success() {
        return Ok(reply);
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    Err(ExportError::Refused {
        code: text("code").unwrap_or_else(|| reply.status.as_str().to_owned()),
        kind: text("type").unwrap_or_else(|| "unknown".to_owned()),
        message: text("message")
            .unwrap_or_else(|| String::from_utf8_lossy(&reply.body[..reply.body.len().min(200)]).into_owned()),
        link: text("link").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_encoded() {
        assert_eq!(encoded("id"), "id");
        assert_eq!(encoded("a b&c.é"), "a%20b%26c.%C3%A9");
    }

    #[test]
    fn refusals_come_in_the_words_of_the_other_server() {
        let reply = |status: u16, body: &str| Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: Default::default(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        assert!(accepted(reply(202, "")).is_ok());
        let body = r#"{"message": "m", "code": "invalid_api_key", "type": "auth", "link": "l"}"#;
        let error = ApiError::from(accepted(reply(403, body)).unwrap_err());
        assert_eq!(error.code, Code::Internal);
        assert_eq!(error.message, "Failed to export documents to remote server `invalid_api_key` (`auth`): `m` <`l`>");
        let error = ApiError::from(accepted(reply(502, "<html>")).unwrap_err());
        assert!(error.message.contains("`502`") && error.message.contains("<html>"), "{}", error.message);
    }
}
