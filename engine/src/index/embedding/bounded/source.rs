//! What can be seen in the text of a template before it is parsed.
//!
//! The parser recurses for each bracket inside of a bracket and for each link in a chain of conditions. How deep it would get
//! is not computed: there are never more levels than brackets and words, so their number is bounded.

use super::super::limit::TemplateLimit;
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
pub(super) fn check(source: &str) -> Result<(), TemplateLimit> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(TemplateLimit::Bytes { found: source.len(), most: SOURCE_BYTES_MAX });
    }
    let brackets = source.bytes().filter(|byte| *byte == b'[').count();
    if brackets > BRACKETS_MAX {
        return Err(TemplateLimit::Brackets { found: brackets, most: BRACKETS_MAX });
    }
    let words = source.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let links = words.filter(|word| matches!(*word, "and" | "or" | "elsif")).count();
    if links > LINKS_MAX {
        return Err(TemplateLimit::Links { found: links, most: LINKS_MAX });
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\r' | b'\n');
    let runs = source.as_bytes().split(|byte| !is_blank(byte));
    if runs.map(<[u8]>::len).max().unwrap_or(0) > BLANKS_MAX {
        return Err(TemplateLimit::Blanks { most: BLANKS_MAX });
    }
    Ok(())
}
