//! The terms of one segment that each node of a query graph stands for, by typo cost.
//!
//! Expansions are complete: every term of the dictionary within the accepted distance is found, by intersecting the
//! dictionary with a Levenshtein automaton (Schulz and Mihov, 2002, with transpositions).

use std::ops::Range;
use std::sync::LazyLock;

use fst::Automaton;
use fst::automaton::Str;
use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder};

use super::graph::{Node, WORD_BYTES_MAX};
use super::options::{QueryOptions, is_number};
use crate::id::TermOrdinal;
use crate::segment::Terms;

static ONE_TYPO: LazyLock<LevenshteinAutomatonBuilder> = LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
static TWO_TYPOS: LazyLock<LevenshteinAutomatonBuilder> = LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));

/// The automata of one node, shared by all segments. Building them costs some 10 to 100 microseconds.
pub struct NodeAutomata {
    /// First character of the word: a different one costs two typos.
    first: String,
    one: Option<DFA>,
    two: Option<DFA>,
}

impl NodeAutomata {
    /// Nothing is built for nodes that accept no typo.
    pub fn new(node: &Node) -> NodeAutomata {
        let build = |builder: &LevenshteinAutomatonBuilder| {
            if node.prefix { builder.build_prefix_dfa(&node.text) } else { builder.build_dfa(&node.text) }
        };
        NodeAutomata {
            first: node.text.chars().take(1).collect(),
            one: (node.budget >= 1).then(|| build(&ONE_TYPO)),
            two: (node.budget >= 2).then(|| build(&TWO_TYPOS)),
        }
    }
}

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
pub fn expand(
    terms: &Terms,
    node: &Node,
    automata: &NodeAutomata,
    options: &QueryOptions,
    stop: &[TermOrdinal],
) -> Expansion {
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
    let same_first = || Str::new(&automata.first).starts_with();
    let mut typo = |term: &[u8], ordinal: TermOrdinal, distance: Distance, same_first: bool| {
        let number = || std::str::from_utf8(term).is_ok_and(is_number);
        if !allowed(ordinal) || (options.typos.exact_numbers && number()) {
            return;
        }
        match (distance, same_first) {
            (Distance::Exact(1), true) => out.one_typo.push(ordinal),
            (Distance::Exact(2), true) | (Distance::Exact(1), false) => out.two_typos.push(ordinal),
            _ => {}
        }
    };
    match (&automata.one, &automata.two) {
        (Some(one), Some(two)) => {
            terms.search(two.intersection(same_first()), |t, o| typo(t, o, two.eval(t), true));
            terms.search(one.intersection(same_first().complement()), |t, o| typo(t, o, one.eval(t), false));
            out.two_typos.sort_unstable();
        }
        (Some(one), None) => {
            terms.search(one.intersection(same_first()), |t, o| typo(t, o, one.eval(t), true));
        }
        _ => {}
    }
    out
}
