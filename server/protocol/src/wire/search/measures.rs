//! Ranges, histograms and statistics among the `facets` of a search.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult};
use lamina_engine::facet::{Calendar, Histogram, Key, Measure, Percentile, RANGES_MAX, Scale, Span, Steps};
use lamina_engine::filter::{Coordinates, ElementField, attribute_of};
use lamina_engine::index::settings::GEO_FIELD;
use lamina_engine::text::Moment;
use serde_json::{Value, json};

use super::{MEASURES_MAX, NAMES_MAX};
use crate::wire::json::{At, Kind, required};
use crate::wire::schema::{exactly, list, number, one_of, or_null, text};

/// Percentiles of one facet.
const PERCENTILES_MAX: usize = 100;
/// The fields of a facet that is an object.
const FIELDS: [&str; 5] = ["facet", "origin", "ranges", "histogram", "statistics"];

/// A facet whose values are measured, and how it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct FacetMeasure {
    /// Measure to compute in the engine.
    pub measure: Measure,
    /// The object as it was written.
    pub written: Value,
}

/// Parts of an object, before they are checked against each other.
#[derive(Default)]
struct Parts {
    facet: Option<String>,
    origin: Option<Coordinates>,
    ranges: Vec<Span>,
    histogram: Option<Histogram>,
    statistics: Option<Vec<Percentile>>,
}

impl FacetMeasure {
    /// Reads a list of names, and of objects that ask for more.
    pub(in crate::wire) fn read_list(at: At<'_>) -> ApiResult<(Vec<String>, Vec<FacetMeasure>)> {
        let (mut names, mut measures) = (Vec::new(), Vec::new());
        at.list(|entry| {
            match entry.value() {
                Value::Object(_) => measures.push(FacetMeasure::read(entry)?),
                _ => names.push(entry.string()?),
            }
            Ok(())
        })?;
        for (found, most) in [(names.len(), NAMES_MAX), (measures.len(), MEASURES_MAX)] {
            if found > most {
                return Err(at.invalid(format_args!("{found} entries; at most {most} are allowed.")));
            }
        }
        Ok((names, measures))
    }

    /// The schema of an entry of such a list. The parts of an object must go together, too.
    pub fn entry_schema() -> Value {
        let facet = json!({ "type": "string", "pattern": "^[^*]*$" });
        let degrees = |most: i64| json!({ "type": "number", "minimum": -most, "maximum": most });
        let origin = exactly([("lat", degrees(90)), ("lng", degrees(180))], &["lat", "lng"]);
        let date = json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$" });
        let bound = || json!({ "anyOf": [{ "type": ["number", "null"] }, date.clone()] });
        let range = exactly([("from", bound()), ("to", bound()), ("label", or_null(text()))], &[]);
        let mut ranges = list(range);
        ranges["maxItems"] = json!(RANGES_MAX);
        let length = json!({ "type": "number", "exclusiveMinimum": 0 });
        let interval = json!({ "anyOf": [length, one_of(&Calendar::units())] });
        let histogram = exactly([("interval", interval), ("timeZone", or_null(text()))], &["interval"]);
        let mut percentiles = list(number());
        percentiles["maxItems"] = json!(PERCENTILES_MAX);
        let statistics = exactly([("percentiles", or_null(percentiles))], &[]);
        let fields = [
            ("facet", facet),
            ("origin", or_null(origin)),
            ("ranges", or_null(ranges)),
            ("histogram", or_null(histogram)),
            ("statistics", json!({ "anyOf": [{ "type": ["boolean", "null"] }, statistics] })),
        ];
        json!({ "anyOf": [text(), exactly(fields, &["facet"])] })
    }

