//! Showing a secret without giving it away.

/// As much of `secret` as tells which one it is. A leading `Bearer ` is no part of it.
pub fn redacted(secret: &str) -> String {
    const BEARER: &str = "Bearer ";
    let (scheme, secret) = match secret.strip_prefix(BEARER) {
        Some(secret) => (BEARER, secret),
        None => ("", secret),
    };
    let (shown, mask) = match secret.chars().count() {
        0..=9 => (0, "XXX..."),
        10..=19 => (2, "XXXX..."),
        20..=29 => (3, "XXXXX..."),
        _ => (5, "XXXXXX..."),
    };
    scheme.chars().chain(secret.chars().take(shown)).chain(mask.chars()).collect()
}

/// The request header that carries a secret.
pub const AUTHORIZATION: &str = "Authorization";

/// The value of a request header as clients see it: [`redacted`] when it is a secret.
pub fn shown_header(name: &str, value: &str) -> String {
    if name.eq_ignore_ascii_case(AUTHORIZATION) { redacted(value) } else { value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_shown_of_long_secrets_and_nothing_of_short_ones() {
        for (secret, shown) in [
            ("", "XXX..."),
            ("TOKEN", "XXX..."),
            ("UPDATED TOKEN", "UPXXXX..."),
            ("12345678901234567890", "123XXXXX..."),
            ("123456789012345678901234567890", "12345XXXXXX..."),
            ("Bearer TOKEN", "Bearer XXX..."),
            ("Bearer 1234567890", "Bearer 12XXXX..."),
            ("ééééééééé", "XXX..."),
        ] {
            assert_eq!(redacted(secret), shown);
        }
    }
}
