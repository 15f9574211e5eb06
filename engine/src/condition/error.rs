//! Why a well-formed filter can't be applied to an index.

use std::fmt;

use crate::filter::Location;
use crate::index::settings::{AvailableAttributes, FilterableFeatures};

/// A filter asks for what the settings of the index don't allow. Displays as the sentences for the user; most end with
/// a new line and the place in the filter.
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
            ConditionError::NotFilterable { attribute, available, at } => {
                write!(f, "Attribute `{attribute}` is not filterable. ")?;
                if available.is_empty() {
                    f.write_str("This index does not have configured filterable attributes.")?;
                } else {
                    write!(f, "Available filterable attribute patterns are: {}.", available.each_quoted())?;
                }
                write!(f, "\n{at}")
            }
            ConditionError::OperatorNotAllowed { attribute, operator, rule, features } => {
                let family = if features.filter.equality { "comparison" } else { "equality" };
                writeln!(f, "Filter operator `{operator}` is not allowed for the attribute `{attribute}`.")?;
                writeln!(f, "  - Note: allowed operators: {}.", allowed_operators(*features))?;
                writeln!(f, "  - Note: field `{attribute}` matched rule #{rule} in `filterableAttributes`")?;
                writeln!(f, "  - Hint: enable {family} in rule #{rule} by modifying the features.filter object")?;
                write!(
                    f,
                    "  - Hint: prepend another rule matching `{attribute}` with appropriate filter features before rule \
                     #{rule}"
                )
            }
            ConditionError::ReservedGeo { name, at } => write!(
                f,
                "`{name}` is a reserved keyword and thus can't be used as a filter expression. Use the \
                 `_geoRadius(latitude, longitude, distance)` or `_geoBoundingBox([latitude, longitude], [latitude, \
                 longitude])` built-in rules to filter on `_geo` coordinates.\n{at}"
            ),
            ConditionError::UnknownEmbedder(unknown) => {
                write!(f, "The embedder `{}` does not exist. ", unknown.name)?;
                if unknown.available.is_empty() {
                    f.write_str("This index does not have configured embedders.")?;
                } else {
                    write!(f, "Available embedders are: {}.", quoted(&unknown.available))?;
                }
                write_suggestion(f, unknown)
            }
            ConditionError::UnknownFragment { embedder, fragment } => {
                write!(f, "The fragment `{}` does not exist on embedder `{embedder}`. ", fragment.name)?;
                if fragment.available.is_empty() {
                    f.write_str("This embedder does not have configured fragments.")?;
                } else {
                    write!(f, "Available fragments on this embedder are: {}.", quoted(&fragment.available))?;
                }
                write_suggestion(f, fragment)
            }
            ConditionError::Unsupported { function, at } => {
                write!(f, "The `{function}` filter is not supported by this index.\n{at}")
            }
        }
    }
}

fn allowed_operators(features: FilterableFeatures) -> String {
    let mut operators = vec!["OR", "AND", "NOT"];
    if features.filter.equality {
        operators.extend(["=", "!=", "IN"]);
    }
    if features.filter.comparison {
        operators.extend(["<", ">", "<=", ">=", "TO"]);
    }
    operators.extend(["IS EMPTY", "IS NULL", "EXISTS"]);
    operators.join(", ")
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn write_suggestion(f: &mut fmt::Formatter<'_>, unknown: &UnknownName) -> fmt::Result {
    if let Some(name) = &unknown.suggestion {
        write!(f, " Did you mean `{name}`?")?;
    }
    write!(f, "\n{}", unknown.at)
}