    fn read(at: At<'_>) -> ApiResult<FacetMeasure> {
        let mut parts = Parts::default();
        at.fields(&FIELDS, |name, field| {
            match name {
                "facet" => parts.facet = Some(facet(field)?),
                _ if field.value().is_null() => {}
                "origin" => parts.origin = Some(origin(field)?),
                "ranges" => parts.ranges = ranges(field)?,
                "histogram" => parts.histogram = Some(histogram(field)?),
                _ => parts.statistics = statistics(field)?,
            }
            Ok(())
        })?;
        let facet = required(parts.facet.take(), &at, "facet", lamina_base::error::Code::InvalidSearchFacets)?;
        let scale = parts.scale(&facet).map_err(|reason| at.error(format!("{reason}, at `{}`.", at.path())))?;
        let Parts { ranges, histogram, statistics, .. } = parts;
        let elements = ElementField::parse(&facet).map_err(|error| at.invalid(error.sentence()))?.map(Box::new);
        let measure = Measure { facet, elements, scale, ranges, histogram, statistics };
        Ok(FacetMeasure { measure, written: at.value().clone() })
    }

    /// The ranges as they were written, with their labels.
    pub fn written_ranges(&self) -> &[Value] {
        self.written.get("ranges").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Reports whether both request the same, with the same labels.
    pub fn is_same(&self, other: &FacetMeasure) -> bool {
        self.measure == other.measure && self.written_ranges() == other.written_ranges()
    }
}

impl Parts {
    /// Returns the type of the measured values, or the reason why the parts do not fit together.
    fn scale(&self, facet: &str) -> Result<Scale, String> {
        if self.ranges.is_empty() && self.histogram.is_none() && self.statistics.is_none() {
            return Err(format!("Request `ranges`, a `histogram` or `statistics` of `{facet}`"));
        }
        let is_date = |key: &Key| matches!(key, Key::Moment(_));
        let bounds: Vec<Key> = self.ranges.iter().flat_map(|span| [span.from, span.to]).flatten().collect();
        let dates = bounds.iter().filter(|key| is_date(key)).count();
        let by_calendar = self.histogram.as_ref().map(|histogram| matches!(histogram, Histogram::Calendar(_)));
        let is_mixed = (dates > 0 && dates < bounds.len())
            || by_calendar.is_some_and(|by_calendar| !bounds.is_empty() && by_calendar != (dates > 0));
        if is_mixed {
            return Err(format!("All bounds and intervals of `{facet}` must be numbers, or all dates"));
        }
        let of_dates = dates > 0 || by_calendar == Some(true);
        if of_dates && self.statistics.is_some() {
            return Err("Statistics are those of numbers and distances; use a separate entry for them".to_owned());
        }
        match (facet == GEO_FIELD, self.origin) {
            (true, _) if of_dates => Err(format!("Bounds and intervals of `{GEO_FIELD}` are metres")),
            (true, Some(origin)) => Ok(Scale::Distances(origin)),
            (true, None) => Err(format!("Distances of `{GEO_FIELD}` need an `origin`")),
            (false, Some(_)) => Err(format!("An `origin` is for distances, whose `facet` is `{GEO_FIELD}`")),
            (false, None) if of_dates => Ok(Scale::Dates),
            (false, None) => Ok(Scale::Numbers),
        }
    }
}

fn facet(at: At<'_>) -> ApiResult<String> {
    let facet = at.string()?;
    if attribute_of(&facet).contains('*') {
        Err(at.invalid("the name of one attribute is expected, not a pattern."))
    } else {
        Ok(facet)
    }
}

fn origin(at: At<'_>) -> ApiResult<Coordinates> {
    let (mut lat, mut lng) = (None, None);
    at.fields(&["lat", "lng"], |name, field| {
        let degrees = Some(field.number()?);
        if name == "lat" {
            lat = degrees
        } else {
            lng = degrees
        }
        Ok(())
    })?;
    let code = lamina_base::error::Code::InvalidSearchFacets;
    let (lat, lng) = (required(lat, &at, "lat", code)?, required(lng, &at, "lng", code)?);
    Coordinates::new(lat, lng).map_err(|error| at.invalid(format_args!("{error}.")))
}

fn ranges(at: At<'_>) -> ApiResult<Vec<Span>> {
    let ranges = at.list(range)?;
    let found = ranges.len();
    if found > RANGES_MAX {
        return Err(at.invalid(format_args!("{found} entries; at most {RANGES_MAX} are allowed.")));
    }
    Ok(ranges)
}

fn range(at: At<'_>) -> ApiResult<Span> {
    let (mut from, mut to) = (None, None);
    at.fields(&["from", "to", "label"], |name, field| {
        match name {
            "from" => from = field.optional(bound)?,
            "to" => to = field.optional(bound)?,
            _ => drop(field.optional(|field| field.string())?),
        }
        Ok(())
    })?;
    let wrong = |reason: &str| -> ApiError { at.error(format!("{reason}, at `{}`.", at.path())) };
    match (from, to) {
        (None, None) => Err(wrong("A range needs `from`, `to` or both")),
        (Some(from), Some(to)) if from >= to => Err(wrong("A range begins with `from`, and `to` is greater")),
        _ => Ok(Span { from, to }),
    }
}

/// A number, or a date as text.
fn bound(at: At<'_>) -> ApiResult<Key> {
    match at.value() {
        Value::String(text) => Moment::parse_bound(text)
            .map(Key::Moment)
            .ok_or_else(|| at.invalid("the text is no date: `2024-02-29` and `2024-02-29T12:30:00+01:00` are some.")),
        Value::Number(_) => Ok(Key::Number(at.number()? + 0.0)),
        _ => Err(at.wrong_type(&[Kind::PositiveInteger, Kind::NegativeInteger, Kind::Number, Kind::String])),
    }
}

fn histogram(at: At<'_>) -> ApiResult<Histogram> {
    let (mut length, mut unit, mut zone) = (None, None, None);
    at.fields(&["interval", "timeZone"], |name, field| {
        match (name, field.value()) {
            ("timeZone", _) => zone = field.optional(|field| field.string())?,
            (_, Value::String(text)) => {
                let units = Calendar::units();
                if !units.contains(&text.as_str()) {
                    return Err(field.unknown_value(text, &units));
                }
                unit = Some(text.clone());
            }
            (_, Value::Number(_)) => {
                let number = field.number()?;
                length = Some(Steps::new(number).ok_or_else(|| field.invalid("a number greater than 0 is expected."))?);
            }
            _ => {
                let kinds = [Kind::PositiveInteger, Kind::NegativeInteger, Kind::Number, Kind::String];
                return Err(field.wrong_type(&kinds));
            }
        }
        Ok(())
    })?;
    let wrong = |reason: String| at.error(format!("{reason}, at `{}`.", at.path()));
    match (length, unit) {
        (Some(_), _) if zone.is_some() => {
            Err(wrong("A `timeZone` goes with the intervals of a calendar, not with numbers".to_owned()))
        }
        (Some(steps), _) => Ok(Histogram::Steps(steps)),
        (None, Some(unit)) => {
            let calendar = Calendar::new(&unit, zone.as_deref()).map_err(|error| {
                wrong(format!("There is no time zone `{}`: names are like `Europe/Paris`", error.0))
            })?;
            Ok(Histogram::Calendar(calendar.expect("the unit is one of the calendar's")))
        }
        (None, None) => Err(at.missing_field("interval")),
    }
}

/// `true`, or an object with percentiles.
fn statistics(at: At<'_>) -> ApiResult<Option<Vec<Percentile>>> {
    if let Value::Bool(is_wanted) = at.value() {
        return Ok(is_wanted.then(Vec::new));
    }
    if !at.value().is_object() {
        return Err(at.wrong_type(&[Kind::Boolean, Kind::Object]));
    }
    let mut percentiles = Vec::new();
    at.fields(&["percentiles"], |_, field| {
        percentiles = field.optional(|field| field.list(percentile))?.unwrap_or_default();
        let found = percentiles.len();
        if found > PERCENTILES_MAX {
            return Err(field.invalid(format_args!("{found} entries; at most {PERCENTILES_MAX} are allowed.")));
        }
        Ok(())
    })?;
    Ok(Some(percentiles))
}

fn percentile(at: At<'_>) -> ApiResult<Percentile> {
    let number = at.number()?;
    Percentile::new(number).ok_or_else(|| {
        at.error(format!("A percentile is from 0 to 100 with three decimals at most, at `{}`.", at.path()))
    })
}

#[cfg(test)]
mod tests {
    use lamina_base::error::Code;

