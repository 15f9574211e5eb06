//! Indexes whose files are damaged: lists of all indexes name them instead of failing.

use lamina_base::error::{ApiResult, Code};
use serde_json::{Map, Value};

use crate::app::AppState;

/// By uid, what is wrong with it.
#[derive(Default)]
pub(super) struct Unreadable(Map<String, Value>);

impl Unreadable {
    /// Returns the result of reading an index, and records an error. An index that was deleted meanwhile is skipped.
    pub(super) fn sift<T>(&mut self, state: &AppState, uid: &str, read: ApiResult<T>) -> Option<T> {
        let error = match read {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        if error.code != Code::IndexNotFound {
            let body = serde_json::to_value(error.body(&state.error_docs)).unwrap_or_default();
            self.0.insert(uid.to_owned(), body);
        }
        None
    }

    /// Adds the key `unreadable` where there are any: clients of servers that never had one see what they know.
    pub(super) fn report(self, body: &mut Value) {
        if !self.0.is_empty() {
            body["unreadable"] = Value::Object(self.0);
        }
    }
}
