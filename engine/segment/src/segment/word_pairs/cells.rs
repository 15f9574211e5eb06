//! The terms of a segment in *cells*: ranges of ordinals of which the words that begin with the same letters fill few.

use lamina_text::id::{FIRST_TERM, TermOrdinal};

/// No more cells than this; the last one takes what is left.
const CELLS_MAX: usize = 2048;
/// Letters that distinguish words.
const LETTERS: usize = 3;
/// A cell ends where the first or second letter changes once one document in this many holds its words, all counted,
const CELL_SHARE: u32 = 1024;
/// and where the third one does once one in this many holds those before or those behind.
const LETTER_SHARE: u32 = 64;

/// Term from which cells are built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedTerm {
    /// First bytes of the term, as [`first_bytes`](crate::bits::first_bytes) returns them.
    pub(crate) first_bytes: u64,
    pub doc_freq: u32,
}

/// The terms of a segment in ranges of ordinals.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// First term of each cell. The first cell starts at [`FIRST_TERM`].
    pub(super) starts: Vec<TermOrdinal>,
    /// The sums of the document frequencies of their terms.
    pub(super) doc_freqs: Vec<u64>,
}

/// Terms that begin with the same letters.
struct Group {
    start: TermOrdinal,
    /// Number of letters in common with the previous group.
    common: usize,
    doc_freq: u64,
}

impl Cells {
    /// `terms`: all of them, in order. Cost: some nanoseconds a term.
    pub(crate) fn new(terms: impl Iterator<Item = CountedTerm>, doc_count: u32) -> Cells {
        let mut groups: Vec<Group> = Vec::new();
        let mut last = 0;
        for (CountedTerm { first_bytes, doc_freq }, ordinal) in terms.zip(FIRST_TERM..) {
            let common = common_letters(last, first_bytes);
            last = first_bytes;
            match groups.last_mut() {
                Some(group) if common >= LETTERS => group.doc_freq += u64::from(doc_freq),
                _ => groups.push(Group { start: ordinal, common, doc_freq: doc_freq.into() }),
            }
        }
        let mut cells = Cells::default();
        for group in groups {
            match cells.doc_freqs.last_mut() {
                Some(doc_freq) if !is_cut(*doc_freq, &group, doc_count) || cells.starts.len() == CELLS_MAX => {
                    *doc_freq += group.doc_freq;
                }
                _ => {
                    cells.starts.push(group.start);
                    cells.doc_freqs.push(group.doc_freq);
                }
            }
        }
        cells
    }
}

/// Reports whether a cell ends before the group. `before`: sum of the document frequencies of its terms.
fn is_cut(before: u64, group: &Group, doc_count: u32) -> bool {
    let reaches = |doc_freq: u64, share: u32| doc_freq >= u64::from(doc_count / share);
    reaches(before.max(group.doc_freq), LETTER_SHARE) || (group.common < LETTERS - 1 && reaches(before, CELL_SHARE))
}

/// Counts the whole letters that two texts have in common at the start, within their first eight bytes.
fn common_letters(one: u64, other: u64) -> usize {
    let bytes = other.to_be_bytes();
    let common = (one ^ other).leading_zeros() as usize / 8;
    let is_inside = |byte: &u8| byte & 0xc0 == 0x80;
    let starts = bytes[..common].iter().filter(|byte| !is_inside(byte)).count();
    // A letter of which only the first bytes agree is another one.
    starts - usize::from(starts > 0 && bytes.get(common).is_some_and(is_inside))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{CELL_STARTS, TERM_DOCS, TERMS, cells};
    use super::*;
    use crate::bits::first_bytes;

    #[test]
    fn cells_end_where_letters_change() {
        assert_eq!(cells(&TERMS, TERM_DOCS).starts, CELL_STARTS);
        let starts = |terms: &[(&str, u32)]| cells(terms, 102_400).starts;
        // 100 documents let a cell end where the second letter changes, 1,600 where the third does.
        assert_eq!(starts(&[("ab", 99), ("ac", 1), ("ad", 99), ("b", 1)]), [2, 4]);
        assert_eq!(starts(&[("abc", 1599), ("abd", 1), ("abe", 9), ("abf", 1600), ("abg", 1)]), [2, 4, 5, 6]);
        assert_eq!(starts(&[("abcd", 1600), ("abce", 1600), ("abcefghij", 1600), ("abcefghijk", 1600)]), [2]);
        assert_eq!(starts(&[("é", 100), ("éa", 100), ("éab", 100), ("éabc", 100), ("è", 100)]), [2, 3, 6]);
        assert!(starts(&[]).is_empty());
        let many: Vec<String> = (0..2 * CELLS_MAX).map(|at| format!("{at:05}")).collect();
        let many: Vec<(&str, u32)> = many.iter().map(|term| (term.as_str(), 90_000)).collect();
        assert!(starts(&many).len() <= CELLS_MAX);
    }

    #[test]
    fn letters_in_common() {
        let common =
            |one: &str, other: &str| common_letters(first_bytes(one.as_bytes()), first_bytes(other.as_bytes()));
        assert_eq!([common("", "a"), common("a", "ab"), common("abc", "abd"), common("abc", "abcd")], [0, 1, 2, 3]);
        assert_eq!([common("é", "è"), common("aé", "aè"), common("éa", "éb"), common("日本", "日木")], [0, 1, 1, 1]);
        assert_eq!(common("abcdefgh", "abcdefghi"), 8);
    }
}
