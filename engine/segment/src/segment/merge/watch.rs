//! How far a merge is, for those who wait for it.

use std::fmt::Debug;

/// A part of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStep {
    /// Primary keys; units are documents.
    Keys,
    /// Columns, with points and shapes; units are columns.
    Columns,
    /// Vectors; units are embedders.
    Vectors,
    /// The store; units are documents.
    Documents,
    /// Terms and their postings; units are terms of the inputs.
    Postings,
    /// The token column; units are documents.
    Tokens,
}

impl MergeStep {
    /// In the order in which a merge takes them.
    pub const ALL: [MergeStep; 6] = [
        MergeStep::Keys,
        MergeStep::Columns,
        MergeStep::Vectors,
        MergeStep::Documents,
        MergeStep::Postings,
        MergeStep::Tokens,
    ];
}

/// Follows how far a merge is, on the thread that merges: it should not wait for anything.
pub trait MergeWatch: Debug + Sync {
    /// A step of `total` units begins; the one before it has ended.
    fn enter(&self, step: MergeStep, total: u64);

    /// More units of the step are done. In a merge that succeeds they are all reported.
    fn advance(&self, units: u64);
}
