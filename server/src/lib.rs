//! The server of Lamina: HTTP interface, task queue, settings, launch options.

pub mod access;
pub mod app;
pub mod backup;
mod banner;
pub mod embedders;
pub mod engine_errors;
pub mod error;
mod export;
pub mod features;
pub mod http;
pub mod import;
pub mod inspect;
pub mod instance;
mod logs;
pub mod observe;
pub mod options;
pub mod outbound;
pub mod payload;
pub mod routes;
pub mod run;
pub mod search;
pub mod search_pool;
pub mod tasks;
pub mod telemetry;
pub mod timestamp;
pub mod webhooks;
pub mod wire;
