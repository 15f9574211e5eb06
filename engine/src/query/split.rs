//! Reads one word as two (`sunflower` -> `sun flower`).

use super::candidates::SegmentQuery;
use super::expand::sequence;
use super::graph::QueryGraph;

/// Finds for every word of the graph the cut whose two words stand next to each other in most documents, over all
/// segments, and adds it to the expansions. The first of equal cuts wins; a cut that no document has is none.
///
/// Cost: two dictionary look-ups per cut, and a token-column scan of the documents that hold both words.
pub fn choose_splits(graph: &QueryGraph, segments: &mut [&mut SegmentQuery<'_>]) {
    for (index, node) in graph.nodes.iter().enumerate().filter(|(_, n)| n.can_split) {
        let mut best: Option<(u64, &str, &str)> = None;
        for (at, _) in node.text.char_indices().skip(1) {
            let (left, right) = node.text.split_at(at);
            let count: u64 = segments.iter().map(|s| adjacent(s, left, right)).sum();
            if count > best.map_or(0, |b| b.0) {
                best = Some((count, left, right));
            }
        }
        let Some((_, left, right)) = best else { continue };
        if node.joined.len() == 2 && node.joined[0] == left && node.joined[1] == right {
            continue;
        }
        for segment in segments.iter_mut() {
            segment.set_split(index, left, right);
        }
    }
}

fn adjacent(segment: &SegmentQuery<'_>, left: &str, right: &str) -> u64 {
    sequence(segment.reader().terms(), [Some(left), Some(right)], segment.stop())
        .map_or(0, |words| u64::from(segment.phrase(&words).len()))
}
