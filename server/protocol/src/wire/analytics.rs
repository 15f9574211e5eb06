//! Parameters of GET `/analytics/{indexUid}` and of the lists below it.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_engine::text::Date;
use serde_json::{Value, json};

use super::query_string::{Parameter, QueryString};
use super::schema::one_of;

const NANOS: i128 = 1_000_000_000;
/// Seconds before the end at which the time begins, where none is asked for.
const DEFAULT_SECONDS: u64 = 7 * 86_400;
/// Steps of a series.
const STEPS_MAX: u64 = 1000;
/// Rows of a list, where no limit is asked for.
const DEFAULT_LIMIT: u64 = 20;

const FORMATS: [(&str, Format); 2] = [("json", Format::Json), ("csv", Format::Csv)];
const INTERVALS: [(&str, u64); 2] = [("day", 86_400), ("hour", 3600)];
/// Lists, by their names in paths.
const LISTS: [(&str, ListKind); 6] = [
    ("queries", ListKind::Queries),
    ("rising", ListKind::Rising),
    ("without-hits", ListKind::WithoutHits),
    ("without-clicks", ListKind::WithoutClicks),
    ("slow", ListKind::Slow),
    ("filters", ListKind::Filters),
];

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An object.
    Json,
    /// Lines, the first with names.
    Csv,
}

/// List of queries or of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The most frequent queries.
    Queries,
    /// Queries that are more frequent than in the time before.
    Rising,
    /// Queries that found nothing.
    WithoutHits,
    /// Queries with hits and without a click.
    WithoutClicks,
    /// The slowest ones.
    Slow,
    /// The most frequent filters.
    Filters,
}

impl ListKind {
    /// The list that a path names.
    pub fn in_path(name: &str) -> Option<ListKind> {
        LISTS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

/// Part of the records that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalyticsQuery {
    /// Seconds since 1970.
    pub start: u64,
    /// Seconds since 1970, not included.
    pub end: u64,
    /// Seconds of a step of the series.
    pub step: Option<u64>,
    /// Rows that are passed over.
    pub offset: usize,
    /// Maximum number of rows.
    pub limit: usize,
    /// Form of the answer.
    pub format: Format,
}

/// Parameters of the figures.
pub const FIGURES: [&str; 4] = ["start", "end", "interval", "format"];
/// Parameters of recorded searches.
pub const TIMES: [&str; 2] = ["start", "end"];
/// Parameters of the lists.
pub const ROWS: [&str; 5] = ["start", "end", "offset", "limit", "format"];

impl AnalyticsQuery {
    /// Reads those of `accepted`; `now` is the end where none is asked for.
    ///
    /// # Errors
    /// The first problem in the order of the text; a time that ends before it begins, and too many steps.
    pub fn read(query: &QueryString, accepted: &[&str], now: u64) -> ApiResult<AnalyticsQuery> {
        let (mut start, mut end, mut step, mut format) = (None, None, None, Format::Json);
        let (mut offset, mut limit) = (0, DEFAULT_LIMIT);
        query.parameters(accepted, |name, parameter| {
            let parameter = parameter.code(Code::InvalidAnalyticsParameter);
            match name {
                "start" => start = Some(time(&parameter)?),
                "end" => end = Some(time(&parameter)?),
                "interval" => step = Some(parameter.one_of(&INTERVALS)?),
                "offset" => offset = parameter.positive_integer()?,
                "limit" => limit = parameter.positive_integer()?,
                _ => format = parameter.one_of(&FORMATS)?,
            }
            Ok(())
        })?;
        // What happens in this second is in it.
        let end = end.unwrap_or(now + 1);
        let start = start.unwrap_or(end.saturating_sub(DEFAULT_SECONDS));
        let refused = |reason: &str| Err(ApiError::new(Code::InvalidAnalyticsParameter, reason));
        if start >= end {
            return refused("`end` has to be later than `start`.");
        }
        if step.is_some_and(|step| end.div_ceil(step) - start / step > STEPS_MAX) {
            return refused("The series has more than 1000 steps: ask for a shorter time or a longer `interval`.");
        }
        let clamp = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(AnalyticsQuery { start, end, step, offset: clamp(offset), limit: clamp(limit), format })
    }
}

fn time(parameter: &Parameter<'_>) -> ApiResult<u64> {
    let text = parameter.text()?;
    let seconds = Date::parse(text).and_then(|date| u64::try_from(date.moment.nanos().div_euclid(NANOS)).ok());
    seconds.ok_or_else(|| {
        parameter.invalid(format_args!("`{text}` is no date like `2024-02-03` or `2024-02-03T04:05:06Z` since 1970."))
    })
}

/// A time as answers show it.
pub fn shown_time(seconds: u64) -> Timestamp {
    Timestamp::from_nanos(i64::try_from(i128::from(seconds) * NANOS).unwrap_or(i64::MAX))
}

/// The schema of a parameter, if `name` is one of these.
pub fn parameter_schema(name: &str) -> Option<Value> {
    match name {
        "start" | "end" => Some(json!({ "type": "string", "format": "date-time" })),
        "interval" => Some(one_of(&INTERVALS.map(|(name, _)| name))),
        "format" => Some(one_of(&FORMATS.map(|(name, _)| name))),
        _ => None,
    }
}

/// The schema of the name of a list in paths.
pub fn list_schema() -> Value {
    one_of(&LISTS.map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ApiResult<AnalyticsQuery> {
        let all = ["start", "end", "interval", "offset", "limit", "format"];
        AnalyticsQuery::read(&QueryString::parse(text), &all, 1_000_000)
    }

    #[test]
    fn times_have_defaults() {
        let query = read("").unwrap();
        assert_eq!((query.start, query.end, query.step), (1_000_001 - DEFAULT_SECONDS, 1_000_001, None));
        assert_eq!((query.offset, query.limit, query.format), (0, 20, Format::Json));
        let query = read("start=1970-01-02&end=1970-01-02T01:00:00Z&interval=hour&format=csv&limit=3").unwrap();
        assert_eq!((query.start, query.end, query.step, query.limit), (86_400, 90_000, Some(3600), 3));
        assert_eq!(query.format, Format::Csv);
    }

    #[test]
    fn other_values_are_refused() {
        for text in [
            "start=yesterday",
            "start=1960-01-01",
            "start=",
            "start=1970-01-02&end=1970-01-02",
            "start=1970-01-03&end=1970-01-02",
            "interval=minute",
            "interval=hour&start=1970-01-01&end=1971-01-01",
            "interval=hour&end=9999-12-31&start=1970-01-01",
            "limit=-1",
            "limit=x",
            "offset=1.5",
            "format=xml",
            "start=1970-01-02&start=1970-01-03",
        ] {
            assert_eq!(read(text).unwrap_err().code, Code::InvalidAnalyticsParameter, "{text}");
        }
        assert_eq!(read("from=1970-01-02").unwrap_err().code, Code::BadRequest);
        assert_eq!(ListKind::in_path("slow"), Some(ListKind::Slow));
        assert_eq!(ListKind::in_path("fast"), None);
    }
}
