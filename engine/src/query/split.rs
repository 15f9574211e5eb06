//! Reads one word as two (`sunflower` -> `sun flower`).

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::candidates::SegmentQuery;
use super::expand::sequence;
use super::graph::{Node, QueryGraph};
use crate::bits::DocSet;
use crate::id::TermOrdinal;

/// The documents of a pair of neighbouring words in one segment; `None` when it does not know both words.
type PairDocs = Option<([TermOrdinal; 2], Arc<DocSet>)>;

/// A cut of a word that documents hold.
struct Split {
    cut: usize,
    /// Documents of all segments, deleted ones left out.
    count: u64,
    docs: Vec<PairDocs>,
}

impl Split {
    /// Whether this one is taken rather than one at `cut` with `count` documents.
    fn beats(&self, cut: usize, count: u64) -> bool {
        (self.count, std::cmp::Reverse(self.cut)) > (count, std::cmp::Reverse(cut))
    }
}

/// Finds for every word of the graph the cut whose two words stand next to each other in most documents, over all
/// segments, and adds it to the expansions. The first of equal cuts wins; a cut that no document has is none.
///
/// Cost per word and segment: one walk down the dictionary, one look-up per cut whose left part is a term, and a
/// token-column scan of the documents that hold both words, for the cuts that could still win.
pub fn choose_splits(graph: &QueryGraph, segments: &mut [&mut SegmentQuery<'_>]) {
    let shared: &[&mut SegmentQuery<'_>] = segments;
    let splits: Vec<(usize, Split)> = graph
        .nodes
        .par_iter()
        .enumerate()
        .filter(|(_, node)| node.can_split)
        .filter_map(|(index, node)| Some((index, best_split(node, shared)?)))
        .collect();
    for (index, split) in splits {
        for (segment, docs) in segments.iter_mut().zip(split.docs) {
            if let Some((words, docs)) = docs {
                segment.set_split(index, words, docs);
            }
        }
    }
}

fn best_split(node: &Node, segments: &[&mut SegmentQuery<'_>]) -> Option<Split> {
    let joined = (node.joined.len() == 2).then(|| node.joined[0].len());
    // By length of the left part: no more documents than this can have both parts next to each other.
    let mut cuts: BTreeMap<usize, u64> = BTreeMap::new();
    for segment in segments {
        let terms = segment.reader().terms();
        let mut lefts = Vec::new();
        let text = node.text.as_bytes();
        let step = |at: usize, byte| (text.get(at) == Some(&byte)).then_some(at + 1);
        // Past the end of the text nothing follows.
        let only = |at: usize| Some(text.get(at..=at).unwrap_or_default());
        terms.walk(0, step, only, |cut, _, ordinal| lefts.push((cut, ordinal)));
        for (cut, left) in lefts.into_iter().filter(|&(cut, _)| cut < node.text.len() && Some(cut) != joined) {
            if let Some([_, right]) = words_of(segment, node, cut) {
                let postings = segment.reader().postings();
                let stored = segment.reader().pairs().doc_freq([left, right]);
                let most = stored.unwrap_or_else(|| postings.doc_freq(left).min(postings.doc_freq(right)));
                *cuts.entry(cut).or_default() += u64::from(most);
            }
        }
    }
    let mut cuts: Vec<(usize, u64)> = cuts.into_iter().collect();
    cuts.sort_by_key(|&(cut, bound)| (std::cmp::Reverse(bound), cut));
    let mut best: Option<Split> = None;
    for (cut, bound) in cuts {
        if let Some(split) = count(node, cut, bound, best.as_ref(), segments) {
            best = Some(split);
        }
    }
    // The two words of the query themselves are no split of their concatenation, but where they are the best one there
    // is none. They are often frequent, so they are counted only against another cut.
    let best = best?;
    let own = joined.and_then(|cut| count(node, cut, u64::MAX, Some(&best), segments));
    if own.is_some() { None } else { Some(best) }
}

/// The words of a cut, if a segment knows both.
fn words_of(segment: &SegmentQuery<'_>, node: &Node, cut: usize) -> Option<[TermOrdinal; 2]> {
    let (left, right) = node.text.split_at(cut);
    match sequence(segment.reader().terms(), [Some(left), Some(right)], segment.stop())?.as_slice() {
        [Some(left), Some(right)] => Some([*left, *right]),
        _ => None,
    }
}

/// Counts a cut, if it is better than `best`; `bound`: no more documents have it.
fn count(
    node: &Node,
    cut: usize,
    bound: u64,
    best: Option<&Split>,
    segments: &[&mut SegmentQuery<'_>],
) -> Option<Split> {
    let hopeless = |count| count == 0 || best.is_some_and(|b| b.beats(cut, count));
    if hopeless(bound) {
        return None;
    }
    let docs: Vec<PairDocs> = segments
        .iter()
        .map(|s| words_of(s, node, cut).map(|words| (words, s.pair(words, || s.docs_with_all(&words.map(Some))))))
        .collect();
    let live = |(segment, docs): (&&mut SegmentQuery<'_>, &PairDocs)| {
        docs.as_ref().map_or(0, |(_, docs)| u64::from(segment.live_len(docs)))
    };
    let count = segments.iter().zip(&docs).map(live).sum();
    (!hopeless(count)).then_some(Split { cut, count, docs })
}
