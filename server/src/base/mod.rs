//! What knows nothing of the rest of the server: errors, launch options, outgoing requests, limits of the process.

pub(crate) mod aliases;
pub(crate) mod budget;
pub mod bus_error;
pub(crate) mod cancellation;
pub mod console;
pub(crate) mod crash_mark;
pub(crate) mod engine_errors;
pub mod error;
pub(crate) mod logs;
pub mod memory;
pub mod options;
pub(crate) mod outbound;
pub(crate) mod plural;
pub(crate) mod process_limits;
pub(crate) mod secret;
pub(crate) mod stopping;
pub(crate) mod stored_names;
pub(crate) mod text_file;
pub(crate) mod timestamp;
