//! What the words of a question stand for: sets of documents and terms, and what each is worth.
//!
//! A word may be read as itself (or a synonym), as any of its forms, as the beginning of a word if it is the last one, as a
//! part of the word that it makes with its neighbours, or as a misspelling.
//! The expansions of a word are ordered: a document counts with the one that gives it most. A later expansion has the
//! documents of the earlier ones too when its frequency is taken, so it never weighs more than the word itself, and a
//! discount on top.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;
use lamina_index::caches::FormDocs;
use lamina_segment::bits::DocSet;
use lamina_text::id::TermOrdinal;

use super::statistics::Statistics;
use crate::query::SegmentQuery;
use crate::query::graph::{Node, QueryGraph};

/// The word itself, the word and its other forms together, the beginning of a word, a word made of it and its neighbours, a
/// word at one typo (or the word cut in two), a word at two.
pub(super) const EXPANSIONS: usize = 6;
pub(super) const EXACT: usize = 0;
pub(super) const FORMS: usize = 1;
pub(super) const COMPLETION: usize = 2;
const JOINED: usize = 3;
pub(super) const ONE_TYPO: usize = 4;
/// Discount for a document that contains a word in a certain term expansion only. Other forms need none, because their
/// frequency is that of all forms together.
pub(super) const DISCOUNTS: [f64; EXPANSIONS] = [1.0, 1.0, 0.6, 0.5, 0.5, 0.25];

/// Bonus for two adjacent words of the question where they occur side by side, as a share of the smaller weight of the
/// two.
pub(super) const NEAR: f64 = 0.1;

/// A word may be a misspelling when at most one document in this many holds it.
const DOUBTFUL_SHARE: u64 = 1000;
/// … of forms that so many times as many documents hold.
const LIKELIER: u64 = 10;

/// Reports whether a word that `docs` of `documents` documents contain may be a misspelling.
pub(crate) fn is_doubtful(docs: u64, documents: u64) -> bool {
    docs * DOUBTFUL_SHARE <= documents
}

/// Reports whether a word that `docs` documents contain is a misspelling of a form that `form_docs` contain.
pub(super) fn is_likelier(form_docs: u64, docs: u64) -> bool {
    form_docs >= (docs * LIKELIER).max(1)
}

/// The terms of one segment that belong to one expansion of a word.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    pub(super) words: Vec<TermOrdinal>,
    /// Other forms of the word; ascending.
    pub(super) stems: Vec<TermOrdinal>,
    /// Beginning with the word; itself and stop words left out by the reader.
    pub(super) completions: Range<TermOrdinal>,
    pub(super) sequences: Vec<Vec<Option<TermOrdinal>>>,
}

impl Forms {
    /// Reports whether these are at most one word.
    fn is_word(&self) -> bool {
        self.words.len() <= 1 && self.completions.is_empty() && self.sequences.is_empty()
    }
}

/// One expansion of one word over all segments.
#[derive(Debug)]
pub(super) struct Expansion {
    /// Index of the word in the query.
    pub(super) term: usize,
    pub(super) kind: usize,
    /// Weight: the score of one occurrence in a field of average length.
    pub(super) worth: f64,
    /// The forms of the words in each segment.
    pub(super) forms: Vec<Forms>,
    /// Per segment: documents of this expansion that have no better one of the same word.
    pub(super) docs: Vec<DocSet>,
    /// Per segment, of the expansion as any form: which documents hold several forms, whatever their best expansion is.
    pub(super) of_forms: Vec<Option<Arc<FormDocs>>>,
}

impl Expansion {
    /// Reports whether no document in [`docs`](Self::docs) of a segment counts this expansion by more than one word that `has_max_impact`.
    fn is_of_words(&self, segment: usize, has_max_impact: impl Fn(TermOrdinal) -> bool) -> bool {
        let forms = &self.forms[segment];
        let are_words = forms.completions.is_empty() && forms.sequences.is_empty();
        // Those with several forms are known.
        let are_separate = forms.words.len() <= 1 || self.kind == FORMS;
        are_words && are_separate && forms.words.iter().chain(&forms.stems).all(|&word| has_max_impact(word))
    }
}

/// Reports whether no document of a word, but for those that hold several of its forms, counts it by more than one word that
/// `has_max_impact`. A document may have several of its expansions.
pub(super) fn are_of_words(
    of_word: &[Expansion],
    segment: usize,
    has_max_impact: impl Fn(TermOrdinal) -> bool,
) -> bool {
    of_word.iter().all(|expansion| expansion.is_of_words(segment, &has_max_impact))
}

