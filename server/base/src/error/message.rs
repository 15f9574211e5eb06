//! Messages of errors, which quote what was sent: at most so much of it.

use std::fmt::{self, Write};

/// Bytes of one quotation.
const QUOTED_BYTES_MAX: usize = 500;
/// Bytes of a message.
const MESSAGE_BYTES_MAX: usize = 4096;
const ELLIPSIS: &str = "…";

/// `message` with each text in backticks, and the whole, cut where it is too long.
pub(super) fn bounded(message: String) -> String {
    if message.len() <= QUOTED_BYTES_MAX {
        return message;
    }
    let mut out = String::with_capacity(message.len().min(MESSAGE_BYTES_MAX) + ELLIPSIS.len());
    // Every second part is a quotation, unless what is quoted has backticks itself: then too much may be cut, never too
    // little.
    for (place, part) in message.split('`').enumerate() {
        if place > 0 {
            out.push('`');
        }
        match cut(part, QUOTED_BYTES_MAX) {
            Some(part) if place % 2 == 1 => {
                out.push_str(part);
                out.push_str(ELLIPSIS);
            }
            // Longer than a message, so that it is seen to be cut.
            _ => out.push_str(cut(part, MESSAGE_BYTES_MAX + 4).unwrap_or(part)),
        }
        if let Some(end) = cut(&out, MESSAGE_BYTES_MAX).map(str::len) {
            out.truncate(end);
            out.push_str(ELLIPSIS);
            break;
        }
    }
    out
}

/// The first `bytes_max` bytes of `text`, or fewer where a character would be cut; `None` if it has no more.
fn cut(text: &str, bytes_max: usize) -> Option<&str> {
    // A character has at most four bytes.
    let end = (0..=bytes_max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    (text.len() > bytes_max).then(|| &text[..end])
}

/// Returns the part of a value that a message shows. The rest is never formatted.
pub fn excerpt(value: impl fmt::Display) -> String {
    struct Excerpt(String);
    impl Write for Excerpt {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let left = QUOTED_BYTES_MAX + 1 - self.0.len().min(QUOTED_BYTES_MAX + 1);
            match cut(text, left) {
                Some(part) => {
                    self.0.push_str(part);
                    Err(fmt::Error)
                }
                None => {
                    self.0.push_str(text);
                    Ok(())
                }
            }
        }
    }
    let mut excerpt = Excerpt(String::new());
    // An error says that there was more.
    let is_cut = write!(excerpt, "{value}").is_err();
    match cut(&excerpt.0, QUOTED_BYTES_MAX) {
        Some(part) => format!("{part}{ELLIPSIS}"),
        None if is_cut => excerpt.0 + ELLIPSIS,
        None => excerpt.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_cut_and_what_is_said_of_them_is_not() {
        let message = |quoted: &str| format!("Invalid value at `.q`: found `{quoted}`, expected `x`.");
        let short = message(&"a".repeat(QUOTED_BYTES_MAX));
        assert_eq!(bounded(short.clone()), short);
        assert_eq!(bounded(message(&"a".repeat(1 << 20))), message(&format!("{}…", "a".repeat(QUOTED_BYTES_MAX))));
        // A character of three bytes does not fit the end.
        assert_eq!(bounded(message(&"€".repeat(200))), message(&format!("{}…", "€".repeat(166))));
        let plain = "long ".repeat(10_000);
        assert_eq!(bounded(plain.clone()), format!("{}…", &plain[..MESSAGE_BYTES_MAX]));
        assert!(bounded(message("`").repeat(10_000)).len() <= MESSAGE_BYTES_MAX + ELLIPSIS.len());
    }

    #[test]
    fn excerpts_end_early() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt("x".repeat(500)), "x".repeat(500));
        assert_eq!(excerpt("x".repeat(501)), format!("{}…", "x".repeat(500)));
        let list = serde_json::json!(vec![serde_json::json!([]); 1000]);
        let written = excerpt(&list);
        assert!(written.starts_with("[[],[]"), "{written}");
        assert!(written.ends_with('…'), "{written}");
        assert!(written.len() <= 503, "{written}");
    }
}
