//! Which segments to merge: a pure function of their sizes.
//!
//! Segments are sorted into levels by the bytes of their live documents; a level that is full is merged into one
//! segment of the next level. So a document is rewritten once per level, and the number of segments stays within
//! (fan-in - 1) for each level: logarithmic in the size of the index. Levels are close together (factor 4) for small
//! segments, where a rewrite costs next to nothing and every segment costs each query, and further apart (factor 8)
//! where rewriting is what costs.
//!
//! Every segment costs each query, so when nothing is written any more [`MergePolicy::runs`] joins what the levels left.

use lamina_text::id::SegmentId;

/// Properties of a segment that the merge policy uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSize {
    pub id: SegmentId,
    pub doc_count: u32,
    pub deleted_count: u32,
    pub bytes: u64,
    /// Bytes, among `bytes`, of values that documents got since the segment was written.
    pub patch_bytes: u64,
    pub term_count: u32,
}

/// Bounds of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergePolicy {
    /// Segments whose live bytes exceed half of this are merged with no other one.
    pub merged_bytes_max: u64,
    /// Segments whose merge alone would take more than half of this heap are merged with no other one.
    pub heap_bytes_max: u64,
}

/// Level 0 ends here: segments of a document or two.
const LEVEL_BYTES_MIN: u64 = 4 << 10;
/// From here on levels are further apart.
const LARGE_BYTES: u64 = 4 << 20;
const SMALL_FAN_IN: usize = 4;
const LARGE_FAN_IN: usize = 8;
/// A merge never reads more than this many segments at once: bounds open readers and memory.
const MERGE_COUNT_MAX: usize = 32;
/// A member of a run is at most this many times as large as all smaller members together: a segment of a run grows by a
/// third at least whenever it is rewritten.
const RUN_GROWTH: u64 = 3;
/// A run is at most this part of the largest merge: it has to be worth its time.
const RUN_BYTES_DIVISOR: u64 = 8;
/// A segment is rewritten alone once documents that are deleted are more than one in this many ...
const DELETED_SHARE_DIVISOR: u32 = 3;
/// ... or what documents got since is more than one byte in this many: it costs searches nothing that a rewrite would save.
const PATCH_SHARE_DIVISOR: u64 = 2;

impl Default for MergePolicy {
    fn default() -> MergePolicy {
        MergePolicy { merged_bytes_max: 16 << 30, heap_bytes_max: u64::MAX }
    }
}

impl SegmentSize {
    /// Bytes that a rewrite of the segment would keep, in proportion to its live documents.
    pub(crate) fn live_bytes(&self) -> u64 {
        if self.doc_count == 0 {
            return 0;
        }
        let live = u64::from(self.doc_count.saturating_sub(self.deleted_count));
        let bytes = u128::from(self.bytes) * u128::from(live) / u128::from(self.doc_count);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Heap that merging the segment takes, in bytes, about: where each document goes and what unions know of it, what is
    /// known of each term, a column at a time. 142 bytes for each of a million documents of 440 bytes was measured. Where nearly
    /// every word is another one, terms take most: an ordinal, a frequency, an info, and the dictionary.
    pub(crate) fn merge_heap_bytes(&self) -> u64 {
        const BYTES_PER_DOCUMENT: u64 = 88;
        const BYTES_DIVISOR: u64 = 8;
        const BYTES_PER_TERM: u64 = 56;
        let live = u64::from(self.doc_count.saturating_sub(self.deleted_count));
        let of_terms = u64::from(self.term_count) * BYTES_PER_TERM;
        live * BYTES_PER_DOCUMENT + (self.live_bytes() / BYTES_DIVISOR).max(of_terms)
    }

    fn is_mostly_changed(&self) -> bool {
        self.deleted_count > self.doc_count / DELETED_SHARE_DIVISOR
            || self.patch_bytes > self.bytes / PATCH_SHARE_DIVISOR
    }
}

impl MergePolicy {
    /// The most useful merge, or `None` when the segments are in order. The smallest full level goes first: it is
    /// cheap and relieves queries at once.
    pub fn choose(&self, segments: &[SegmentSize]) -> Option<Vec<SegmentId>> {
        let mut levels: Vec<Vec<(u64, u64, SegmentId)>> = Vec::new();
        for segment in segments {
            let (bytes, heap) = (segment.live_bytes(), segment.merge_heap_bytes());
            if bytes > self.merged_bytes_max / 2 || heap > self.heap_bytes_max / 2 {
                continue;
            }
            let level = level_of(bytes);
            if levels.len() <= level {
                levels.resize_with(level + 1, Vec::new);
            }
            levels[level].push((bytes, heap, segment.id));
        }
        for (level, members) in levels.iter_mut().enumerate() {
            if members.len() < fan_in(level) {
                continue;
            }
            members.sort_unstable();
            let (mut total, mut heap_total) = (0, 0);
            let mut chosen = Vec::new();
            for &(bytes, heap, id) in members.iter().take(MERGE_COUNT_MAX) {
                total += bytes;
                heap_total += heap;
                if total > self.merged_bytes_max || heap_total > self.heap_bytes_max {
                    break;
                }
                chosen.push(id);
            }
            if chosen.len() >= 2 {
                return Some(chosen);
            }
        }
        // The largest share of deleted documents first.
        segments
            .iter()
            .filter(|segment| segment.is_mostly_changed())
            .max_by_key(|segment| u64::from(segment.deleted_count) * 1000 / u64::from(segment.doc_count.max(1)))
            .map(|segment| vec![segment.id])
    }

