//! Dictionary words and separators of several characters from the settings: where they stand in a text.

use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use fst::{Map, MapBuilder};

use super::TokenKind;

/// Beyond so many words, or bytes of them, the automaton is not built: its time grows faster than its words (minutes for half
/// a million), and so does its memory.
const AUTOMATON_WORDS_MAX: usize = 5_000;
const AUTOMATON_BYTES_MAX: usize = 256 << 10;

/// A set of words, each a separator of its kind or a dictionary word, matched leftmost-longest on the original text.
pub(super) enum KnownWords {
    /// Reads each byte of a text once.
    Few { automaton: AhoCorasick, kinds: Vec<TokenKind> },
    /// Looks at each character of a text for words that begin there. Built in time and space that grow with the words.
    Many(Map<Vec<u8>>),
}

impl fmt::Debug for KnownWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownWords({})", self.len())
    }
}

const KINDS: [TokenKind; 3] = [TokenKind::Word, TokenKind::SoftSeparator, TokenKind::HardSeparator];

impl KnownWords {
    /// Creates the matcher for distinct, non-empty words; `None` without any.
    pub(super) fn new(words: Vec<(&str, TokenKind)>) -> Option<KnownWords> {
        let bytes: usize = words.iter().map(|(word, _)| word.len()).sum();
        if words.is_empty() {
            return None;
        }
        if words.len() <= AUTOMATON_WORDS_MAX && bytes <= AUTOMATON_BYTES_MAX {
            let (words, kinds): (Vec<&str>, Vec<TokenKind>) = words.iter().copied().unzip();
            // Building fails only beyond a number of states that so few bytes do not reach.
            let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&words);
            if let Ok(automaton) = automaton {
                return Some(KnownWords::Few { automaton, kinds });
            }
        }
        Some(KnownWords::Many(many(words)))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            KnownWords::Few { kinds, .. } => kinds.len(),
            KnownWords::Many(map) => map.len(),
        }
    }

    /// Reports whether one of the words occurs anywhere in `text`.
    pub(super) fn are_in(&self, text: &str) -> bool {
        match self {
            KnownWords::Few { automaton, .. } => automaton.is_match(text),
            KnownWords::Many(_) => self.first(text, 0).is_some(),
        }
    }

    /// The first word in `text` that begins at `from`, a character boundary, or behind it; the longest there.
    pub(super) fn first(&self, text: &str, from: usize) -> Option<(Range<usize>, TokenKind)> {
        match self {
            KnownWords::Few { automaton, kinds } => {
                let found = automaton.find(Input::new(text).range(from..))?;
                Some((found.range(), kinds[found.pattern().as_usize()]))
            }
            KnownWords::Many(map) => text[from..].char_indices().find_map(|(offset, _)| {
                let start = from + offset;
                let (length, kind) = longest(map, &text.as_bytes()[start..])?;
                Some((start..start + length, kind))
            }),
        }
    }
}

fn many(mut words: Vec<(&str, TokenKind)>) -> Map<Vec<u8>> {
    words.sort_unstable_by_key(|(word, _)| *word);
    words.dedup_by_key(|(word, _)| *word);
    let mut builder = MapBuilder::memory();
    for (word, kind) in words {
        let kind = KINDS.iter().position(|known| *known == kind).expect("all kinds are listed");
        builder.insert(word, kind as u64).expect("words come in order, and memory takes them");
    }
    builder.into_map()
}

/// The longest word that `text` begins with: its length and kind.
fn longest(map: &Map<Vec<u8>>, text: &[u8]) -> Option<(usize, TokenKind)> {
    let fst = map.as_fst();
    let (mut node, mut output, mut found) = (fst.root(), 0, None);
    for (index, &byte) in text.iter().enumerate() {
        let Some(place) = node.find_input(byte) else { break };
        let transition = node.transition(place);
        output += transition.out.value();
        node = fst.node(transition.addr);
        if node.is_final() {
            let kind = output + node.final_output().value();
            found = KINDS.get(kind as usize).map(|kind| (index + 1, *kind));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_forms_find_the_same(
            words in proptest::collection::btree_map("[ab é.]{1,4}", 0..3_usize, 1..12),
            texts in vec("[abc é.]{0,12}", 8),
        ) {
            let words: Vec<(&str, TokenKind)> = words.iter().map(|(word, kind)| (word.as_str(), KINDS[*kind])).collect();
            let few = KnownWords::new(words.clone()).unwrap();
            let is_few = matches!(few, KnownWords::Few { .. });
            prop_assert!(is_few);
            let many = KnownWords::Many(many(words));
            for text in &texts {
                prop_assert_eq!(few.are_in(text), many.are_in(text));
                for (from, _) in text.char_indices() {
                    prop_assert_eq!(few.first(text, from), many.first(text, from), "{} from {}", text, from);
                }
            }
        }
    }

    /// Half a million words took minutes before.
    #[test]
    fn many_words_are_built_in_the_time_that_few_take() {
        let time = |count: usize| {
            let words: Vec<String> = (0..count).map(|n| format!("w{:x}", n * 7919)).collect();
            let start = std::time::Instant::now();
            let known = KnownWords::new(words.iter().map(|word| (word.as_str(), TokenKind::Word)).collect()).unwrap();
            let found = known.first(&format!("x {} y", words[count - 1]), 0);
            assert_eq!(found, Some((2..2 + words[count - 1].len(), TokenKind::Word)));
            start.elapsed()
        };
        let (one, four) = (time(50_000), time(200_000));
        assert!(four < one * 16, "{one:?} for a fourth of what takes {four:?}");
    }
}
