//! Text to words: script runs, language, separators, segmentation, normalisation. No I/O.
//!
//! One [`Tokenizer`] serves documents, queries, synonyms, highlighting and facet search, so that a word of a query
//! and the same word of a document always meet. Stop words are not known here: they are a query-time matter, and
//! [`Token::unfolded`] is what they are compared with.

mod facet_number;
mod known_words;
mod language;
mod latin;
mod normalize;
mod script;
mod segment;
mod separators;
mod token;
mod tokenizer;
mod typos;

pub use crate::id::Gap;
pub use facet_number::{facet_number, same_facet_number};
pub use language::Language;
pub use normalize::{normalize_facet, normalize_word, normalize_word_in};
pub use segment::{dictionary_heap_bytes, holds_chinese, read_chinese_dictionary};
pub use token::{Token, TokenKind};
pub use tokenizer::{TextBuffer, TextOptions, Tokenizer};
pub(crate) use typos::{Letters, TYPOS_MAX, TypoPattern};

/// Longest word that is indexed, in bytes of its normalised form. A longer one takes a position and nothing else.
pub const WORD_BYTES_MAX: usize = 250;
/// Longest facet string, in bytes of its normalised form; what lies beyond is cut off.
pub const FACET_BYTES_MAX: usize = 468;