/// Everything the words of a question stand for.
#[derive(Debug)]
pub(super) struct Expansions {
    /// By word, better ones first; none without documents.
    pub(super) list: Vec<Expansion>,
    /// Sum of the weights of all words, including those that no document contains, and of the bonuses for adjacent
    /// words.
    pub(super) worth: f64,
    /// By word: what it and the one before it add where they stand side by side.
    pub(super) near: Vec<f64>,
}

/// A word whose expansions are looked for.
struct QueryWord<'a> {
    node: usize,
    term: usize,
    /// Nodes of the words that it makes with its neighbours.
    joined: &'a [usize],
    /// Number of times that the question contains the word.
    times: f64,
}

impl Expansions {
    /// The expansions of each word.
    pub(super) fn of_words(&self) -> impl Iterator<Item = &[Expansion]> {
        self.list.chunk_by(|one, next| one.term == next.term)
    }

    /// Returns the weight that a word adds side by side with its neighbours.
    pub(super) fn beside(&self, term: usize) -> f64 {
        self.near.iter().skip(term).take(2).sum()
    }

    /// `graph`: one node per word, and the concatenations that count. Cost: one set of documents per expansion and segment.
    pub(super) fn new(graph: &QueryGraph, segments: &[&SegmentQuery<'_>], statistics: &Statistics) -> Expansions {
        let mut expansions = Expansions { list: Vec::new(), worth: 0.0, near: Vec::new() };
        let mut worths = vec![0.0; graph.terms.len()];
        let nodes = || graph.nodes.iter().enumerate();
        for (node, term) in nodes().filter(|(_, node)| !node.is_ngram()).map(|(index, node)| (index, node.first)) {
            let covers = |node: &Node| node.is_ngram() && (node.first..node.first + node.len).contains(&term);
            let joined: Vec<usize> = nodes().filter(|(_, node)| covers(node)).map(|(index, _)| index).collect();
            let times = f64::from(graph.terms[term].times);
            let first = expansions.list.len();
            expansions.read(&QueryWord { node, term, joined: &joined, times }, segments, statistics);
            expansions.worth += match expansions.list.get(first) {
                Some(expansion) => {
                    worths[term] = expansion.worth;
                    expansion.worth
                }
                None => times * statistics.idf(0),
            };
        }
        expansions.near = near(graph, &worths);
        expansions.worth += expansions.near.iter().sum::<f64>();
        expansions
    }

    /// Adds the expansions of a word that some document has, better ones first.
    fn read(&mut self, asked: &QueryWord<'_>, segments: &[&SegmentQuery<'_>], statistics: &Statistics) {
        let first = self.list.len();
        // Live documents of all expansions so far, and of those that need no typo.
        let (mut live, mut known) = (0, 0);
        for (kind, discount) in DISCOUNTS.into_iter().enumerate() {
            let of_forms: Vec<Option<Arc<FormDocs>>> = match kind {
                FORMS => segments.iter().map(|query| query.docs_of_forms(asked.node)).collect(),
                _ => vec![None; segments.len()],
            };
            if kind == FORMS && of_forms.iter().all(Option::is_none) {
                continue;
            }
            let nodes = if kind == JOINED { asked.joined } else { std::slice::from_ref(&asked.node) };
            let forms = forms(nodes, kind, segments, known);
            let mut docs: Vec<DocSet> = match kind {
                FORMS => {
                    of_forms.iter().map(|of| of.as_ref().map_or_else(DocSet::empty, |of| of.others.clone())).collect()
                }
                _ => segments.iter().zip(&forms).map(|(query, forms)| documents(query, nodes, kind, forms)).collect(),
            };
            let has_several = of_forms.iter().flatten().any(|of| !of.several.is_empty());
            if docs.iter().all(DocSet::is_empty) && !has_several {
                continue;
            }
            let better = &self.list[first..];
            // Other forms are apart from the word itself already.
            let is_apart = kind == FORMS && better.iter().all(|expansion| expansion.forms.iter().all(Forms::is_word));
            if !is_apart {
                for (segment, docs) in docs.iter_mut().enumerate() {
                    better.iter().for_each(|expansion| docs.and_not_assign(&expansion.docs[segment]));
                }
            }
            live += segments.iter().zip(&docs).map(|(query, docs)| u64::from(query.live_len(docs))).sum::<u64>();
            if live == 0 {
                continue;
            }
            let worth = asked.times * discount * statistics.idf(live);
            if kind < JOINED {
                known = live;
            }
            self.list.push(Expansion { term: asked.term, kind, worth, forms, docs, of_forms });
        }
    }
}

