//! What the tokenizer hands out.

use std::borrow::Cow;
use std::ops::Range;

use super::Language;

/// The class of a [`Token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Word,
    /// Separates words of one context: space, hyphen, quote…
    SoftSeparator,
    /// Separates two contexts: full stop and space, question mark…
    HardSeparator,
}

/// A piece of a text. The ranges of a text's tokens follow each other without holes and cover it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    pub kind: TokenKind,
    /// Normalised text; for separators the original. A word is never empty: what normalises to nothing is given
    /// as a soft separator.
    pub text: Cow<'t, str>,
    /// Bytes of the original text.
    pub range: Range<usize>,
    /// Per character of the original: its bytes there, and the bytes of [`Token::text`] it became. `None` when
    /// each character became one of the same length.
    pub char_map: Option<Box<[(u8, u8)]>>,
    /// Language given or detected for the run of text that the token is in.
    pub language: Option<Language>,
}

impl Token<'_> {
    pub fn is_word(&self) -> bool {
        self.kind == TokenKind::Word
    }

    /// Bytes of the original that the first `chars` characters of the normalised text came from, rounded up to whole
    /// original characters: what to highlight when a prefix of the word matched.
    pub fn original_bytes(&self, chars: usize) -> usize {
        let normalised = self.text.char_indices().nth(chars).map_or(self.text.len(), |(at, _)| at);
        let Some(map) = &self.char_map else { return normalised };
        let (mut original, mut covered) = (0, 0);
        for &(from, to) in map.iter() {
            if covered >= normalised && to > 0 {
                break;
            }
            original += usize::from(from);
            covered += usize::from(to);
        }
        original
    }
}
