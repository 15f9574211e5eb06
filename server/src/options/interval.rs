//! Times: an interval (`--schedule-snapshot`), which may be never, and how long something may take.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// How often something happens; `None` is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval(pub Option<Duration>);

/// A text that is no interval.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not an interval: expected seconds, or a number with `s`, `m`, `h` or `d`, or `true` or `false`")]
pub struct NotAnInterval(String);

/// A text that is no time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a time: expected seconds, or a number with `s`, `m`, `h` or `d`")]
pub(super) struct NotATime(String);

/// Reads how long something may take: as an interval, but neither for ever nor no time at all.
pub(super) fn time(text: &str) -> Result<Duration, NotATime> {
    let has_number = text.bytes().any(|byte| byte.is_ascii_digit());
    let interval = text.parse::<Interval>().ok().filter(|_| has_number);
    interval.and_then(|interval| interval.0).ok_or_else(|| NotATime(text.to_owned()))
}

/// What the switch alone means, in seconds.
pub(super) const DAILY: &str = "86400";

impl FromStr for Interval {
    type Err = NotAnInterval;

    fn from_str(text: &str) -> Result<Interval, NotAnInterval> {
        let refuse = || NotAnInterval(text.to_owned());
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
        let number: u64 = number.parse().map_err(|_| refuse())?;
        let seconds = number.checked_mul(factor).ok_or_else(refuse)?;
        // Nothing can be done every 0 seconds.
        if seconds == 0 { Err(refuse()) } else { Ok(Interval(Some(Duration::from_secs(seconds)))) }
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
        for text in ["0", "-1", "soon", "1.5h", "m", "1w", "99999999999999999999"] {
            assert!(text.parse::<Interval>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_has_a_number() {
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        for text in ["", "true", "false", "0", "soon"] {
            assert_eq!(time(text), Err(NotATime(text.to_owned())));
        }
    }
}
