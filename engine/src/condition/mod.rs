//! Filters applied to an index: which documents of a segment pass.
//!
//! A [`Filter`](lamina_text::filter::Filter) is prepared once per snapshot: fields are looked up, what the settings forbid is
//! refused, operands are normalised and parsed. The [`PreparedFilter`] is then evaluated segment by segment. A
//! condition on values is a few ranges of ordinals of a column, and their documents are slices of it; nothing looks at
//! documents one by one.
//!
//! Many conditions on one field joined by `OR` are one question, and what is repeated is asked once. The evaluation ends when
//! its [`TimeLimit`] is over, and then answers nothing: a filter is never half applied.

#[cfg(test)]
mod element_tests;
mod element_values;
mod elements;
mod embedders;
mod error;
mod evaluate;
mod exact;
mod moment;
mod needles;
mod node;
mod operand;
mod ordinal_set;
mod ordinals;
mod prepare;
mod prepare_elements;
mod reading;
mod repeated;
#[cfg(test)]
mod tests;
mod time_limit;
mod vectors;

pub use element_values::ElementValues;
pub use error::{ConditionError, UnknownName};
pub use prepare::{PreparedFilter, check_filter};
pub use time_limit::{OutOfTime, TimeLimit};
