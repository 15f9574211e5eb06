//! What documents of different segments are compared by.

/// The value of a document under a criterion.
#[derive(Clone, Debug, PartialEq)]
pub enum SortedValue {
    Number(f64),
    /// Normalised.
    String(String),
    /// The document has no value for the field: last in both directions.
    Missing,
}
