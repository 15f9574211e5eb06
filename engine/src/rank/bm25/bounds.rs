//! Upper bounds of the scores of all documents of a segment at once, and the documents with the largest ones.
//!
//! Postings know which words a document holds, not how often. So what a word can add to the score of a document is
//! bounded by what it is worth times `k1 + 1`, and the sum over the words that are there is a bound of the score.
//! Bounds are kept as one byte per document: adding a dense list is eight documents per 64-bit addition, and looking for
//! large ones reads a megabyte per million documents.
//!
//! The [`bounds`](crate::rank::bounds) of the rules are of another kind: least costs rather than largest scores, in two bytes that
//! order like keys, and what has the best of them is listed in pieces. Neither could have the arrays of the other.

use crate::bits::DocSet;
use crate::id::DocId;

/// Documents that are looked at together.
const CHUNK: usize = 64;
/// One chunk in this many is looked at to guess how many documents have large bounds.
const SAMPLED: usize = 16;
/// Below one matching document in this many, bounds are kept for these only.
const SPARSE_SHARE: u64 = 64;

/// Scores to bytes and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    bytes_per_score: f64,
    /// What saturated occurrences are at most.
    most: f64,
}

impl Scale {
    /// `worths`: of the readings that a document may have at once. Their bytes sum up to 255 at most.
    pub(super) fn new(worths: impl Iterator<Item = f64> + Clone, most: f64) -> Scale {
        let count = worths.clone().count();
        let sum: f64 = worths.sum::<f64>() * most;
        debug_assert!(count < 255, "the parser bounds the words of a query");
        Scale { bytes_per_score: (255.0 - count as f64) / sum.max(f64::MIN_POSITIVE), most }
    }

    /// What a reading adds, rounded up.
    pub(super) fn byte(self, worth: f64) -> u8 {
        ((worth * self.most * self.bytes_per_score + 1e-9) as u8).saturating_add(1)
    }

    /// No score of a document with this bound is above it.
    pub(super) fn score(self, byte: u8) -> f64 {
        f64::from(byte) / self.bytes_per_score
    }

    /// The smallest bound of documents that can have `score`.
    pub(super) fn least(self, score: f64) -> u8 {
        (score * self.bytes_per_score).clamp(0.0, 255.0) as u8
    }
}

/// Bounds of the documents of one segment.
#[derive(Debug)]
pub(super) enum Bounds {
    /// By document; 0 for those that are no candidates.
    Dense(Vec<u8>),
    /// Of candidates, ascending.
    Sparse(Vec<DocId>, Vec<u8>),
}

impl Bounds {
    /// `sets`: documents, what they get, and whether that is lowered to the ceiling of the document (see `ceilings`);
    /// those of one word are disjoint. `candidates` are in at least one of them, or have the bound 0.
    pub(super) fn new<'a>(
        candidates: &DocSet,
        doc_count: u32,
        ceilings: Option<&[u8]>,
        sets: impl Iterator<Item = (&'a DocSet, u8, bool)> + Clone,
    ) -> Bounds {
        let lowered = sets.clone().filter(|set| set.2 && ceilings.is_some());
        let others = sets.filter(|set| !set.2 || ceilings.is_none());
        if u64::from(candidates.len()) * SPARSE_SHARE <= u64::from(doc_count) {
            let docs = candidates.to_vec();
            let mut bounds = vec![0; docs.len()];
            lowered.for_each(|(set, byte, _)| add_to_list(&docs, &mut bounds, set, byte));
            if let Some(ceilings) = ceilings {
                let of_docs = docs.iter().map(|&doc| ceilings.get(doc as usize).copied().unwrap_or(u8::MAX));
                bounds.iter_mut().zip(of_docs).for_each(|(bound, ceiling)| *bound = lower(*bound, ceiling));
            }
            others.for_each(|(set, byte, _)| add_to_list(&docs, &mut bounds, set, byte));
            return Bounds::Sparse(docs, bounds);
        }
        let mut bounds = vec![0; (doc_count as usize).next_multiple_of(CHUNK)];
        lowered.for_each(|(set, byte, _)| add_to_all(&mut bounds, set, byte));
        if let Some(ceilings) = ceilings {
            bounds.iter_mut().zip(ceilings).for_each(|(bound, &ceiling)| *bound = lower(*bound, ceiling));
        }
        others.for_each(|(set, byte, _)| add_to_all(&mut bounds, set, byte));
        keep(&mut bounds, candidates);
        Bounds::Dense(bounds)
    }

