//! Where something stands in the text of a filter.

use std::fmt;
use std::sync::Arc;

/// A part of a filter's text. Displays as users see it: `start:end text`, one-based columns in characters, end
/// excluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    source: Arc<str>,
    start: usize,
    end: usize,
}

impl Location {
    /// `start..end` are byte offsets on character boundaries of `source`.
    pub(super) fn new(source: &Arc<str>, start: usize, end: usize) -> Self {
        debug_assert!(source.is_char_boundary(start));
        debug_assert!(source.is_char_boundary(end));
        debug_assert!(start <= end);
        Location { source: Arc::clone(source), start, end }
    }

    /// The part itself.
    pub fn text(&self) -> &str {
        &self.source[self.start..self.end]
    }

    /// The whole text of the filter that the part belongs to.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// One-based columns, in characters: the first of the part and the first after it.
    pub fn columns(&self) -> (usize, usize) {
        let first = self.source[..self.start].chars().count() + 1;
        (first, first + self.text().chars().count())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = self.columns();
        write!(f, "{start}:{end} {}", self.source)
    }
}

/// A value with the place it was read from. Equality looks at the value alone: two filters are equal when they say
/// the same, wherever it was written.
#[derive(Clone, Debug)]
pub struct Located<T> {
    pub value: T,
    pub at: Location,
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
