//! The terms of one segment that each node of a query graph stands for, by typo cost.
//!
//! Expansions are complete: every term of the dictionary within the accepted distance is found, by walking down the
//! dictionary as far as its beginnings are near enough.

use super::graph::{Node, WORD_BYTES_MAX};
use super::options::{QueryOptions, is_number};
use crate::id::TermOrdinal;
use crate::segment::{SegmentReader, Terms, TypoKey, TypoTerms};
use crate::text::TypoPattern;
use std::ops::Range;

/// Terms of one segment that a node stands for. Lists are ascending and disjoint.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    /// The word itself.
    pub exact: Option<TermOrdinal>,
    /// Words that start with it, itself included; empty when the node is no prefix.
    pub prefix: Range<TermOrdinal>,
    pub one_typo: Vec<TermOrdinal>,
    pub two_typos: Vec<TermOrdinal>,
    /// Sequences of words that mean the same, all of them in the dictionary.
    pub synonyms: Vec<Vec<Option<TermOrdinal>>>,
    /// The quoted phrase, if all its words are in the dictionary.
    pub phrase: Option<Vec<Option<TermOrdinal>>>,
    /// The two words it is split into; set once the best split over all segments is known.
    pub split: Option<[TermOrdinal; 2]>,
}

/// Ordinals of a sequence of words, if all of them are in the dictionary.
pub fn sequence<'a>(
    terms: &Terms,
    words: impl IntoIterator<Item = Option<&'a str>>,
    stop: &[TermOrdinal],
) -> Option<Vec<Option<TermOrdinal>>> {
    words
        .into_iter()
        .map(|word| match word {
            None => Some(None),
            Some(word) => terms.ordinal(word.as_bytes()).filter(|o| stop.binary_search(o).is_err()).map(Some),
        })
        .collect()
}

/// Expands one node over the dictionary of one segment. `stop`: ordinals of stop words, ascending.
pub fn expand(reader: &SegmentReader, node: &Node, options: &QueryOptions, stop: &[TermOrdinal]) -> Expansion {
    let terms = reader.terms();
    if let Some(words) = &node.phrase {
        let phrase = sequence(terms, words.iter().map(Option::as_deref), stop);
        return Expansion { phrase, ..Expansion::default() };
    }
    if node.text.len() > WORD_BYTES_MAX {
        return Expansion::default();
    }
    let allowed = |ordinal: TermOrdinal| stop.binary_search(&ordinal).is_err();
    let mut out = Expansion {
        exact: terms.ordinal(node.text.as_bytes()).filter(|&o| allowed(o)),
        prefix: if node.prefix { terms.prefix_range(node.text.as_bytes()) } else { 0..0 },
        ..Expansion::default()
    };
    out.synonyms =
        node.synonyms.iter().filter_map(|s| sequence(terms, s.iter().map(|w| Some(w.as_str())), stop)).collect();
    if node.budget == 0 {
        return out;
    }
    let key = TypoKey { word: node.text.as_str().into(), prefix: node.prefix, budget: node.budget };
    let near = reader.typo_cache().get_or_find(key, || near(terms, node));
    let counts = |ordinal: TermOrdinal| {
        let number = || std::str::from_utf8(&terms.term(ordinal)).is_ok_and(is_number);
        allowed(ordinal) && !(options.typos.exact_numbers && number())
    };
    let [one, two] = &*near;
    out.one_typo = one.iter().copied().filter(|&ordinal| counts(ordinal)).collect();
    out.two_typos = two.iter().copied().filter(|&ordinal| counts(ordinal)).collect();
    out
}

/// The terms with as many typos as the node accepts. A different first character costs two.
fn near(terms: &Terms, node: &Node) -> TypoTerms {
    let first_len = node.text.chars().next().map_or(0, char::len_utf8);
    let first = &node.text.as_bytes()[..first_len];
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let pattern = |typos_max| TypoPattern::new(&node.text, node.prefix, typos_max);
    same_first(terms, &pattern(node.budget.min(2)), first, |ordinal, typos| match typos {
        1 => one.push(ordinal),
        2 => two.push(ordinal),
        _ => {}
    });
    if node.budget >= 2 {
        other_first(terms, &pattern(1), first, |ordinal| two.push(ordinal));
        two.sort_unstable();
    }
    [one, two].map(|mut terms| {
        terms.shrink_to_fit();
        terms
    })
}

/// Calls `f` with the terms that begin with the character `first` and are near, and the number of typos.
fn same_first(terms: &Terms, pattern: &TypoPattern, first: &[u8], mut f: impl FnMut(TermOrdinal, u8)) {
    let step = |(depth, reading), byte| {
        if first.get(depth).is_some_and(|&b| b != byte) {
            return None;
        }
        pattern.step(reading, byte).map(|reading| (depth + 1, reading))
    };
    terms.walk((0, pattern.start()), step, |(depth, reading), _, ordinal| {
        if let (true, Some(typos)) = (depth >= first.len(), pattern.typos(reading)) {
            f(ordinal, typos);
        }
    });
}

/// Calls `f` with the terms that do not begin with the character `first` and are one typo away.
fn other_first(terms: &Terms, pattern: &TypoPattern, first: &[u8], mut f: impl FnMut(TermOrdinal)) {
    // How many bytes of the character have been met; `None` once another one came.
    let step = |(same, reading): (Option<usize>, _), byte| {
        let same = same.filter(|&n| first.get(n) == Some(&byte)).map(|n| n + 1);
        if same == Some(first.len()) {
            return None;
        }
        pattern.step(reading, byte).map(|reading| (same, reading))
    };
    terms.walk((Some(0), pattern.start()), step, |(_, reading), _, ordinal| {
        if pattern.typos(reading) == Some(1) {
            f(ordinal);
        }
    });
}
