//! The two calls an import makes, with back-off while the server is busy or away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lamina_base::backoff::CLIENT;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;

use super::split::Batch;
use super::{Args, ImportError};
use crate::client::{self, ClientError, ErrorBody, advice, error_body, innermost, is_busy};

const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(300);
const FIRST_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Client {
    http: client::Client,
    documents: Url,
    update: bool,
    /// True if the import waits for a server that is not reachable yet.
    waits_for_server: bool,
    /// Maximum time to retry when the server is busy or unreachable ...
    patience: Duration,
    /// ... and when it has not answered anything yet.
    first_patience: Duration,
    has_answered: Arc<AtomicBool>,
}

/// Outcome of one request body.
pub(super) enum Sent {
    Accepted {
        task_uid: u64,
    },
    /// The body is at fault; others may fare better. The message speaks of places in the file.
    Rejected {
        message: String,
    },
}

/// The part of a task that an import looks at.
#[derive(Debug, Deserialize)]
pub(super) struct TaskState {
    pub(super) uid: u64,
    status: String,
    error: Option<ErrorBody>,
}

impl TaskState {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "enqueued" | "processing")
    }

    /// Returns the reason why an ended task did not succeed.
    pub(super) fn failure(self) -> Option<TaskFailure> {
        let (reason, is_of_a_document) = match self.error {
            _ if self.status == "succeeded" => return None,
            Some(ErrorBody { message, code }) => {
                let is_of_a_document = CODES_OF_DOCUMENTS.contains(&code.as_str()) || message.contains(NO_VECTORS);
                (format!("task {}: {message} ({code}){}", self.uid, advice(&code)), is_of_a_document)
            }
            None => (format!("task {} was {}", self.uid, self.status), false),
        };
        Some(TaskFailure { reason, is_of_a_document })
    }
}

/// Reason why a task did not succeed.
pub(super) struct TaskFailure {
    pub(super) reason: String,
    /// One of its documents is at fault; others may fare better in another task.
    pub(super) is_of_a_document: bool,
}

impl TaskFailure {
    pub(super) fn of_lost(uid: u64) -> TaskFailure {
        let reason = format!("task {uid} was deleted before its outcome could be read");
        TaskFailure { reason, is_of_a_document: false }
    }
}

/// With these codes a task fails by a single document.
const CODES_OF_DOCUMENTS: [&str; 9] = [
    "missing_document_id",
    "invalid_document_id",
    "invalid_document_fields",
    "invalid_document_geo_field",
    "invalid_document_geojson_field",
    "max_fields_limit_exceeded",
    "invalid_vectors_type",
    "invalid_vector_dimensions",
    "too_many_vectors",
];
/// Message of an embedder that fails for all documents.
const NO_VECTORS: &str = "no vectors provided for document";

impl Client {
    pub(super) fn new(args: &Args) -> Result<Client, ImportError> {
        let http = client::Client::new(&args.server)?;
        let mut documents = http.route(&["indexes", &args.index, "documents"]);
        if let Some(key) = &args.primary_key {
            documents.query_pairs_mut().append_pair("primaryKey", key);
        }
        Ok(Client {
            http,
            documents,
            update: args.update,
            waits_for_server: args.wait,
            patience: args.patience.map_or(PATIENCE, Duration::from_secs),
            first_patience: args.patience.map_or(FIRST_PATIENCE, Duration::from_secs),
            has_answered: Arc::default(),
        })
    }

    /// Sends one body until the server takes or refuses it. Resending is safe: the same documents under the same ids.
    pub(super) async fn send(&self, batch: &Batch) -> Result<Sent, ImportError> {
        let mut url = self.documents.clone();
        if batch.content_type == "text/csv" && batch.delimiter != b',' {
            url.query_pairs_mut().append_pair("csvDelimiter", char::from(batch.delimiter).encode_utf8(&mut [0; 4]));
        }
        let response = self
            .patiently(|| {
                let method = if self.update { Method::PUT } else { Method::POST };
                let request = self.http.request(method, url.clone());
                request.header(CONTENT_TYPE, batch.content_type).body(batch.body.clone())
            })
            .await?;
        let status = response.status();
        if status == StatusCode::ACCEPTED {
            #[derive(Deserialize)]
            #[serde(rename_all = "camelCase")]
            struct Summary {
                task_uid: u64,
            }
            let Summary { task_uid } = self.http.answer(response).await?;
            return Ok(Sent::Accepted { task_uid });
        }
        let ErrorBody { message, code } = error_body(response).await;
        match code.as_str() {
            "malformed_payload" | "missing_payload" => Ok(Sent::Rejected { message: batch.place.in_file(&message) }),
            // Others are smaller ...
            _ if status == StatusCode::PAYLOAD_TOO_LARGE && batch.place.document_count == 1 => {
                Ok(Sent::Rejected { message })
            }
            // ... and others are as large.
            _ if status == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(ImportError::BatchTooLarge { bytes: batch.body.len(), message })
            }
            _ => Err(ImportError::Refused { status: status.as_u16(), message, code }),
        }
    }

    /// The states of the tasks; those that the server no longer knows are missing.
    pub(super) async fn tasks(&self, uids: &[u64]) -> Result<Vec<TaskState>, ImportError> {
        #[derive(Deserialize)]
        struct List {
            results: Vec<TaskState>,
        }
        let list = uids.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let mut url = self.http.route(&["tasks"]);
        url.query_pairs_mut().append_pair("uids", &list).append_pair("limit", &uids.len().to_string());
        let response = self.patiently(|| self.http.request(Method::GET, url.clone())).await?;
        let status = response.status();
        let no_outcome = |message| ImportError::NoOutcome { status: status.as_u16(), message };
        if !status.is_success() {
            return Err(no_outcome(error_body(response).await.message));
        }
        let answer: Result<List, ClientError> = self.http.answer(response).await;
        answer.map(|list| list.results).map_err(|error| no_outcome(error.to_string()))
    }

    fn knows_server(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// Repeats a request while the answer is "busy" or there is none, up to the patience of the caller.
    async fn patiently(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, ImportError> {
        let start = Instant::now();
        let mut pauses = CLIENT;
        loop {
            let (answer, pause) = (request().send().await, pauses.next_pause());
            self.has_answered.fetch_or(answer.is_ok(), Ordering::Relaxed);
            let (reason, wait) = match answer {
                Ok(response) if is_busy(response.status()) => {
                    (format!("it responded with {}", response.status()), retry_after(&response).unwrap_or(pause))
                }
                Ok(response) => return Ok(response),
                Err(error) if error.is_builder() => return Err(ClientError::Setup(error).into()),
                // Most often the address is wrong, or the server was not started.
                Err(error) if error.is_connect() && !self.waits_for_server && !self.knows_server() => {
                    return Err(self.http.unanswered(&error).into());
                }
                Err(error) => (innermost(&error), pause),
            };
            // It does not take minutes to learn that the address is wrong.
            let knows_server = self.knows_server();
            let patience = if knows_server { self.patience } else { self.first_patience };
            if start.elapsed() + wait > patience {
                let url = self.http.base().to_string();
                return Err(ImportError::Unreachable { url, seconds: patience.as_secs(), reason });
            }
            tokio::time::sleep(wait).await;
        }
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok().filter(|seconds| *seconds > 0)?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}
