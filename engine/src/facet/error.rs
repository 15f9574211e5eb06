//! Why facets can't be computed.

use lamina_index::index::settings::AvailableAttributes;
use thiserror::Error;

use crate::condition::{ConditionError, OutOfTime};

/// Error in the `facets` of a request.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FacetError {
    /// At least one pattern, sorted.
    #[error("no attribute that is filterable matches {patterns:?}")]
    NotFilterable { patterns: Vec<String>, available: AvailableAttributes },
    /// The entry number `rule` of the filterable attributes decides for the attribute and allows no filter.
    #[error("rule {rule} of the filterable attributes allows no filter on `{attribute}`")]
    FilteringDisabled { attribute: String, rule: usize },
    /// A histogram has more than `most` buckets with documents.
    #[error("the histogram of `{facet}` has more than {most} buckets with documents")]
    TooManyBuckets { facet: String, most: usize },
    /// A condition on elements that the settings do not allow.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// Elements were not looked at in time.
    #[error(transparent)]
    OutOfTime(#[from] OutOfTime),
}

/// Reason for which the values of a facet cannot be searched.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FacetSearchError {
    #[error("the index allows no search among values")]
    Disabled,
    #[error("no rule of the filterable attributes is about `{attribute}`")]
    NotFacetSearchable { attribute: String, available: AvailableAttributes },
    /// The entry number `rule` of the filterable attributes decides for the attribute and lacks the feature.
    #[error("rule {rule} of the filterable attributes allows no search among values of `{attribute}`")]
    FeatureDisabled { attribute: String, rule: usize, available: AvailableAttributes },
}
