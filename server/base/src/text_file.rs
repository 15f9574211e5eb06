//! Files that people write, without the byte order mark that some editors put in front of a text.

use std::io;
use std::path::Path;

/// To a parser it would be a part of the first word.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes behind the mark, or all where there is none.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// The text behind the mark, or all where there is none.
pub fn text_without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text of a file.
///
/// # Errors
/// Of reading it, and that it is not UTF-8.
pub fn read(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path).map(|text| text_without_mark(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_no_part_of_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (written, text) in [("\u{feff}a\u{feff}b", "a\u{feff}b"), ("a", "a"), ("", ""), ("\u{feff}", "")] {
            std::fs::write(&path, written).unwrap();
            assert_eq!((read(&path).unwrap().as_str(), without_mark(written.as_bytes())), (text, text.as_bytes()));
        }
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
