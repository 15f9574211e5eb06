//! The search engine of Lamina: segments, indexing, queries, ranking. It knows nothing of HTTP, tasks or keys.
#![deny(unsafe_code)]

pub mod bits;
pub mod boost;
pub mod caches;
pub mod condition;
pub mod document;
pub mod facet;
pub mod filter;
pub mod geo;
pub mod highlight;
pub mod id;
pub mod index;
#[cfg(test)]
mod oracle;
pub mod query;
pub mod rank;
pub mod runtime;
pub mod search;
pub mod segment;
pub mod sort;
pub mod storage;
pub mod text;
pub mod vector;
