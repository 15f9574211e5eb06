//! The index, over the HTTP interface.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use lamina_base::backoff::{CLIENT, TASK};
use lamina_client::client::{Client, ClientError, ErrorBody, ServerArgs, error_body, is_busy};
use parking_lot::Mutex;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::batch::Bodies;
use super::mark::Mark;
use super::{SyncError, Voice};

/// Ids that are asked for, or removed, at once.
const IDS: usize = 1000;

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

pub(super) struct Destination {
    client: Client,
    pub(super) index: String,
    primary_key: String,
    /// At first a server that is not there is an error; later it is waited for.
    has_answered: AtomicBool,
    voice: Voice,
    /// The mark that the index has if no one else writes to it.
    mark: Mutex<Option<String>>,
    /// The name of this process in marks, and how many it has made.
    process: String,
    steps: AtomicU64,
}

/// State of the index.
pub(super) struct Prepared {
    pub(super) index: String,
    /// There is nothing in it, not even a mark.
    pub(super) is_empty: bool,
    /// `None`: documents were written by others.
    pub(super) mark: Option<Mark>,
}

/// A write, in what it differs from others.
struct Write {
    method: Method,
    below: &'static [&'static str],
    kind: &'static str,
    body: Vec<u8>,
}

impl Destination {
    pub(super) fn new(
        server: &ServerArgs,
        index: &str,
        primary_key: &str,
        voice: Voice,
        has_answered: bool,
    ) -> Result<Self, SyncError> {
        let client = Client::new(server)?;
        let (index, primary_key) = (index.to_owned(), primary_key.to_owned());
        let instant = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Ok(Destination {
            client,
            index,
            primary_key,
            has_answered: AtomicBool::new(has_answered),
            voice,
            mark: Mutex::new(None),
            process: format!("{:x}-{instant:x}", std::process::id()),
            steps: AtomicU64::new(0),
        })
    }

    fn documents(&self, below: &[&str]) -> Url {
        self.client.route(&[&["indexes", &self.index, "documents"], below].concat())
    }

    /// Creates the index where it is absent, and looks at its key and its mark.
    pub(super) async fn prepare(&self) -> Result<Prepared, SyncError> {
        let index = match self.ask(Method::GET, self.client.route(&["indexes", &self.index]), None).await {
            Err(SyncError::Server(ClientError::Refused { code, .. })) if code == "index_not_found" => {
                let body = json!({ "uid": self.index, "primaryKey": self.primary_key });
                let made =
                    self.ask(Method::POST, self.client.route(&["indexes"]), Some((JSON, body.to_string().into())));
                let uid = task_uid(&made.await?);
                self.finish(&[uid]).await?;
                return Ok(Prepared { index: self.index.clone(), is_empty: true, mark: None });
            }
            index => index?,
        };
        match index["primaryKey"].as_str() {
            Some(has) if has != self.primary_key => Err(SyncError::PrimaryKey {
                index: self.index.clone(),
                has: has.to_owned(),
                wants: self.primary_key.clone(),
            }),
            _ if index["degraded"] == true => Err(SyncError::Table(format!(
                "the index `{}` is damaged: repair it with `lamina repair`, or delete it, and start again",
                self.index
            ))),
            _ => {
                let mark = index["mark"].as_str();
                *self.mark.lock() = mark.map(str::to_owned);
                let is_empty = mark.is_none() && {
                    let stats = self.client.route(&["indexes", &self.index, "stats"]);
                    self.ask(Method::GET, stats, None).await?["numberOfDocuments"] == 0
                };
                Ok(Prepared { index: self.index.clone(), is_empty, mark: mark.and_then(Mark::read) })
            }
        }
    }

    /// Returns whether no one else has written documents, and the name of the index stands for the same one.
    ///
    /// # Errors
    /// [`SyncError::Meanwhile`], [`SyncError::Reload`] when it is gone.
    pub(super) async fn check(&self) -> Result<(), SyncError> {
        let expected = self.mark.lock().clone();
        let index = self.ask(Method::GET, self.client.route(&["indexes", &self.index]), None).await;
        let index = index.map_err(|error| self.unless_gone(error))?;
        if index["mark"].as_str() == expected.as_deref() { Ok(()) } else { Err(SyncError::Meanwhile) }
    }

    fn unless_gone(&self, error: SyncError) -> SyncError {
        match error.code() {
            Some("index_not_found") => SyncError::Reload(format!("the index `{}` was deleted", self.index)),
            Some("index_mark_mismatch") => SyncError::Meanwhile,
            _ => error,
        }
    }