    use super::*;
    use crate::wire::search::SearchQuery;

    fn read(facet: Value) -> ApiResult<SearchQuery> {
        SearchQuery::from_body(&json!({ "facets": [facet] }))
    }

    #[test]
    fn what_is_read() {
        let query = SearchQuery::from_body(&json!({"facets": [
            "genre",
            {"facet": "price", "ranges": [{"to": 10, "label": "cheap"}, {"from": 10}], "statistics": {"percentiles": [50]}},
            {"facet": "_geo", "origin": {"lat": 1, "lng": 2.5}, "histogram": {"interval": 500}, "ranges": null},
        ]}))
        .unwrap();
        assert_eq!(query.facets, Some(vec!["genre".to_owned()]));
        let [price, geo] = &query.measures[..] else { panic!("two of them") };
        assert_eq!((price.measure.scale, price.measure.ranges.len()), (Scale::Numbers, 2));
        assert_eq!(price.written_ranges()[0], json!({"to": 10, "label": "cheap"}));
        assert_eq!(geo.measure.scale, Scale::Distances(Coordinates::new(1.0, 2.5).unwrap()));
        let by_month = json!({"facet": "date", "histogram": {"interval": "month", "timeZone": "Europe/Paris"}});
        assert_eq!(read(by_month).unwrap().measures[0].measure.scale, Scale::Dates);
    }

