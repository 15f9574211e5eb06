//! Limits of templates and fragments.

use thiserror::Error;

/// A limit that a template passes, or fragments do, with what there is of it and the most that there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateLimit {
    #[error("it has {found} bytes, more than the {most} that a template may have")]
    Bytes { found: usize, most: usize },
    #[error("it has {found} opening brackets, more than the {most} that a template may have")]
    Brackets { found: usize, most: usize },
    /// Links in chains of conditions.
    #[error("it has the words `and`, `or` and `elsif` {found} times, more than the {most} that a template may have")]
    Links { found: usize, most: usize },
    #[error("it has {found} names behind dots, more than the {most} that a template may have")]
    Names { found: usize, most: usize },
    #[error("it has more than {most} blanks or line ends in a row")]
    Blanks { most: usize },
    #[error("its blocks are nested more than {most} levels deep")]
    Nesting { most: usize },
    /// Size of the JSON of one fragment.
    #[error("it has {found} bytes, more than the {most} that a fragment may have")]
    FragmentBytes { found: usize, most: usize },
    /// Total size of the JSON of all fragments of one kind.
    #[error("they have {found} bytes together, more than the {most} that are allowed")]
    FragmentsBytes { found: usize, most: usize },
    #[error("rendering takes more than {most} steps")]
    Steps { most: u64 },
    /// Bytes that are read and produced for one input.
    #[error("rendering reads and makes more than {most} bytes for this input")]
    Work { most: u64 },
    /// The text that is made.
    #[error("its text has more than {most} bytes")]
    Output { most: usize },
}
