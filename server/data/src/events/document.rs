//! The documents of the store, and what they are made of.

use std::fmt;
use std::time::SystemTime;

use aws_lc_rs::hmac;
use lamina_base::timestamp::Timestamp;
use lamina_engine::index::Snapshot;
use lamina_engine::index::settings::MatchingStrategy;
use lamina_protocol::wire::events::Event;
use serde::Serialize;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

const DAY_SECONDS: u64 = 86_400;
/// Bytes that are kept of a query, a filter or a name.
pub const TEXT_BYTES_MAX: usize = 500;

/// Fields of the documents.
pub mod fields {
    use lamina_engine::SettingsPatch;
    use lamina_engine::index::Setting;
    use lamina_engine::index::settings::{AttributeList, FilterableAttribute};

    /// `search`, `click`, `conversion` or `view`.
    pub const KIND: &str = "kind";
    /// Creation time of the index: another index of the same name is another one.
    pub const INDEX: &str = "index";
    /// Name that the request used, and the one that the index had.
    pub const NAMES: &str = "names";
    /// Hash.
    pub const USER: &str = "user";
    /// `queryUid` of a search, or of all that were joined with it; of an event, that of its search.
    pub const QUERIES: &str = "queries";
    /// Text of a search.
    pub const TEXT: &str = "text";
    /// Filter of a search, as JSON.
    pub const FILTER: &str = "filter";
    /// Number of hits of a search.
    pub const TOTAL: &str = "total";
    /// Milliseconds of a search.
    pub const MILLIS: &str = "millis";
    /// Position of the hit, from 0.
    pub const POSITION: &str = "position";
    /// Experiment of a search: its [`key`](crate::experiments::Experiment::key).
    pub const EXPERIMENT: &str = "experiment";
    /// Seconds since 1970.
    pub const AT: &str = "at";
    /// Seconds since 1970.
    const EXPIRES: &str = "expires";

    const ALL: [&str; 13] =
        [KIND, INDEX, NAMES, USER, QUERIES, TEXT, FILTER, TOTAL, MILLIS, POSITION, EXPERIMENT, AT, EXPIRES];

    /// Settings of the index.
    pub(in crate::events) fn settings() -> SettingsPatch {
        SettingsPatch {
            filterable_attributes: Setting::Set(ALL.map(|field| FilterableAttribute::Field(field.to_owned())).to_vec()),
            searchable_attributes: Setting::Set(AttributeList::These(Vec::new())),
            expiry_attribute: Setting::Set(EXPIRES.to_owned()),
            ..SettingsPatch::default()
        }
    }
}

/// The kind of recorded searches, beside those of events.
pub const SEARCH_KIND: &str = "search";

/// A user as the store knows them: a hash with the key of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct UserHash(u128);

impl UserHash {
    pub(super) fn new(key: &hmac::Key, user: &str) -> UserHash {
        UserHash(number(&hmac::sign(key, user.as_bytes())))
    }
}

impl fmt::Display for UserHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never a number.
        write!(f, "u{:032x}", self.0)
    }
}

impl Serialize for UserHash {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

fn number(tag: &hmac::Tag) -> u128 {
    u128::from_be_bytes(*tag.as_ref().first_chunk().expect("SHA-256 has 32 bytes"))
}

/// The index that something happened in.
#[derive(Clone, Debug)]
pub struct Place {
    names: Vec<String>,
    identity: String,
    retention_seconds: u64,
}

impl Place {
    /// The index `uid` in this state, which a request names `asked`.
    pub fn new(asked: &str, uid: &str, snapshot: &Snapshot) -> Place {
        let mut names = vec![name_key(asked), name_key(uid)];
        names.dedup();
        let retention_seconds = u64::from(snapshot.settings.analytics.retention_days) * DAY_SECONDS;
        Place { names, identity: identity(snapshot.created_at()), retention_seconds }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }
}

/// Returns what an index that was created at this time is known by, whatever its name.
pub fn identity(created_at: SystemTime) -> String {
    format!("i{}", Timestamp::from(created_at).nanos())
}

/// Returns the value that stands for the name of an index in a column: those are compared without case and by their beginnings,
/// and names are not.
pub fn name_key(name: &str) -> String {
    format!("n{:032x}", xxh3_128(name.as_bytes()))
}

/// A search that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// `queryUid` of the answer.
    pub uid: Uuid,
    /// User, as the client knows them.
    pub user: Option<&'a str>,
    /// Text of the query; empty for none.
    pub text: &'a str,
    /// Filter, as JSON.
    pub filter: Option<&'a str>,
    /// Matching strategy.
    pub strategy: MatchingStrategy,
    /// Weight of the vectors, for searches that have such a part.
    pub ratio: Option<f32>,
    /// Number of hits.
    pub total: u64,
    /// Milliseconds until the answer.
    pub millis: u64,
    /// Ids of the first hits that were returned.
    pub hits: &'a [String],
    /// Number of hits before them.
    pub offset: usize,
    /// Part in an experiment, if it has one.
    pub part: Option<Part<'a>>,
}

