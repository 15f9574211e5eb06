//! Reads one word as two (`sunflower` -> `sun flower`).

use std::collections::BTreeMap;
use std::sync::Arc;

use lamina_index::caches::{CachedSegment, Cut};
use lamina_segment::bits::DocSet;
use lamina_text::id::TermOrdinal;
use lamina_text::text::WORD_BYTES_MAX;
use rayon::prelude::*;

use super::candidates::SegmentQuery;
use super::graph::{Node, QueryGraph};

/// Words to cut that take about as long as waking a thread.
const CUTS_PER_JOB: usize = 16;

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
    /// Reports whether this split is preferred to one at `cut` with `count` documents. More documents win, then the
    /// earlier cut.
    fn beats(&self, cut: usize, count: u64) -> bool {
        (self.count, std::cmp::Reverse(self.cut)) > (count, std::cmp::Reverse(cut))
    }
}

/// Finds for every word of the graph the cut whose two words stand next to each other in most documents, over all
/// segments, and adds it to the expansions. The first of equal cuts wins; a cut that no document has is none.
///
/// Cost per word and segment, the first time: one walk down the dictionary, one look-up per cut whose left part is a term,
/// and a token-column scan of the documents that hold both words, for the cuts that could still win. Later some look-ups
/// in the caches of the segments.
pub(crate) fn choose_splits(graph: &QueryGraph, segments: &mut [&mut SegmentQuery<'_>]) {
    let shared: &[&mut SegmentQuery<'_>] = segments;
    let nodes: Vec<(usize, &Node)> = graph.nodes.iter().enumerate().filter(|(_, node)| node.can_split).collect();
    let best = |&(index, node): &(usize, &Node)| Some((index, best_split(node, shared)?));
    let is_cut = |node: &Node| shared.iter().all(|s| s.caches().cuts.contains(node.text.as_str()));
    // Waking a thread takes longer than to look up what is at hand, and to cut a few words.
    let splits: Vec<(usize, Split)> = if nodes.iter().filter(|(_, node)| !is_cut(node)).count() < CUTS_PER_JOB {
        nodes.iter().filter_map(best).collect()
    } else {
        nodes.par_iter().filter_map(best).collect()
    };
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
    let known: Vec<Arc<Vec<Cut>>> = segments.iter().map(|segment| cuts(segment.segment(), &node.text)).collect();
    let segments: Vec<Cuts<'_, '_>> =
        segments.iter().zip(&known).map(|(segment, known)| Cuts { segment, known }).collect();
    // By length of the left part: no more documents than this can have both parts next to each other.
    let mut bounds: BTreeMap<usize, u64> = BTreeMap::new();
    for cut in segments.iter().flat_map(Cuts::allowed).filter(|cut| Some(cut.at) != joined) {
        *bounds.entry(cut.at).or_default() += u64::from(cut.docs_max);
    }
    let mut bounds: Vec<(usize, u64)> = bounds.into_iter().collect();
    bounds.sort_by_key(|&(at, bound)| (std::cmp::Reverse(bound), at));
    let mut best: Option<Split> = None;
    for (at, bound) in bounds {
        if let Some(split) = count(at, bound, best.as_ref(), &segments) {
            best = Some(split);
        }
    }
    // The two words of the query themselves are no split of their concatenation, but where they are the best one there
    // is none. They are often frequent, so they are counted only against another cut.
    let best = best?;
    let own = joined.and_then(|at| count(at, u64::MAX, Some(&best), &segments));
    if own.is_some() { None } else { Some(best) }
}

/// All ways to read a text as two terms of a segment.
fn cuts(segment: CachedSegment<'_>, text: &str) -> Arc<Vec<Cut>> {
    if text.len() > 2 * WORD_BYTES_MAX {
        return Arc::default();
    }
    let reader = segment.reader;
    segment.caches.cuts.get_or_find(text.into(), || {
        let (terms, bytes) = (reader.terms(), text.as_bytes());
        let mut lefts = Vec::new();
        let step = |at: usize, byte| (bytes.get(at) == Some(&byte)).then_some(at + 1);
        // Past the end of the text nothing follows.
        let only = |at: usize| Some(bytes.get(at..=at).unwrap_or_default());
        terms.walk(0, step, only, |at, _, ordinal| lefts.push((at, ordinal)));
        let cut = |(at, left)| {
            let right = terms.ordinal(bytes.get(at..).filter(|right| !right.is_empty())?)?;
            let stored = reader.word_pairs().next_doc_freq([left, right]);
            let docs = |word| reader.postings().doc_freq(word);
            Some(Cut { at, words: [left, right], docs_max: stored.unwrap_or_else(|| docs(left).min(docs(right))) })
        };
        let mut cuts: Vec<Cut> = lefts.into_iter().filter_map(cut).collect();
        cuts.shrink_to_fit();
        cuts
    })
}

/// The cuts of a word that one segment knows.
struct Cuts<'q, 'a> {
    segment: &'q SegmentQuery<'a>,
    known: &'q [Cut],
}

impl Cuts<'_, '_> {
    /// Without those that would need a stop word.
    fn allowed(&self) -> impl Iterator<Item = &Cut> {
        let stop = self.segment.stop();
        self.known.iter().filter(|cut| cut.words.iter().all(|word| stop.binary_search(word).is_err()))
    }
}

/// Counts a cut, if it is better than `best`; `bound`: no more documents have it.
fn count(at: usize, bound: u64, best: Option<&Split>, segments: &[Cuts<'_, '_>]) -> Option<Split> {
    let hopeless = |count| count == 0 || best.is_some_and(|b| b.beats(at, count));
    if hopeless(bound) {
        return None;
    }
    let docs = |cuts: &Cuts<'_, '_>| {
        let words = cuts.allowed().find(|cut| cut.at == at)?.words;
        let both = || cuts.segment.docs_with_all(&words.map(Some));
        Some((words, cuts.segment.pair(words, both)))
    };
    let docs: Vec<PairDocs> = segments.iter().map(docs).collect();
    let live = |(cuts, docs): (&Cuts<'_, '_>, &PairDocs)| {
        docs.as_ref().map_or(0, |(_, docs)| u64::from(cuts.segment.live_len(docs)))
    };
    let count = segments.iter().zip(&docs).map(live).sum();
    (!hopeless(count)).then_some(Split { cut: at, count, docs })
}