    /// A bound that roughly `wanted` documents reach, or 1 when fewer do.
    pub(super) fn reached_by(&self, wanted: usize) -> u8 {
        let mut counts = [0u32; 256];
        let share = match self {
            Bounds::Dense(bounds) => {
                let share = if bounds.len() > CHUNK * SAMPLED * 64 { SAMPLED } else { 1 };
                let sampled = bounds.chunks(CHUNK).step_by(share);
                sampled.flatten().for_each(|&bound| counts[usize::from(bound)] += 1);
                share
            }
            Bounds::Sparse(_, bounds) => {
                bounds.iter().for_each(|&bound| counts[usize::from(bound)] += 1);
                1
            }
        };
        let mut sum = 0;
        for bound in (1..=255u8).rev() {
            sum += counts[usize::from(bound)] as usize * share;
            if sum >= wanted {
                return bound;
            }
        }
        1
    }

    /// Documents with bounds in `from..=to`, largest first, then by document.
    pub(super) fn between(&self, from: u8, to: u8) -> Vec<(u8, DocId)> {
        let from = from.max(1);
        let mut found = Vec::new();
        match self {
            Bounds::Dense(bounds) => {
                for (index, chunk) in bounds.chunks(CHUNK).enumerate() {
                    if chunk.iter().copied().fold(0, u8::max) < from {
                        continue;
                    }
                    for (offset, &bound) in chunk.iter().enumerate() {
                        if (from..=to).contains(&bound) {
                            found.push((bound, (index * CHUNK + offset) as DocId));
                        }
                    }
                }
            }
            Bounds::Sparse(docs, bounds) => {
                let pairs = bounds.iter().copied().zip(docs.iter().copied());
                found.extend(pairs.filter(|(bound, _)| (from..=to).contains(bound)));
            }
        }
        found.sort_unstable_by_key(|&(bound, doc)| (std::cmp::Reverse(bound), doc));
        found
    }
}

/// The share of a bound that a ceiling leaves, rounded up.
#[inline]
fn lower(bound: u8, ceiling: u8) -> u8 {
    (u16::from(bound) * u16::from(ceiling)).div_ceil(255) as u8
}

fn add_to_list(docs: &[DocId], bounds: &mut [u8], set: &DocSet, byte: u8) {
    match set {
        DocSet::Bitset { .. } => {
            for (bound, &doc) in bounds.iter_mut().zip(docs) {
                *bound += byte * u8::from(set.contains(doc));
            }
        }
        DocSet::Sorted(list) => {
            let mut rest = list.as_slice();
            for (bound, &doc) in bounds.iter_mut().zip(docs) {
                let skipped = rest.iter().position(|&other| other >= doc).unwrap_or(rest.len());
                rest = &rest[skipped..];
                *bound += byte * u8::from(rest.first() == Some(&doc));
            }
        }
    }
}

fn add_to_all(bounds: &mut [u8], set: &DocSet, byte: u8) {
    match set {
        DocSet::Sorted(list) => {
            for &doc in list {
                if let Some(bound) = bounds.get_mut(doc as usize) {
                    *bound += byte;
                }
            }
        }
        DocSet::Bitset { words, .. } => {
            for (chunk, &word) in bounds.as_chunks_mut::<CHUNK>().0.iter_mut().zip(words) {
                if word == 0 {
                    continue;
                }
                for (eight, bits) in chunk.as_chunks_mut::<8>().0.iter_mut().zip(word.to_le_bytes()) {
                    // Sums stay below 256, so no carry leaves a byte.
                    let added = SPREAD[usize::from(bits)] * u64::from(byte);
                    *eight = (u64::from_le_bytes(*eight) + added).to_le_bytes();
                }
            }
        }
    }
}

