//! Why a filter can't be understood.

use std::fmt;

use super::{CoordinatesError, Location};

/// A syntax error, with its [`Location`] when the text is known.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterError(Box<Details>);

#[derive(Clone, Debug, PartialEq)]
struct Details {
    kind: FilterErrorKind,
    at: Option<Location>,
}

/// Kind of error in a filter. The error's [`Location`] is the part of the text that it concerns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// The JSON value has the wrong type at some level of the array form.
    JsonType {
        expected: &'static str,
        found: String,
    },
    /// There is a field, or nothing at all, but no condition.
    ExpectedOperation,
    ExpectedEnd,
    ExpectedValue,
    ReservedKeyword,
    MalformedValue,
    InvalidEscapedNumber,
    MissingClosingDelimiter(char),
    InOpeningBracket,
    InClosingBracket,
    InExpectedValue,
    DepthLimit,
    /// More than [`CONDITIONS_MAX`](super::CONDITIONS_MAX).
    ConditionLimit,
    /// More than [`VALUES_MAX`](super::VALUES_MAX).
    ValueLimit,
    NonFiniteNumber,
    GeoRadius,
    GeoRadiusArgumentCount(usize),
    GeoBoundingBox,
    GeoPolygon,
    GeoPolygonPointCount(usize),
    GeoPairCount(usize),
    Coordinates(CoordinatesError),
    /// A box whose top latitude is below the bottom one.
    BoxUpsideDown {
        top: f64,
        bottom: f64,
    },
    /// `_geo`, `_geoPoint` or `_geoDistance` used as a field or a value.
    ReservedGeo(&'static str),
    /// `_geoRadius` or `_geoBoundingBox` used as a value.
    GeoOperationAsValue(&'static str),
    VectorsOperation,
    VectorsEmbedder,
    VectorsKind(String),
    VectorsFragment,
    VectorsLeftover,
    Foreign,
    /// A place, vectors or `_foreign` between the brackets behind a field.
    Element,
    /// No name of a field behind the brackets of `offers[stock > 0].price`.
    ElementField,
}

impl FilterError {
    pub(super) fn new(kind: FilterErrorKind, at: Location) -> Self {
        FilterError(Box::new(Details { kind, at: Some(at) }))
    }

    /// About the filter as a whole.
    pub(super) fn unplaced(kind: FilterErrorKind) -> Self {
        FilterError(Box::new(Details { kind, at: None }))
    }

    pub(super) fn json(expected: &'static str, found: &serde_json::Value) -> Self {
        FilterError(Box::new(Details {
            kind: FilterErrorKind::JsonType { expected, found: found.to_string() },
            at: None,
        }))
    }

    pub fn kind(&self) -> &FilterErrorKind {
        &self.0.kind
    }

    pub fn location(&self) -> Option<&Location> {
        self.0.at.as_ref()
    }
}

impl std::error::Error for FilterError {}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        self.location().map_or(Ok(()), |at| write!(f, ", at {at}"))
    }
}

impl fmt::Display for FilterErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use FilterErrorKind as Kind;
        let text = match self {
            Kind::JsonType { expected, found } => return write!(f, "JSON {found} where {expected} is expected"),
            Kind::MissingClosingDelimiter(delimiter) => return write!(f, "`{delimiter}` is missing"),
            Kind::GeoRadiusArgumentCount(count) => return write!(f, "{count} arguments of `_geoRadius`"),
            Kind::GeoPolygonPointCount(count) => return write!(f, "a polygon of {count} points"),
            Kind::GeoPairCount(count) => return write!(f, "a point of {count} numbers"),
            Kind::Coordinates(error) => return write!(f, "{error}"),
            Kind::BoxUpsideDown { top, bottom } => {
                return write!(f, "a box whose top {top} is below its bottom {bottom}");
            }
            Kind::ReservedGeo(name) => return write!(f, "`{name}` is no field"),
            Kind::GeoOperationAsValue(name) => return write!(f, "`{name}` is no value"),
            Kind::VectorsKind(found) => return write!(f, "`{found}` is no kind of vectors"),
            Kind::ExpectedOperation => "an operator is missing",
            Kind::ExpectedEnd => "there is text behind the filter",
            Kind::ExpectedValue => "a value is missing",
            Kind::ReservedKeyword => "a keyword without quotes",
            Kind::MalformedValue => "a value cannot be read",
            Kind::InvalidEscapedNumber => "an escape is no character",
            Kind::InOpeningBracket => "`[` is missing behind `IN`",
            Kind::InClosingBracket => "`]` is missing behind a list",
            Kind::InExpectedValue => "there is more than values in a list",
            Kind::DepthLimit => "nested too deep",
            Kind::ConditionLimit => "more than `CONDITIONS_MAX` conditions",
            Kind::ValueLimit => "more than `VALUES_MAX` values",
            Kind::NonFiniteNumber => "a number is not finite",
            Kind::GeoRadius => "a malformed `_geoRadius`",
            Kind::GeoBoundingBox => "a malformed `_geoBoundingBox`",
            Kind::GeoPolygon => "a malformed `_geoPolygon`",
            Kind::VectorsOperation => "an operator that vectors have is missing",
            Kind::VectorsEmbedder => "the name of an embedder is missing",
            Kind::VectorsFragment => "the name of a fragment is missing",
            Kind::VectorsLeftover => "there is more behind a kind of vectors",
            Kind::Foreign => "a malformed `_foreign`",
            Kind::Element => "no condition on a field of an element",
            Kind::ElementField => "the name of a field is missing behind brackets",
        };
        f.write_str(text)
    }
}
