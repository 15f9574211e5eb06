//! Documents that came without vectors that no embedder can make for them.

use std::collections::BTreeMap;

use lamina_text::id::InternalId;
use parking_lot::Mutex;

use super::super::super::embedding::{EmbeddingError, Misspelt};
use super::super::super::error::IndexError;

/// By embedder. Shared by the threads of a batch.
#[derive(Debug, Default)]
pub(in super::super) struct Missing(Mutex<BTreeMap<String, Noted>>);

#[derive(Debug)]
struct Noted {
    /// The first document.
    first: InternalId,
    document: WithoutVectors,
    /// Documents.
    count: u64,
}

/// Details of a document for an error.
#[derive(Debug)]
pub(super) struct WithoutVectors {
    /// The document's id as JSON: a number or a quoted text.
    pub(super) document_id: String,
    pub(super) misspelt: Option<Box<Misspelt>>,
}

impl Missing {
    /// Notes a document.
    pub(super) fn note(&self, embedder: &str, id: InternalId, describe: impl FnOnce() -> WithoutVectors) {
        let mut missing = self.0.lock();
        match missing.get_mut(embedder) {
            None => drop(missing.insert(embedder.to_owned(), Noted { first: id, document: describe(), count: 1 })),
            Some(noted) => {
                noted.count += 1;
                if id < noted.first {
                    (noted.first, noted.document) = (id, describe());
                }
            }
        }
    }

    /// # Errors
    /// When there are any.
    pub(in super::super) fn check(self) -> Result<(), IndexError> {
        match self.0.into_inner().pop_first() {
            None => Ok(()),
            Some((embedder, Noted { document: WithoutVectors { document_id, misspelt }, count, .. })) => {
                let document_id = document_id.trim_matches('"').to_owned();
                Err(EmbeddingError::NotProvided { embedder, document_id, others: count - 1, misspelt }.into())
            }
        }
    }
}
