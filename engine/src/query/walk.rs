//! Walks of the dictionary of a segment for what is near a word.

use lamina_segment::segment::{Beginning, Terms};
use lamina_text::id::TermOrdinal;
use lamina_text::text::{Letters, TypoPattern};

/// Calls `f` with all that begins with the first character of `word` and is as near as the pattern says, whether a term
/// ends there or not: the number of typos, the place, and the term.
pub(super) fn visit_same_first(
    terms: &Terms,
    pattern: &TypoPattern,
    word: &str,
    mut f: impl FnMut(u8, Beginning, Option<TermOrdinal>),
) {
    let first = first_character(word);
    let step = |(depth, reading), byte| {
        if first.get(depth).is_some_and(|&b| b != byte) {
            return None;
        }
        pattern.step(reading, byte).map(|reading| (depth + 1, reading))
    };
    let only = |(depth, reading): (usize, _)| match first.get(depth) {
        Some(&byte) => Some(Letters::one(byte)),
        None => pattern.only(reading),
    };
    terms.visit(terms.root(), (0, pattern.start()), step, only, |(depth, reading), _, place, ordinal| {
        if let (true, Some(typos)) = (depth >= first.len(), pattern.typos(reading)) {
            f(typos, place, ordinal);
        }
    });
}

pub(super) fn first_character(word: &str) -> &[u8] {
    &word.as_bytes()[..word.chars().next().map_or(0, char::len_utf8)]
}

/// Calls `f` with the terms that do not begin with the character `first` and are one typo away.
pub(super) fn other_first(terms: &Terms, pattern: &TypoPattern, first: &[u8], mut f: impl FnMut(TermOrdinal)) {
    // How many bytes of the character have been met; `None` once another one came.
    let step = |(same, reading): (Option<usize>, _), byte| {
        let same = same.filter(|&n| first.get(n) == Some(&byte)).map(|n| n + 1);
        if same == Some(first.len()) {
            return None;
        }
        pattern.step(reading, byte).map(|reading| (same, reading))
    };
    terms.walk(
        (Some(0), pattern.start()),
        step,
        |(_, reading)| pattern.only(reading),
        |(_, reading), _, ordinal| {
            if pattern.typos(reading) == Some(1) {
                f(ordinal);
            }
        },
    );
}
