//! A request as the routes see it.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;
use lamina_base::aliases::IndexName;
use lamina_base::budget::request_too_large;
use lamina_base::error::ApiResult;
use lamina_data::access::Rights;
use lamina_data::tasks::blocking;
use lamina_protocol::wire::body::check_json_content_type;
use lamina_protocol::wire::identifier::index_uid_in_path;
use lamina_protocol::wire::query_string::QueryString;
use lamina_protocol::wire::wait::Wait;
use serde_json::Value;
use warp::http::{HeaderMap, HeaderValue, header};
use warp::path::FullPath;

use super::body_memory::{BodyMemory, Charged};
use super::endpoint::Endpoint;
use super::standing::Standing;
use crate::app::AppState;
use crate::http::{
    BodyStream, Encoding, LimitedReader, ReadFailure, content_length, incomplete_body, payload_too_large,
};

/// Target of a request, still encoded.
enum Target {
    Sent(FullPath),
    /// Path of an inner request, which an outer one makes.
    Inner(String),
}

/// A request that reached its route.
pub(crate) struct Request {
    state: Arc<AppState>,
    endpoint: Endpoint,
    path: Target,
    rights: Rights,
    headers: HeaderMap,
    query: String,
    /// Part of `query` about waiting.
    wait: Option<String>,
    body: BodyStream,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Headers hold secrets.
        f.debug_struct("Request").field("query", &self.query).finish_non_exhaustive()
    }
}

/// Source of inner requests that another one makes: its server and its key.
#[derive(Clone)]
pub(crate) struct Origin {
    state: Arc<AppState>,
    key: Option<HeaderValue>,
}

