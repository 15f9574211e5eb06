//! Dates in the intervals of a calendar, in a time zone.

use std::fmt;

use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};

use crate::text::{Moment, NANOS_PER_SECOND};

/// Intervals of a calendar in a time zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar {
    unit: Unit,
    zone: TimeZone,
}

/// The length of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Seconds, counted from midnight on.
    Seconds(i128),
    Day,
    /// From Monday on.
    Week,
    /// This many, a divisor of 12.
    Months(i8),
}

const UNITS: [(&str, Unit); 7] = [
    ("minute", Unit::Seconds(60)),
    ("hour", Unit::Seconds(3600)),
    ("day", Unit::Day),
    ("week", Unit::Week),
    ("month", Unit::Months(1)),
    ("quarter", Unit::Months(3)),
    ("year", Unit::Months(12)),
];

/// The bundled database of time zones does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTimeZone(pub String);

impl fmt::Display for UnknownTimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no time zone `{}` is known", self.0)
    }
}

impl std::error::Error for UnknownTimeZone {}

/// Reads a date-time, or a date, which begins at midnight in UTC.
pub(super) fn read_date(text: &str) -> Option<Moment> {
    Moment::parse(text).or_else(|| start_of(day(text)?, &TimeZone::UTC))
}

/// A date alone: `2024-02-29`.
fn day(text: &str) -> Option<Date> {
    let digits = |range: std::ops::Range<usize>| {
        let part = text.get(range)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i16>().ok()).flatten()
    };
    let is_shaped = text.len() == 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    if !is_shaped {
        return None;
    }
    Date::new(digits(0..4)?, i8::try_from(digits(5..7)?).ok()?, i8::try_from(digits(8..10)?).ok()?).ok()
}

/// The first moment of a day: midnight, or when clocks skip that, the end of the gap.
fn start_of(day: Date, zone: &TimeZone) -> Option<Moment> {
    let start = day.to_zoned(zone.clone()).ok()?;
    Some(Moment::from_nanos(start.timestamp().as_nanosecond()))
}