    #[test]
    fn what_is_refused() {
        let of = |name: &str, value: Value| json!({ "facet": "f", name: value });
        for (facet, says) in [
            (json!(1), "expected a string"),
            (json!({}), "Missing field `facet`"),
            (json!({"facet": "f"}), "Request `ranges`"),
            (json!({"facet": "f*", "statistics": true}), "not a pattern"),
            (json!({"facet": "f", "statistics": false}), "Request `ranges`"),
            (json!({"facet": "f", "doggo": 1}), "Unknown field `doggo`"),
            (of("ranges", json!([])), "Request `ranges`"),
            (of("ranges", json!([{}])), "A range needs `from`, `to` or both, at `.facets[0].ranges[0]`"),
            (of("ranges", json!([{"from": 2, "to": 2}])), "and `to` is greater"),
            (of("ranges", json!([{"from": "soon"}])), "the text is no date"),
            (of("ranges", json!([{"from": true}])), "expected a number or a string"),
            (of("ranges", json!([{"from": 1, "to": "2024-01-01"}])), "must be numbers, or all dates"),
            (of("ranges", json!(vec![json!({"from": 1}); 101])), "101 entries; at most 100 are allowed"),
            (of("histogram", json!({})), "Missing field `interval`"),
            (of("histogram", json!({"interval": 0})), "greater than 0"),
            (of("histogram", json!({"interval": "fortnight"})), "Unknown value `fortnight`"),
            (of("histogram", json!({"interval": 1, "timeZone": "UTC"})), "intervals of a calendar"),
            (of("histogram", json!({"interval": "day", "timeZone": "Paris"})), "There is no time zone `Paris`"),
            (of("statistics", json!(1)), "expected a boolean or an object"),
            (of("statistics", json!({"percentiles": [101]})), "from 0 to 100"),
            (json!({"facet": "a[b].c", "statistics": true}), "expecting an operation"),
            (of("origin", json!({"lat": 1, "lng": 1})), "Request `ranges`"),
            (json!({"facet": "f", "statistics": true, "origin": {"lat": 1, "lng": 1}}), "is for distances"),
            (json!({"facet": "_geo", "statistics": true}), "need an `origin`"),
            (json!({"facet": "_geo", "statistics": true, "origin": {"lat": 91, "lng": 1}}), "latitude 91"),
            (json!({"facet": "_geo", "statistics": true, "origin": {"lat": 1}}), "Missing field `lng`"),
            (json!({"facet": "_geo", "histogram": {"interval": "day"}, "origin": {"lat": 1, "lng": 1}}), "are metres"),
            (json!({"facet": "f", "statistics": true, "histogram": {"interval": "day"}}), "a separate entry"),
            (
                json!({"facet": "f", "ranges": [{"from": 1}], "histogram": {"interval": "day"}}),
                "must be numbers, or all dates",
            ),
        ] {
            let error = read(facet.clone()).unwrap_err();
            assert_eq!(error.code, Code::InvalidSearchFacets, "{facet}");
            assert!(error.message.contains(says), "{facet}: {}", error.message);
        }
    }
}
