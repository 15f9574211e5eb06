//! Conditions on one element of an array of objects: `offers[price < 10 AND stock > 0]`, and fields of elements that pass one.

use std::borrow::Cow;
use std::fmt;

use super::ast::Quoted;
use super::grammar::Parser;
use super::size::Size;
use super::{Filter, FilterError, FilterErrorKind as Kind, Located};

/// Brackets nest as deep as arrays of objects do, and each takes as much of the stack as some parentheses.
const LEVELS: usize = 8;

/// A field of those elements of an array that pass a filter: `offers[stock > 0].price`.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementField {
    /// Path of the array elements.
    pub elements: Located<String>,
    pub filter: Filter,
    /// The name of the field within an element.
    pub field: String,
}

impl ElementField {
    /// `None` for a text that is the name of a field as it stands.
    ///
    /// # Errors
    /// What is wrong between the brackets, or behind them.
    pub fn parse(text: &str) -> Result<Option<ElementField>, FilterError> {
        if !(text.contains('[') && text.contains("].")) {
            return Ok(None);
        }
        let mut parser = Parser::new(text, Size::default());
        let Ok(elements) = parser.field() else { return Ok(None) };
        parser.reader.skip_spaces();
        if parser.reader.peek() != Some('[') {
            return Ok(None);
        }
        let filter = parser.brackets()?;
        let start = parser.reader.position();
        let field = parser.reader.rest().strip_prefix('.').unwrap_or_default().to_owned();
        if field.is_empty() || field.contains(['[', ']']) {
            return Err(parser.reader.error_to_end(Kind::ElementField, start));
        }
        Ok(Some(ElementField { elements, filter, field }))
    }

    /// The whole name of the field: `offers.price`.
    pub fn attribute(&self) -> String {
        format!("{}.{}", self.elements.value, self.field)
    }
}

/// Canonical text: parsing it gives the same.
impl fmt::Display for ElementField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}].{}", Quoted(&self.elements.value), self.filter, self.field)
    }
}

/// The whole name of the field that `name` means, which may have a condition in brackets.
pub fn attribute_of(name: &str) -> Cow<'_, str> {
    match ElementField::parse(name) {
        Ok(Some(field)) => Cow::Owned(field.attribute()),
        _ => Cow::Borrowed(name),
    }
}

impl Parser {
    /// A filter between brackets, which come next.
    pub(super) fn brackets(&mut self) -> Result<Filter, FilterError> {
        let start = self.reader.position();
        self.reader.eat("[");
        for _ in 0..LEVELS {
            self.enter()?;
        }
        let filter = self.or_expression()?;
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
            None => Ok(filter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_elements_are_read() {
        let parse = |text: &str| ElementField::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let field = parse("offers[stock > 0 AND shop = 'A].b'].price.net").expect("it has brackets");
        assert_eq!((field.elements.value.as_str(), field.field.as_str()), ("offers", "price.net"));
        assert_eq!(field.attribute(), "offers.price.net");
        let again = parse(&field.to_string()).expect("as well");
        assert_eq!(again.to_string(), field.to_string());
        for name in ["price", "a[b", "a[b]", "[a].b", "a b[c].d", ""] {
            assert_eq!(parse(name), None, "{name}");
            assert_eq!(attribute_of(name), name);
        }
        assert_eq!(attribute_of("a.b[c = 1].d"), "a.b.d");
        for wrong in ["a[b].c", "a[b = 1].", "a[b = 1].c[d].e", "a[b = 1] .c].d", "a[_geoRadius(1, 2, 3)].c"] {
            assert!(ElementField::parse(wrong).is_err(), "{wrong}");
        }
    }
}
