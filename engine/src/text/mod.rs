//! Text to words: script runs, language, separators, segmentation, normalisation. No I/O.
//!
//! One [`Tokenizer`] serves documents, queries, synonyms, highlighting and facet search, so that a word of a query
//! and the same word of a document always meet. Stop words are not known here: they are a query-time matter, and
//! [`Token::unfolded`] is what they are compared with.

mod language;
mod token;
mod tokenizer;

pub use language::Language;
pub use token::{Gap, Token, TokenKind};
pub use tokenizer::{TextBuffer, TextOptions, Tokenizer};

/// Longest word that is indexed, in bytes of its normalised form. A longer one takes a position and nothing else.
pub const WORD_BYTES_MAX: usize = 250;
/// Longest facet string, in bytes of its normalised form; what lies beyond is cut off.
pub const FACET_BYTES_MAX: usize = 468;

/// The normalised form of `word` taken as one token: what `disableOnWords` and facet search compare with. Case and
/// accents are gone whatever the script. Trimmed; may be empty.
pub fn normalize_word(word: &str) -> String {
    let _ = word;
    unimplemented!("normalize_word")
}

/// The form under which facet strings are compared: trimmed, compatibility-decomposed, lowercase, accents kept, at
/// most [`FACET_BYTES_MAX`] bytes. Borrows when `value` is already in that form.
pub fn normalize_facet(value: &str) -> std::borrow::Cow<'_, str> {
    let _ = value;
    unimplemented!("normalize_facet")
}