/// Sets the bounds of all but the candidates to 0.
fn keep(bounds: &mut [u8], candidates: &DocSet) {
    match candidates {
        DocSet::Bitset { words, .. } => {
            for (chunk, &word) in bounds.as_chunks_mut::<CHUNK>().0.iter_mut().zip(words) {
                if word == u64::MAX {
                    continue;
                }
                for (eight, bits) in chunk.as_chunks_mut::<8>().0.iter_mut().zip(word.to_le_bytes()) {
                    let mask = SPREAD[usize::from(bits)] * 255;
                    *eight = (u64::from_le_bytes(*eight) & mask).to_le_bytes();
                }
            }
            bounds.iter_mut().skip(words.len() * CHUNK).for_each(|bound| *bound = 0);
        }
        DocSet::Sorted(list) => {
            let kept: Vec<u8> = list.iter().map(|&doc| bounds.get(doc as usize).copied().unwrap_or(0)).collect();
            bounds.fill(0);
            for (&doc, kept) in list.iter().zip(kept) {
                bounds[doc as usize] = kept;
            }
        }
    }
}

/// Each bit of a byte as a byte of 0 or 1.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[bits] |= ((bits as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        bits += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    const DOCS: u32 = 300;

    proptest! {
        #[test]
        fn both_forms_add_what_each_set_says(
            sets in vec((btree_set(0..DOCS, 0..200usize), 1u8..40, any::<bool>(), any::<bool>()), 0..6),
            ceilings in proptest::option::of(vec(any::<u8>(), DOCS as usize)),
            candidates in btree_set(0..DOCS, 0..300usize),
            as_bitset in any::<bool>(),
        ) {
            let doc_set = |docs: &std::collections::BTreeSet<u32>, dense: bool| {
                let set = DocSet::from_sorted(docs.iter().copied().collect());
                if dense { set.into_bitset(DOCS) } else { set }
            };
            let bytes: Vec<(DocSet, u8, bool)> =
                sets.iter().map(|(docs, byte, dense, lowered)| (doc_set(docs, *dense), *byte, *lowered)).collect();
            let sum = |doc: u32, lowered: bool| -> u8 {
                let sets = sets.iter().filter(|s| s.0.contains(&doc) && (s.3 && ceilings.is_some()) == lowered);
                sets.map(|s| s.1).sum()
            };
            let of = |doc: u32| {
                let ceiling = ceilings.as_ref().map_or(255, |ceilings| ceilings[doc as usize]);
                let share = (f64::from(sum(doc, true)) * f64::from(ceiling) / 255.0).ceil();
                sum(doc, false) + share as u8
            };
            let mut want: Vec<(u8, u32)> = candidates.iter().map(|&d| (of(d), d)).filter(|b| b.0 > 0).collect();
            want.sort_by_key(|&(bound, doc)| (std::cmp::Reverse(bound), doc));
            // A larger segment makes the same candidates sparse.
            for doc_count in [DOCS, DOCS * 100] {
                let among = doc_set(&candidates, as_bitset);
                let among = if doc_count > DOCS { DocSet::from_sorted(among.to_vec()) } else { among };
                let sets = bytes.iter().map(|s| (&s.0, s.1, s.2));
                let bounds = Bounds::new(&among, doc_count, ceilings.as_deref(), sets);
                prop_assert_eq!(&bounds.between(0, 255), &want);
                let upper: Vec<_> = want.iter().copied().filter(|b| (20..=60).contains(&b.0)).collect();
                prop_assert_eq!(bounds.between(20, 60), upper);
                let reached = bounds.reached_by(5);
                prop_assert!(reached == 1 || want.iter().filter(|b| b.0 >= reached).count() >= 5);
            }
        }

        #[test]
        fn bytes_bound_sums_of_worths(worths in vec(0.01f64..14.0, 1..100)) {
            let most = 2.2;
            let scale = Scale::new(worths.iter().copied(), most);
            let bytes: u32 = worths.iter().map(|&worth| u32::from(scale.byte(worth))).sum();
            prop_assert!(bytes <= 255);
            let sum: f64 = worths.iter().sum::<f64>() * most;
            prop_assert!(scale.score(bytes as u8) >= sum);
            prop_assert!(u32::from(scale.least(sum)) <= bytes);
        }
    }
}
