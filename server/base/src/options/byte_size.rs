//! Sizes in bytes, with or without a unit.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A number of bytes. Reads `107374182400`, `100 MB`, `'107.7Gb'`, `2 GiB`; case does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

impl ByteSize {
    /// From bytes.
    pub const fn new(bytes: u64) -> ByteSize {
        ByteSize(bytes)
    }

    /// Returns the size as a plain number.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

/// A text that is no size.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ByteSizeError {
    /// Text that does not have the form of a size.
    #[error("`{0}` is not a size: expected bytes, or a number with a unit such as `100 MB` or `2 GiB`")]
    NotASize(String),
    /// More than can be counted.
    #[error("`{0}` is too large: expected at most 8192 TiB")]
    TooLarge(String),
}

/// No machine has that many bytes; sums of some of them fit a `u64`, and a float holds every integer up to them.
const BYTES_MAX: u64 = 8192 << 40;

impl FromStr for ByteSize {
    type Err = ByteSizeError;

    fn from_str(text: &str) -> Result<ByteSize, ByteSizeError> {
        let refuse = || ByteSizeError::NotASize(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number = number.replace('_', "");
        let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" => 1_000,
            "m" | "mb" => 1_000_000,
            "g" | "gb" => 1_000_000_000,
            "t" | "tb" => 1_000_000_000_000,
            "ki" | "kib" => 1 << 10,
            "mi" | "mib" => 1 << 20,
            "gi" | "gib" => 1 << 30,
            "ti" | "tib" => 1 << 40,
            _ => return Err(refuse()),
        };
        // Of what is longer than a `u64`, a float says at least that it is too large.
        let bytes = match number.parse::<u64>() {
            Ok(whole) => whole.saturating_mul(factor),
            Err(_) => (number.parse::<f64>().map_err(|_| refuse())? * factor as f64) as u64,
        };
        if bytes <= BYTES_MAX { Ok(ByteSize(bytes)) } else { Err(ByteSizeError::TooLarge(text.to_owned())) }
    }
}

impl fmt::Display for ByteSize {
    /// A binary unit when divisible by 1024, else a decimal one; two digits at most.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        const DECIMAL: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
        let (base, units) =
            if self.0 != 0 && self.0.is_multiple_of(1024) { (1024.0, BINARY) } else { (1000.0, DECIMAL) };
        let (mut value, mut unit) = (self.0 as f64, 0);
        while value >= base && unit + 1 < units.len() {
            value /= base;
            unit += 1;
        }
        let text = format!("{value:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{text} {}", units[unit])
    }
}

/// Binary unit, always two decimals: `1.50 MiB`. The form of human sizes in statistics.
pub fn human_size(bytes: u64) -> String {
    if bytes < 1024 { format!("{bytes} B") } else { human_disk_size(bytes) }
}

/// Formats a size on disk like [`human_size`], but in KiB at least.
pub fn human_disk_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_units() {
        for (text, bytes) in [
            ("107374182400", 107_374_182_400),
            ("100 MB", 100_000_000),
            ("107.7Gb", 107_700_000_000),
            ("107374 Mb", 107_374_000_000),
            ("2 GiB", 2 << 30),
            ("1.5kib", 1536),
            (" 7b ", 7),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["", "MB", "ten", "1 XB", "-1", "1.2.3", "-99999999999 TiB", "."] {
            assert_eq!(text.parse::<ByteSize>(), Err(ByteSizeError::NotASize(text.to_owned())));
        }
        assert_eq!("8192 TiB".parse(), Ok(ByteSize(BYTES_MAX)));
        for text in ["99999999999 TiB", "9007199254740993", "8193 TiB", "99999999999999999999999999", "9e9 TB"] {
            let expected = if text.contains('e') { ByteSizeError::NotASize } else { ByteSizeError::TooLarge };
            assert_eq!(text.parse::<ByteSize>(), Err(expected(text.to_owned())));
        }
        assert_eq!("9999999.5 TiB".parse::<ByteSize>(), Err(ByteSizeError::TooLarge("9999999.5 TiB".to_owned())));
    }

    #[test]
    fn sizes_are_written_in_the_unit_that_fits() {
        assert_eq!(ByteSize(10 << 20).to_string(), "10 MiB");
        assert_eq!(ByteSize(100_000_000).to_string(), "100 MB");
        assert_eq!(ByteSize(1_500).to_string(), "1.5 KB");
        assert_eq!(ByteSize(3).to_string(), "3 B");
        assert_eq!(human_size(1_572_864), "1.50 MiB");
        assert_eq!(human_size(12), "12 B");
    }
}
