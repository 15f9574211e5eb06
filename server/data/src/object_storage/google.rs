//! A bucket of Google Cloud Storage, by its JSON interface.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lamina_base::options::CloudOptions;
use lamina_base::outbound::{Outbound, Reply, parse_url};
use lamina_base::secret::shown_url;
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, LOCATION};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use uuid::Uuid;

use super::encoding::{encoded, encoded_query};
use super::google_account::Account;
use super::{Ask, Attempts, LISTING_BYTES_MAX, Part, StorageError};

const ORIGIN: &str = "https://storage.googleapis.com";
/// Size of the chunks of large objects; the interface requires multiples of 256 KiB.
const CHUNK_BYTES: u64 = 16 << 20;
const IF_NONE: (&str, &str) = ("ifGenerationMatch", "0");

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct GoogleBucket {
    outbound: Outbound,
    origin: String,
    name: String,
    account: Arc<Account>,
}

impl std::fmt::Debug for GoogleBucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoogleBucket").field("origin", &self.origin).field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    #[serde(default)]
    items: Vec<Item>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    name: String,
}

impl GoogleBucket {
    /// # Errors
    /// [`StorageError::Options`]
    pub(super) fn new(name: &str, options: &CloudOptions, outbound: &Outbound) -> Result<GoogleBucket, StorageError> {
        let url = options.gcs_url.as_deref().unwrap_or(ORIGIN);
        let parsed = parse_url(url)
            .map_err(|reason| StorageError::Options(format!("`--gcs-url {}`: {reason}", shown_url(url))))?;
        let account = match &options.gcs_credentials_file {
            Some(file) => Account::of_file(file)?,
            None if parsed.scheme() == "http" => Account::anonymous(),
            None => Account::of_machine(),
        };
        Ok(GoogleBucket {
            outbound: outbound.clone(),
            origin: url.trim_end_matches('/').to_owned(),
            name: name.to_owned(),
            account: Arc::new(account),
        })
    }

    fn objects(&self) -> String {
        format!("/storage/v1/b/{}/o", encoded(&self.name))
    }

    async fn ask(&self, ask: Ask<'_>) -> Result<Reply, StorageError> {
        let url = format!("{}{}?{}", self.origin, ask.target, encoded_query(ask.query));
        self.send(&url, &ask).await
    }

    async fn send(&self, url: &str, ask: &Ask<'_>) -> Result<Reply, StorageError> {
        let mut attempts = Attempts::default();
        loop {
            let token = self.account.token(&self.outbound).await?;
            let mut request = ask.fill(self.outbound.request(ask.method.clone(), url)?);
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let sent = self.outbound.send(request, ask.answer_bytes_max).await;
            // A part of a large object is there, and more is to come.
            if let Ok(reply) = &sent
                && reply.status == StatusCode::PERMANENT_REDIRECT
            {
                return Ok(reply.clone());
            }
            if let Some(reply) = attempts.judge(sent).await? {
                return Ok(reply);
            }
        }
    }

    /// Sends an object with its name in one request: only this form has conditions everywhere.
    async fn upload(&self, key: &str, body: &[u8], query: &[(&str, &str)]) -> Result<Reply, StorageError> {
        let boundary = Uuid::new_v4().simple().to_string();
        let about = serde_json::json!({ "name": key });
        let mut all = format!(
            "--{boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{about}\r\n--{boundary}\r\n\
             content-type: application/octet-stream\r\n\r\n"
        )
        .into_bytes();
        all.extend_from_slice(body);
        all.extend_from_slice(format!("\r\n--{boundary}--").as_bytes());
        let kind = format!("multipart/related; boundary={boundary}");
        let query = [&[("uploadType", "multipart")], query].concat();
        let path = format!("/upload{}", self.objects());
        let headers = vec![(CONTENT_TYPE.as_str(), kind)];
        self.ask(Ask { query: &query, headers, body: all.into(), ..Ask::new(Method::POST, path) }).await
    }

    pub(super) async fn create(&self, key: &str, body: Bytes) -> Result<bool, StorageError> {
        was_none(self.upload(key, &body, &[IF_NONE]).await)
    }

    pub(super) async fn put(&self, key: &str, body: Bytes) -> Result<(), StorageError> {
        self.upload(key, &body, &[]).await.map(drop)
    }

