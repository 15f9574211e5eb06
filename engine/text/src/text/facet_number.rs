//! Numbers in the values of facets.

/// The finite number that the normal form of a facet value ([`normalize_facet`](super::normalize_facet)) writes: what a
/// filter with this text finds besides the text. `inf` and `nan` are words, and minus zero is zero.
pub fn facet_number(normalised: &str) -> Option<f64> {
    // Few texts are numbers, and nearly all others show it at once.
    if !matches!(normalised.as_bytes().first()?, b'0'..=b'9' | b'-' | b'+' | b'.') {
        return None;
    }
    normalised.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number + 0.0)
}

/// Works like [`facet_number`], for a text that equals the displayed form of the number. The two are one value of a
/// facet.
pub fn same_facet_number(normalised: &str) -> Option<f64> {
    facet_number(normalised).filter(|number| number.to_string() == normalised)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_numbers() {
        for (text, number, is_same) in [
            ("5", Some(5.0), true),
            ("-1.5", Some(-1.5), true),
            ("0.5", Some(0.5), true),
            (".5", Some(0.5), false),
            ("5.0", Some(5.0), false),
            ("+5", Some(5.0), false),
            ("1e3", Some(1000.0), false),
            ("-0", Some(0.0), false),
            ("007", Some(7.0), false),
            ("308 sw", None, false),
            ("inf", None, false),
            ("-inf", None, false),
            ("1e999", None, false),
            ("nan", None, false),
            ("", None, false),
        ] {
            assert_eq!(facet_number(text), number, "{text}");
            assert_eq!(same_facet_number(text).is_some(), is_same, "{text}");
        }
    }
}
