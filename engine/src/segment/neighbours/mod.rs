//! "Which documents have these words next to each other, or near?"
//!
//! Postings say which documents hold a word, tokens say where in a document. To find the documents in which frequent words
//! stand together, a search would read the tokens of nearly all of them. So the segment lists them, for the few most frequent
//! words: [`pairs`] (one word right after another), [`triples`] (three in a row), [`near`] (one or two words apart, or the other
//! way round) and [`followers`] (a word, and behind it one that begins with certain letters). All of them are collected in one
//! pass over the tokens, as documents are written.
//!
//! The layouts are in `segment-format.md`.

mod flagged_lists;
mod followers;
mod near;
mod pairs;
mod triples;

#[cfg(test)]
pub(crate) use followers::tests::example as followers_example;
pub(crate) use followers::{CountedTerm, Followers};
#[cfg(test)]
pub(crate) use near::tests::example as near_example;
pub(crate) use near::{NEAR_DISTANCE_MAX, Near};
#[cfg(test)]
pub(crate) use pairs::tests::example as pairs_example;
pub(crate) use pairs::{Pairs, PairsBuilder, WORDS_MAX as FREQUENT_WORDS_MAX};
pub(crate) use triples::InARow;
#[cfg(test)]
pub(crate) use triples::tests::example as triples_example;
