//! The query graph: every way to read the terms of a query.
//!
//! A [`Node`] covers one to three consecutive terms. A *path* is a sequence of nodes that covers each kept term once,
//! in order. Nodes of two or three terms are concatenations (`sun flower` -> `sunflower`).

use lamina_text::text::WORD_BYTES_MAX;

use super::options::QueryOptions;
use super::parser::{QueryTerm, TermKind};

/// Terms joined into one word at most.
pub(crate) const NGRAM_MAX: usize = 3;

/// One reading of `len` consecutive terms, starting at term `first`.
#[derive(Clone, Debug)]
pub struct Node {
    pub first: usize,
    pub len: usize,
    /// The word that is looked up; empty for phrases.
    pub text: String,
    pub prefix: bool,
    /// Typos accepted: 0..=2.
    pub budget: u8,
    /// A quoted phrase.
    pub phrase: Option<Vec<String>>,
    /// Sequences of words that mean the same.
    pub synonyms: Vec<Vec<String>>,
    /// May be read as two adjacent words (`sunflower` -> `sun flower`).
    pub can_split: bool,
    /// For concatenations: the words that are joined (a split must not give them back).
    pub joined: Vec<String>,
    /// Positions in the query, both ends included.
    pub first_position: u16,
    pub last_position: u16,
}

impl Node {
    /// The reading of `terms` as `text`, and as nothing else.
    fn literal(terms: &[QueryTerm], first: usize, text: String) -> Node {
        Node {
            first,
            len: terms.len(),
            text,
            prefix: false,
            budget: 0,
            phrase: None,
            synonyms: Vec::new(),
            can_split: false,
            joined: Vec::new(),
            first_position: terms[0].first_position,
            last_position: terms[terms.len() - 1].last_position,
        }
    }

    /// Typo cost of a concatenation before any typo: 0, 2 or 3.
    pub(crate) fn base_cost(&self) -> u32 {
        if self.len == 1 { 0 } else { self.len as u32 }
    }

    /// Largest number of typos (a split counts one) this node can cost above its base.
    pub fn max_typos(&self) -> u32 {
        u32::from(self.budget).max(u32::from(self.phrase.is_none()))
    }

    pub(crate) fn is_ngram(&self) -> bool {
        self.len > 1
    }
}

/// Terms and nodes of a query; nodes are sorted by first term, then length.
#[derive(Clone, Debug, Default)]
pub struct QueryGraph {
    pub terms: Vec<QueryTerm>,
    pub nodes: Vec<Node>,
}

impl QueryGraph {
    /// Builds all nodes. Cost: linear in the number of terms.
    pub fn new(terms: Vec<QueryTerm>, options: &QueryOptions) -> QueryGraph {
        let mut nodes = Vec::with_capacity(terms.len() * NGRAM_MAX);
        for first in 0..terms.len() {
            for len in 1..=NGRAM_MAX.min(terms.len() - first) {
                nodes.extend(node(&terms[first..first + len], first, options));
            }
        }
        QueryGraph { terms, nodes }
    }

    /// The nodes that start at a term, shortest first, with their numbers.
    pub(crate) fn starting_at(&self, first: usize) -> impl Iterator<Item = (usize, &Node)> {
        let start = self.nodes.partition_point(|node| node.first < first);
        (start..).zip(&self.nodes[start..]).take_while(move |(_, node)| node.first == first)
    }

    /// Words of all terms (phrases count their words).
    pub(crate) fn word_count(&self) -> u32 {
        self.terms.iter().map(QueryTerm::word_count).sum()
    }
}

/// The reading of `terms` as one, if there is one; `first`: the number of the first of them.
fn node(terms: &[QueryTerm], first: usize, options: &QueryOptions) -> Option<Node> {
    if let [QueryTerm { kind: TermKind::Phrase(words), .. }] = terms {
        return Some(Node { phrase: Some(words.clone()), ..Node::literal(terms, first, String::new()) });
    }
    let gap = |pair: &[QueryTerm]| u32::from(pair[1].first_position).wrapping_sub(u32::from(pair[0].last_position) + 1);
    if terms.windows(2).any(|pair| gap(pair) != u32::from(pair[1].dropped_before)) {
        return None;
    }
    let words = words(terms)?;
    let text = words.concat();
    if text.len() > WORD_BYTES_MAX {
        // Too long to be indexed: matches nothing, but keeps its place among the terms.
        return (terms.len() == 1).then(|| Node::literal(terms, first, text));
    }
    let synonyms = options.synonyms.get(words.as_slice()).cloned().unwrap_or_default();
    // Words with stop words between them are not written as one.
    if terms.windows(2).any(|pair| gap(pair) != 0) {
        // Matches no word, since none holds a space.
        let spaced = words.join(" ");
        return (!synonyms.is_empty()).then(|| Node { synonyms, joined: words, ..Node::literal(terms, first, spaced) });
    }
    let tail = &terms[terms.len() - 1];
    Some(Node {
        prefix: matches!(tail.kind, TermKind::Word { prefix: true, .. }),
        budget: options.typos.budget(&text).saturating_sub(terms.len() as u8 - 1),
        synonyms,
        can_split: options.typos.enabled,
        joined: if terms.len() > 1 { words } else { Vec::new() },
        ..Node::literal(terms, first, text)
    })
}

/// The words of `terms`; none where one is a phrase.
fn words(terms: &[QueryTerm]) -> Option<Vec<String>> {
    let word = |term: &QueryTerm| match &term.kind {
        TermKind::Word { text, .. } => Some(text.clone()),
        TermKind::Phrase(_) => None,
    };
    terms.iter().map(word).collect()
}
