//! A database folder out of a snapshot, without a server.

pub use crate::work::backup::{ImportError, restore};
