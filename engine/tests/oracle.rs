//! Ranked search against a naive oracle: it looks at every document and computes the rules from their definitions,
//! with no index, no bitmap, no automaton and no shortest path. Hits, order, totals and score details must agree on
//! random corpora and queries, whatever the number of segments and deleted documents.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};
use lamina_engine::rank::{ExactMatch, ScoreDetail};
use lamina_engine::search::{MatchingStrategy, SearchRequest, search};
use lamina_engine::storage::MemoryDirectory;
use proptest::prelude::*;

/// A small vocabulary in which words are prefixes, misspellings, halves and concatenations of each other.
const WORDS: &[&str] = &[
    "sun",
    "flower",
    "sunflower",
    "sunflowers",
    "flowers",
    "flow",
    "sunny",
    "fun",
    "funflower",
    "tower",
    "towers",
    "the",
    "a",
    "moon",
    "moonlight",
    "light",
    "lights",
    "night",
    "knight",
    "nights",
    "moonlit",
    "s",
    "su",
    "car",
];
const QUERY_WORDS: &[&str] = &[
    "sun",
    "flower",
    "sunflower",
    "sunflwoer",
    "flowr",
    "flo",
    "sunf",
    "tower",
    "moon",
    "light",
    "moonlight",
    "moonlihgt",
    "night",
    "nigt",
    "knights",
    "su",
    "the",
    "sunflowerlight",
    "car",
    "nothing",
];

#[derive(Clone, Debug)]
struct Doc {
    title: Vec<String>,
    body: Vec<String>,
    deleted: bool,
}

/// Positions of one attribute: words follow each other.
fn fields(doc: &Doc) -> [(u32, &[String]); 2] {
    [(0, &doc.title), (1, &doc.body)]
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
            .filter(|d| fields(d).iter().any(|(_, ws)| ws.windows(2).any(|p| p[0] == l && p[1] == r)))
            .count();
        if count > best.as_ref().map_or(0, |b| b.0) {
            best = Some((count, l.into(), r.into()));
        }
    }
    best.map(|(_, l, r)| (l, r))
}

fn nodes(docs: &[Doc], query: &[String], prefix_last: bool) -> Vec<Node> {
    let mut out = Vec::new();
    for first in 0..query.len() {
        for len in 1..=3.min(query.len() - first) {
            let text = query[first..first + len].concat();
            let mut split = best_split(docs, &text);
            if len == 2 && split.as_ref().is_some_and(|(l, r)| [l, r] == [&query[first], &query[first + 1]]) {
                split = None;
            }
            let budget = budget(&text).saturating_sub(len - 1);
            out.push(Node { first, len, prefix: prefix_last && first + len == query.len(), budget, split, text });
        }
    }
    out
}

/// An end of a phrase that is not at this place.
const NOWHERE: u32 = u32::MAX;

/// (field, first position, last position, exact, phrase)
type Occurrence = (u32, u32, u32, bool, bool);

