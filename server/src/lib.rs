//! The server of Lamina: HTTP interface, task queue, settings, launch options.

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod access;
pub mod app;
pub mod backup;
mod banner;
pub mod budget;
pub mod bus_error;
mod cancellation;
mod client;
pub mod command_line;
pub mod commands;
pub mod console;
pub mod crash_mark;
mod edition;
pub mod embedders;
pub mod engine_errors;
pub mod error;
pub mod evaluate;
mod export;
pub mod features;
pub mod front;
pub mod http;
pub mod import;
pub mod inspect;
pub mod instance;
mod logs;
pub mod mcp;
pub mod memory;
pub mod network;
mod object_storage;
pub mod observe;
pub mod options;
pub mod outbound;
pub mod payload;
pub mod points_in_time;
mod process_limits;
pub mod repair;
pub mod replication;
pub mod requests;
pub mod routes;
pub mod run;
pub mod scrub;
pub mod search;
pub mod search_pool;
pub mod secret;
mod stopping;
pub mod stored_names;
pub mod tasks;
pub mod telemetry;
pub mod timestamp;
mod usage_report;
pub mod verify;
pub mod webhooks;
pub mod wire;
pub mod worker;
