//! What a request registers.

use super::content::Content;

/// A task to register.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// The index it is about; `None` for types that have none.
    pub index_uid: Option<String>,
    /// Work of the task.
    pub content: Content,
    /// Metadata that the client attached.
    pub custom_metadata: Option<String>,
    /// The documents, when [`PayloadPlace::Inline`](super::PayloadPlace::Inline).
    pub inline_payload: Option<Vec<u8>>,
    /// The uid that it has to get; the next one otherwise.
    pub uid: Option<u32>,
}

impl NewTask {
    /// A task about an index, without documents.
    pub fn for_index(index_uid: impl Into<String>, content: Content) -> NewTask {
        NewTask { index_uid: Some(index_uid.into()), content, custom_metadata: None, inline_payload: None, uid: None }
    }

    /// A task about no index or several.
    pub fn global(content: Content) -> NewTask {
        NewTask { index_uid: None, content, custom_metadata: None, inline_payload: None, uid: None }
    }
}
