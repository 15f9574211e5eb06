//! What can go wrong when vectors are made.

use std::fmt;

use thiserror::Error;

use super::limit::TemplateLimit;

/// Party that is responsible for a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The configuration's or the input's.
    User,
    /// The provider's.
    Runtime,
    /// The cause is not known.
    Undecided,
    /// Ours.
    Bug,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Fault::User => "user error",
            Fault::Runtime => "runtime error",
            Fault::Undecided => "error",
            Fault::Bug => "internal error",
        })
    }
}

/// A text got no vector.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{fault}: {message}")]
pub struct EmbedFailure {
    pub fault: Fault,
    /// Without secrets: it is shown to users.
    pub message: String,
    /// True if the error is about this text, and others may do better. Any other error stands in the way of every text.
    pub is_of_text: bool,
}

impl EmbedFailure {
    /// The configuration or the input is wrong.
    pub fn user(message: impl Into<String>) -> EmbedFailure {
        EmbedFailure { fault: Fault::User, message: message.into(), is_of_text: false }
    }

    /// The provider does not do what it should.
    pub fn runtime(message: impl Into<String>) -> EmbedFailure {
        EmbedFailure { fault: Fault::Runtime, message: message.into(), is_of_text: false }
    }

    /// One of both does not, and which is not known.
    pub fn undecided(message: impl Into<String>) -> EmbedFailure {
        EmbedFailure { fault: Fault::Undecided, message: message.into(), is_of_text: false }
    }

    /// The caller has canceled it.
    pub fn cancelled() -> EmbedFailure {
        EmbedFailure::undecided("cancelled")
    }

    /// A provider gives vectors of another size than it did, or was said to.
    pub fn other_dimensions(expected: usize, found: usize) -> EmbedFailure {
        EmbedFailure::runtime(format!(
            "was expecting embeddings of dimension `{expected}`, got embeddings of dimensions `{found}`"
        ))
    }

    /// The same, about one text.
    pub fn of_text(self) -> EmbedFailure {
        EmbedFailure { is_of_text: true, ..self }
    }
}

/// Reason for which a template is invalid or produced no text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The template passes a limit.
    #[error(transparent)]
    Limit(#[from] TemplateLimit),
    /// The template is wrong, or reads what is not there, in the words of the library.
    #[error("{0}")]
    Wrong(String),
}

/// Documents could not get their vectors.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EmbeddingError {
    /// An embedder can't be used as configured.
    #[error("an embedder cannot be used: {0}")]
    Unusable(EmbedFailure),
    #[error("embedder `{embedder}` failed: {failure}")]
    Failed { embedder: String, failure: EmbedFailure },
    /// Documents of an embedder that makes no vectors came without any; `others` beside the one named, which has `misspelt` a
    /// name.
    #[error("document {document_id} has no vectors for embedder `{embedder}`")]
    NotProvided { embedder: String, document_id: String, others: u64, misspelt: Option<Box<Misspelt>> },
    #[error("the template of embedder `{embedder}` cannot be parsed: {reason}")]
    Template { embedder: String, reason: TemplateError },
    /// `document_id` as JSON.
    #[error("a template needs a field that document {document_id} lacks: {reason}")]
    Render { document_id: String, reason: String },
    /// `document_id` as JSON.
    #[error("the template of embedder `{embedder}` met a limit for document {document_id}: {limit}")]
    RenderLimit { embedder: String, document_id: String, limit: TemplateLimit },
}

/// A name that looks like another one, which was likely meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelt {
    pub found: String,
    pub meant: String,
}
