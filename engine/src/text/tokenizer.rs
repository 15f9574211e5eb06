//! The tokenizer: options resolved once, then shared by all threads.

use super::{Gap, Language, Token};

/// The settings that decide how text is cut. Stop words are not among them: they act at query time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Added to the default separators (`separatorTokens`).
    pub separators: Vec<String>,
    /// Taken from them (`nonSeparatorTokens`).
    pub non_separators: Vec<String>,
    /// Each becomes one word wherever it stands in a text (`dictionary`). Matched as written.
    pub dictionary: Vec<String>,
}

/// Space that a thread reuses from text to text, so that indexing does not allocate per word.
#[derive(Debug, Default)]
pub struct TextBuffer {}

/// Cuts texts into normalised words. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tokenizer {}

impl Tokenizer {
    pub fn new(options: &TextOptions) -> Tokenizer {
        let _ = options;
        Tokenizer {}
    }

    /// Calls `word` with each normalised word of `text` in reading order and the gap before it (the first: soft).
    /// Words longer than [`super::WORD_BYTES_MAX`] are given too: they take a position, the caller leaves them out.
    ///
    /// `languages` are those declared for the attribute or request; empty means detection.
    pub fn words(&self, text: &str, languages: &[Language], buffer: &mut TextBuffer, word: &mut impl FnMut(&str, Gap)) {
        let _ = (text, languages, buffer, word);
        unimplemented!("Tokenizer::words")
    }

    /// Words and separators with their places in `text`, for queries, highlighting and cropping.
    pub fn tokens<'t>(&self, text: &'t str, languages: &[Language]) -> Vec<Token<'t>> {
        let _ = (text, languages);
        unimplemented!("Tokenizer::tokens")
    }
}
