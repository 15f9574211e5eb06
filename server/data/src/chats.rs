//! Workspaces of conversational search: a provider of completions each.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::parse_url;
use lamina_base::secret::{redacted, shown_url};
use lamina_protocol::wire::chats::ChatSettings;
use serde_json::{Value, json};

use crate::instance::{StateFile, write_state};

/// The file in the database folder.
const FILE: &str = "chats.json";
/// Workspaces at most.
const WORKSPACES_MAX: usize = 1000;

pub type Workspaces = BTreeMap<String, ChatSettings>;

/// Returns the workspaces that can be read: others come from a later program, or another one.
fn readable(workspaces: impl IntoIterator<Item = (String, Value)>) -> Workspaces {
    let read = |(uid, value): (String, Value)| Some((uid, serde_json::from_value::<ChatSettings>(value).ok()?));
    workspaces.into_iter().filter_map(read).collect()
}

/// The workspaces and their file.
#[derive(Debug)]
pub struct Chats {
    file: StateFile<Workspaces>,
}

impl Chats {
    /// Reads the workspaces from the database folder. Without the file, or with a damaged one, there are none.
    pub fn open(folder: &Path) -> Chats {
        Chats { file: StateFile::open(folder, FILE, "the chat workspaces: there are none") }
    }

    /// Returns all workspaces, with their secrets.
    pub fn all(&self) -> Arc<Workspaces> {
        self.file.get()
    }

    /// Takes those of the server that this one follows, as it stores them; blocks until the file is durable.
    ///
    /// # Errors
    /// The errors of the file system; nothing changes then.
    pub fn follow(&self, stored: &Value) -> ApiResult<()> {
        self.file.replace(readable(stored.as_object().cloned().unwrap_or_default()))
    }

    /// Returns the uids of the workspaces, in their order.
    pub fn uids(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }

    /// Returns the settings of a workspace.
    ///
    /// # Errors
    /// `chat_not_found`
    pub fn settings(&self, uid: &str) -> ApiResult<ChatSettings> {
        self.all().get(uid).cloned().ok_or_else(|| not_found(uid))
    }

    /// Changes the settings of a workspace, or makes it; blocks until the file is durable.
    ///
    /// # Errors
    /// The errors of the change and of the file system; nothing changes then.
    pub fn change(&self, uid: &str, body: &Value) -> ApiResult<ChatSettings> {
        self.file.change(|workspaces| {
            let new = workspaces.get(uid).cloned().unwrap_or_default().patched(body)?;
            if let Some(url) = &new.base_url {
                parse_url(url).map_err(|reason| {
                    let message = format!("Invalid URL `{}` at `.baseUrl`: {reason}", shown_url(url));
                    ApiError::new(Code::InvalidChatCompletionBaseApi, message)
                })?;
            }
            workspaces.insert(uid.to_owned(), new.clone());
            if workspaces.len() > WORKSPACES_MAX {
                let message = format!("There are already {WORKSPACES_MAX} workspaces, the maximum.");
                return Err(ApiError::new(Code::BadRequest, message));
            }
            Ok(new)
        })
    }

    /// Gives a workspace the settings of a new one.
    ///
    /// # Errors
    /// `chat_not_found`, and those of the file system.
    pub fn reset(&self, uid: &str) -> ApiResult<ChatSettings> {
        self.file.change(|workspaces| {
            *workspaces.get_mut(uid).ok_or_else(|| not_found(uid))? = ChatSettings::default();
            Ok(ChatSettings::default())
        })
    }

    /// Removes a workspace.
    ///
    /// # Errors
    /// `chat_not_found`, and those of the file system.
    pub fn remove(&self, uid: &str) -> ApiResult<()> {
        self.file.change(|workspaces| workspaces.remove(uid).map(drop).ok_or_else(|| not_found(uid)))
    }
}

/// All workspaces of a database folder, with their secrets.
pub fn export(folder: &Path) -> Value {
    json!(*Chats::open(folder).all())
}

/// Writes workspaces of another server into the database folder that is to become its copy.
///
/// # Errors
/// What the file system says; what is no workspace is none.
pub fn import(folder: &Path, workspaces: impl IntoIterator<Item = (String, Value)>) -> io::Result<()> {
    let workspaces = readable(workspaces);
    if workspaces.is_empty() {
        return Ok(());
    }
    write_state(folder, FILE, &workspaces)
}

/// Settings as clients see them: without their secrets.
pub fn shown(settings: &ChatSettings) -> Value {
    let mut shown = json!(settings);
    shown["apiKey"] = settings.api_key.as_deref().map(redacted).into();
    shown["baseUrl"] = settings.base_url.as_deref().map(shown_url).into();
    shown
}

fn not_found(uid: &str) -> ApiError {
    ApiError::new(Code::ChatNotFound, format!("Chat `{uid}` not found."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_made_kept_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let chats = Chats::open(folder.path());
        assert_eq!(chats.settings("a").unwrap_err().code, Code::ChatNotFound);
        let made = chats.change("a", &json!({"apiKey": "sk-0123456789abcdef", "baseUrl": "http://u:p@h/v1"})).unwrap();
        assert_eq!(shown(&made)["apiKey"], "skXXXX...");
        assert!(!shown(&made).to_string().contains("u:p@"));
        assert_eq!(shown(&made).as_object().unwrap().keys().next().unwrap(), "source");
        chats.change("b", &json!({})).unwrap();
        assert!(chats.change("c", &json!({"baseUrl": "nope"})).is_err());
        let again = Chats::open(folder.path());
        assert_eq!((again.uids(), again.settings("a").unwrap()), (vec!["a".to_owned(), "b".to_owned()], made));
        assert_eq!(again.reset("a").unwrap(), ChatSettings::default());
        again.remove("b").unwrap();
        assert_eq!(again.remove("b").unwrap_err().code, Code::ChatNotFound);
        assert_eq!(Chats::open(folder.path()).uids(), ["a"]);
    }
}
