//! What the server keeps: the task queue, the indexes, keys, rules, webhooks, and other small state.

pub(crate) mod access;
pub(crate) mod chats;
pub(crate) mod features;
pub(crate) mod instance;
pub(crate) mod network;
pub(crate) mod object_storage;
pub(crate) mod observe;
pub(crate) mod rules;
pub(crate) mod tasks;
pub(crate) mod telemetry;
pub(crate) mod webhooks;
