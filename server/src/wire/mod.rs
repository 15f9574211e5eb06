//! The public JSON shapes: reading and checking what clients send, writing what they get back.
//!
//! Nothing here knows of HTTP connections or stores; a request body comes in as a JSON value, an answer leaves as one.
//! Every refusal is the *first* problem in the order in which the request was written.

pub mod body;
pub mod documents;
pub mod export;
pub mod fields;
pub mod identifier;
pub mod indexes;
pub mod json;
pub mod keys;
mod locale;
pub mod multi_search;
pub mod network;
pub mod point_in_time;
pub mod query_string;
pub mod search;
pub mod settings;
pub mod similar;
mod suggest;
pub mod tasks;
pub mod wait;
pub mod webhooks;

pub(crate) use locale::accepted as locale_codes;
