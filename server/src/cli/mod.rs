//! Commands beside `serve`: clients of a server, and tools for database folders and stores.

pub mod build;
pub(crate) mod client;
pub mod command_line;
pub mod commands;
pub mod evaluate;
pub mod import;
pub mod inspect;
pub(crate) mod postgres;
pub mod repair;
pub mod store_command;
pub mod sync;
pub mod verify;
