//! The ranking rules as the ranking sees them.

/// A rule whose cost is a sum over the path that a document takes through the query graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GraphRule {
    /// Words that are not matched.
    Words,
    Typo,
    Proximity,
    AttributeRank,
    WordPosition,
    /// First step of `exactness`: 0 the attribute is the query, 1 it starts with it, 2 neither. Not a sum: added once
    /// the path is known.
    ExactAttribute,
    /// Second step of `exactness`: words that are not present exactly.
    ExactWords,
}
