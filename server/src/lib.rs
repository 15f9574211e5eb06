//! The server of Lamina: HTTP interface, task queue, settings, launch options.

pub mod error;
pub mod import;
pub mod search;
pub mod wire;
