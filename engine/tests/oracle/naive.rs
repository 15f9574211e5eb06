//! The rules of ranking from their definitions: every document, every reading of the query, every place of a word.

use std::collections::BTreeSet;

use lamina_engine::search::MatchingStrategy;

/// Searchable attributes of a document, the most important one first.
pub(crate) const FIELDS: [&str; 3] = ["title", "plot", "notes"];

#[derive(Clone, Debug)]
pub(crate) struct Doc {
    /// The words of each of [`FIELDS`].
    pub(crate) texts: [Vec<String>; FIELDS.len()],
    /// Number that the custom ranking rule `number:asc` compares.
    pub(crate) number: u32,
    pub(crate) deleted: bool,
}

/// Words that mean what others do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synonym {
    pub(crate) of: &'static [&'static str],
    pub(crate) words: &'static [&'static str],
}

/// Positions of one attribute: words follow each other.
fn fields(doc: &Doc) -> impl Iterator<Item = (u32, &[String])> {
    (0..).zip(doc.texts.iter().map(Vec::as_slice))
}

/// Optimal string alignment distance: substitutions, insertions, deletions, swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i][j] = if i == 0 {
                j
            } else if j == 0 {
                i
            } else {
                let mut best = (d[i - 1][j] + 1).min(d[i][j - 1] + 1);
                best = best.min(d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len()][b.len()]
}

/// Typo class of `word` as a reading of `query`, if it is one.
fn class(query: &str, prefix: bool, budget: usize, word: &str) -> Option<usize> {
    let (q, w): (Vec<char>, Vec<char>) = (query.chars().collect(), word.chars().collect());
    let d = if prefix {
        (0..=w.len()).map(|n| distance(&q, &w[..n])).min().unwrap_or(usize::MAX)
    } else {
        distance(&q, &w)
    };
    let cost = if d == 0 || q[0] == w[0] {
        d
    } else if d == 1 {
        2
    } else {
        return None;
    };
    (cost <= budget).then_some(cost)
}

#[derive(Clone, Debug)]
struct Node {
    first: usize,
    len: usize,
    text: String,
    prefix: bool,
    budget: usize,
    split: Option<(String, String)>,
    synonyms: Vec<&'static [&'static str]>,
}

fn budget(word: &str) -> usize {
    match word.chars().count() {
        0..5 => 0,
        5..9 => 1,
        _ => 2,
    }
}

fn best_split(docs: &[Doc], word: &str) -> Option<(String, String)> {
    let mut best: Option<(usize, String, String)> = None;
    for (at, _) in word.char_indices().skip(1) {
        let (l, r) = word.split_at(at);
        let count = docs
            .iter()
            .filter(|d| !d.deleted)
            .filter(|d| fields(d).any(|(_, ws)| ws.windows(2).any(|p| p[0] == l && p[1] == r)))
            .count();
        if count > best.as_ref().map_or(0, |b| b.0) {
            best = Some((count, l.into(), r.into()));
        }
    }
    best.map(|(_, l, r)| (l, r))
}

fn nodes(docs: &[Doc], query: &[String], prefix_last: bool, synonyms: &[Synonym]) -> Vec<Node> {
    let mut out = Vec::new();
    for first in 0..query.len() {
        for len in 1..=3.min(query.len() - first) {
            let text = query[first..first + len].concat();
            let mut split = best_split(docs, &text);
            if len == 2 && split.as_ref().is_some_and(|(l, r)| [l, r] == [&query[first], &query[first + 1]]) {
                split = None;
            }
            let budget = budget(&text).saturating_sub(len - 1);
            let synonyms = synonyms.iter().filter(|s| query[first..first + len] == *s.of).map(|s| s.words).collect();
            let prefix = prefix_last && first + len == query.len();
            out.push(Node { first, len, prefix, budget, split, synonyms, text });
        }
    }
    out
}

/// An end of a phrase that is not at this place.
const NOWHERE: u32 = u32::MAX;

/// (field, first position, last position, exact, phrase)
type Occurrence = (u32, u32, u32, bool, bool);

/// Occurrences of a node in a document, by typo class.
type Found = [Vec<Occurrence>; 3];

