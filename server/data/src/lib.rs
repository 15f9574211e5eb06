//! What the server keeps in its database folder: the task queue, the indexes, keys, rules, webhooks, and other small state.
//!
//! Uses the engine, `lamina-base` and `lamina-protocol`. Runs no task, answers no request, and starts no server.
//!
//! ```
//! use lamina_data::access::Rights;
//!
//! assert!(Rights::all().admits("films"));
//! assert!(!Rights::none().admits("films"));
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod access;
pub mod chats;
pub mod durably;
pub mod events;
pub mod experiments;
pub mod features;
pub mod instance;
pub mod network;
pub mod object_storage;
pub mod observe;
pub mod rules;
pub mod tasks;
pub mod telemetry;
pub mod webhooks;