    /// Sends a large object, piece by piece.
    pub(super) async fn create_large(&self, key: &str, file: &mut dyn Read, bytes: u64) -> Result<bool, StorageError> {
        let session = match self.begin(key, &[IF_NONE]).await {
            Err(StorageError::Refused { status: StatusCode::PRECONDITION_FAILED, .. }) => return Ok(false),
            other => other?,
        };
        let mut at = 0;
        while at < bytes {
            let mut part = Vec::new();
            Read::take(&mut *file, CHUNK_BYTES).read_to_end(&mut part)?;
            if part.is_empty() {
                return Err(StorageError::Failed("a file is shorter than it was".to_owned()));
            }
            let end = at + part.len() as u64;
            let part = Part { start: at, bytes: part.into(), is_last: end == bytes };
            match self.send_part(&session, part).await {
                Ok(()) => at = end,
                Err(StorageError::Refused { status: StatusCode::PRECONDITION_FAILED, .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Begins a large object; where its parts are sent to.
    pub(super) async fn begin(&self, key: &str, conditions: &[(&str, &str)]) -> Result<String, StorageError> {
        let query = [&[("uploadType", "resumable"), ("name", key)], conditions].concat();
        let begin = Ask { query: &query, ..Ask::new(Method::POST, format!("/upload{}", self.objects())) };
        let reply = self.ask(begin).await?;
        let session = reply.headers.get(LOCATION).and_then(|url| url.to_str().ok()).map(str::to_owned);
        session.ok_or_else(|| StorageError::Failed("it began an upload without an address for it".into()))
    }

    /// Sends the next part. The last one makes the object visible.
    pub(super) async fn send_part(&self, session: &str, part: Part) -> Result<(), StorageError> {
        let Part { start, bytes, is_last, .. } = part;
        let end = start + bytes.len() as u64;
        let all = if is_last { end.to_string() } else { "*".to_owned() };
        let range = if bytes.is_empty() { "*".to_owned() } else { format!("{start}-{}", end - 1) };
        let headers = vec![(CONTENT_RANGE.as_str(), format!("bytes {range}/{all}"))];
        let ask = Ask { headers, body: bytes, ..Ask::new(Method::PUT, "") };
        let reply = self.send(session, &ask).await?;
        match is_last == reply.status.is_success() {
            true => Ok(()),
            false => Err(StorageError::Failed(format!("it answered {} to a part of an object", reply.status))),
        }
    }

    /// Gives up a large object that was begun; whether the store knows.
    pub(super) async fn forget(&self, session: &str) -> bool {
        match self.send(session, &Ask::new(Method::DELETE, "")).await {
            // "Client closed request" is how it says yes.
            Err(StorageError::Refused { status, .. }) => status.as_u16() == 499,
            other => other.is_ok(),
        }
    }

    pub(super) async fn read(
        &self,
        key: &str,
        range: Option<Range<u64>>,
        most: usize,
    ) -> Result<Option<Bytes>, StorageError> {
        let headers = range.map(|range| ("range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1))));
        let path = format!("{}/{}", self.objects(), encoded(key));
        let (query, headers) = ([("alt", "media")], headers.into_iter().collect());
        let ask = Ask { query: &query, headers, answer_bytes_max: most, ..Ask::new(Method::GET, path) };
        super::found(self.ask(ask).await).map(|reply| reply.map(|reply| reply.body))
    }

    pub(super) async fn list(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        let mut page = None::<String>;
        loop {
            let mut query = vec![
                ("prefix", prefix),
                ("startOffset", after),
                ("maxResults", "1000"),
                ("fields", "items(name),nextPageToken"),
            ];
            query.extend(page.as_deref().map(|page| ("pageToken", page)));
            let ask =
                Ask { query: &query, answer_bytes_max: LISTING_BYTES_MAX, ..Ask::new(Method::GET, self.objects()) };
            let reply = self.ask(ask).await?;
            let listing: Listing = serde_json::from_slice(&reply.body)
                .map_err(|error| StorageError::Failed(format!("it answered a listing with something else: {error}")))?;
            // The first one may be `after` itself.
            let names = listing.items.into_iter().map(|item| item.name);
            let keys: Vec<String> = names.filter(|name| name.as_str() > after).collect();
            page = listing.next_page_token;
            if !keys.is_empty() || page.is_none() {
                return Ok(keys);
            }
        }
    }

    pub(super) async fn remove(&self, key: &str) -> Result<(), StorageError> {
        let path = format!("{}/{}", self.objects(), encoded(key));
        super::found(self.ask(Ask::new(Method::DELETE, path)).await).map(drop)
    }
}

/// Reports whether there was no object of the key.
fn was_none(answer: Result<Reply, StorageError>) -> Result<bool, StorageError> {
    match answer {
        Ok(_) => Ok(true),
        Err(StorageError::Refused { status: StatusCode::PRECONDITION_FAILED, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