fn occurrences(doc: &Doc, node: &Node) -> Found {
    let mut out = Found::default();
    for (field, words) in fields(doc) {
        for (p, word) in (0..).zip(words) {
            if let Some(class) = class(&node.text, node.prefix, node.budget, word) {
                out[class].push((field, p, p, class == 0 && *word == node.text, false));
            }
        }
    }
    for words in &node.synonyms {
        if let [word] = words {
            let places = fields(doc).flat_map(|(field, words)| (0..).zip(words).map(move |(p, w)| (field, p, w)));
            out[0].extend(places.filter(|(.., w)| w == word).map(|(field, p, _)| (field, p, p, false, true)));
        } else {
            out[0].extend(ends(doc, words));
        }
    }
    if let Some((l, r)) = &node.split {
        out[1].extend(ends(doc, &[l, r]));
    }
    out
}

/// A document with these words next to each other counts with every place of the first and of the last of them.
fn ends(doc: &Doc, phrase: &[&str]) -> Vec<Occurrence> {
    if !fields(doc).any(|(_, words)| words.windows(phrase.len()).any(|w| w == phrase)) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (field, words) in fields(doc) {
        for (p, word) in (0..).zip(words) {
            if word == phrase[0] {
                out.push((field, p, NOWHERE, false, true));
            }
            if word == phrase[phrase.len() - 1] {
                out.push((field, NOWHERE, p, false, true));
            }
        }
    }
    out
}

fn position_cost(d: u32) -> u32 {
    [0, 1, 4, 7, 11, 16, 24, 64, 256, 1024].iter().position(|&max| d <= max).unwrap_or(10) as u32
}

fn bucket(p: u32) -> u32 {
    if p < 16 {
        p
    } else if p < 24 {
        24
    } else {
        f64::from(p).log2().ceil().exp2() as u32
    }
}

/// All sequences of nodes that cover `kept` terms from the start, single words first.
fn tilings(nodes: &[Node], kept: usize) -> Vec<Vec<usize>> {
    fn go(nodes: &[Node], at: usize, kept: usize, path: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
        if at == kept {
            out.push(path.clone());
            return;
        }
        for (i, n) in nodes.iter().enumerate().filter(|(_, n)| n.first == at && at + n.len <= kept) {
            path.push(i);
            go(nodes, at + n.len, kept, path, out);
            path.pop();
        }
    }
    let mut out = Vec::new();
    go(nodes, 0, kept, &mut Vec::new(), &mut out);
    out
}

/// Costs of a document: missing words, typo, proximity, attribute rank, word position, exact attribute, inexact words,
/// the document's number.
pub(crate) type Vector = [u32; 8];
/// Costs that belong to a reading, and of which the best reading has the least.
const OF_A_READING: [usize; 5] = [1, 2, 3, 4, 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Words,
    Typo,
    Proximity,
    AttributeRank,
    WordPosition,
    Attribute,
    Exactness,
    Number,
}

impl Rule {
    /// Returns the name of the rule in the settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rule::Words => "words",
            Rule::Typo => "typo",
            Rule::Proximity => "proximity",
            Rule::AttributeRank => "attributeRank",
            Rule::WordPosition => "wordPosition",
            Rule::Attribute => "attribute",
            Rule::Exactness => "exactness",
            Rule::Number => "number:asc",
        }
    }

    /// Returns the costs in a [`Vector`].
    fn costs(self) -> &'static [usize] {
        match self {
            Rule::Words => &[0],
            Rule::Typo => &[1],
            Rule::Proximity => &[2],
            Rule::AttributeRank => &[3],
            Rule::WordPosition => &[4],
            Rule::Attribute => &[3, 4],
            Rule::Exactness => &[5, 6],
            Rule::Number => &[7],
        }
    }
}

/// Places in a [`Vector`] that documents are ordered by, in this order.
#[derive(Clone, Debug)]
pub(crate) struct Order(Vec<usize>);

impl Order {
    /// `words` comes before any other rule that looks at the query.
    pub(crate) fn of(rules: &[Rule]) -> Order {
        let mut order = Vec::new();
        for &rule in rules {
            if rule != Rule::Number && !order.contains(&0) {
                order.push(0);
            }
            order.extend(rule.costs().iter().filter(|cost| !order.contains(cost)).copied().collect::<Vec<_>>());
        }
        Order(order)
    }

    pub(crate) fn has(&self, cost: usize) -> bool {
        self.0.contains(&cost)
    }

    /// Reports whether the score is made of everything by which hits are ordered. It does not include the numbers of
    /// documents.
    pub(crate) fn is_scored(&self) -> bool {
        self.0.iter().all(|cost| *cost < 7)
    }

