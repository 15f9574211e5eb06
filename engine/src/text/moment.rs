//! Strings that are moments: RFC 3339 date-times compare in time, whatever their offsets and fractions.

use std::ops::Range;

pub(crate) const NANOS_PER_SECOND: i128 = 1_000_000_000;
pub(crate) const SECONDS_PER_DAY: i128 = 86_400;

/// Nanoseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i128);

impl Moment {
    /// Reads a date-time, or a date alone as its first instant in UTC.
    pub(crate) fn of_date(text: &str) -> Option<Moment> {
        Moment::parse(text)
            .or_else(|| (text.len() == 10).then(|| Moment::parse(&format!("{text}T00:00:00Z"))).flatten())
    }

    /// Seconds since 1970.
    pub(crate) fn seconds(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Reads `2024-02-29T12:30:00.25+01:00`, letters in any case; `None` for everything else, dates alone included.
    pub fn parse(text: &str) -> Option<Moment> {
        let bytes = text.as_bytes();
        let number = |range: Range<usize>| -> Option<i128> {
            let digits = bytes.get(range)?;
            digits.iter().all(u8::is_ascii_digit).then(|| digits.iter().fold(0, |n, d| n * 10 + i128::from(d - b'0')))
        };
        let is = |at: usize, expected: &[u8]| bytes.get(at).is_some_and(|byte| expected.contains(byte));
        let shape = is(4, b"-") && is(7, b"-") && is(10, b"tT ") && is(13, b":") && is(16, b":");
        if !shape {
            return None;
        }
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let usual = (1..=12).contains(&month)
            && (1..=days_of_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !usual {
            return None;
        }
        let mut at = 19;
        let mut nanos = 0;
        if is(at, b".") {
            let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            let read = digits.min(9);
            nanos = number(at + 1..at + 1 + read)? * 10_i128.pow(9 - read as u32);
            at += 1 + digits;
        }
        let offset_seconds = match bytes.get(at)? {
            b'z' | b'Z' if bytes.len() == at + 1 => 0,
            sign @ (b'+' | b'-') if bytes.len() == at + 6 && is(at + 3, b":") => {
                let (hours, minutes) = (number(at + 1..at + 3)?, number(at + 4..at + 6)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                (hours * 3600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
            }
            _ => return None,
        };
        let seconds = days_since_1970(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
        Some(Moment((seconds - offset_seconds) * NANOS_PER_SECOND + nanos))
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
    /// `None` beyond the years that texts can write.
    pub(crate) fn from_unix_seconds(seconds: f64) -> Option<Moment> {
        const FAR: f64 = 300_000_000_000.0;
        (seconds.abs() < FAR).then(|| {
            let whole = seconds.floor();
            let nanos = ((seconds - whole) * NANOS_PER_SECOND as f64) as i128;
            Moment(whole as i128 * NANOS_PER_SECOND + nanos)
        })
    }
}

/// The moment in UTC as the strings of columns write it; `None` outside of the years 0 to 9999.
pub(crate) fn local_text(nanos: i128) -> Option<String> {
    let seconds = nanos.div_euclid(NANOS_PER_SECOND);
    let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = civil(days);
    (0..=9999).contains(&year).then(|| {
        format!("{year:04}-{month:02}-{day:02}t{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
    })
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
    era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

/// The inverse: year, month and day.
fn civil(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
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
    fn known_moments() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-02-29t12:00:00+02:00"), Some(951_818_400));
        assert_eq!(seconds("1969-12-31 23:59:59-00:30"), Some(1799));
        assert_eq!(Moment::parse("1970-01-01T00:00:00.25z"), Some(Moment(250_000_000)));
        assert_eq!(Moment::parse("1970-01-01T00:00:00.0000000019Z"), Some(Moment(1)));
    }

    #[test]
    fn everything_else_is_no_moment() {
        for text in [
            "",
            "2024",
            "2024-01-31",
            "2024-01-31T10:00Z",
            "2024-01-31T10:00:00",
            "2024-02-30T10:00:00Z",
            "2024-13-01T10:00:00Z",
            "2024-01-31T24:00:00Z",
            "2024-01-31T10:00:00.Z",
            "2024-01-31T10:00:00+2:00",
            "2024-01-31T10:00:00Zx",
            "2024-01-31T10:00:00+24:00",
            "２024-01-31T10:00:00Z",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn days_come_back(days in -719_468i128..2_932_896) {
            let (year, month, day) = civil(days);
            prop_assert!((1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day));
            prop_assert_eq!(days_since_1970(year, month, day), days);
            let text = local_text(days * SECONDS_PER_DAY * NANOS_PER_SECOND).unwrap();
            prop_assert_eq!(seconds(&format!("{text}z")), Some(days * SECONDS_PER_DAY));
        }
    }
}
