//! Documents that came without vectors that nobody can make for them.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::super::super::embedding::EmbeddingError;
use super::super::super::error::IndexError;
use crate::id::InternalId;

/// By embedder: the first document, and how many there are. Shared by the threads of a batch.
#[derive(Debug, Default)]
pub(in super::super) struct Missing(Mutex<BTreeMap<String, (InternalId, String, u64)>>);

impl Missing {
    /// Notes a document; `document_id` is its id as JSON.
    pub(super) fn note(&self, embedder: &str, id: InternalId, document_id: impl FnOnce() -> String) {
        let mut missing = self.0.lock();
        match missing.get_mut(embedder) {
            None => drop(missing.insert(embedder.to_owned(), (id, document_id(), 1))),
            Some((first, text, count)) => {
                *count += 1;
                if id < *first {
                    (*first, *text) = (id, document_id());
                }
            }
        }
    }

    /// # Errors
    /// When there are any.
    pub(in super::super) fn check(self) -> Result<(), IndexError> {
        match self.0.into_inner().pop_first() {
            None => Ok(()),
            Some((embedder, (_, document_id, count))) => {
                let document_id = document_id.trim_matches('"').to_owned();
                Err(EmbeddingError::NotProvided { embedder, document_id, others: count - 1 }.into())
            }
        }
    }
}