/// Part of a search in an experiment.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part<'a> {
    /// [`key`](crate::experiments::Experiment::key) of the experiment.
    pub experiment: &'a str,
    /// Group of the user.
    pub group: &'a str,
    /// A letter for each of the first hits that says which ranking it is of, where hits of both were shown.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub teams: &'a str,
    /// True if the variant had no answer, so the index gave its own.
    pub fell_back: bool,
}

#[derive(Serialize)]
struct Common<'a> {
    id: &'a str,
    kind: &'a str,
    index: &'a str,
    names: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<UserHash>,
    #[serde(skip_serializing_if = "<[Uuid]>::is_empty")]
    queries: &'a [Uuid],
    at: u64,
    expires: u64,
}

#[derive(Serialize)]
struct EventLine<'a> {
    #[serde(flatten)]
    common: Common<'a>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u32>,
}

#[derive(Serialize)]
struct SearchLine<'a> {
    #[serde(flatten)]
    common: Common<'a>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a str>,
    strategy: MatchingStrategy,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f32>,
    total: u64,
    millis: u64,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    hits: &'a [String],
    offset: usize,
    #[serde(flatten)]
    part: Option<Part<'a>>,
}

/// The id of an event's document: the same for what counts once. That is an event of a kind, by a user, about an object, after a
/// search; without a search, on a day.
pub(super) fn vote_id(key: &hmac::Key, event: &Event, place: &Place, user: UserHash, now: u64) -> String {
    let occasion = match event.query_uid {
        Some(uid) => uid.simple().to_string(),
        None => (now / DAY_SECONDS).to_string(),
    };
    let object = event.object_id.as_deref().unwrap_or_default();
    let vote = [event.kind.name(), &place.identity, &user.to_string(), &occasion, object].join("\n");
    format!("{:032x}", number(&hmac::sign(key, vote.as_bytes())))
}

pub(super) fn write_event(out: &mut Vec<u8>, id: &str, event: &Event, place: &Place, user: UserHash, now: u64) {
    let queries = event.query_uid.as_slice();
    let common = Common { id, kind: event.kind.name(), ..Common::new(place, Some(user), queries, now) };
    let object = event.object_id.as_deref();
    write(out, &EventLine { common, name: shortened(&event.name), object, position: event.position });
}

pub(super) fn write_search(
    out: &mut Vec<u8>,
    uids: &[Uuid],
    search: &Search<'_>,
    place: &Place,
    user: Option<UserHash>,
    now: u64,
) {
    let id = uids.first().unwrap_or(&search.uid).simple().to_string();
    let common = Common { id: &id, ..Common::new(place, user, uids, now) };
    let Search { text, filter, strategy, ratio, total, millis, hits, offset, part, .. } = *search;
    let (text, filter) = (shortened(text), filter.map(shortened));
    write(out, &SearchLine { common, text, filter, strategy, ratio, total, millis, hits, offset, part });
}

impl<'a> Common<'a> {
    /// A search at this time, without an id yet.
    fn new(place: &'a Place, user: Option<UserHash>, queries: &'a [Uuid], now: u64) -> Common<'a> {
        let (index, names, expires) = (place.identity.as_str(), place.names.as_slice(), now + place.retention_seconds);
        Common { id: "", kind: SEARCH_KIND, index, names, user, queries, at: now, expires }
    }
}

fn write(out: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *out, line).expect("memory takes everything");
    out.push(b'\n');
}

/// The beginning of a text, whole characters.
fn shortened(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
