//! What a request or a task may fail with: a public code, a message for people, and where to read more.

mod code;
mod message;
mod panics;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use code::{Code, ErrorType};
pub use message::excerpt;
pub use panics::panic_text;

/// Page of the error codes in the documentation, without the end of its name.
const ERRORS_PAGE: &str = "reference/errors";

/// Base address of the documentation of the error codes. The link of a code is `<base>#<code>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorDocs(Arc<str>);

impl ErrorDocs {
    /// The page of errors in the documentation that a build belongs to, if it names one in `LAMINA_DOCS_URL`.
    pub fn of_build() -> Option<ErrorDocs> {
        let documentation = option_env!("LAMINA_DOCS_URL").filter(|address| !address.is_empty())?;
        Some(ErrorDocs::new(&format!("{}/{ERRORS_PAGE}.html", documentation.trim_end_matches('/'))))
    }

    /// The page that a server has itself; `address` is its own, as clients reach it.
    pub fn of_server(address: &str) -> ErrorDocs {
        ErrorDocs::new(&format!("{}/docs/errors", address.trim_end_matches('/')))
    }

    /// Links below `base`, an address without a fragment.
    pub fn new(base: &str) -> ErrorDocs {
        ErrorDocs(base.trim_end_matches('#').into())
    }

    /// The text of the `link` key.
    pub fn link(&self, code: Code) -> String {
        format!("{}#{code}", self.0)
    }
}

impl Default for ErrorDocs {
    fn default() -> ErrorDocs {
        ErrorDocs::of_server("http://localhost:7700")
    }
}

/// A failed request: the answer's status and body, without the link (which depends on a launch option).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The public code; the type follows from it.
    pub code: Code,
    /// Description of the error for people.
    pub message: String,
    status: u16,
    is_momentary: bool,
}

/// Result of everything that answers a request.
pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// An error with the status that the table gives to its code. Of what the message quotes some hundred bytes are kept.
    pub fn new(code: Code, message: impl Into<String>) -> ApiError {
        ApiError { code, message: message::bounded(message.into()), status: code.status(), is_momentary: false }
    }

    /// The same error under another HTTP status: `/multi-search` answers 400 for a missing index.
    #[must_use]
    pub fn with_status(self, status: u16) -> ApiError {
        ApiError { status, ..self }
    }

    /// The same error of a cause that may be over in a moment.
    #[must_use]
    pub fn momentary(self, is_momentary: bool) -> ApiError {
        ApiError { is_momentary, ..self }
    }

    /// Reports whether the operating system refused something that it may grant in a moment: disk space, descriptors,
    /// memory, a device.
    pub fn is_momentary(&self) -> bool {
        self.is_momentary
    }

    /// The same error with `prefix` before its message.
    #[must_use]
    pub fn prefixed(self, prefix: impl fmt::Display) -> ApiError {
        ApiError { message: message::bounded(format!("{prefix}{}", self.message)), ..self }
    }

    /// ``Index `x` not found.``
    pub fn index_not_found(uid: &str) -> ApiError {
        ApiError::new(Code::IndexNotFound, format!("Index `{uid}` not found."))
    }

    /// ``Document `x` not found.``
    pub fn document_not_found(id: &str) -> ApiError {
        ApiError::new(Code::DocumentNotFound, format!("Document `{id}` not found."))
    }

    /// ``<action> requires enabling the `<feature>` experimental feature.``
    pub fn feature_not_enabled(action: impl fmt::Display, feature: &str) -> ApiError {
        let how = "Switch it on with `PATCH /experimental-features`.";
        ApiError::new(
            Code::FeatureNotEnabled,
            format!("{action} requires enabling the `{feature}` experimental feature. {how}"),
        )
    }

    /// A bug or a broken store, for what has no code of its own.
    pub fn internal(message: impl Into<String>) -> ApiError {
        ApiError::new(Code::Internal, message)
    }

    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Seconds for the `Retry-After` header of answers that ask to come back.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        (self.status == 503).then_some(10)
    }

    /// The JSON body, also shown as `error` of a failed task.
    pub fn body(&self, docs: &ErrorDocs) -> ErrorBody {
        ErrorBody {
            message: message::bounded(self.message.clone()),
            code: self.code.as_str().to_owned(),
            r#type: self.code.error_type(),
            link: docs.link(self.code),
        }
    }
}

impl From<std::io::Error> for ApiError {
    fn from(error: std::io::Error) -> ApiError {
        let is_momentary = lamina_engine::index::is_momentary(&error);
        // Raw numbers because not every one of these conditions has a stable kind: ENOSPC, EDQUOT; ENFILE, EMFILE.
        let error = match error.raw_os_error() {
            Some(28 | 122) => ApiError::new(
                Code::NoSpaceLeftOnDevice,
                "There is no more space left on the device. Consider increasing the size of the disk/partition.",
            ),
            Some(23 | 24) => ApiError::new(Code::TooManyOpenFiles, error.to_string()),
            _ => ApiError::new(
                Code::IoError,
                format!(
                    "{error}. This error generally happens when you have no space left on device or when your \
                     database doesn't have read or write right."
                ),
            ),
        };
        error.momentary(is_momentary)
    }
}

/// The four keys of an error, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Description of the error for people.
    pub message: String,
    /// Text of a [`Code`].
    pub code: String,
    /// Party that must act.
    pub r#type: ErrorType,
    /// Link to the documentation of the code.
    pub link: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_four_keys_in_order() {
        let docs = ErrorDocs::new("https://example.org/errors");
        let body = serde_json::to_string(&ApiError::index_not_found("x").body(&docs)).unwrap();
        assert_eq!(
            body,
            r#"{"message":"Index `x` not found.","code":"index_not_found","type":"invalid_request","link":"https://example.org/errors#index_not_found"}"#
        );
    }

    #[test]
    fn the_page_of_errors_is_where_links_lead() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(ERRORS_PAGE);
        assert!(page.with_extension("md").exists(), "{}", page.display());
    }

    #[test]
    fn a_full_disk_has_its_own_code() {
        let error = ApiError::from(std::io::Error::from_raw_os_error(28));
        assert_eq!((error.code, error.status()), (Code::NoSpaceLeftOnDevice, 422));
        assert!(error.is_momentary());
        assert_eq!(ApiError::from(std::io::Error::from_raw_os_error(13)).code, Code::IoError);
    }
}
