//! Commands that talk to a server over HTTP: import, search, settings, evaluate, judge, tune, mcp.
//!
//! Uses `lamina-base` and `lamina-protocol`: a client knows the server by its interface alone.
//!
//! ```no_run
//! use clap::Parser;
//! use lamina_client::commands::{self, SearchArgs};
//!
//! #[derive(Parser)]
//! struct Line {
//!     #[command(flatten)]
//!     search: SearchArgs,
//! }
//! commands::search(&Line::parse_from(["search", "films", "alien"]).search);
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod client;
pub mod commands;
pub mod evaluate;
pub mod import;
