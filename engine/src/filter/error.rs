//! Why a filter can't be understood.

use std::fmt;

use super::{CONDITIONS_MAX, CoordinatesError, Location, VALUES_MAX};

/// A syntax error. Displays as the sentence for the user, then (when the text is known) a new line and the
/// [`Location`].
#[derive(Clone, Debug, PartialEq)]
pub struct FilterError(Box<Details>);

#[derive(Clone, Debug, PartialEq)]
struct Details {
    kind: FilterErrorKind,
    at: Option<Location>,
}

/// What is wrong. The part of the text that it is about is the error's [`Location`].
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
        // Line breaks of the filter are escaped so that the sentence stays on one line.
        let text = self.location().map_or("", Location::text);
        write_sentence(f, self.kind(), text)?;
        self.location().map_or(Ok(()), |at| write!(f, "\n{at}"))
    }
}

fn write_sentence(f: &mut fmt::Formatter<'_>, kind: &FilterErrorKind, text: &str) -> fmt::Result {
    use FilterErrorKind as Kind;
    let nothing = text.trim().is_empty();
    let escaped = text.escape_debug();
    match kind {
        Kind::JsonType { expected, found } => {
            write!(f, "Invalid syntax for the filter parameter: `expected {expected}, found: {found}`.")
        }
        Kind::ExpectedOperation => {
            f.write_str(
                "Was expecting an operation `=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, `TO`, `EXISTS`, \
                 `NOT EXISTS`, `IS NULL`, `IS NOT NULL`, `IS EMPTY`, `IS NOT EMPTY`, `CONTAINS`, `NOT CONTAINS`, \
                 `STARTS WITH`, `NOT STARTS WITH`, `_geoRadius`, `_geoBoundingBox` or `_geoPolygon` ",
            )?;
            if nothing { f.write_str("but instead got nothing.") } else { write!(f, "at `{escaped}`.") }
        }
        Kind::ExpectedEnd => write!(
            f,
            "Found unexpected characters at the end of the filter: `{escaped}`. You probably forgot an `OR` or an \
             `AND` rule."
        ),
        Kind::ExpectedValue if nothing => f.write_str("Was expecting a value but instead got nothing."),
        Kind::ExpectedValue => write!(f, "Was expecting a value but instead got `{escaped}`."),
        Kind::ReservedKeyword => write!(
            f,
            "Was expecting a value but instead got `{escaped}`, which is a reserved keyword. To use `{escaped}` as a \
             field name or a value, surround it by quotes."
        ),
        Kind::MalformedValue => write!(f, "Malformed value: `{escaped}`."),
        Kind::InvalidEscapedNumber => write!(f, "Found an invalid escaped sequence number: `{escaped}`."),
        Kind::MissingClosingDelimiter(delimiter) => {
            write!(f, "Expression `{escaped}` is missing the following closing delimiter: `{delimiter}`.")
        }
        Kind::InOpeningBracket => f.write_str("Expected `[` after `IN` keyword."),
        Kind::InClosingBracket => f.write_str("Expected matching `]` after the list of field names given to `IN[`"),
        Kind::InExpectedValue => {
            write!(f, "Expected only comma-separated field names inside `IN[..]` but instead found `{escaped}`.")
        }
        Kind::DepthLimit => f.write_str(
            "The filter exceeded the maximum depth limit. Try rewriting the filter so that it contains fewer nested \
             conditions.",
        ),
        Kind::ConditionLimit => write!(
            f,
            "The filter has more than {CONDITIONS_MAX} conditions. Use a list (`field IN [..]`) in the place of many \
             conditions on one field, or several requests."
        ),
        Kind::ValueLimit => write!(
            f,
            "The filter has more than {VALUES_MAX} values in its lists and polygons. Use several requests, or a field \
             that many of the documents share."
        ),
        Kind::Foreign => f.write_str("The `_foreign` filter must be in the form: `_foreign(field, filter)`."),
        Kind::VectorsOperation
        | Kind::VectorsEmbedder
        | Kind::VectorsKind(_)
        | Kind::VectorsFragment
        | Kind::VectorsLeftover => write_vectors_sentence(f, kind),
        _ => write_geo_sentence(f, kind),
    }
}

fn write_geo_sentence(f: &mut fmt::Formatter<'_>, kind: &FilterErrorKind) -> fmt::Result {
    use FilterErrorKind as Kind;
    match kind {
        Kind::NonFiniteNumber => f.write_str("Non finite floats are not supported"),
        Kind::GeoRadius => f.write_str(
            "The `_geoRadius` filter must be in the form: `_geoRadius(latitude, longitude, radius, \
             optionalResolution)`.",
        ),
        Kind::GeoRadiusArgumentCount(count) => {
            write!(f, "Was expecting 3 or 4 arguments for `_geoRadius`, but instead found {count}.")
        }
        Kind::GeoBoundingBox => f.write_str(
            "The `_geoBoundingBox` filter expects two pairs of arguments: `_geoBoundingBox([latitude, longitude], \
             [latitude, longitude])`.",
        ),
        Kind::GeoPolygon => f.write_str(
            "The `_geoPolygon` filter doesn't match the expected format: `_geoPolygon([latitude, longitude], \
             [latitude, longitude])`.",
        ),
        Kind::GeoPolygonPointCount(count) => {
            write!(f, "The `_geoPolygon` filter expects at least 3 points but only {count} were specified")
        }
        Kind::GeoPairCount(count) => write!(f, "Was expecting 2 coordinates but instead found {count}."),
        Kind::Coordinates(error) => write!(f, "{error}"),
        Kind::BoxUpsideDown { top, bottom } => {
            write!(f, "The top latitude `{top}` is below the bottom latitude `{bottom}`.")
        }
        Kind::ReservedGeo(name) => write!(
            f,
            "`{name}` is a reserved keyword and thus can't be used as a filter expression. Use the \
             `_geoRadius(latitude, longitude, distance)` or `_geoBoundingBox([latitude, longitude], [latitude, \
             longitude])` built-in rules to filter on `_geo` coordinates."
        ),
        Kind::GeoOperationAsValue(name) => {
            write!(f, "The `{name}` filter is an operation and can't be used as a value.")
        }
        other => unreachable!("the sentence of {other:?} is written elsewhere"),
    }
}

fn write_vectors_sentence(f: &mut fmt::Formatter<'_>, kind: &FilterErrorKind) -> fmt::Result {
    use FilterErrorKind as Kind;
    match kind {
        Kind::VectorsOperation => {
            f.write_str("Was expecting an operation like `EXISTS` or `NOT EXISTS` after the vector filter.")
        }
        Kind::VectorsEmbedder => f.write_str("Was expecting embedder name but found nothing."),
        Kind::VectorsKind(found) => write!(
            f,
            "Was expecting one of `fragments`, `userProvided`, `documentTemplate`, `regenerate` or nothing, but \
             instead found `{found}`."
        ),
        Kind::VectorsFragment => f.write_str("The vector filter is missing a fragment name."),
        Kind::VectorsLeftover => f.write_str("The vector filter has leftover tokens."),
        other => unreachable!("the sentence of {other:?} is written elsewhere"),
    }
}
