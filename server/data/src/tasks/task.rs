//! A task as it is listed, and its public JSON forms.

use lamina_base::error::{ApiError, Code, ErrorBody, ErrorDocs};
use lamina_base::timestamp::{IsoDuration, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

use super::kind::{Kind, Status};

/// Everything about a task but its content.
#[derive(Clone, Debug)]
pub struct Task {
    /// From 0, ascending, never reused.
    pub uid: u32,
    /// `None` while enqueued.
    pub batch_uid: Option<u32>,
    /// `None` for tasks that are not about one index.
    pub index_uid: Option<String>,
    /// Status of the task.
    pub status: Status,
    /// Type of the task.
    pub kind: Kind,
    /// The cancelation that ended it.
    pub canceled_by: Option<u32>,
    /// JSON object; `None` for types without details.
    pub details: Option<Box<RawValue>>,
    /// Reason why the task failed.
    pub error: Option<ApiError>,
    /// Time at which the task was registered.
    pub enqueued_at: Timestamp,
    /// Time at which its batch started.
    pub started_at: Option<Timestamp>,
    /// Time at which its batch ended.
    pub finished_at: Option<Timestamp>,
    /// Metadata that the client attached.
    pub custom_metadata: Option<String>,
}

/// The public task object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView<'a> {
    uid: u32,
    batch_uid: Option<u32>,
    index_uid: Option<&'a str>,
    status: Status,
    r#type: Kind,
    canceled_by: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a RawValue>,
    error: Option<ErrorBody>,
    duration: Option<IsoDuration>,
    enqueued_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_metadata: Option<&'a str>,
}

/// Response to a write: a summary of the new task.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizedTask {
    task_uid: u32,
    index_uid: Option<String>,
    status: Status,
    r#type: Kind,
    enqueued_at: Timestamp,
    /// Reason why it failed, for clients that wait for its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_metadata: Option<String>,
}

impl SummarizedTask {
    /// The uid of the task.
    pub fn uid(&self) -> u32 {
        self.task_uid
    }
}

impl Task {
    /// Estimates the memory of the task.
    pub fn heap_bytes(&self) -> usize {
        let error = self.error.as_ref().map_or(0, |error| error.message.len());
        let details = self.details.as_ref().map_or(0, |details| details.get().len());
        let metadata = self.custom_metadata.as_ref().map_or(0, String::len);
        size_of::<Task>() + 512 + error + details + metadata
    }

    /// The public object; `docs` makes the link of the error.
    pub fn view(&self, docs: &ErrorDocs) -> TaskView<'_> {
        TaskView {
            uid: self.uid,
            batch_uid: self.batch_uid,
            index_uid: self.index_uid.as_deref(),
            status: self.status,
            r#type: self.kind,
            canceled_by: self.canceled_by,
            details: self.details.as_deref(),
            error: self.error.as_ref().map(|error| error.body(docs)),
            duration: self.started_at.zip(self.finished_at).map(|(start, end)| start.duration_until(end)),
            enqueued_at: self.enqueued_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            custom_metadata: self.custom_metadata.as_deref(),
        }
    }

    /// The short form.
    pub fn into_summary(self) -> SummarizedTask {
        SummarizedTask {
            task_uid: self.uid,
            index_uid: self.index_uid,
            status: self.status,
            r#type: self.kind,
            enqueued_at: self.enqueued_at,
            error: None,
            custom_metadata: self.custom_metadata,
        }
    }

    /// The short form for who waited for the end, with the reason of a failure; `docs` makes its link.
    pub fn into_summary_of_end(self, docs: &ErrorDocs) -> SummarizedTask {
        let error = self.error.as_ref().map(|error| error.body(docs));
        SummarizedTask { error, ..self.into_summary() }
    }
}

/// The stored form of an error: without its link, which depends on a launch option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct StoredError {
    code: String,
    message: String,
    /// True if the cause may pass in a moment. Known only until the error is stored.
    #[serde(skip)]
    is_momentary: bool,
}

impl StoredError {
    /// Public code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the same as [`ApiError::is_momentary`].
    pub fn is_momentary(&self) -> bool {
        self.is_momentary
    }
}

impl From<&ApiError> for StoredError {
    fn from(error: &ApiError) -> StoredError {
        StoredError {
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
            is_momentary: error.is_momentary(),
        }
    }
}

impl From<StoredError> for ApiError {
    fn from(error: StoredError) -> ApiError {
        // A code that a later version dropped: the message still says what happened.
        ApiError::new(Code::parse(&error.code).unwrap_or(Code::Internal), error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task {
            uid: 3,
            batch_uid: None,
            index_uid: Some("films".into()),
            status: Status::Enqueued,
            kind: Kind::DocumentDeletion,
            canceled_by: None,
            details: None,
            error: None,
            enqueued_at: Timestamp::from_nanos(0),
            started_at: None,
            finished_at: None,
            custom_metadata: None,
        }
    }

    #[test]
    fn the_public_object_has_null_keys_but_omits_absent_details() {
        assert_eq!(
            serde_json::to_string(&task().view(&ErrorDocs::default())).unwrap(),
            r#"{"uid":3,"batchUid":null,"indexUid":"films","status":"enqueued","type":"documentDeletion","canceledBy":null,"error":null,"duration":null,"enqueuedAt":"1970-01-01T00:00:00Z","startedAt":null,"finishedAt":null}"#
        );
    }

    #[test]
    fn a_finished_task_has_a_duration() {
        let (start, end) = (Timestamp::from_nanos(5_000_000_000), Timestamp::from_nanos(5_001_192_000));
        let task = Task { started_at: Some(start), finished_at: Some(end), ..task() };
        let view = serde_json::to_value(task.view(&ErrorDocs::default())).unwrap();
        assert_eq!(view["duration"], "PT0.001192S");
    }

    #[test]
    fn the_summary_has_five_keys_and_the_metadata_when_given() {
        let task = Task { custom_metadata: Some("m".into()), ..task() };
        assert_eq!(
            serde_json::to_string(&task.into_summary()).unwrap(),
            r#"{"taskUid":3,"indexUid":"films","status":"enqueued","type":"documentDeletion","enqueuedAt":"1970-01-01T00:00:00Z","customMetadata":"m"}"#
        );
    }

    #[test]
    fn errors_survive_storage() {
        let error = ApiError::index_not_found("x");
        assert_eq!(ApiError::from(StoredError::from(&error)), error);
    }
}
