//! Times: an interval (`--schedule-snapshot`), which may be never, and how long something may take.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// Interval at which something happens; `None` means never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval(pub Option<Duration>);

/// More than anything runs for, and little enough to be added to any time.
const DAYS_MAX: u64 = 36_500;

/// A text that is no interval, or no time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IntervalError {
    /// Text that does not have the form of an interval.
    #[error("`{0}` is not an interval: expected seconds, or a number with `s`, `m`, `h` or `d`, or `true` or `false`")]
    NotAnInterval(String),
    /// Text that does not have the form of a time.
    #[error("`{0}` is not a time: expected seconds, or a number with `s`, `m`, `h` or `d`")]
    NotATime(String),
    /// A number that is too large.
    #[error("`{0}` is too long: expected at most {DAYS_MAX} days (`{DAYS_MAX}d`)")]
    TooLong(String),
}

/// Reads how long something may take: as an interval, but neither for ever nor no time at all.
pub(super) fn time(text: &str) -> Result<Duration, IntervalError> {
    let not_a_time = || IntervalError::NotATime(text.to_owned());
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(not_a_time());
    }
    match text.parse::<Interval>() {
        Ok(interval) => interval.0.ok_or_else(not_a_time),
        Err(IntervalError::NotAnInterval(_)) => Err(not_a_time()),
        Err(error) => Err(error),
    }
}

/// Reads a time like [`time`], but also accepts 0.
pub(super) fn time_or_none(text: &str) -> Result<Duration, IntervalError> {
    if text.trim() == "0" { Ok(Duration::ZERO) } else { time(text) }
}

/// Interval that the switch without a value stands for, in seconds.
pub(super) const DAILY: &str = "86400";

impl FromStr for Interval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Interval, IntervalError> {
        let refuse = || IntervalError::NotAnInterval(text.to_owned());
        let too_long = || IntervalError::TooLong(text.to_owned());
        let text = text.trim().to_ascii_lowercase();
        let (number, factor) = match text.as_str() {
            "" | "false" => return Ok(Interval(None)),
            "true" => (DAILY, 1),
            other => {
                let units = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
                let with_unit = |(unit, factor)| Some((other.strip_suffix(unit)?.trim_end(), factor));
                units.into_iter().find_map(with_unit).unwrap_or((other, 1))
            }
        };
        let number: u64 = number.parse().map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => too_long(),
            _ => refuse(),
        })?;
        match number.checked_mul(factor) {
            // Nothing can be done every 0 seconds.
            Some(0) => Err(refuse()),
            Some(seconds) if seconds <= DAYS_MAX * 86_400 => Ok(Interval(Some(Duration::from_secs(seconds)))),
            _ => Err(too_long()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_with_and_without_units() {
        for (text, seconds) in [("30", 30), ("true", 86_400), ("15m", 900), ("2 h", 7200), ("1D", 86_400), ("5s", 5)] {
            assert_eq!(text.parse(), Ok(Interval(Some(Duration::from_secs(seconds)))), "{text}");
        }
        assert_eq!("".parse(), Ok(Interval(None)));
        assert_eq!("FALSE".parse(), Ok(Interval(None)));
        for text in ["0", "-1", "soon", "1.5h", "m", "1w", "-99999999999999999999"] {
            assert_eq!(text.parse::<Interval>(), Err(IntervalError::NotAnInterval(text.to_owned())));
        }
        assert!("36500d".parse::<Interval>().is_ok());
        for text in ["36501d", "99999999999999999999", "9999999999999999999d", "3153600001"] {
            assert_eq!(text.parse::<Interval>(), Err(IntervalError::TooLong(text.to_owned())));
            assert_eq!(time(text), Err(IntervalError::TooLong(text.to_owned())));
        }
    }

    #[test]
    fn a_time_has_a_number() {
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        for text in ["", "true", "false", "0", "soon"] {
            assert_eq!(time(text), Err(IntervalError::NotATime(text.to_owned())));
        }
    }
}
