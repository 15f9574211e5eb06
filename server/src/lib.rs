//! The server of Lamina: HTTP interface, searches, the work of the task queue.
//!
//! Uses the engine and the crates below it: `lamina-base`, `lamina-models`, `lamina-protocol`, `lamina-data`, `lamina-replication`. Its
//! floors: `answer` (searches and conversations) and `work` (tasks), `app` (what routes share), `http`, `api` (the routes), and the life
//! of the process.
//!
//! ```no_run
//! use clap::Parser;
//! use lamina_base::options::Options;
//! use lamina_server::run::{Ready, serve};
//!
//! #[derive(Parser)]
//! struct Line {
//!     #[command(flatten)]
//!     options: Options,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let line = Line::parse_from(["lamina", "--db-path", "data.lamina", "--no-analytics"]);
//! serve(line.options, Ready::Banner(None))?;
//! # Ok(())
//! # }
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]
// Modules are private unless the binary needs them, so that the compiler finds what is unused.
mod answer;
mod api;
mod app;
mod banner;
mod http;
pub mod restore;
pub mod run;
mod usage_report;
mod work;
