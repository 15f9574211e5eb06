//! What clients read of the engine's errors, in the words of the protocol.

use lamina_engine::index::settings::AvailableAttributes;

/// An error of the engine that a request can cause. Its `Display` is for engineers, this is for clients.
pub trait Sentence {
    /// The whole message, without the name of an index.
    fn sentence(&self) -> String;
}

/// Stands for the names that must not be shown.
const HIDDEN: &str = "<..hidden-attributes>";

/// `a, b`, the hidden ones as one marker at the end.
pub(super) fn joined(available: &AvailableAttributes) -> String {
    names(available).collect::<Vec<_>>().join(", ")
}

/// `` `a`, `b` ``, as [`joined`].
pub(super) fn each_quoted(available: &AvailableAttributes) -> String {
    names(available).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub(super) const FILTERABLE: &str = "filterableAttributes";
pub(super) const SORTABLE: &str = "sortableAttributes";

/// A sentence with the command that adds attributes to a setting that is a list of them.
pub(super) fn adds<'a>(setting: &str, attributes: impl IntoIterator<Item = &'a str>) -> String {
    let words: String = attributes.into_iter().map(|attribute| format!(" {}", shell_word(attribute))).collect();
    format!("`lamina settings add {setting}{words}` changes that.")
}

/// Text as a shell reads it as one word.
fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    if !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn names(available: &AvailableAttributes) -> impl Iterator<Item = &str> {
    available.shown().iter().map(String::as_str).chain(available.has_hidden().then_some(HIDDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_words_of_a_shell() {
        assert_eq!(adds(SORTABLE, ["a.b"]), "`lamina settings add sortableAttributes a.b` changes that.");
        let odd = adds(FILTERABLE, ["two words", "it's", "$(rm)", "", "-x"]);
        assert!(odd.contains(r"filterableAttributes 'two words' 'it'\''s' '$(rm)' '' '-x'`"), "{odd}");
    }
}