/// Computes, for each word, the bonus of occurring side by side with the word before it. `worths`: weights of the
/// words, 0 for those that no document contains.
fn near(graph: &QueryGraph, worths: &[f64]) -> Vec<f64> {
    let are_adjacent = |at: usize| {
        let [before, word] = [&graph.terms[at - 1], &graph.terms[at]];
        !before.is_phrase() && !word.is_phrase() && before.last_position.checked_add(1) == Some(word.first_position)
    };
    let of = |at: usize| if at > 0 && are_adjacent(at) { NEAR * worths[at].min(worths[at - 1]) } else { 0.0 };
    (0..worths.len()).map(of).collect()
}

/// `known`: documents that hold the word without typo.
fn forms(nodes: &[usize], kind: usize, segments: &[&SegmentQuery<'_>], known: u64) -> Vec<Forms> {
    let of = |query: &SegmentQuery<'_>| -> Forms {
        let mut forms = Forms::default();
        for e in nodes.iter().map(|&node| &query.expansions()[node]) {
            match kind {
                EXACT | FORMS | JOINED => {
                    forms.words.extend(e.exact);
                    if kind == FORMS {
                        forms.stems.extend_from_slice(&e.forms);
                    }
                    forms.sequences.extend(e.synonyms.iter().chain(&e.phrase).cloned());
                }
                COMPLETION => forms.completions = e.prefix.clone(),
                ONE_TYPO => {
                    forms.words.extend_from_slice(&e.one_typo);
                    forms.sequences.extend(e.split.iter().map(|pair| pair.map(Some).to_vec()));
                }
                _ => forms.words.extend_from_slice(&e.two_typos),
            }
        }
        // A repeated word makes the same word with both of its neighbours.
        forms.words.sort_unstable();
        forms.words.dedup();
        forms
    };
    let mut forms: Vec<Forms> = segments.iter().map(|query| of(query)).collect();
    if kind >= ONE_TYPO && forms.iter().any(|forms| !forms.words.is_empty()) {
        keep_likelier(&mut forms, segments, known);
    }
    forms
}

/// Drops the forms that too few documents hold to take the word for a misspelling of them.
fn keep_likelier(forms: &mut [Forms], segments: &[&SegmentQuery<'_>], known: u64) {
    let mut docs_of: HashMap<Vec<u8>, u64> = HashMap::new();
    for (query, forms) in segments.iter().zip(forms.iter()) {
        for &word in &forms.words {
            let docs = query.live_len(&query.misspelt_docs(&[word]));
            *docs_of.entry(query.reader().terms().term(word)).or_default() += u64::from(docs);
        }
    }
    for (query, forms) in segments.iter().zip(forms) {
        let terms = query.reader().terms();
        forms.words.retain(|&word| docs_of.get(&terms.term(word)).is_some_and(|&docs| is_likelier(docs, known)));
    }
}

fn documents(query: &SegmentQuery<'_>, nodes: &[usize], kind: usize, forms: &Forms) -> DocSet {
    let mut docs = DocSet::empty();
    nodes.iter().for_each(|&node| docs.or_assign(&documents_of(query, node, kind, forms)));
    docs
}

fn documents_of(query: &SegmentQuery<'_>, node: usize, kind: usize, forms: &Forms) -> DocSet {
    let is_prefix = !query.expansions()[node].prefix.is_empty();
    match kind {
        JOINED => query.docs(node, 0).clone(),
        EXACT if !is_prefix => query.docs(node, 0).clone(),
        EXACT => {
            let mut docs = query.words_docs(&forms.words);
            forms.sequences.iter().for_each(|words| docs.or_assign(&query.phrase(words)));
            docs
        }
        COMPLETION if is_prefix => query.docs(node, 0).clone(),
        COMPLETION => DocSet::empty(),
        _ => {
            let mut docs = query.misspelt_docs(&forms.words);
            if let Some(split) = query.split_docs(node).filter(|_| !forms.sequences.is_empty()) {
                docs.or_assign(split);
            }
            docs
        }
    }
}
