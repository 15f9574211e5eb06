//! Filters applied to an index: which documents of a segment pass.
//!
//! A [`Filter`](crate::filter::Filter) is prepared once per snapshot: fields are looked up, what the settings forbid is
//! refused, operands are normalised and parsed. The [`PreparedFilter`] is then evaluated segment by segment. A
//! condition on values is a few ranges of ordinals of a column, and their documents are slices of it; nothing looks at
//! documents one by one.

mod embedders;
mod error;
mod evaluate;
mod exact;
mod moment;
mod operand;
mod ordinal_set;
mod ordinals;
mod prepare;
#[cfg(test)]
mod tests;
mod vectors;

pub use error::{ConditionError, UnknownName};
#[cfg(test)]
pub(crate) use moment::Moment;
pub use prepare::PreparedFilter;
