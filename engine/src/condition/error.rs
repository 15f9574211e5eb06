//! Why a well-formed filter can't be applied to an index.

use std::fmt;

use lamina_index::index::settings::{AvailableAttributes, FilterableFeatures};
use lamina_text::filter::Location;

/// A filter asks for what the settings of the index don't allow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConditionError {
    NotFilterable {
        attribute: String,
        available: AvailableAttributes,
        at: Location,
    },
    /// The entry number `rule` of `filterableAttributes` decides for the attribute and lacks the operator's family.
    OperatorNotAllowed {
        attribute: String,
        operator: &'static str,
        rule: usize,
        features: FilterableFeatures,
    },
    /// A reserved geo name used as a field, in quotes.
    ReservedGeo {
        name: String,
        at: Location,
    },
    UnknownEmbedder(Box<UnknownName>),
    UnknownFragment {
        embedder: String,
        fragment: Box<UnknownName>,
    },
    /// The function needs shapes or other indexes, which this engine does not hold.
    Unsupported {
        function: &'static str,
        at: Location,
    },
}

/// A name that the settings don't have.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownName {
    pub name: String,
    /// The names they have, sorted.
    pub available: Vec<String>,
    /// One of them that is nearly the same.
    pub suggestion: Option<String>,
    pub at: Location,
}

impl std::error::Error for ConditionError {}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConditionError::NotFilterable { attribute, at, .. } => {
                write!(f, "`{attribute}` is not filterable, at {at}")
            }
            ConditionError::OperatorNotAllowed { attribute, operator, rule, .. } => {
                write!(f, "rule {rule} of the filterable attributes does not allow `{operator}` on `{attribute}`")
            }
            ConditionError::ReservedGeo { name, at } => write!(f, "`{name}` is no field, at {at}"),
            ConditionError::UnknownEmbedder(unknown) => write!(f, "no embedder `{}`, at {}", unknown.name, unknown.at),
            ConditionError::UnknownFragment { embedder, fragment } => {
                write!(f, "embedder `{embedder}` has no fragment `{}`, at {}", fragment.name, fragment.at)
            }
            ConditionError::Unsupported { function, at } => write!(f, "`{function}` cannot be evaluated, at {at}"),
        }
    }
}