    /// Reports whether one cost is compared before another one.
    fn has_before(&self, cost: usize, other: usize) -> bool {
        self.0.iter().take_while(|&&of| of != other).any(|&of| of == cost)
    }

    pub(crate) fn key(&self, vector: &Vector) -> Vec<u32> {
        self.0.iter().map(|&cost| vector[cost]).collect()
    }

    /// Returns the key by which readings of one document are compared.
    fn reading(&self, vector: &Vector) -> Vec<u32> {
        self.0.iter().filter(|cost| OF_A_READING.contains(cost)).map(|&cost| vector[cost]).collect()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) vector: Vector,
    pub(crate) max_typos: u32,
    pub(crate) doc: usize,
}

/// A query and what its words are in the documents.
struct Reading<'a> {
    nodes: &'a [Node],
    /// True for each term whose word is in any document.
    known: &'a [bool],
    order: &'a Order,
}

impl Reading<'_> {
    /// The costs of a document in its best way to be read as `tiling`; `found`: of each of the nodes.
    fn evaluate(&self, doc: &Doc, found: &[Found], tiling: &[usize], missing: u32) -> Option<Vector> {
        let per_node: Vec<&Found> = tiling.iter().map(|&n| &found[n]).collect();
        let mut best: Option<Vector> = None;
        let mut classes = vec![0; tiling.len()];
        loop {
            if classes.iter().zip(&per_node).all(|(&c, occ)| !occ[c].is_empty()) {
                let mut v: Vector = [missing, 0, 0, 0, 0, 2, 0, doc.number];
                for i in 0..tiling.len() {
                    self.add_costs(&mut v, i, tiling, &classes, &per_node);
                }
                v[5] = self.exact_attribute(doc, tiling, &classes, &per_node);
                // The path is chosen by the additive rules; the exact attribute follows from it.
                if best.as_ref().is_none_or(|b| self.order.reading(&v) < self.order.reading(b)) {
                    best = Some(v);
                }
            }
            let Some(i) = classes.iter().rposition(|&c| c < 2) else { break };
            classes[i] += 1;
            classes[i + 1..].fill(0);
        }
        best
    }

    /// The costs of the node at place `i` of `tiling`.
    fn add_costs(&self, v: &mut Vector, i: usize, tiling: &[usize], classes: &[usize], per_node: &[&Found]) {
        let (node, occ) = (&self.nodes[tiling[i]], &per_node[i][classes[i]]);
        let words = node.len as u32;
        v[1] += classes[i] as u32 + if node.len > 1 { words } else { 0 };
        v[2] += words - 1;
        if i > 0 {
            let before = &per_node[i - 1][classes[i - 1]];
            let mut cost = 3;
            for a in before.iter().filter(|a| a.2 != NOWHERE) {
                for b in occ.iter().filter(|b| b.0 == a.0 && b.1 != NOWHERE) {
                    if b.1 > a.2 {
                        cost = cost.min(b.1 - a.2 - 1);
                    } else if !a.4 && !b.4 && a.1 > b.2 {
                        cost = cost.min(a.1 - b.2);
                    }
                }
            }
            v[2] += cost;
        }
        let starts = || occ.iter().filter(|o| o.1 != NOWHERE);
        v[3] += words * starts().map(|o| o.0).min().unwrap();
        v[4] += starts()
            .map(|o| {
                let d = bucket(o.1).abs_diff(node.first as u32);
                (0..words).map(|i| position_cost(d + i)).sum::<u32>()
            })
            .min()
            .unwrap();
        v[6] += if classes[i] == 0 && node.len == 1 && occ.iter().any(|o| o.3) { 0 } else { words };
    }

    /// 0: an attribute is the query; 1: one begins with it; 2: none does.
    fn exact_attribute(&self, doc: &Doc, tiling: &[usize], classes: &[usize], per_node: &[&Found]) -> u32 {
        let nodes = self.nodes;
        let is_known = |node: &Node| self.known[node.first..][..node.len].contains(&true);
        let (exact, others): (Vec<usize>, Vec<usize>) = (0..tiling.len())
            .filter(|&i| is_known(&nodes[tiling[i]]))
            .partition(|&i| classes[i] == 0 && nodes[tiling[i]].len == 1);
        let firsts: Vec<usize> = exact.iter().map(|&i| nodes[tiling[i]].first).collect();
        // Unless `typo` has separated them, documents without a known word are not exact.
        let has_all = others.is_empty() || self.order.has_before(1, 5);
        if !has_all || firsts.is_empty() || !firsts.iter().enumerate().all(|(i, &f)| i == f) {
            return 2;
        }
        let mut least = 2;
        for (field, words) in fields(doc) {
            let starts = exact.iter().all(|&i| {
                let at = bucket(nodes[tiling[i]].first as u32);
                per_node[i][0].iter().any(|o| o.3 && o.0 == field && bucket(o.1) == at)
            });
            if starts {
                least = least.min(u32::from(words.len() != exact.len() || words.len() > 30));
            }
        }
        least
    }
}

