//! Sending indexes to another server of the protocol, over its public routes.
//!
//! Documents go in compressed pieces, some of them at the same time. What the other server makes of them is its own
//! business: its tasks are not waited for.

mod negotiation;
mod remote;

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use lamina_base::aliases::Aliases;
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, Code};
use lamina_base::outbound::{Outbound, OutboundError, Reply};
use lamina_data::access::matches;
use lamina_data::instance::Instance;
use lamina_data::tasks::{Export, ExportedIndex, LiveBatch};
use lamina_engine::bits::DocSet;
use lamina_engine::condition::{PreparedFilter, TimeLimit};
use lamina_engine::filter::Filter;
use lamina_engine::index::{DocumentAddress, IndexError, Snapshot};
use lamina_protocol::wire::settings::{remove_secrets, written};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use negotiation::{Refusal, negotiate};
use remote::{Body, Remote, accepted};

/// Pieces under way at the same time; this many are also in memory.
const PARALLEL: usize = 4;

/// Reason why an export ended early.
#[derive(Debug)]
pub(crate) enum ExportError {
    /// Canceled.
    Cancelled,
    /// Failure on this server.
    Api(ApiError),
    /// The other server does not answer.
    Unreachable { host: String, error: OutboundError },
    /// The other server refused.
    Refused { code: String, kind: String, message: String, link: String },
}

impl From<ExportError> for ApiError {
    fn from(error: ExportError) -> ApiError {
        match error {
            ExportError::Api(error) => error,
            ExportError::Cancelled => ApiError::internal("the export was given up"),
            ExportError::Unreachable { host, error } => {
                ApiError::internal(format!("Failed to export documents to remote server at `{host}`: {error}"))
            }
            ExportError::Refused { code, kind, message, link } => ApiError::internal(format!(
                "Failed to export documents to remote server `{code}` (`{kind}`): `{message}` <`{link}`>"
            )),
        }
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
    let aliases = instance.aliases();
    let indexes = instance.uids();
    let chosen: Vec<(&String, &ExportedIndex)> =
        indexes.iter().filter_map(|uid| Some((uid, choice(&asked.indexes, uid, &aliases)?))).collect();
    live.steps.enter("sending indexes", 0, chosen.len() as u64);
    for (uid, how) in chosen {
        let snapshot = instance.snapshot(uid)?;
        let Sent { documents, left_out } = send_index(&remote, uid, &snapshot, how, asked, live)?;
        live.steps.leave_inner(1);
        let mut report =
            json!({ "filter": how.filter, "overrideSettings": how.override_settings, "matchedDocuments": documents });
        if !left_out.is_empty() {
            report["leftOutSettings"] = Value::Object(left_out);
        }
        sent.insert(uid.clone(), report);
    }
    let mut report = Map::new();
    report.insert("indexes".to_owned(), Value::Object(sent));
    Ok(report)
}

/// Returns how an index is sent, if it is: as the first pattern says that matches it or one of its aliases.
fn choice<'e>(patterns: &'e [ExportedIndex], uid: &str, aliases: &Aliases) -> Option<&'e ExportedIndex> {
    let names = || aliases.iter().filter(|(_, alias)| alias.index_uid == uid).map(|(name, _)| name.as_str());
    patterns.iter().find(|index| matches(&index.pattern, uid) || names().any(|name| matches(&index.pattern, name)))
}

/// Result of sending an index to the other server.
struct Sent {
    documents: u64,
    /// By setting, why the other server refused it.
    left_out: Map<String, Value>,
}

fn send_index(
    remote: &Remote,
    uid: &str,
    snapshot: &Snapshot,
    how: &ExportedIndex,
    asked: &Export,
    live: &LiveBatch,
) -> Result<Sent, ExportError> {
    let unreadable = |error: IndexError| ApiError::from(error).prefixed(format_args!("Index `{uid}`: "));
    let addresses = matching(uid, snapshot, how.filter.as_ref(), &live.cancelled)?;
    let left_out = prepare(remote, uid, snapshot, how.override_settings, asked.with_secrets)?;
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
    Ok(Sent { documents: addresses.len() as u64, left_out })
}

/// Makes sure that the index is there, with its settings when it is new or they are to be overridden. Returns the settings that the
/// other server refused, with its reasons.
fn prepare(
    remote: &Remote,
    uid: &str,
    snapshot: &Snapshot,
    override_settings: bool,
    with_secrets: bool,
) -> Result<Map<String, Value>, ExportError> {
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
            return Ok(Map::new());
        }
        accepted(remote.ask(Method::PATCH, &path, Some(json!({ "primaryKey": primary_key })))?)?;
    }
    // Secrets in clear, for those who may write them: the other server is to work like this one.
    let mut settings = written(&snapshot.settings);
    if !with_secrets {
        remove_secrets(&mut settings);
    }
    let Value::Object(settings) = settings else { return Ok(Map::new()) };
    let path = format!("{path}/settings");
    negotiate(settings, |body| {
        let reply = remote.ask(Method::PATCH, &path, Some(body))?;
        let is_refused = reply.status == StatusCode::BAD_REQUEST;
        match accepted(reply) {
            Err(ExportError::Refused { code, message, .. }) if is_refused => Ok(Some(Refusal { code, message })),
            other => other.map(|_| None),
        }
    })
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
        let sent = sent.map_err(|error| ApiError::internal(format!("a part of an export was lost: {error}")))?;
        let reply = sent.map_err(|error| self.remote.unreachable(error))?;
        accepted(reply).map(drop)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.sends.iter().for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use lamina_base::aliases::Alias;
    use lamina_base::timestamp::Timestamp;

    use super::*;

    #[test]
    fn keys_are_encoded() {
        assert_eq!(encoded("id"), "id");
        assert_eq!(encoded("a b&c.é"), "a%20b%26c.%C3%A9");
    }

    #[test]
    fn an_index_is_chosen_by_its_name_or_an_alias() {
        let pattern = |pattern: &str| ExportedIndex { pattern: pattern.into(), filter: None, override_settings: false };
        let mut aliases = Aliases::default();
        let alias = Alias { index_uid: "films-2".into(), updated_at: Timestamp::from_nanos(0) };
        aliases.insert("movies".into(), alias);
        let chosen = |patterns: &[&str], uid: &str| {
            let patterns: Vec<ExportedIndex> = patterns.iter().map(|text| pattern(text)).collect();
            choice(&patterns, uid, &aliases).map(|index| index.pattern.clone())
        };
        assert_eq!(chosen(&["movies"], "films-2").as_deref(), Some("movies"));
        assert_eq!(chosen(&["mov*", "*"], "films-2").as_deref(), Some("mov*"));
        assert_eq!(chosen(&["*", "movies"], "films-2").as_deref(), Some("*"));
        assert_eq!(chosen(&["movies"], "films-1"), None);
    }
}
