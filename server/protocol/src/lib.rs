//! The JSON of the protocol: shapes of requests and responses with their validation ([`wire`]), the messages of the Model Context
//! Protocol ([`mcp`]), and server-sent events ([`events`]).
//!
//! Uses the engine's types of values, `lamina-base` for errors, and `lamina-models` for the sources of embedders. Has only types of its own:
//! others convert them into theirs. Does no input or output.
//!
//! ```
//! use lamina_protocol::wire::search::SearchQuery;
//!
//! let body = serde_json::json!({"q": "alien", "limit": "ten"});
//! let error = SearchQuery::from_body(&body).unwrap_err();
//! assert_eq!(error.code.to_string(), "invalid_search_limit");
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod events;
pub mod mcp;
pub mod wire;
