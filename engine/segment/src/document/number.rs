//! Numbers of documents: their value, and the text under which they are searched and shown.

/// A number as it is filtered, sorted and searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<'d> {
    /// Always finite (a number out of range becomes the largest) and never `-0`.
    pub value: f64,
    /// Shortest decimal text that reads back as the number (`3.5` for `3.50`): what is searched and shown as facet.
    /// Integers keep their digits.
    pub text: &'d str,
}

impl<'d> Number<'d> {
    /// Reads a JSON number; its text may be put into `scratch`.
    pub fn read(raw: &'d str, scratch: &'d mut Vec<u8>) -> Number<'d> {
        let digits = raw.strip_prefix('-').unwrap_or(raw);
        if digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            // Exact: the digits fit 64 bits, and the cast rounds as reading the decimal would.
            let magnitude = digits.bytes().fold(0_i64, |value, digit| value * 10 + i64::from(digit - b'0'));
            let value = if digits.len() < raw.len() { -magnitude } else { magnitude };
            return Number { value: value as f64, text: if magnitude == 0 { "0" } else { raw } };
        }
        let read = raw.parse::<f64>().unwrap_or(0.0);
        // Adding zero turns `-0.0` into `0.0`.
        let value = read.clamp(f64::MIN, f64::MAX) + 0.0;
        Number { value, text: if is_shortest(raw) || read.is_infinite() { raw } else { shortest(value, raw, scratch) } }
    }
}

/// Reports whether a decimal is certain to be in its shortest form: it has few enough digits for floats to distinguish,
/// no exponent and no trailing zero. Integers of any length keep their digits.
fn is_shortest(raw: &str) -> bool {
    const BYTES_SURE_MAX: usize = 15;
    let (mut is_integer, mut has_exponent) = (true, false);
    for byte in raw.bytes() {
        is_integer &= byte != b'.';
        has_exponent |= byte | 0x20 == b'e';
    }
    let is_small = raw.strip_prefix('-').unwrap_or(raw).starts_with("0.0");
    !has_exponent && (is_integer || raw.len() <= BYTES_SURE_MAX && !raw.ends_with('0') && !is_small)
}

fn shortest<'t>(value: f64, raw: &'t str, scratch: &'t mut Vec<u8>) -> &'t str {
    scratch.clear();
    match serde_json::to_writer(&mut *scratch, &value) {
        Ok(()) => std::str::from_utf8(scratch).unwrap_or(raw),
        Err(_) => raw,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_value_and_a_text() {
        let mut scratch = Vec::new();
        for (raw, value, text) in [
            ("0", 0.0, "0"),
            ("-0", 0.0, "0"),
            ("-12", -12.0, "-12"),
            ("3.50", 3.5, "3.5"),
            ("3.5", 3.5, "3.5"),
            ("1.0", 1.0, "1.0"),
            ("1e3", 1000.0, "1000.0"),
            ("0.0000001", 1e-7, "1e-7"),
            ("123456789012345678", 123456789012345680.0, "123456789012345678"),
            ("100000000000000000000001", 1.0000000000000001e23, "100000000000000000000001"),
            ("-1e999", f64::MIN, "-1e999"),
        ] {
            let number = Number::read(raw, &mut scratch);
            assert_eq!((number.value, number.text), (value, text), "{raw}");
            assert!(number.value.is_sign_positive() || number.value < 0.0, "{raw}");
        }
    }
}
