//! Dates in the intervals of a calendar, in a time zone.

use std::fmt;

use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use lamina_text::text::{self, Moment, NANOS_PER_SECOND, Precision, SECONDS_PER_DAY};

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
    /// Number of months, a divisor of 12.
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

/// After so many nanoseconds, the days of the calendar and of the week come again: 400 years.
const CYCLE: i128 = 146_097 * SECONDS_PER_DAY * NANOS_PER_SECOND;
const CYCLE_YEARS: i128 = 400;
/// The start of the year 9500. The library ends with the year 9999, and before that where intervals reach beyond it.
const FAR: i128 = 237_623_846_400 * NANOS_PER_SECOND;

/// A moment as many cycles earlier as the library needs, and how many these are. The rules of a time zone stay as they are by then.
fn brought_near(moment: Moment) -> (Moment, i128) {
    let cycles = (moment.nanos() - (FAR - CYCLE)).div_euclid(CYCLE).max(0);
    (Moment::from_nanos(moment.nanos() - cycles * CYCLE), cycles)
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

    /// Reads a date; a day alone begins at midnight in the time zone.
    pub(super) fn read(&self, text: &str) -> Option<Moment> {
        let date = text::Date::parse(text)?;
        if date.precision != Precision::Day {
            return Some(date.moment);
        }
        let (midnight, cycles) = brought_near(date.moment);
        let midnight = Timestamp::from_nanosecond(midnight.nanos()).ok()?;
        let start = start_of(TimeZone::UTC.to_datetime(midnight).date(), &self.zone)?;
        Some(Moment::from_nanos(start.nanos() + cycles * CYCLE))
    }

    /// A moment as text, in the time zone. Years behind 9999 have a sign and six digits.
    pub fn written(&self, moment: Moment) -> String {
        let (near, cycles) = brought_near(moment);
        let Ok(timestamp) = Timestamp::from_nanosecond(near.nanos()) else { return String::new() };
        let offset = self.zone.to_offset(timestamp);
        let text =
            if offset.is_zero() { timestamp.to_string() } else { timestamp.display_with_offset(offset).to_string() };
        match text.split_at_checked(4) {
            Some((year, rest)) if cycles > 0 => match year.parse::<i128>().unwrap_or(0) + cycles * CYCLE_YEARS {
                year @ ..=9999 => format!("{year}{rest}"),
                year => format!("{year:+07}{rest}"),
            },
            _ => text,
        }
    }

    /// The interval that `moment` lies in: where it begins, and where the next one does. `None` before the calendar begins.
    pub(super) fn around(&self, moment: Moment) -> Option<(Moment, Moment)> {
        let (near, cycles) = brought_near(moment);
        let (from, to) = self.around_near(near)?;
        let again = |moment: Moment| Moment::from_nanos(moment.nanos() + cycles * CYCLE);
        Some((again(from), again(to)))
    }

    fn around_near(&self, moment: Moment) -> Option<(Moment, Moment)> {
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
            // The last days that can be written, and what lies behind them.
            ("day", "UTC", "9999-12-31", "9999-12-31T00:00:00Z", "+010000-01-01T00:00:00Z"),
            ("year", "UTC", "9999-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "+010000-01-01T00:00:00Z"),
            ("week", "UTC", "9999-12-31T23:59:59", "9999-12-27T00:00:00Z", "+010000-01-03T00:00:00Z"),
            ("hour", "UTC", "9999-12-31T23:59:59-01:00", "+010000-01-01T00:00:00Z", "+010000-01-01T01:00:00Z"),
            ("month", "Asia/Tokyo", "9999-12-31", "9999-12-01T00:00:00+09:00", "+010000-01-01T00:00:00+09:00"),
            ("day", "America/New_York", "9999-12-31", "9999-12-31T00:00:00-05:00", "+010000-01-01T00:00:00-05:00"),
            ("day", "UTC", "0000-01-01", "0000-01-01T00:00:00Z", "0000-01-02T00:00:00Z"),
            ("minute", "UTC", "2024-01-01T10:00:59.9Z", "2024-01-01T10:00:00Z", "2024-01-01T10:01:00Z"),
        ] {
            assert_eq!(around(unit, zone, moment), (from.to_owned(), to.to_owned()), "{unit} {zone} {moment}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(Calendar::new("month", Some("Europe/Pari")), Err(UnknownTimeZone("Europe/Pari".to_owned())));
        assert_eq!(Calendar::new("fortnight", None), Ok(None));
        assert_eq!(Calendar::new("month", None).unwrap().unwrap().read("2024-02-30"), None);
    }

    proptest! {
        /// A moment is in its interval, and intervals neither overlap nor leave a gap, also where clocks change.
        #[test]
        fn moments_are_in_their_intervals(
            seconds in prop_oneof![
                -3_000_000_000_i64..5_000_000_000,
                340_000_000_i64..372_000_000,
                237_000_000_000_i64..253_402_400_000,
            ],
            unit in proptest::sample::select(Calendar::units()),
            zone in proptest::sample::select(vec![
                "UTC", "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia",
                "Asia/Kathmandu", "Africa/Cairo",
            ]),
        ) {
            let calendar = Calendar::new(unit, Some(zone)).unwrap().unwrap();
            let moment = Moment::from_nanos(i128::from(seconds) * NANOS_PER_SECOND);
            let (from, to) = calendar.around(moment).unwrap();
            prop_assert!(from <= moment, "{} {}", calendar.written(from), calendar.written(to));
            prop_assert!(moment < to, "{} {}", calendar.written(from), calendar.written(to));
            prop_assert_eq!(calendar.around(from).unwrap(), (from, to));
            prop_assert_eq!(calendar.around(to).unwrap().0, to);
            let last = Moment::from_nanos(to.nanos() - 1);
            prop_assert_eq!(calendar.around(last).unwrap(), (from, to));
        }
    }
}
