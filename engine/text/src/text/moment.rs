//! Strings that are dates: they compare in time, whatever their offsets and fractions.
//!
//! This is the only reader of dates in documents, filters, settings and parameters. What it does not read is a text like any other,
//! everywhere alike.

use std::ops::Range;

pub const NANOS_PER_SECOND: i128 = 1_000_000_000;
pub const SECONDS_PER_DAY: i128 = 86_400;
const DAYS_OF_400_YEARS: i128 = 146_097;
/// Sorts behind all dates of four digits, as columns have them.
pub const BEHIND_ALL_DATES: &str = "9999-12-31t24";

/// Nanoseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i128);

/// A date as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// Start of the date, in UTC if it names no offset.
    pub moment: Moment,
    /// Precision of the date beyond the day.
    pub precision: Precision,
}

/// Precision of a date beyond the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Nothing: `2024-02-29`.
    Day,
    /// A time of day without an offset: `2024-02-29T12:30:00`.
    Local,
    /// A time of day with an offset from UTC, as RFC 3339 has it: `2024-02-29T12:30:00Z`.
    Instant { offset_seconds: i32 },
}

/// The ASCII digits of a text by their places.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn number(&self, range: Range<usize>) -> Option<i128> {
        let digits = self.0.get(range)?;
        digits.iter().all(u8::is_ascii_digit).then(|| digits.iter().fold(0, |n, d| n * 10 + i128::from(d - b'0')))
    }

    fn has(&self, at: usize, expected: &[u8]) -> bool {
        self.0.get(at).is_some_and(|byte| expected.contains(byte))
    }

    /// The days since 1970 in the first ten bytes.
    fn day(&self) -> Option<i128> {
        if !(self.has(4, b"-") && self.has(7, b"-")) {
            return None;
        }
        let (year, month, day) = (self.number(0..4)?, self.number(5..7)?, self.number(8..10)?);
        let is_usual = (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
        is_usual.then(|| days_since_1970(year, month, day))
    }

    /// The nanoseconds since midnight, and where the text goes on.
    fn time_of_day(&self) -> Option<(i128, usize)> {
        if !(self.has(10, b"tT ") && self.has(13, b":") && self.has(16, b":")) {
            return None;
        }
        let (hour, minute, second) = (self.number(11..13)?, self.number(14..16)?, self.number(17..19)?);
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let whole = (hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND;
        if !self.has(19, b".") {
            return Some((whole, 19));
        }
        let count = self.0[20..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let read = count.min(9);
        (count > 0).then_some(())?;
        Some((whole + self.number(20..20 + read)? * 10_i128.pow(9 - read as u32), 20 + count))
    }

    /// The seconds of the offset that the text ends with from `at` on.
    fn offset_seconds(&self, at: usize) -> Option<i32> {
        match *self.0.get(at)? {
            b'z' | b'Z' if self.0.len() == at + 1 => Some(0),
            sign @ (b'+' | b'-') if self.0.len() == at + 6 && self.has(at + 3, b":") => {
                let (hours, minutes) = (self.number(at + 1..at + 3)?, self.number(at + 4..at + 6)?);
                let sign = if sign == b'-' { -1 } else { 1 };
                (hours < 24 && minutes < 60).then_some((hours * 3600 + minutes * 60) as i32 * sign)
            }
            _ => None,
        }
    }
}

impl Date {
    /// Reads `2024-02-29`, `2024-02-29T12:30:00` and `2024-02-29T12:30:00.25+01:00`: with a blank for the `T`, letters in any
    /// case. `None` for everything else.
    pub fn parse(text: &str) -> Option<Date> {
        let digits = Digits(text.as_bytes());
        let midnight = digits.day()? * SECONDS_PER_DAY * NANOS_PER_SECOND;
        if text.len() == 10 {
            return Some(Date { moment: Moment(midnight), precision: Precision::Day });
        }
        let (nanos, end) = digits.time_of_day()?;
        if text.len() == end {
            return Some(Date { moment: Moment(midnight + nanos), precision: Precision::Local });
        }
        let offset_seconds = digits.offset_seconds(end)?;
        let moment = Moment(midnight + nanos - i128::from(offset_seconds) * NANOS_PER_SECOND);
        Some(Date { moment, precision: Precision::Instant { offset_seconds } })
    }
}

impl Moment {
    /// Reads a date, see [`Date::parse`]. A day is its first instant, and what names no offset is in UTC.
    pub fn parse(text: &str) -> Option<Moment> {
        Date::parse(text).map(|date| date.moment)
    }

    /// Reads a date as [`Moment::parse`] does, and also one behind the year 9999 with a sign and six digits, which ISO 8601 calls expanded:
    /// buckets of histograms end with such ones. Documents do not have them.
    pub fn parse_bound(text: &str) -> Option<Moment> {
        let Some(expanded) = text.strip_prefix('+') else { return Moment::parse(text) };
        let (ten_thousands, rest) = expanded.split_at_checked(2)?;
        let count = Digits(ten_thousands.as_bytes()).number(0..2)?;
        // Ten thousand years are 25 times the 400 after which the calendar repeats.
        let days = count * 25 * DAYS_OF_400_YEARS;
        Moment::parse(rest).map(|moment| Moment(moment.0 + days * SECONDS_PER_DAY * NANOS_PER_SECOND))
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Days since 1970, down to the midnight before.
    pub const fn days(self) -> i128 {
        self.0.div_euclid(SECONDS_PER_DAY * NANOS_PER_SECOND)
    }

    /// The moment so many nanoseconds after the start of 1970 in UTC.
    pub const fn from_nanos(nanos: i128) -> Moment {
        Moment(nanos)
    }

    /// Nanoseconds since the start of 1970 in UTC.
    pub const fn nanos(self) -> i128 {
        self.0
    }

    /// The moment so many seconds after the start of 1970 in UTC, as documents give it in a number. Whole seconds are exact;
    /// `None` far beyond the years that texts can write.
    pub fn from_unix_seconds(seconds: f64) -> Option<Moment> {
        const FAR: f64 = 300_000_000_000.0;
        (seconds.abs() < FAR).then(|| {
            let whole = seconds.floor();
            let nanos = ((seconds - whole) * NANOS_PER_SECOND as f64) as i128;
            Moment(whole as i128 * NANOS_PER_SECOND + nanos)
        })
    }
}

/// A day, in days since 1970; `None` outside of the years 0 to 9999.
pub fn day_text(days: i128) -> Option<String> {
    let (year, month, day) = civil(days);
    (0..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// A moment in UTC as columns have it: in whole seconds, without an offset; `None` outside of the years 0 to 9999.
pub fn local_text(nanos: i128) -> Option<String> {
    let seconds = nanos.div_euclid(NANOS_PER_SECOND);
    let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    Some(format!("{}t{:02}:{:02}:{:02}", day_text(days)?, second / 3600, second / 60 % 60, second % 60))
}

fn is_leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i128, month: i128) -> i128 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar. Years begin in March here, so that a leap day is the last
/// day of its year.
fn days_since_1970(year: i128, month: i128, day: i128) -> i128 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let year = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * DAYS_OF_400_YEARS + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

/// The inverse: year, month and day.
fn civil(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<i128> {
        Moment::parse(text).map(|moment| moment.0 / NANOS_PER_SECOND)
    }

    #[test]
    fn bounds_may_lie_behind_the_last_year_of_documents() {
        let bound = |text: &str| Moment::parse_bound(text).map(|moment| moment.0 / NANOS_PER_SECOND);
        assert_eq!(bound("+010000-01-01T00:00:00Z"), Some(253_402_300_800));
        assert_eq!(bound("+010000-01-01"), seconds("9999-12-31T23:59:59Z").map(|last| last + 1));
        assert_eq!(bound("2024-02-29"), seconds("2024-02-29"));
        for text in ["+", "+01", "+0x0000-01-01", "+010000", "+010000-13-01", "+10000-01-01", "+é0000-01-01"] {
            assert_eq!(bound(text), None, "{text}");
        }
        assert_eq!(seconds("+010000-01-01"), None, "a text of a document is none");
    }

    #[test]
    fn known_dates() {
        let instant = |offset_seconds| Precision::Instant { offset_seconds };
        for (text, seconds, precision) in [
            ("1970-01-01T00:00:00Z", 0, instant(0)),
            ("2000-02-29t12:00:00+02:00", 951_818_400, instant(7200)),
            ("1969-12-31 23:59:59-00:30", 1799, instant(-1800)),
            ("1970-01-02", 86_400, Precision::Day),
            ("1970-01-02T00:00:01", 86_401, Precision::Local),
            ("1970-01-02 00:00:01.9", 86_401, Precision::Local),
            ("9999-12-31", 253_402_214_400, Precision::Day),
            ("9999-12-31T23:59:59", 253_402_300_799, Precision::Local),
            ("9999-12-31T23:59:59Z", 253_402_300_799, instant(0)),
            ("9999-12-31T23:59:59-23:59", 253_402_387_139, instant(-86_340)),
            ("0000-01-01T00:00:00+23:59", -62_167_305_540, instant(86_340)),
        ] {
            let date = Date::parse(text).unwrap();
            assert_eq!((date.moment.0.div_euclid(NANOS_PER_SECOND), date.precision), (seconds, precision), "{text}");
        }
        assert_eq!(Moment::parse("1970-01-01T00:00:00.25z"), Some(Moment(250_000_000)));
        assert_eq!(Moment::parse("1970-01-01T00:00:00.0000000019Z"), Some(Moment(1)));
        assert_eq!(Moment::parse("1970-01-01 00:00:00.5"), Some(Moment(500_000_000)));
    }

    #[test]
    fn everything_else_is_no_date() {
        for text in [
            "",
            "2024",
            "2024-01",
            "2024-1-31",
            "2024-02-30",
            "2023-02-29",
            "2024-00-10",
            "2024/01/31",
            "+024-01-01",
            "2024-01-31T",
            "2024-01-31Z",
            "2024-01-31+02:00",
            " 2024-01-31",
            "2024-01-31 ",
            "２024-01-0",
            "2024-01-31T10:00",
            "2024-01-31T10:00Z",
            "2024-01-31T10:00:00.",
            "2024-01-31x10:00:00",
            "2024-02-30T10:00:00Z",
            "2024-13-01T10:00:00Z",
            "2024-01-31T24:00:00Z",
            "2024-01-31T10:00:00.Z",
            "2024-01-31T10:00:00+2:00",
            "2024-01-31T10:00:00Zx",
            "2024-01-31T10:00:00+24:00",
            "２024-01-31T10:00:00Z",
            "10000-01-01",
            "10000-01-01T00:00:00Z",
            "infinity",
            "0044-03-15 12:00:00+00 BC",
        ] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn days_come_back(days in -719_468i128..2_932_896) {
            let (year, month, day) = civil(days);
            prop_assert!((1..=12).contains(&month));
            prop_assert!((1..=days_of_month(year, month)).contains(&day));
            prop_assert_eq!(days_since_1970(year, month, day), days);
            let text = local_text(days * SECONDS_PER_DAY * NANOS_PER_SECOND).unwrap();
            prop_assert_eq!(seconds(&format!("{text}z")), Some(days * SECONDS_PER_DAY));
        }
    }
}
