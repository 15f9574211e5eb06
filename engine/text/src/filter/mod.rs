//! The filter language: text (or its JSON array form) to a syntax tree. Nothing is evaluated here.
//!
//! ```text
//! genres IN [Drama, 'Film Noir'] AND (year >= 1950 OR NOT rating 1 TO 3)
//! ```
//!
//! `offers[price < 10 AND stock > 0]` asks for one element of an array of objects that passes both.
//!
//! The parser is written by hand and reads each character once, so that a list of tens of thousands of values costs
//! what its text costs. Nesting is bounded by [`MAX_DEPTH`]; everything that recurses over a [`Filter`] may rely on it. So are the
//! conditions ([`CONDITIONS_MAX`]) and the values ([`VALUES_MAX`]).
//! Errors carry the place in the text, counted in characters, because users see it.

mod ast;
mod coordinates;
mod element;
mod error;
mod functions;
mod grammar;
mod json;
mod location;
mod reader;
mod size;
mod vectors;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use ast::{Comparison, Condition, Filter, Vectors, VectorsKind};
pub use coordinates::{Coordinates, CoordinatesError};
pub use element::{ElementField, attribute_of};
pub use error::{FilterError, FilterErrorKind};
pub use location::{Located, Location};

/// Maximum nesting depth of parentheses, `NOT`, `_foreign` and brackets; a bracket counts eight times. Chains of `AND`
/// and `OR` and the items of lists are flat.
pub(crate) const MAX_DEPTH: usize = 200;
/// Conditions of one filter, in all texts of its JSON form.
pub const CONDITIONS_MAX: usize = 100_000;
/// Values of all lists of one filter, and corners of its polygons, taken together.
pub const VALUES_MAX: usize = 500_000;
