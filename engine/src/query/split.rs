//! Reads one word as two (`sunflower` -> `sun flower`).

use fst::Automaton;
use hashbrown::HashMap;

use super::candidates::SegmentQuery;
use super::expand::sequence;
use super::graph::QueryGraph;

/// Accepts the non-empty prefixes of a text: one walk down the dictionary finds all terms among them.
struct PrefixesOf<'a>(&'a [u8]);

impl Automaton for PrefixesOf<'_> {
    /// Bytes matched; `None` once one differs.
    type State = Option<usize>;

    fn start(&self) -> Option<usize> {
        Some(0)
    }

    fn is_match(&self, state: &Option<usize>) -> bool {
        state.is_some_and(|n| n > 0)
    }

    fn can_match(&self, state: &Option<usize>) -> bool {
        state.is_some()
    }

    fn accept(&self, state: &Option<usize>, byte: u8) -> Option<usize> {
        let at = (*state)?;
        (self.0.get(at) == Some(&byte)).then_some(at + 1)
    }
}

/// Finds for every word of the graph the cut whose two words stand next to each other in most documents, over all
/// segments, and adds it to the expansions. The first of equal cuts wins; a cut that no document has is none.
///
/// Cost per word and segment: one walk down the dictionary, one look-up per cut whose left part is a term, and a
/// token-column scan of the documents that hold both words.
pub fn choose_splits(graph: &QueryGraph, segments: &mut [&mut SegmentQuery<'_>]) {
    for (index, node) in graph.nodes.iter().enumerate().filter(|(_, n)| n.can_split) {
        // By length of the left part: documents that have both parts next to each other.
        let joined = (node.joined.len() == 2).then(|| node.joined[0].len());
        let mut counts: HashMap<usize, u64> = HashMap::new();
        for segment in segments.iter() {
            let terms = segment.reader().terms();
            let mut cuts = Vec::new();
            terms.search(PrefixesOf(node.text.as_bytes()), |left, _| cuts.push(left.len()));
            for cut in cuts.into_iter().filter(|&c| c < node.text.len() && Some(c) != joined) {
                let (left, right) = node.text.split_at(cut);
                if let Some(words) = sequence(terms, [Some(left), Some(right)], segment.stop()) {
                    *counts.entry(cut).or_default() += u64::from(segment.live_len(&segment.phrase(&words)));
                }
            }
        }
        let best = counts.into_iter().filter(|c| c.1 > 0).max_by_key(|&(cut, count)| (count, std::cmp::Reverse(cut)));
        let Some((cut, count)) = best else { continue };
        let (left, right) = node.text.split_at(cut);
        if let Some(joined) = joined {
            // The two words of the query themselves are no split of their concatenation, but where they are the best
            // one there is none. They are often frequent, so they are counted only against another cut.
            let (left, right) = node.text.split_at(joined);
            let own: u64 = segments
                .iter()
                .filter_map(|s| {
                    let words = sequence(s.reader().terms(), [Some(left), Some(right)], s.stop())?;
                    Some(u64::from(s.live_len(&s.phrase(&words))))
                })
                .sum();
            if own > count || (own == count && joined < cut) {
                continue;
            }
        }
        for segment in segments.iter_mut() {
            segment.set_split(index, left, right);
        }
    }
}