    /// Sends a write that leaves a mark, and fails if the index has another one than the write before has left. With `begins` the
    /// index may have any. Answers with the task.
    async fn write(&self, write: Write, mark: &Mark, begins: bool) -> Result<u64, SyncError> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed);
        let text = mark.text(&format!("{}-{step}", self.process));
        let mut url = self.documents(write.below);
        if write.kind == LINES {
            url.query_pairs_mut().append_pair("primaryKey", &self.primary_key);
        }
        let expected = self.mark.lock().clone().filter(|_| !begins);
        url.query_pairs_mut().append_pair("mark", &text).extend_pairs(expected.map(|expected| ("ifMark", expected)));
        let body = (!write.body.is_empty()).then(|| (write.kind, Bytes::from(write.body)));
        let sent = self.ask(write.method, url, body).await.map_err(|error| self.unless_gone(error))?;
        *self.mark.lock() = Some(text);
        Ok(task_uid(&sent))
    }

    /// Leaves a mark, and changes nothing else.
    pub(super) async fn note(&self, mark: &Mark, begins: bool) -> Result<(), SyncError> {
        let body = b"[]".to_vec();
        let write = Write { method: Method::POST, below: &["delete-batch"], kind: JSON, body };
        let uid = self.write(write, mark, begins).await?;
        self.finish(&[uid]).await
    }

    /// Sends lines of documents; answers with the task.
    pub(super) async fn load(&self, lines: Vec<u8>, mark: &Mark) -> Result<u64, SyncError> {
        self.write(Write { method: Method::POST, below: &[], kind: LINES, body: lines }, mark, false).await
    }

    /// Carries changes out, to their end: from `before` to `after`.
    pub(super) async fn apply(&self, bodies: Bodies, before: &Mark, after: &Mark) -> Result<(), SyncError> {
        let Bodies { whole, part, gone } = bodies;
        let writes = [
            Write { method: Method::POST, below: &[], kind: LINES, body: whole },
            Write { method: Method::PUT, below: &[], kind: LINES, body: part },
            Write { method: Method::POST, below: &["delete-batch"], kind: JSON, body: gone },
        ];
        let mut tasks = Vec::new();
        let mut writes = writes.into_iter().filter(|write| !write.body.is_empty()).peekable();
        while let Some(write) = writes.next() {
            let mark = if writes.peek().is_some() { before } else { after };
            tasks.push(self.write(write, mark, false).await?);
        }
        self.finish(&tasks).await
    }

    /// Removes all documents.
    pub(super) async fn clear(&self, mark: &Mark) -> Result<(), SyncError> {
        let write = Write { method: Method::DELETE, below: &[], kind: JSON, body: Vec::new() };
        let uid = self.write(write, mark, false).await?;
        self.finish(&[uid]).await
    }

    /// Ids of all documents, as JSON.
    pub(super) async fn ids(&self) -> Result<Vec<String>, SyncError> {
        let mut ids = Vec::new();
        loop {
            let body = json!({ "fields": [self.primary_key], "limit": IDS, "offset": ids.len() });
            let page =
                self.ask(Method::POST, self.documents(&["fetch"]), Some((JSON, body.to_string().into()))).await?;
            let results = page["results"].as_array().map(Vec::as_slice).unwrap_or_default();
            ids.extend(results.iter().map(|document| document[&self.primary_key].to_string()));
            if results.len() < IDS {
                return Ok(ids);
            }
        }
    }

    /// Removes documents by their ids, which are JSON.
    pub(super) async fn remove(&self, ids: &[String], mark: &Mark) -> Result<(), SyncError> {
        for some in ids.chunks(IDS) {
            let gone = format!("[{}]", some.join(",")).into_bytes();
            self.apply(Bodies { gone, ..Bodies::default() }, mark, mark).await?;
        }
        Ok(())
    }

    /// Waits until tasks have ended.
    ///
    /// # Errors
    /// When one of them failed.
    pub(super) async fn finish(&self, tasks: &[u64]) -> Result<(), SyncError> {
        let mut pauses = TASK;
        for uid in tasks {
            loop {
                let task = match self.ask(Method::GET, self.client.route(&["tasks", &uid.to_string()]), None).await {
                    Err(SyncError::Server(ClientError::Refused { status: 404, .. })) => {
                        return Err(SyncError::LostTask(*uid));
                    }
                    task => task?,
                };
                match task["status"].as_str().unwrap_or_default() {
                    "succeeded" => break,
                    "enqueued" | "processing" => tokio::time::sleep(pauses.next_pause()).await,
                    status => {
                        let of_error = |name: &str| task["error"][name].as_str().unwrap_or_default().to_owned();
                        let (message, code) = (of_error("message"), of_error("code"));
                        let failure = SyncError::Task { uid: *uid, status: status.to_owned(), message, code };
                        return Err(self.unless_gone(failure));
                    }
                }
            }
        }
        Ok(())
    }

    /// Asks until the server answers: repeating a request does no harm, as each says how documents are in the end.
    async fn ask(&self, method: Method, url: Url, body: Option<(&str, Bytes)>) -> Result<Value, SyncError> {
        let mut pauses = CLIENT;
        let mut has_said = false;
        loop {
            let request = self.client.request(method.clone(), url.clone());
            let request = match &body {
                Some((kind, body)) => request.header(CONTENT_TYPE, *kind).body(body.clone()),
                None => request,
            };
            let reason = match request.send().await {
                Ok(response) if is_busy(response.status()) => {
                    format!("the server responded with {}", response.status())
                }
                Ok(response) => {
                    self.has_answered.store(true, Ordering::Relaxed);
                    let status = response.status();
                    if !status.is_success() {
                        let ErrorBody { message, code } = error_body(response).await;
                        return Err(ClientError::Refused { status: status.as_u16(), code, message }.into());
                    }
                    match self.client.answer(response).await {
                        Err(error @ ClientError::Broken { .. }) => error.to_string(),
                        answer => return Ok(answer?),
                    }
                }
                Err(error) if !self.has_answered.load(Ordering::Relaxed) => {
                    return Err(self.client.unanswered(&error).into());
                }
                Err(error) => self.client.unanswered(&error).to_string(),
            };
            if !has_said {
                let reason = reason.lines().next().unwrap_or_default();
                self.voice.say("retrying", json!({"index": self.index}), format_args!("{reason}; retrying"));
                has_said = true;
            }
            tokio::time::sleep(pauses.next_pause()).await;
        }
    }
}

fn task_uid(answer: &Value) -> u64 {
    answer["taskUid"].as_u64().unwrap_or_default()
}
