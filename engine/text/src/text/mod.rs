//! Text to words: script runs, language, separators, segmentation, normalisation. No I/O.
//!
//! One [`Tokenizer`] serves documents, queries, synonyms, highlighting and facet search, so that a word of a query
//! and the same word of a document always meet. Stop words are not known here: they are a query-time matter.

mod dictionary;
mod facet_number;
mod ideographs;
mod known_words;
mod language;
mod latin;
mod letters;
mod moment;
mod normalize;
mod script;
mod segment;
mod separators;
mod signs;
mod stem;
mod token;
mod tokenizer;
mod typos;

pub use crate::id::Gap;
pub use facet_number::facet_number;
pub use facet_number::same_facet_number;
pub use language::Language;
pub use moment::{BEHIND_ALL_DATES, NANOS_PER_SECOND, SECONDS_PER_DAY, day_text, local_text};
pub use moment::{Date, Moment, Precision};
pub use normalize::normalize_word_in;
pub use normalize::{normalize_facet, normalize_word};
pub use segment::dictionary_heap_bytes;
pub use stem::has_stems;
pub use stem::{Stemmer, language_of_words};
pub use token::{Token, TokenKind};
pub use tokenizer::{TextBuffer, TextOptions, Tokenizer};
pub use typos::{Letters, TYPOS_MAX, TypoPattern};

/// The version of the rules by which texts become words: raised whenever the same text gives other words than in the release
/// before. Segments remember it, and those of an earlier one are rewritten in the background.
pub const TEXT_RULES: u32 = 1;
/// Longest word that is indexed, in bytes of its normalised form. A longer one takes a position and nothing else.
pub const WORD_BYTES_MAX: usize = 250;
/// Longest facet string, in bytes of its normalised form; what lies beyond is cut off.
pub const FACET_BYTES_MAX: usize = 468;
/// Maximum length of a facet string that is shown, in bytes.
pub const FACET_SHOWN_BYTES_MAX: usize = 4096;