    /// Runs of segments of similar size, smallest first, that are worth merging while there are no writes: disjoint, each of
    /// two segments at least.
    pub fn runs(&self, segments: &[SegmentSize]) -> Vec<Vec<SegmentId>> {
        let mut sizes: Vec<(u64, u64, SegmentId)> =
            segments.iter().map(|s| (s.live_bytes(), s.merge_heap_bytes(), s.id)).collect();
        sizes.sort_unstable();
        let mut runs: Vec<Vec<SegmentId>> = Vec::new();
        let (mut total, mut heap_total) = (0, 0);
        for (bytes, heap, id) in sizes {
            match runs.last_mut() {
                Some(run)
                    if bytes <= RUN_GROWTH * total
                        && total + bytes <= self.merged_bytes_max / RUN_BYTES_DIVISOR
                        && heap_total + heap <= self.heap_bytes_max
                        && run.len() < MERGE_COUNT_MAX =>
                {
                    run.push(id);
                    total += bytes;
                    heap_total += heap;
                }
                _ => {
                    runs.push(vec![id]);
                    (total, heap_total) = (bytes, heap);
                }
            }
        }
        runs.retain(|run| run.len() > 1);
        runs
    }
}

fn level_of(bytes: u64) -> usize {
    let mut level = 0;
    let mut bound = LEVEL_BYTES_MIN;
    while bytes >= bound {
        bound = bound.saturating_mul(fan_in_of_bytes(bound) as u64);
        level += 1;
    }
    level
}

fn fan_in(level: usize) -> usize {
    let mut bound = LEVEL_BYTES_MIN;
    for _ in 0..level {
        bound = bound.saturating_mul(fan_in_of_bytes(bound) as u64);
    }
    fan_in_of_bytes(bound)
}

fn fan_in_of_bytes(bytes: u64) -> usize {
    if bytes < LARGE_BYTES { SMALL_FAN_IN } else { LARGE_FAN_IN }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT_BYTES: u64 = 3000;

    /// Commits and merges without files.
    struct Simulation {
        policy: MergePolicy,
        segments: Vec<SegmentSize>,
        next_id: u64,
        rewritten_bytes: u64,
    }

    impl Simulation {
        fn new(policy: MergePolicy) -> Simulation {
            Simulation { policy, segments: Vec::new(), next_id: 0, rewritten_bytes: 0 }
        }

        fn add(&mut self, doc_count: u32) {
            let bytes = u64::from(doc_count) * DOCUMENT_BYTES;
            self.segments.push(SegmentSize {
                id: SegmentId(self.next_id),
                doc_count,
                deleted_count: 0,
                bytes,
                patch_bytes: 0,
                term_count: 0,
            });
            self.next_id += 1;
        }

        fn merge_until_quiet(&mut self) {
            let mut merges = 0;
            while let Some(chosen) = self.policy.choose(&self.segments) {
                let (merged, kept): (Vec<_>, Vec<_>) =
                    self.segments.iter().partition(|segment| chosen.contains(&segment.id));
                assert_eq!(merged.len(), chosen.len());
                self.segments = kept;
                let live = merged.iter().map(|segment| segment.doc_count - segment.deleted_count).sum();
                self.rewritten_bytes += u64::from(live) * DOCUMENT_BYTES;
                self.add(live);
                merges += 1;
                assert!(merges < 1000, "the policy never comes to rest");
            }
        }
    }

    #[test]
    fn ten_thousand_small_commits_stay_cheap_and_few() {
        let mut simulation = Simulation::new(MergePolicy::default());
        let mut largest_count = 0;
        for _ in 0..10_000 {
            simulation.add(1);
            simulation.merge_until_quiet();
            largest_count = largest_count.max(simulation.segments.len());
        }
        // Levels up to 30 MB: six of fan-in 4, one of fan-in 8.
        assert!(largest_count <= 6 * 3 + 7, "{largest_count} segments");
        let written_once = 10_000 * DOCUMENT_BYTES;
        let amplification = simulation.rewritten_bytes as f64 / written_once as f64;
        assert!(amplification < 8.0, "every byte was rewritten {amplification} times");
    }

    #[test]
    fn a_large_segment_is_left_alone_by_small_commits() {
        let mut simulation = Simulation::new(MergePolicy::default());
        simulation.add(1_000_000);
        for _ in 0..1000 {
            simulation.add(1);
            simulation.merge_until_quiet();
        }
        assert!(simulation.segments.iter().any(|segment| segment.id == SegmentId(0)));
        assert!(simulation.segments.len() <= 1 + 6 * 3, "{} segments", simulation.segments.len());
    }

    #[test]
    fn deleted_documents_are_reclaimed() {
        let policy = MergePolicy::default();
        let mut segment = SegmentSize {
            id: SegmentId(7),
            doc_count: 900,
            deleted_count: 300,
            bytes: 1 << 20,
            patch_bytes: 0,
            term_count: 0,
        };
        assert_eq!(policy.choose(&[segment]), None);
        segment.deleted_count = 301;
        assert_eq!(policy.choose(&[segment]), Some(vec![SegmentId(7)]));
        assert_eq!(segment.live_bytes(), (1 << 20) * 599 / 900);
        let mut segment = SegmentSize { deleted_count: 0, patch_bytes: 1 << 19, ..segment };
        assert_eq!(policy.choose(&[segment]), None);
        segment.patch_bytes += 1;
        assert_eq!(policy.choose(&[segment]), Some(vec![SegmentId(7)]));
    }

    #[test]
    fn nothing_grows_beyond_the_bound() {
        let mut simulation =
            Simulation::new(MergePolicy { merged_bytes_max: 100_000 * DOCUMENT_BYTES, ..MergePolicy::default() });
        for _ in 0..300 {
            simulation.add(3_000);
            simulation.merge_until_quiet();
        }
        assert!(simulation.segments.iter().all(|segment| segment.bytes <= simulation.policy.merged_bytes_max));
        assert!(simulation.segments.len() < 60, "{} segments", simulation.segments.len());
    }

    #[test]
    fn no_merge_takes_more_heap_than_allowed() {
        let heap_of = |docs: u64| docs * (88 + DOCUMENT_BYTES / 8);
        let policy = MergePolicy { heap_bytes_max: heap_of(100_000), ..MergePolicy::default() };
        let mut simulation = Simulation::new(policy);
        for _ in 0..300 {
            simulation.add(3_000);
            simulation.merge_until_quiet();
        }
        for run in policy.runs(&simulation.segments) {
            let members = simulation.segments.iter().filter(|segment| run.contains(&segment.id));
            assert!(members.map(SegmentSize::merge_heap_bytes).sum::<u64>() <= policy.heap_bytes_max);
        }
        assert!(simulation.segments.iter().all(|segment| segment.doc_count <= 100_000));
        assert!(simulation.segments.len() < 60, "{} segments", simulation.segments.len());
    }

    #[test]
    fn segments_of_different_words_count_their_terms() {
        let segment = |id: u64, term_count: u32| SegmentSize {
            id: SegmentId(id),
            doc_count: 250,
            deleted_count: 0,
            bytes: 90 << 20,
            patch_bytes: 0,
            term_count,
        };
        let policy = MergePolicy { heap_bytes_max: 400 << 20, ..MergePolicy::default() };
        let alike: Vec<SegmentSize> = (0..8).map(|id| segment(id, 100_000)).collect();
        assert_eq!(policy.choose(&alike).map(|chosen| chosen.len()), Some(8));
        let different: Vec<SegmentSize> = (0..8).map(|id| segment(id, 3_000_000)).collect();
        assert_eq!(policy.choose(&different).map(|chosen| chosen.len()), Some(2));
        let mostly_terms: Vec<SegmentSize> = (0..8).map(|id| segment(id, 13_000_000)).collect();
        assert_eq!(policy.choose(&mostly_terms), None);
    }

    #[test]
    fn what_a_bulk_load_leaves_is_one_run() {
        let policy = MergePolicy::default();
        let size = |id: u64, bytes: u64| SegmentSize {
            id: SegmentId(id),
            doc_count: 9,
            deleted_count: 0,
            bytes,
            patch_bytes: 0,
            term_count: 0,
        };
        let ids = |runs: &[&[u64]]| -> Vec<Vec<SegmentId>> {
            runs.iter().map(|run| run.iter().map(|&id| SegmentId(id)).collect()).collect()
        };
        let loaded = [size(0, 38 << 20), size(1, 33 << 20), size(2, 9 << 20), size(3, 8 << 20)];
        assert_eq!(policy.runs(&loaded), ids(&[&[3, 2, 1, 0]]));
        // Small segments beside them are a run of their own.
        let mut written = loaded.to_vec();
        written.extend([size(4, 3000), size(5, 5000), size(6, 4000)]);
        assert_eq!(policy.runs(&written), ids(&[&[4, 6, 5], &[3, 2, 1, 0]]));
        // What is small beside a large segment, or too large together, stays.
        assert!(policy.runs(&[size(0, 1 << 30), size(1, 100 << 20)]).is_empty());
        assert!(policy.runs(&[size(0, 2 << 30), size(1, 2 << 30)]).is_empty());
    }

    #[test]
    fn runs_rewrite_each_document_seldom() {
        let mut simulation = Simulation::new(MergePolicy::default());
        for _ in 0..2000 {
            simulation.add(1);
            while let Some(run) = simulation.policy.runs(&simulation.segments).into_iter().next() {
                let (merged, kept): (Vec<_>, Vec<_>) = simulation.segments.iter().partition(|s| run.contains(&s.id));
                simulation.segments = kept;
                let count = merged.iter().map(|s| s.doc_count).sum();
                simulation.rewritten_bytes += u64::from(count) * DOCUMENT_BYTES;
                simulation.add(count);
            }
            assert!(simulation.segments.len() <= 8, "{} segments", simulation.segments.len());
        }
        let amplification = simulation.rewritten_bytes as f64 / (2000 * DOCUMENT_BYTES) as f64;
        assert!(amplification < 30.0, "every byte was rewritten {amplification} times");
    }

    #[test]
    fn an_empty_or_single_segment_needs_no_merge() {
        let policy = MergePolicy::default();
        assert_eq!(policy.choose(&[]), None);
        let segment =
            SegmentSize { id: SegmentId(0), doc_count: 1, deleted_count: 0, bytes: 10, patch_bytes: 0, term_count: 0 };
        assert_eq!(policy.choose(&[segment]), None);
    }
}
