//! Models that are asked: embedders, rerankers, functions that edit documents.

pub(crate) mod edition;
pub(crate) mod embedders;
pub(crate) mod rerankers;
