//! What can be seen in the text of a template before it is parsed.
//!
//! The parser recurses for each bracket inside of a bracket and for each link in a chain of conditions, and looking up a path for
//! each of its names. How deep it would get is not computed: there are never more levels than brackets, words and dots, so their
//! number is bounded.

use super::super::limit::TemplateLimit;
use super::SOURCE_BYTES_MAX;

/// Most opening brackets.
const BRACKETS_MAX: usize = 500;
/// Most `and`, `or` and `elsif`.
const LINKS_MAX: usize = 500;
/// Most names behind dots, as `title` in `doc.title`.
const NAMES_MAX: usize = 2_000;
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
    let is_name = |pair: &[u8]| pair[0] == b'.' && (pair[1].is_ascii_alphabetic() || matches!(pair[1], b'_' | b'-'));
    let names = source.as_bytes().windows(2).filter(|pair| is_name(pair)).count();
    if names > NAMES_MAX {
        return Err(TemplateLimit::Names { found: names, most: NAMES_MAX });
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\r' | b'\n');
    let runs = source.as_bytes().split(|byte| !is_blank(byte));
    if runs.map(<[u8]>::len).max().unwrap_or(0) > BLANKS_MAX {
        return Err(TemplateLimit::Blanks { most: BLANKS_MAX });
    }
    Ok(())
}
