//! The server of Lamina: HTTP interface, task queue, settings, launch options.

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]
// Modules are private unless the binary needs them, so that the compiler finds what is unused.
#![expect(
    unreachable_pub,
    reason = "what is `pub` is for other modules of the server; `pub(super)` is for those of a folder"
)]

mod access;
mod aliases;
mod app;
mod asked;
mod backup;
mod banner;
mod budget;
pub mod build;
pub mod bus_error;
mod cancellation;
mod chat;
mod client;
pub mod command_line;
pub mod commands;
pub mod console;
mod crash_mark;
mod edition;
mod embedders;
mod engine_errors;
pub mod error;
pub mod evaluate;
mod export;
mod features;
mod front;
mod http;
pub mod import;
pub mod inspect;
mod instance;
mod logs;
pub mod look_after;
mod mcp;
pub mod memory;
mod network;
mod object_storage;
mod observe;
pub mod options;
mod outbound;
mod payload;
mod points_in_time;
mod postgres;
mod process_limits;
pub mod repair;
mod replication;
mod requests;
mod rerankers;
mod routes;
mod rules;
pub mod run;
mod scrub;
mod search;
mod search_pool;
mod secret;
mod stopping;
mod stored_names;
pub mod sync;
mod tasks;
mod telemetry;
mod timestamp;
mod usage_report;
pub mod verify;
mod webhooks;
pub mod wire;
mod worker;