impl Origin {
    /// A request of the same caller, whose rights are still to be checked. `parts`: what stands for the names of the pattern, in
    /// their order; `query` is encoded.
    pub(crate) fn request(&self, endpoint: Endpoint, parts: &[&str], query: String, body: Option<Vec<u8>>) -> Request {
        let key = self.key.clone().map(|key| (header::AUTHORIZATION, key));
        let json = body.is_some().then(|| (header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
        let pieces = body.map(|body| Ok(Bytes::from(body)));
        Request {
            state: Arc::clone(&self.state),
            endpoint,
            path: Target::Inner(endpoint.path(parts)),
            rights: Rights::none(),
            headers: key.into_iter().chain(json).collect(),
            query,
            wait: None,
            body: Box::pin(futures_util::stream::iter(pieces)),
        }
    }
}

impl Request {
    /// A request whose rights are still to be checked.
    pub(crate) fn new(
        state: Arc<AppState>,
        endpoint: Endpoint,
        path: FullPath,
        headers: HeaderMap,
        query: String,
        body: BodyStream,
    ) -> Request {
        let (query, wait) = if endpoint.method == "GET" { (query, None) } else { Wait::split(&query) };
        Request { state, endpoint, path: Target::Sent(path), rights: Rights::none(), headers, query, wait, body }
    }

    /// Returns the source of inner requests of the same caller.
    pub(crate) fn origin(&self) -> Origin {
        Origin { state: Arc::clone(&self.state), key: self.headers.get(header::AUTHORIZATION).cloned() }
    }

    /// The server.
    pub(crate) fn state(&self) -> &Arc<AppState> {
        &self.state
    }

    /// Returns the endpoint that it goes to.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// The path, still encoded.
    fn path(&self) -> &str {
        match &self.path {
            Target::Sent(path) => path.as_str(),
            Target::Inner(path) => path,
        }
    }

    /// The part of the path that its pattern calls `{name}`, still encoded.
    ///
    /// # Panics
    /// If it has no such name.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.endpoint.part(self.path(), name).expect("a route asks for the parts of its pattern")
    }

    /// The rights of its key.
    ///
    /// # Errors
    /// The errors of [`Endpoint::check`].
    pub(super) fn check(&self) -> ApiResult<Rights> {
        self.endpoint.check(&self.state, self.path(), &self.headers)
    }

    /// Returns the rights of the request's key; none before the key was checked.
    pub(crate) fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Returns what it takes to see whether the request would still be allowed, for an answer that goes on.
    pub(crate) fn standing(&self) -> Standing {
        let key = self.headers.get(header::AUTHORIZATION);
        Standing::new(&self.state, self.endpoint, self.path(), key, &self.rights)
    }

    /// The index that the uid in the path names, which may be an alias.
    ///
    /// # Errors
    /// `invalid_index_uid`
    pub(crate) fn index(&self) -> ApiResult<IndexName> {
        Ok(self.rights.aliases().resolve(self.index_in_path()?))
    }

    /// Resolves an index like [`Request::index`], and returns its own uid.
    ///
    /// # Errors
    /// `invalid_index_uid`
    pub(crate) fn index_uid(&self) -> ApiResult<String> {
        self.index().map(|index| index.uid)
    }

    /// The uid in the path, where an alias will not do.
    ///
    /// # Errors
    /// `invalid_index_uid`, `index_uid_is_alias`
    pub(crate) fn own_index_uid(&self) -> ApiResult<String> {
        let name = self.index_in_path()?;
        self.rights.check_own(&name)?;
        Ok(name)
    }

    /// The name of an index as the path has it.
    ///
    /// # Errors
    /// `invalid_index_uid`
    fn index_in_path(&self) -> ApiResult<String> {
        index_uid_in_path(self.part("indexUid"))
    }

    /// Returns the requested wait, if the response to a write must wait for its effect.
    pub(super) fn wait(&self) -> ApiResult<Option<Wait>> {
        self.wait.as_deref().map_or(Ok(None), Wait::read)
    }

    pub(super) fn grant(&mut self, rights: Rights) {
        self.rights = rights;
    }

    /// Returns the headers as the client sent them.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// A header, when it is text.
    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The query string, without its `?`.
    pub(crate) fn raw_query(&self) -> &str {
        &self.query
    }

    /// The query string, decoded.
    pub(crate) fn query(&self) -> QueryString {
        QueryString::parse(&self.query)
    }

    /// The headers, and the body as it arrives, still encoded.
    pub(crate) fn into_parts(self) -> (HeaderMap, BodyStream) {
        (self.headers, self.body)
    }

    /// The whole body, decoded, with the memory that it takes.
    ///
    /// # Errors
    /// When it is larger than the limits, when other requests take the memory that there is, or when its encoding is
    /// unknown or broken.
    pub(crate) async fn bytes(mut self) -> ApiResult<Charged<Bytes>> {
        let payload_max = self.state.options.service.payload_bytes_max();
        let encoding = Encoding::of(&self.headers)?;
        let declared = content_length(&self.headers).unwrap_or(0);
        if declared > payload_max {
            return Err(payload_too_large(payload_max));
        }
        let mut memory = BodyMemory::new(&self.state);
        let mut encoded = BytesMut::new();
        let mut first = None;
        while let Some(piece) = self.body.next().await {
            let piece = piece.map_err(|_| incomplete_body())?;
            let len = encoded.len() + first.as_ref().map_or(0, Bytes::len) + piece.len();
            if len as u64 > payload_max {
                return Err(payload_too_large(payload_max));
            }
            memory.receive(len).await?;
            // Most bodies are one piece, which is used as it is.
            match first.take() {
                None if encoded.is_empty() => first = Some(piece),
                None => encoded.extend_from_slice(&piece),
                Some(one) => {
                    encoded.extend_from_slice(&one);
                    encoded.extend_from_slice(&piece);
                }
            }
        }
        let encoded = first.unwrap_or_else(|| encoded.freeze());
        if encoding == Encoding::Identity || encoded.is_empty() {
            return Ok(Charged { value: encoded, memory });
        }
        blocking(move || {
            let limit = payload_max.min(memory.one_max() as u64);
            let mut reader = LimitedReader::new(encoding.reader(encoded.reader())?, limit);
            let decoded = memory.decode(&mut reader);
            match (reader.failure(), decoded) {
                (Some(ReadFailure::TooLarge), _) if limit < payload_max => Err(request_too_large(memory.one_max())),
                (Some(failure), _) => Err(failure.into_error(limit)),
                (None, Ok(decoded)) => Ok(Charged { value: decoded, memory }),
                (None, Err(error)) => Err(error),
            }
        })
        .await?
    }

    /// The body as JSON, after a look at its content type.
    ///
    /// # Errors
    /// The errors of [`Request::bytes`]; wrong or missing content type, empty body, broken JSON.
    pub(crate) async fn json(self) -> ApiResult<Charged<Value>> {
        check_json_content_type(self.header(header::CONTENT_TYPE))?;
        self.bytes().await?.parsed().await
    }
}