/// Requirements of the readings of a query's first terms.
struct Used {
    /// Documents that match.
    covered: BTreeSet<usize>,
    /// Concatenations that some document needs.
    nodes: BTreeSet<usize>,
    max_typos: u32,
}

/// `matching`: the documents of a reading.
fn used(nodes: &[Node], kept: usize, strategy: MatchingStrategy, matching: impl Fn(&[usize]) -> Vec<usize>) -> Used {
    let (mut covered, mut used, mut max_typos) = (BTreeSet::new(), BTreeSet::new(), 0);
    for tiling in tilings(nodes, kept) {
        let new: Vec<usize> = matching(&tiling).into_iter().filter(|d| !covered.contains(d)).collect();
        // With every word required there is no `words` rule, and nothing narrows the readings.
        if new.is_empty() && strategy != MatchingStrategy::All {
            continue;
        }
        covered.extend(new);
        let cost = |n: &usize| {
            let n = &nodes[*n];
            (if n.len > 1 { n.len } else { 0 } + n.budget.max(1)) as u32
        };
        max_typos = max_typos.max(tiling.iter().map(cost).sum());
        used.extend(tiling.iter().copied().filter(|&n| nodes[n].len > 1));
    }
    Used { covered, nodes: used, max_typos }
}

/// Query of a test.
pub(crate) struct Asked<'a> {
    pub(crate) words: &'a [String],
    /// True if the last word is a prefix.
    pub(crate) prefix_last: bool,
    /// A word that excludes.
    pub(crate) without: Option<&'a str>,
    pub(crate) strategy: MatchingStrategy,
}

/// All hits, in order.
pub(crate) fn expected(docs: &[Doc], synonyms: &[Synonym], asked: &Asked<'_>, order: &Order) -> Vec<Expected> {
    let &Asked { words: query, prefix_last, without, strategy } = asked;
    let nodes = nodes(docs, query, prefix_last, synonyms);
    let known: Vec<bool> =
        query.iter().map(|w| docs.iter().any(|d| !d.deleted && fields(d).any(|(_, ws)| ws.contains(w)))).collect();
    let found: Vec<Vec<Found>> = docs.iter().map(|doc| nodes.iter().map(|n| occurrences(doc, n)).collect()).collect();
    // The word itself, as it is: nothing with typos, and nothing that begins with it.
    let is_excluded = |doc: usize| {
        without.is_some_and(|word| fields(&docs[doc]).any(|(_, words)| words.iter().any(|other| other == word)))
    };
    let reading = Reading { nodes: &nodes, known: &known, order };
    let evaluate = |doc: usize, tiling: &[usize], missing| reading.evaluate(&docs[doc], &found[doc], tiling, missing);
    let mut out: Vec<Expected> = Vec::new();
    let mut seen = BTreeSet::new();
    let lowest = if strategy == MatchingStrategy::All { query.len() } else { 1 };
    for kept in (lowest..=query.len()).rev() {
        let missing = (query.len() - kept) as u32;
        let matching = |tiling: &[usize]| -> Vec<usize> {
            (0..docs.len())
                .filter(|d| !docs[*d].deleted && !seen.contains(d) && !is_excluded(*d))
                .filter(|&d| evaluate(d, tiling, missing).is_some())
                .collect()
        };
        let Used { covered, nodes: used, max_typos } = used(&nodes, kept, strategy, matching);
        for &doc in &covered {
            let best = tilings(&nodes, kept)
                .into_iter()
                .filter(|t| t.iter().all(|n| nodes[*n].len == 1 || used.contains(n)))
                .filter_map(|t| evaluate(doc, &t, missing))
                .min_by_key(|v| order.reading(v));
            out.push(Expected { vector: best.expect("covered by a reading"), max_typos, doc });
        }
        seen.extend(covered);
    }
    out.sort_by_cached_key(|e| (order.key(&e.vector), e.doc));
    out
}
