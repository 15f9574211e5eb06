//! "Which documents have these words next to each other, or near?"
//!
//! Postings say which documents hold a word, tokens say where in a document. To find the documents in which frequent words
//! stand together, a search would read the tokens of nearly all of them. So the segment lists them, for the few most frequent
//! words: [`pairs`] (one word right after another), [`triples`] (three in a row), [`near`] (one or two words apart, or the other
//! way round) and [`followers`] (a word, and behind it one that begins with certain letters).
//!
//! [`WordPairsBuilder`] collects all of them in one pass over the tokens, as documents are written, each kind in the same room
//! ([`budget`]). [`StoredWordPairs`] answers every question with [`Known`] documents, or with `None`: unknown. Why there are
//! four sections rather than one is in `docs/decisions/0045-neighbours-in-four-sections.md`; the layouts are in
//! `segment-format.md`.

mod budget;
mod builder;
mod cells;
mod flagged_lists;
mod followers;
mod known;
mod near;
mod open_list;
mod pairs;
mod stored;
#[cfg(test)]
mod tests;
mod triples;

pub(crate) use builder::WordPairsBuilder;
pub(crate) use cells::CountedTerm;
pub(crate) use followers::Followers;
pub use known::Known;
pub(crate) use near::NEAR_DISTANCE_MAX;
pub(crate) use stored::StoredWordPairs;
#[cfg(test)]
pub(crate) use tests::example;

/// No more words than this are frequent.
pub(crate) const FREQUENT_WORDS_MAX: usize = 192;
/// Place of a word that is not frequent.
const NOWHERE: u8 = u8::MAX;
const _: () = assert!(FREQUENT_WORDS_MAX < NOWHERE as usize);
