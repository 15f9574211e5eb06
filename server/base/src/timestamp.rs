//! Points in time and durations as the public protocol writes them: fractions without trailing zeros, durations as ISO 8601, and eight
//! bytes in SQLite. The crate `time` does the calendar.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use lamina_engine::text::{Date, Moment, Precision};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, UtcDateTime, UtcOffset};

/// `YYYYMMDD-HHMMSSmmm` (UTC): sorts by time, and names copies.
pub fn stamp(time: OffsetDateTime) -> String {
    let format = format_description!("[year][month][day]-[hour][minute][second][subsecond digits:3]");
    time.format(&format).expect("every part of the format is there")
}

/// Returns the time in UTC; the end of the year 9999 for what is behind that, as with a negative offset at that end.
pub fn utc(moment: Moment) -> OffsetDateTime {
    let time = OffsetDateTime::from_unix_timestamp_nanos(moment.nanos());
    time.unwrap_or(if moment.nanos() < 0 { UtcDateTime::MIN.into() } else { UtcDateTime::MAX.into() })
}

/// Reads a time of day with an offset, as RFC 3339 has it, and keeps the offset where the year stays below 10000. `None` for
/// everything else.
pub fn instant(text: &str) -> Option<OffsetDateTime> {
    let date = Date::parse(text)?;
    let Precision::Instant { offset_seconds } = date.precision else { return None };
    let time = utc(date.moment);
    let offset = UtcOffset::from_whole_seconds(offset_seconds).ok()?;
    Some(time.checked_to_offset(offset).unwrap_or(time))
}

/// A point in time, in nanoseconds since 1970 (UTC). Written as RFC 3339 with `Z`, the fraction without trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Text that is no time with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date and time with an offset, as `2024-02-29T12:00:00Z` is")]
pub struct NoInstant;

impl Timestamp {
    /// The present.
    pub fn now() -> Timestamp {
        SystemTime::now().into()
    }

    /// From nanoseconds since 1970.
    pub const fn from_nanos(nanos: i64) -> Timestamp {
        Timestamp(nanos)
    }

    /// Nanoseconds since 1970.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// `end - self` in the protocol's form; zero when `end` is earlier.
    pub fn duration_until(self, end: Timestamp) -> IsoDuration {
        IsoDuration(u64::try_from(end.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl From<OffsetDateTime> for Timestamp {
    /// Saturates outside of the years 1677 to 2262.
    fn from(time: OffsetDateTime) -> Timestamp {
        let nanos = time.unix_timestamp_nanos();
        Timestamp(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl From<Moment> for Timestamp {
    /// Saturates outside of the years 1677 to 2262.
    fn from(moment: Moment) -> Timestamp {
        let nanos = moment.nanos();
        Timestamp(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl FromStr for Timestamp {
    type Err = NoInstant;

    /// Reads what [`instant`] reads.
    fn from_str(text: &str) -> Result<Timestamp, NoInstant> {
        instant(text).map(Into::into).ok_or(NoInstant)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl From<Timestamp> for SystemTime {
    /// Before 1970 is 1970.
    fn from(time: Timestamp) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(time.0).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0)).map_err(|_| fmt::Error)?;
        f.write_str(&time.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A span of time: `PT<seconds>S`, the fraction with exactly 3, 6 or 9 digits, days split off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsoDuration(u64);

impl IsoDuration {
    /// From nanoseconds.
    pub const fn from_nanos(nanos: u64) -> IsoDuration {
        IsoDuration(nanos)
    }
}

impl fmt::Display for IsoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NANOS: u64 = 1_000_000_000;
        const DAY_SECONDS: u64 = 86_400;
        let (seconds, nanos) = (self.0 / NANOS, self.0 % NANOS);
        let (days, seconds) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
        f.write_str("P")?;
        if days > 0 {
            write!(f, "{days}D")?;
        }
        write!(f, "T{seconds}")?;
        match nanos {
            0 => {}
            _ if nanos % 1_000_000 == 0 => write!(f, ".{:03}", nanos / 1_000_000)?,
            _ if nanos % 1_000 == 0 => write!(f, ".{:06}", nanos / 1_000)?,
            _ => write!(f, ".{nanos:09}")?,
        }
        f.write_str("S")
    }
}

impl Serialize for IsoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn stamps_have_nine_digits_after_the_dash() {
        assert_eq!(stamp(time::macros::datetime!(2024-02-03 04:05:06.0789 UTC)), "20240203-040506078");
    }

    #[test]
    fn instants_keep_their_offset() {
        assert_eq!(instant("2024-02-03t04:05:06.5+01:30"), Some(datetime!(2024-02-03 4:05:06.5 +1:30)));
        assert_eq!(instant("2024-02-03t04:05:06.5+01:30").unwrap().offset().whole_minutes(), 90);
        assert_eq!(instant("9999-12-31T23:59:59.999999999Z"), Some(datetime!(9999-12-31 23:59:59.999999999 UTC)));
        assert_eq!(instant("9999-12-31T23:59:59-12:00"), Some(UtcDateTime::MAX.into()));
        for text in ["2024-02-03", "2024-02-03T04:05:06", "", "x"] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn timestamps_trim_their_fraction() {
        let of = |time: OffsetDateTime| Timestamp::from(time).to_string();
        assert_eq!(of(datetime!(2024-03-01 10:00:00 UTC)), "2024-03-01T10:00:00Z");
        assert_eq!(of(datetime!(2024-03-01 10:00:00.25 UTC)), "2024-03-01T10:00:00.25Z");
        assert_eq!(of(datetime!(2024-03-01 10:00:00.000000001 UTC)), "2024-03-01T10:00:00.000000001Z");
        assert_eq!(of(datetime!(2024-03-01 10:00:00 +2)), "2024-03-01T08:00:00Z");
    }

    #[test]
    fn durations_have_3_6_or_9_digits() {
        let of = |nanos| IsoDuration(nanos).to_string();
        assert_eq!(of(0), "PT0S");
        assert_eq!(of(1_192_000), "PT0.001192S");
        assert_eq!(of(75_500_000_000), "PT75.500S");
        assert_eq!(of(1), "PT0.000000001S");
        assert_eq!(of(86_400_000_000_000), "P1DT0S");
        assert_eq!(of(90_061_500_000_000), "P1DT3661.500S");
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_duration() {
        assert_eq!(Timestamp(5).duration_until(Timestamp(2)).to_string(), "PT0S");
    }
}