impl Calendar {
    /// The names of the intervals.
    pub fn units() -> Vec<&'static str> {
        UNITS.iter().map(|(name, _)| *name).collect()
    }

    /// Intervals of the name `unit` in the time zone `zone`, a name like `Europe/Paris`; `None` when there is no such unit.
    ///
    /// # Errors
    /// A name that the bundled database does not have.
    pub fn new(unit: &str, zone: Option<&str>) -> Result<Option<Calendar>, UnknownTimeZone> {
        let zone = match zone {
            Some(name) => TimeZoneDatabase::bundled().get(name).map_err(|_| UnknownTimeZone(name.to_owned()))?,
            None => TimeZone::UTC,
        };
        Ok(UNITS.iter().find(|(name, _)| *name == unit).map(|&(_, unit)| Calendar { unit, zone }))
    }

    /// Reads a date-time, or a date, which begins at midnight in the time zone.
    pub(super) fn read(&self, text: &str) -> Option<Moment> {
        Moment::parse(text).or_else(|| start_of(day(text)?, &self.zone))
    }

    /// A moment as text, in the time zone.
    pub fn written(&self, moment: Moment) -> String {
        let Ok(timestamp) = Timestamp::from_nanosecond(moment.nanos()) else { return String::new() };
        let offset = self.zone.to_offset(timestamp);
        if offset.is_zero() { timestamp.to_string() } else { timestamp.display_with_offset(offset).to_string() }
    }

    /// The interval that `moment` lies in: where it begins, and where the next one does. `None` at the ends of the calendar.
    pub(super) fn around(&self, moment: Moment) -> Option<(Moment, Moment)> {
        let timestamp = Timestamp::from_nanosecond(moment.nanos()).ok()?;
        let date = self.zone.to_datetime(timestamp).date();
        let first = self.first_day(date)?;
        let (mut from, mut to) = (start_of(first, &self.zone)?, start_of(self.next(first)?, &self.zone)?);
        // Where clocks are set back over midnight, a day comes twice: its first midnight counts.
        if moment >= to {
            let next = self.next(first)?;
            (from, to) = (to, start_of(self.next(next)?, &self.zone)?);
        } else if moment < from {
            let before = self.first_day(first.yesterday().ok()?)?;
            (from, to) = (start_of(before, &self.zone)?, from);
        }
        let Unit::Seconds(seconds) = self.unit else { return Some((from, to)) };
        let length = seconds * NANOS_PER_SECOND;
        let passed = (moment.nanos() - from.nanos()).div_euclid(length) * length;
        let start = from.nanos() + passed;
        Some((Moment::from_nanos(start), Moment::from_nanos((start + length).min(to.nanos()))))
    }

    /// The first day of the interval, or of the days that hold intervals shorter than them.
    fn first_day(&self, date: Date) -> Option<Date> {
        match self.unit {
            Unit::Seconds(_) | Unit::Day => Some(date),
            Unit::Week => date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok(),
            Unit::Months(months) => Date::new(date.year(), (date.month() - 1) / months * months + 1, 1).ok(),
        }
    }

    /// The first day after the interval that begins with `first`.
    fn next(&self, first: Date) -> Option<Date> {
        let after = match self.unit {
            Unit::Seconds(_) | Unit::Day => first.checked_add(1.day()),
            Unit::Week => first.checked_add(7.days()),
            Unit::Months(months) => first.checked_add(i64::from(months).months()),
        };
        after.ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn around(unit: &str, zone: &str, text: &str) -> (String, String) {
        let calendar = Calendar::new(unit, Some(zone)).unwrap().unwrap();
        let (from, to) = calendar.around(calendar.read(text).unwrap()).unwrap();
        (calendar.written(from), calendar.written(to))
    }

    #[test]
    fn intervals_begin_where_the_clocks_of_the_zone_say() {
        for (unit, zone, moment, from, to) in [
            ("month", "Europe/Paris", "2024-02-29T23:30:00Z", "2024-03-01T00:00:00+01:00", "2024-04-01T00:00:00+02:00"),
            ("month", "UTC", "2024-02-29T23:30:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
            ("quarter", "UTC", "2024-06-30", "2024-04-01T00:00:00Z", "2024-07-01T00:00:00Z"),
            ("year", "Asia/Tokyo", "2023-12-31T15:00:00Z", "2024-01-01T00:00:00+09:00", "2025-01-01T00:00:00+09:00"),
            ("week", "UTC", "2024-01-07", "2024-01-01T00:00:00Z", "2024-01-08T00:00:00Z"),
            ("week", "UTC", "2024-01-08", "2024-01-08T00:00:00Z", "2024-01-15T00:00:00Z"),
            // Clocks skip an hour, so the day has 23 of them.
            ("day", "Europe/Paris", "2024-03-31", "2024-03-31T00:00:00+01:00", "2024-04-01T00:00:00+02:00"),
            ("hour", "Europe/Paris", "2024-03-31T01:30:00Z", "2024-03-31T03:00:00+02:00", "2024-03-31T04:00:00+02:00"),
            // An hour comes twice.
            ("hour", "Europe/Paris", "2024-10-27T00:30:00Z", "2024-10-27T02:00:00+02:00", "2024-10-27T02:00:00+01:00"),
            // Half an hour comes twice.
            (
                "hour",
                "Australia/Lord_Howe",
                "2024-04-06T23:59:00Z",
                "2024-04-07T09:30:00+10:30",
                "2024-04-07T10:30:00+10:30",
            ),
            // Midnight is skipped.
            ("day", "America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"),
            ("minute", "UTC", "2024-01-01T10:00:59.9Z", "2024-01-01T10:00:00Z", "2024-01-01T10:01:00Z"),
        ] {
            assert_eq!(around(unit, zone, moment), (from.to_owned(), to.to_owned()), "{unit} {zone} {moment}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(Calendar::new("month", Some("Europe/Pari")), Err(UnknownTimeZone("Europe/Pari".to_owned())));
        assert_eq!(Calendar::new("fortnight", None), Ok(None));
        for text in ["2024-02-30", "2024-1-01", "2024-01-01T", "+024-01-01", "2024/01/01", "２024-01-0"] {
            assert_eq!(read_date(text), None, "{text}");
        }
        assert_eq!(read_date("1970-01-02"), Some(Moment::from_nanos(86_400 * NANOS_PER_SECOND)));
    }

    proptest! {
        /// A moment is in its interval, and intervals neither overlap nor leave a gap, also where clocks change.
        #[test]
        fn moments_are_in_their_intervals(
            seconds in prop_oneof![-3_000_000_000_i64..5_000_000_000, 340_000_000_i64..372_000_000],
            unit in proptest::sample::select(Calendar::units()),
            zone in proptest::sample::select(vec![
                "UTC", "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia",
                "Asia/Kathmandu", "Africa/Cairo",
            ]),
        ) {
            let calendar = Calendar::new(unit, Some(zone)).unwrap().unwrap();
            let moment = Moment::from_nanos(i128::from(seconds) * NANOS_PER_SECOND);
            let (from, to) = calendar.around(moment).unwrap();
            prop_assert!(from <= moment && moment < to, "{} {}", calendar.written(from), calendar.written(to));
            prop_assert_eq!(calendar.around(from).unwrap(), (from, to));
            prop_assert_eq!(calendar.around(to).unwrap().0, to);
            let last = Moment::from_nanos(to.nanos() - 1);
            prop_assert_eq!(calendar.around(last).unwrap(), (from, to));
        }
    }
}