fn occurrences(doc: &Doc, node: &Node, wanted: usize) -> Vec<Occurrence> {
    let mut out = Vec::new();
    for (field, words) in fields(doc) {
        for (p, word) in words.iter().enumerate() {
            let p = p as u32;
            if class(&node.text, node.prefix, node.budget, word) == Some(wanted) {
                out.push((field, p, p, wanted == 0 && *word == node.text, false));
            }
        }
    }
    // A document with both halves next to each other counts with every place of the first and of the second.
    let split = node.split.as_ref().filter(|_| wanted == 1);
    let adjacent =
        |l: &str, r: &str| fields(doc).iter().any(|(_, words)| words.windows(2).any(|w| w[0] == l && w[1] == r));
    if let Some((l, r)) = split.filter(|(l, r)| adjacent(l, r)) {
        for (field, words) in fields(doc) {
            for (p, word) in words.iter().enumerate() {
                if word == l {
                    out.push((field, p as u32, NOWHERE, false, true));
                }
                if word == r {
                    out.push((field, NOWHERE, p as u32, false, true));
                }
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

/// missing words, typo, proximity, attribute rank, word position, exact attribute, inexact words
type Vector = [u32; 7];

#[derive(Clone, Debug, PartialEq)]
struct Expected {
    vector: Vector,
    max_typos: u32,
    doc: usize,
}

fn evaluate(doc: &Doc, nodes: &[Node], tiling: &[usize], missing: u32, known: &[bool]) -> Option<Vector> {
    let per_node: Vec<Vec<Vec<Occurrence>>> =
        tiling.iter().map(|&n| (0..3).map(|c| occurrences(doc, &nodes[n], c)).collect()).collect();
    let mut best: Option<Vector> = None;
    let mut classes = vec![0; tiling.len()];
    loop {
        if classes.iter().zip(&per_node).all(|(&c, occ)| !occ[c].is_empty()) {
            let mut v: Vector = [missing, 0, 0, 0, 0, 2, 0];
            for (i, &n) in tiling.iter().enumerate() {
                let (node, occ) = (&nodes[n], &per_node[i][classes[i]]);
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
            let exact: Vec<usize> = (0..tiling.len())
                .filter(|&i| classes[i] == 0 && nodes[tiling[i]].len == 1 && known[nodes[tiling[i]].first])
                .collect();
            let firsts: Vec<usize> = exact.iter().map(|&i| nodes[tiling[i]].first).collect();
            if !firsts.is_empty() && firsts.iter().enumerate().all(|(i, &f)| i == f) {
                for (field, words) in fields(doc) {
                    let starts = exact.iter().all(|&i| {
                        let at = bucket(nodes[tiling[i]].first as u32);
                        per_node[i][0].iter().any(|o| o.3 && o.0 == field && bucket(o.1) == at)
                    });
                    if starts {
                        v[5] = v[5].min(u32::from(words.len() != exact.len() || words.len() > 30));
                    }
                }
            }
            // The path is chosen by the additive rules; the exact attribute follows from it.
            let order = |v: &Vector| [v[1], v[2], v[3], v[4], v[6]];
            if best.as_ref().is_none_or(|b| order(&v) < order(b)) {
                best = Some(v);
            }
        }
        let Some(i) = classes.iter().rposition(|&c| c < 2) else { break };
        classes[i] += 1;
        classes[i + 1..].fill(0);
    }
    best
}

fn expected(docs: &[Doc], query: &[String], prefix_last: bool, strategy: MatchingStrategy) -> Vec<Expected> {
    let nodes = nodes(docs, query, prefix_last);
    let known: Vec<bool> = query
        .iter()
        .map(|w| docs.iter().any(|d| !d.deleted && fields(d).iter().any(|(_, ws)| ws.contains(w))))
        .collect();
    let mut out: Vec<Expected> = Vec::new();
    let mut seen = BTreeSet::new();
    let lowest = if strategy == MatchingStrategy::All { query.len() } else { 1 };
    for kept in (lowest..=query.len()).rev() {
        let missing = (query.len() - kept) as u32;
        let matching = |tiling: &[usize]| -> Vec<usize> {
            (0..docs.len())
                .filter(|d| !docs[*d].deleted && !seen.contains(d))
                .filter(|&d| evaluate(&docs[d], &nodes, tiling, missing, &known).is_some())
                .collect()
        };
        // A reading with concatenations counts only when some document needs it.
        let mut covered = BTreeSet::new();
        let mut used: BTreeSet<usize> = BTreeSet::new();
        let mut max_typos = 0;
        for tiling in tilings(&nodes, kept) {
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
        for &doc in &covered {
            let best = tilings(&nodes, kept)
                .into_iter()
                .filter(|t| t.iter().all(|n| nodes[*n].len == 1 || used.contains(n)))
                .filter_map(|t| evaluate(&docs[doc], &nodes, &t, missing, &known))
                .min_by_key(|v| [v[1], v[2], v[3], v[4], v[6]]);
            out.push(Expected { vector: best.expect("covered by a reading"), max_typos, doc });
        }
        seen.extend(covered);
    }
    out.sort_by_key(|e| (e.vector, e.doc));
    out
}

fn index(docs: &[Doc], cuts: &[usize]) -> Index {
    let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).expect("created");
    let settings = serde_json::from_value(serde_json::json!({ "searchableAttributes": ["title", "body"] })).unwrap();
    let mut operations = vec![vec![Operation::Settings(Box::new(settings))]];
    let mut start = 0;
    for end in cuts.iter().copied().chain([docs.len()]) {
        let end = end.clamp(start, docs.len());
        let lines: String = (start..end)
            .map(|i| {
                let d = &docs[i];
                format!("{}\n", serde_json::json!({"id": i, "title": d.title.join(" "), "body": d.body.join(" ")}))
            })
            .collect();
        start = end;
        if !lines.is_empty() {
            operations.push(vec![Operation::Upsert(Upsert {
                payload: Payload::Bytes(lines.into_bytes().into()),
                method: WriteMethod::Replace,
                primary_key: None,
                skip_creation: false,
            })]);
        }
    }
    let gone = (0..docs.len()).filter(|&i| docs[i].deleted).map(|i| i.to_string()).collect();
    operations.push(vec![Operation::DeleteIds(gone)]);
    for (batch, operations) in operations.iter().enumerate() {
        let note = CommitNote::new(batch as u64, |_| Vec::new());
        let results = index.apply(operations, note, &Progress::default(), &AtomicBool::new(false)).expect("applied");
        results.into_iter().for_each(|r| {
            r.expect("no operation fails");
        });
    }
    index
}

fn words(list: &'static [&'static str], len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(proptest::sample::select(list).prop_map(str::to_owned), len)
}

/// A document with fewer than `body_max` words in its body.
fn doc(body_max: usize) -> impl Strategy<Value = Doc> {
    (words(WORDS, 0..5), words(WORDS, 0..body_max), proptest::bool::weighted(0.1))
        .prop_map(|(title, body, deleted)| Doc { title, body, deleted })
}

/// Searches and compares. Each document of `docs` is in the index `copies` times, all of them after each other.
fn check(
    docs: &[Doc],
    copies: usize,
    cuts: &[usize],
    queries: &[(Vec<String>, bool, bool)],
    limit: usize,
) -> Result<(), TestCaseError> {
    let all: Vec<Doc> = docs.iter().cycle().take(docs.len() * copies).cloned().collect();
    let index = index(&all, cuts);
    let snapshot = index.snapshot();
    for (query, prefix, all) in queries {
        let strategy = if *all { MatchingStrategy::All } else { MatchingStrategy::Last };
        let text = query.join(" ") + if *prefix { "" } else { " " };
        let request = SearchRequest { query: Some(text.clone()), limit, matching: strategy, ..Default::default() };
        let result = search(&snapshot, &request).expect("valid request");
        let one_of_each = expected(docs, query, *prefix, strategy);
        prop_assert_eq!(result.total, (one_of_each.len() * copies) as u64, "total of {:?}", text);
        let got: Vec<(usize, Vector, u32)> = result
            .hits
            .iter()
            .map(|h| {
                let json: serde_json::Value = serde_json::from_slice(&snapshot.document(h.address).unwrap()).unwrap();
                let (vector, max_typos) = vector_of(&h.details);
                (json["id"].as_u64().unwrap() as usize, vector, max_typos)
            })
            .collect();
        let mut want: Vec<Expected> = (0..copies)
            .flat_map(|copy| one_of_each.iter().map(move |e| Expected { doc: copy * docs.len() + e.doc, ..e.clone() }))
            .collect();
        want.sort_by_key(|e| (e.vector, e.doc));
        // The words that are present exactly are only told when the attribute does not match.
        let want: Vec<(usize, Vector, u32)> = want
            .iter()
            .take(limit)
            .map(|e| {
                let mut v = e.vector;
                if v[5] < 2 {
                    v[6] = 0;
                }
                (e.doc, v, e.max_typos)
            })
            .collect();
        prop_assert_eq!(got, want, "hits of {:?} ({:?})", text, strategy);
    }
    Ok(())
}

fn vector_of(details: &[ScoreDetail]) -> (Vector, u32) {
    let mut v = [0, 0, 0, 0, 0, 2, 0];
    let mut max_typos = 0;
    for d in details {
        match d {
            ScoreDetail::Words { matching, max } => v[0] = max - matching,
            ScoreDetail::Typo { count, max } => {
                v[1] = *count;
                max_typos = *max;
            }
            ScoreDetail::Proximity(r) => v[2] = r.max - r.rank,
            ScoreDetail::AttributeRank(r) => v[3] = r.max - r.rank,
            ScoreDetail::WordPosition(r) => v[4] = r.max - r.rank,
            ScoreDetail::Exactness(ExactMatch::Exact) => v[5] = 0,
            ScoreDetail::Exactness(ExactMatch::Starts) => v[5] = 1,
            ScoreDetail::Exactness(ExactMatch::None { matching_words, max_matching_words }) => {
                v[6] = max_matching_words - matching_words;
            }
            other => panic!("unexpected detail {other:?}"),
        }
    }
    (v, max_typos)
}

fn queries(words_max: usize) -> impl Strategy<Value = Vec<(Vec<String>, bool, bool)>> {
    proptest::collection::vec((words(QUERY_WORDS, 1..words_max + 1), any::<bool>(), any::<bool>()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn search_agrees_with_the_oracle(
        docs in proptest::collection::vec(doc(9), 1..24),
        cuts in proptest::collection::btree_set(0usize..24, 0..3),
        queries in queries(4),
        limit in 1usize..30,
    ) {
        check(&docs, 1, &cuts.into_iter().collect::<Vec<_>>(), &queries, limit)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Large groups are cut by bounds, filtered by lengths and neighbours, and shared out to threads. Queries are short,
    /// so that most documents match, and bodies long, so that words come late.
    #[test]
    fn many_documents_are_ranked_like_few(
        docs in proptest::collection::vec(doc(24), 8..24),
        cut in 0usize..4000,
        queries in queries(2),
        limit in 1usize..30,
    ) {
        check(&docs, 600, &[cut], &queries, limit)?;
    }
}
