//! The terms of one segment that each node of a query graph stands for, by typo cost.
//!
//! Expansions are complete: every term of the dictionary within the accepted distance is found, by intersecting the
//! dictionary with a Levenshtein automaton (Schulz and Mihov, 2002, with transpositions).

use std::ops::Range;
use std::sync::LazyLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};

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
    let mut typo = |term: &[u8], ordinal: TermOrdinal, cost: u8| {
        let number = || std::str::from_utf8(term).is_ok_and(is_number);
        if !allowed(ordinal) || (options.typos.exact_numbers && number()) {
            return;
        }
        match cost {
            1 => out.one_typo.push(ordinal),
            2 => out.two_typos.push(ordinal),
            _ => {}
        }
    };
    let first = automata.first.as_bytes();
    if let Some(dfa) = automata.two.as_ref().or(automata.one.as_ref()) {
        same_first(terms, dfa, first, |term, ordinal, typos| typo(term, ordinal, typos));
    }
    if let (Some(one), Some(_)) = (&automata.one, &automata.two) {
        other_first(terms, one, first, |term, ordinal, typos| typo(term, ordinal, typos + 1));
        out.two_typos.sort_unstable();
    }
    out
}

/// Calls `f` with the terms that begin with the character `first` and are accepted, and the number of typos.
fn same_first(terms: &Terms, dfa: &DFA, first: &[u8], mut f: impl FnMut(&[u8], TermOrdinal, u8)) {
    let step = |(depth, state): (usize, u32), byte| {
        if first.get(depth).is_some_and(|&b| b != byte) {
            return None;
        }
        alive(dfa.transition(state, byte)).map(|state| (depth + 1, state))
    };
    terms.walk((0, dfa.initial_state()), step, |(depth, state), term, ordinal| {
        if let (true, Distance::Exact(typos)) = (depth >= first.len(), dfa.distance(state)) {
            f(term, ordinal, typos);
        }
    });
}

/// Calls `f` with the terms that do not begin with the character `first` and are accepted, and the number of typos.
fn other_first(terms: &Terms, dfa: &DFA, first: &[u8], mut f: impl FnMut(&[u8], TermOrdinal, u8)) {
    // How many bytes of the character have been met; `None` once another one came.
    let step = |(same, state): (Option<usize>, u32), byte| {
        let same = same.filter(|&n| first.get(n) == Some(&byte)).map(|n| n + 1);
        if same == Some(first.len()) {
            return None;
        }
        alive(dfa.transition(state, byte)).map(|state| (same, state))
    };
    terms.walk((Some(0), dfa.initial_state()), step, |(_, state), term, ordinal| {
        if let Distance::Exact(typos @ 1..) = dfa.distance(state) {
            f(term, ordinal, typos);
        }
    });
}

/// The state, unless nothing can be accepted from it on.
fn alive(state: u32) -> Option<u32> {
    (state != SINK_STATE).then_some(state)
}
