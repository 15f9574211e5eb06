//! The server of Lamina: HTTP interface, task queue, settings, launch options.

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]
// Modules are private unless the binary needs them, so that the compiler finds what is unused.
mod answer;
mod api;
mod app;
mod banner;
pub mod base;
pub mod cli;
mod data;
mod http;
mod models;
pub mod protocol;
mod replication;
pub mod run;
mod usage_report;
mod work;
