//! The ground of the server: errors with their public codes, launch options, outgoing requests and the guard on their addresses,
//! logs, limits of the process.
//!
//! Uses the engine, for its errors. Knows no request, no index by name, and nothing that the server keeps.
//!
//! ```
//! use lamina_base::error::{ApiError, Code, ErrorDocs};
//!
//! let error = ApiError::new(Code::IndexNotFound, "Index `films` not found.");
//! assert_eq!(error.status(), 404);
//! let docs = ErrorDocs::new("https://docs.example/errors");
//! assert_eq!(docs.link(Code::IndexNotFound), "https://docs.example/errors#index_not_found");
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod aliases;
pub mod backoff;
pub mod budget;
pub mod bus_error;
pub mod cancellation;
pub mod console;
pub mod crash_mark;
pub mod engine_errors;
pub mod error;
pub mod logs;
pub mod memory;
pub mod options;
pub mod outbound;
pub mod plural;
pub mod process_limits;
pub mod process_stats;
pub mod secret;
pub mod stopping;
pub mod stored_names;
pub mod text_file;
pub mod timestamp;
