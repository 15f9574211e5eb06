//! Sentences about filters.

use std::fmt;

use lamina_engine::condition::{ConditionError, OutOfTime, UnknownName};
use lamina_engine::filter::{CONDITIONS_MAX, CoordinatesError, FilterError, FilterErrorKind, Location, VALUES_MAX};
use lamina_engine::index::settings::FilterableFeatures;

use super::sentence::{FILTERABLE, Sentence, adds, each_quoted};

impl Sentence for FilterError {
    /// Ends with a new line and the place, when the text is known. Line breaks of the filter are escaped before it.
    fn sentence(&self) -> String {
        struct Shown<'e>(&'e FilterError);
        impl fmt::Display for Shown<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text = self.0.location().map_or("", Location::text);
                write_sentence(f, self.0.kind(), text)?;
                self.0.location().map_or(Ok(()), |at| write!(f, "\n{at}"))
            }
        }
        Shown(self).to_string()
    }
}

impl Sentence for ConditionError {
    /// The sentence; most end with a line that shows the place in the filter.
    fn sentence(&self) -> String {
        ShownCondition(self).to_string()
    }
}

impl Sentence for OutOfTime {
    fn sentence(&self) -> String {
        "The filter takes too long to be evaluated. Use fewer conditions, or a list (`field IN [..]`) in the place of many \
         conditions on one field."
            .to_owned()
    }
}

impl Sentence for CoordinatesError {
    fn sentence(&self) -> String {
        match self {
            CoordinatesError::Latitude(found) => {
                format!("Bad latitude `{found}`. Latitude must be contained between -90 and 90 degrees.")
            }
            CoordinatesError::Longitude(found) => format!(
                "Bad longitude `{found}`. Longitude must be contained between -180 and 180 degrees. Hint: try using `{}` \
                 instead.",
                wrapped(*found)
            ),
            other => other.to_string(),
        }
    }
}

/// The same meridian, written inside -180..=180.
fn wrapped(longitude: f64) -> f64 {
    (longitude + 180.0).rem_euclid(360.0) - 180.0
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
        Kind::Foreign => f.write_str("The `_foreign` filter must be in the form: `_foreign(field, filter)`."),
        Kind::Element => f.write_str(
            "Only conditions on the fields of an element may stand between `[` and `]`: no places, `_vectors` or `_foreign`.",
        ),
        Kind::ElementField => f.write_str(
            "A field of elements must be in the form: `array[condition].field`, as in `offers[stock > 0].price`.",
        ),
        Kind::VectorsOperation
        | Kind::VectorsEmbedder
        | Kind::VectorsKind(_)
        | Kind::VectorsFragment
        | Kind::VectorsLeftover => write_vectors_sentence(f, kind),
        Kind::DepthLimit | Kind::ConditionLimit | Kind::ValueLimit => write_limit_sentence(f, kind),
        Kind::MalformedValue
        | Kind::InvalidEscapedNumber
        | Kind::MissingClosingDelimiter(_)
        | Kind::InOpeningBracket
        | Kind::InClosingBracket
        | Kind::InExpectedValue => write_value_sentence(f, kind, text),
        _ => write_geo_sentence(f, kind),
    }
}

/// Writes the message about a malformed value or a malformed list of values.
fn write_value_sentence(f: &mut fmt::Formatter<'_>, kind: &FilterErrorKind, text: &str) -> fmt::Result {
    use FilterErrorKind as Kind;
    let escaped = text.escape_debug();
    match kind {
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
        other => unreachable!("the sentence of {other:?} is written elsewhere"),
    }
}

/// Writes the message about a filter that exceeds a limit.
fn write_limit_sentence(f: &mut fmt::Formatter<'_>, kind: &FilterErrorKind) -> fmt::Result {
    use FilterErrorKind as Kind;
    match kind {
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
        other => unreachable!("the sentence of {other:?} is written elsewhere"),
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
        Kind::Coordinates(error) => f.write_str(&error.sentence()),
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

struct ShownCondition<'e>(&'e ConditionError);

impl fmt::Display for ShownCondition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ConditionError::NotFilterable { attribute, available, at } => {
                write!(f, "Attribute `{attribute}` is not filterable. ")?;
                if available.is_empty() {
                    f.write_str("This index does not have configured filterable attributes.")?;
                } else {
                    write!(f, "Available filterable attribute patterns are: {}.", each_quoted(available))?;
                }
                // Two names of which either will do.
                let attribute = attribute.strip_suffix("/_geojson").unwrap_or(attribute);
                write!(f, " {}\n{at}", adds(FILTERABLE, [attribute]))
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
            other => write!(f, "{other}"),
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

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
