//! Naive answers, computed from JSON documents by their definitions: what the property tests compare the engine with.

mod corpus;
mod facts;
mod order;

pub(crate) use corpus::{Corpus, LONG, documents, settings};
pub(crate) use facts::{Facts, matches, normal};
pub(crate) use order::sort_documents;
