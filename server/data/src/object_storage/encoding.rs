//! Percent encoding of addresses and forms, of everything that is special anywhere.

/// The query in the order of its names.
pub(super) fn encoded_query(query: &[(&str, &str)]) -> String {
    let mut pairs: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    pairs.sort_unstable();
    pairs.join("&")
}

/// With everything encoded that is special anywhere, slashes as well.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_encoded() {
        assert_eq!(encoded("/a b/c+d/ä"), "%2Fa%20b%2Fc%2Bd%2F%C3%A4");
        assert_eq!(encoded_query(&[("uploadId", "a/b="), ("partNumber", "2")]), "partNumber=2&uploadId=a%2Fb%3D");
    }
}
