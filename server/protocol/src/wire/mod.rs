//! The public JSON shapes: reading and checking what clients send, writing what they get back.
//!
//! Nothing here knows of HTTP connections, stores, or the types of those who carry requests out: a request body comes in as a
//! JSON value, and becomes a type of this module, which others convert into theirs.
//! Every refusal is the *first* problem in the order in which the request was written.

pub mod actions;
pub mod aliases;
pub mod analytics;
pub mod body;
pub mod boosts;
pub mod chats;
pub mod documents;
pub mod events;
pub mod experiments;
pub mod export;
pub mod fields;
pub mod filter;
pub mod generations;
pub mod identifier;
pub mod indexes;
pub mod json;
pub mod keys;
mod locale;
pub mod marking;
pub mod multi_search;
pub mod network;
pub mod point_in_time;
pub mod query_string;
pub mod render;
pub mod rules;
pub mod schema;
pub mod search;
pub mod settings;
pub mod similar;
mod suggest;
pub mod task_names;
pub mod tasks;
mod text_fields;
pub mod value_updates;
pub mod wait;
pub mod webhooks;

pub use locale::accepted as locale_codes;

/// Names the limits that an answer met. Those that the protocol's answers say nothing of stand here, so that bodies
/// have the keys that clients know.
pub const LIMITS_HEADER: &str = "lamina-limits";

/// Returns the text with a capital at its beginning, for pages of the reference.
#[cfg(test)]
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
