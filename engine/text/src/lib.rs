//! The ground of the engine: words of a text with their normal forms, languages and stems ([`text`]), the syntax of filters
//! ([`filter`]), and the numbers that name documents, fields and segments ([`id`]).
//!
//! Uses no other crate of the workspace. Does no input or output, and starts no thread.
//!
//! ```
//! use lamina_text::filter::Filter;
//!
//! let filter = Filter::parse("genre = Drama AND year > 1990").expect("a filter");
//! assert!(filter.is_some(), "an empty text is no filter");
//! assert!(Filter::parse("genre =").is_err());
//! ```
#![deny(unsafe_code)]

pub mod filter;
pub mod id;
pub mod text;
