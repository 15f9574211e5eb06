//! The index, over the HTTP interface.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};

use super::batch::Bodies;
use super::{SyncError, Voice};
use crate::client::{Client, ClientError, ErrorBody, ServerArgs, error_body};

const BACKOFF_FIRST: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// How soon it is asked what became of a task, and how rarely at most.
const LOOK_FIRST: Duration = Duration::from_millis(2);
const LOOK_MAX: Duration = Duration::from_millis(200);
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
}

impl Destination {
    pub(super) fn new(server: &ServerArgs, index: &str, primary_key: &str, voice: Voice) -> Result<Self, SyncError> {
        let client = Client::new(server)?;
        let (index, primary_key) = (index.to_owned(), primary_key.to_owned());
        Ok(Destination { client, index, primary_key, has_answered: AtomicBool::new(false), voice })
    }

    fn documents(&self, below: &[&str]) -> Url {
        let mut url = self.client.route(&[&["indexes", &self.index, "documents"], below].concat());
        if below.is_empty() {
            url.query_pairs_mut().append_pair("primaryKey", &self.primary_key);
        }
        url
    }

    /// Creates the index where it is absent, and looks at its key.
    pub(super) async fn prepare(&self) -> Result<(), SyncError> {
        let index = match self.ask(Method::GET, self.client.route(&["indexes", &self.index]), None).await {
            Err(SyncError::Server(ClientError::Refused { code, .. })) if code == "index_not_found" => {
                let body = json!({ "uid": self.index, "primaryKey": self.primary_key });
                let made =
                    self.ask(Method::POST, self.client.route(&["indexes"]), Some((JSON, body.to_string().into())));
                let uid = task_uid(&made.await?);
                return self.finish(&[uid]).await;
            }
            index => index?,
        };
        match index["primaryKey"].as_str() {
            Some(has) if has != self.primary_key => Err(SyncError::PrimaryKey {
                index: self.index.clone(),
                has: has.to_owned(),
                wants: self.primary_key.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Sends lines of documents; answers with the task.
    pub(super) async fn load(&self, lines: Vec<u8>) -> Result<u64, SyncError> {
        let sent = self.ask(Method::POST, self.documents(&[]), Some((LINES, lines.into()))).await?;
        Ok(task_uid(&sent))
    }

    /// Carries changes out, to their end.
    pub(super) async fn apply(&self, bodies: Bodies) -> Result<(), SyncError> {
        let Bodies { whole, part, gone } = bodies;
        let requests = [
            (Method::POST, self.documents(&[]), LINES, whole),
            (Method::PUT, self.documents(&[]), LINES, part),
            (Method::POST, self.documents(&["delete-batch"]), JSON, gone),
        ];
        let mut tasks = Vec::new();
        for (method, url, kind, body) in requests {
            if !body.is_empty() {
                tasks.push(task_uid(&self.ask(method, url, Some((kind, body.into()))).await?));
            }
        }
        self.finish(&tasks).await
    }

    /// Removes all documents.
    pub(super) async fn clear(&self) -> Result<(), SyncError> {
        let url = self.client.route(&["indexes", &self.index, "documents"]);
        let uid = task_uid(&self.ask(Method::DELETE, url, None).await?);
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
    pub(super) async fn remove(&self, ids: &[String]) -> Result<(), SyncError> {
        for some in ids.chunks(IDS) {
            let gone = format!("[{}]", some.join(",")).into_bytes();
            self.apply(Bodies { gone, ..Bodies::default() }).await?;
        }
        Ok(())
    }

    /// Waits until tasks have ended.
    ///
    /// # Errors
    /// When one of them failed.
    pub(super) async fn finish(&self, tasks: &[u64]) -> Result<(), SyncError> {
        let mut pause = LOOK_FIRST;
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
                    "enqueued" | "processing" => {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LOOK_MAX);
                    }
                    status => {
                        let of_error = |name: &str| task["error"][name].as_str().unwrap_or_default().to_owned();
                        let (message, code) = (of_error("message"), of_error("code"));
                        return Err(SyncError::Task { uid: *uid, status: status.to_owned(), message, code });
                    }
                }
            }
        }
        Ok(())
    }

    /// Asks until the server answers: repeating a request does no harm, as each says how documents are in the end.
    async fn ask(&self, method: Method, url: Url, body: Option<(&str, Bytes)>) -> Result<Value, SyncError> {
        let mut pause = BACKOFF_FIRST;
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
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BACKOFF_MAX);
        }
    }
}

fn task_uid(answer: &Value) -> u64 {
    answer["taskUid"].as_u64().unwrap_or_default()
}

fn is_busy(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 502 | 503 | 504)
}
