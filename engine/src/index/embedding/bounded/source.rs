//! What can be seen in the text of a template before it is parsed.
//!
//! The parser recurses for each bracket inside of a bracket and for each link in a chain of conditions. How deep it would get
//! is not computed: there are never more levels than brackets and words, so their number is bounded.

use super::SOURCE_BYTES_MAX;

/// Most opening brackets.
const BRACKETS_MAX: usize = 500;
/// Most `and`, `or` and `elsif`.
const LINKS_MAX: usize = 500;
/// Most blanks and line ends in a row: the parser looks at each of them once for every one before it.
const BLANKS_MAX: usize = 500;

/// Refuses a text that is too long to be parsed in bounded time and stack.
///
/// # Errors
/// Which limit it passes.
pub(super) fn check(source: &str) -> Result<(), String> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(format!(
            "it has {} bytes, more than the {SOURCE_BYTES_MAX} that a template may have",
            source.len()
        ));
    }
    let brackets = source.bytes().filter(|byte| *byte == b'[').count();
    if brackets > BRACKETS_MAX {
        return Err(format!(
            "it has {brackets} opening brackets, more than the {BRACKETS_MAX} that a template may have"
        ));
    }
    let words = source.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let links = words.filter(|word| matches!(*word, "and" | "or" | "elsif")).count();
    if links > LINKS_MAX {
        return Err(format!(
            "it has the words `and`, `or` and `elsif` {links} times, more than the {LINKS_MAX} that a template may have"
        ));
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\r' | b'\n');
    let runs = source.as_bytes().split(|byte| !is_blank(byte));
    if runs.map(<[u8]>::len).max().unwrap_or(0) > BLANKS_MAX {
        return Err(format!("it has more than {BLANKS_MAX} blanks or line ends in a row"));
    }
    Ok(())
}
