//! Conditions on one element of an array of objects: `offers[price < 10 AND stock > 0]`.

use super::grammar::Parser;
use super::{Filter, FilterError, FilterErrorKind as Kind, Located};

/// Brackets nest as deep as arrays of objects do, and each takes as much of the stack as some parentheses.
const LEVELS: usize = 8;

impl Parser {
    /// What stands between the brackets behind `field`.
    pub(super) fn element(&mut self, field: Located<String>) -> Result<Filter, FilterError> {
        let start = self.reader.position();
        self.reader.eat("[");
        for _ in 0..LEVELS {
            self.enter()?;
        }
        let filter = Box::new(self.or_expression()?);
        for _ in 0..LEVELS {
            self.leave();
        }
        self.reader.skip_spaces();
        if !self.reader.eat("]") {
            return Err(self.reader.error_to_end(Kind::MissingClosingDelimiter(']'), start));
        }
        let of_documents = filter.find(&|filter| match filter {
            Filter::GeoRadius { at, .. }
            | Filter::GeoBoundingBox { at, .. }
            | Filter::GeoPolygon { at, .. }
            | Filter::Foreign { at, .. } => Some(&at.at),
            Filter::Vectors(vectors) => Some(&vectors.at),
            _ => None,
        });
        match of_documents {
            Some(at) => Err(FilterError::new(Kind::Element, at.clone())),
            None => Ok(Filter::Element { field, filter }),
        }
    }
}
