//! The ranking rules as the ranking sees them.

/// A rule whose cost is a sum over the path that a document takes through the query graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GraphRule {
    /// Words that are not matched.
    Words,
    Typo,
    /// Words in whose place only another form of them stands. The second step of `typo`, where forms count as words.
    Forms,
    Proximity,
    AttributeRank,
    WordPosition,
    /// First step of `exactness`: 0 the attribute is the query, 1 it starts with it, 2 neither. Not a sum: added once
    /// the path is known.
    ExactAttribute,
    /// Second step of `exactness`: words that are not present exactly.
    ExactWords,
}

/// Cost of the first step of `exactness` when no attribute starts with the query.
pub(super) const EXACT_ATTRIBUTE_WORST: u32 = 2;

/// Way in which documents match the words of a relaxation step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// Every word without typo.
    Exact,
    /// With a typo, when no rule but `words` comes before `typo`: readings with more typos than the key of their group
    /// says are behind it whatever else they cost.
    Misspelt,
}
