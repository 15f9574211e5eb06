//! Upper bounds of the scores of all documents of a segment at once, and the documents with the largest ones.
//!
//! Postings know which words a document holds, not how often. So what a word can add to the score of a document is
//! bounded by what it is worth times `k1 + 1`, and the sum over the words that are there is a bound of the score.
//! Bounds are kept as one byte per document: adding a dense list is eight documents per 64-bit addition, and looking for
//! large ones reads a megabyte per million documents. A word that a document holds in several forms counts all of them, so
//! the documents where forms meet have the whole bound of the word.
//!
//! The [`bounds`](crate::rank::bounds) of the rules are of another kind: least costs rather than largest scores, in two bytes that
//! order like keys, and what has the best of them is listed in pieces. Neither could have the arrays of the other.

use lamina_segment::bits::DocSet;
use lamina_segment::bits::kernels::{add_where, next_reaching, share, share_each};
use lamina_text::id::DocId;

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
    /// Upper bound of a saturated term frequency.
    most: f64,
}

impl Scale {
    /// `worths`: of the expansions that a document may have at once. Their bytes sum up to 255 at most.
    pub(super) fn new(worths: impl Iterator<Item = f64> + Clone, most: f64) -> Scale {
        let count = worths.clone().count();
        let sum: f64 = worths.sum::<f64>() * most;
        debug_assert!(count < 255, "the parser bounds the words of a query");
        Scale { bytes_per_score: (255.0 - count as f64) / sum.max(f64::MIN_POSITIVE), most }
    }

    /// Returns the bytes that a term expansion of this weight adds to a bound, rounded up.
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

/// Share of a word's weight that counts in the documents of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// Whole weight, with the upper bound of the saturated term frequency.
    Whole,
    /// Upper bound of any single word in the document, see [`max_impacts`](super::max_impacts).
    OneWord,
    /// The difference between both, for a word that counts as one and stands there in further forms.
    FurtherForms,
}

/// Documents that get something for a word. Of one word, those with the whole, or one word, are disjoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) docs: &'a DocSet,
    /// Weight that the documents get, in the bytes of a [`Scale`].
    pub(super) byte: u8,
    pub(super) share: Share,
}

/// Bounds of the documents of one segment.
#[derive(Debug)]
pub(super) enum Bounds {
    /// By document; 0 for those that are no candidates.
    Dense(Vec<u8>),
    /// Candidates, ascending, and the bound of each.
    Sparse(Vec<DocId>, Vec<u8>),
}

impl Bounds {
    /// `candidates` are in at least one part, or have the bound 0; `are_all`: every document of a part is one. Without
    /// max impacts all parts are whole.
    pub(super) fn new(
        candidates: &DocSet,
        are_all: bool,
        doc_count: u32,
        max_impacts: Option<&[u8]>,
        parts: &[Part<'_>],
    ) -> Bounds {
        let of = |share| parts.iter().filter(move |part| part.share == share);
        let max_impact =
            |doc: DocId| max_impacts.and_then(|of_docs| of_docs.get(doc as usize)).copied().unwrap_or(u8::MAX);
        let of_forms = |part: &Part<'_>, doc: DocId| share(part.byte, u8::MAX - max_impact(doc));
        if u64::from(candidates.len()) * SPARSE_SHARE <= u64::from(doc_count) {
            let docs = candidates.to_vec();
            let mut bounds = vec![0; docs.len()];
            of(Share::OneWord).for_each(|part| add_to_list(&docs, &mut bounds, part.docs, |_| part.byte));
            bounds.iter_mut().zip(&docs).for_each(|(bound, &doc)| *bound = share(*bound, max_impact(doc)));
            of(Share::Whole).for_each(|part| add_to_list(&docs, &mut bounds, part.docs, |_| part.byte));
            of(Share::FurtherForms)
                .for_each(|part| add_to_list(&docs, &mut bounds, part.docs, |doc| of_forms(part, doc)));
            return Bounds::Sparse(docs, bounds);
        }
        let mut bounds = vec![0; (doc_count as usize).next_multiple_of(CHUNK)];
        of(Share::OneWord).for_each(|part| add_to_all(&mut bounds, part.docs, part.byte));
        if let Some(max_impacts) = max_impacts {
            share_each(&mut bounds, max_impacts);
        }
        of(Share::Whole).for_each(|part| add_to_all(&mut bounds, part.docs, part.byte));
        of(Share::FurtherForms).for_each(|part| {
            part.docs.for_each(|doc| {
                if let Some(bound) = bounds.get_mut(doc as usize) {
                    *bound = bound.saturating_add(of_forms(part, doc));
                }
            });
        });
        if !are_all {
            keep(&mut bounds, candidates);
        }
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
        let Some(width) = to.checked_sub(from) else { return found };
        match self {
            Bounds::Dense(bounds) => {
                // There are whole chunks only.
                let chunks = bounds.as_chunks::<CHUNK>().0;
                let mut index = next_reaching(bounds, 0, from);
                while let Some(chunk) = chunks.get(index) {
                    // A pass without branches, for all at once: most are not wanted.
                    let mut wanted = [0; CHUNK];
                    for (wanted, bound) in wanted.iter_mut().zip(chunk) {
                        *wanted = u8::from(bound.wrapping_sub(from) <= width);
                    }
                    for (eight, wanted) in wanted.as_chunks::<8>().0.iter().enumerate() {
                        let mut rest = u64::from_le_bytes(*wanted);
                        while rest != 0 {
                            let offset = eight * 8 + rest.trailing_zeros() as usize / 8;
                            found.push((chunk[offset], (index * CHUNK + offset) as DocId));
                            rest &= rest - 1;
                        }
                    }
                    index = next_reaching(bounds, index + 1, from);
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

fn add_to_list(docs: &[DocId], bounds: &mut [u8], set: &DocSet, byte: impl Fn(DocId) -> u8) {
    let add = |bound: &mut u8, doc| *bound = bound.saturating_add(byte(doc));
    match set {
        DocSet::Bitset { .. } => {
            for (bound, &doc) in bounds.iter_mut().zip(docs).filter(|(_, doc)| set.contains(**doc)) {
                add(bound, doc);
            }
        }
        DocSet::Sorted(list) => {
            let mut rest = list.as_slice();
            for (bound, &doc) in bounds.iter_mut().zip(docs) {
                let skipped = rest.iter().position(|&other| other >= doc).unwrap_or(rest.len());
                rest = &rest[skipped..];
                if rest.first() == Some(&doc) {
                    add(bound, doc);
                }
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
        DocSet::Bitset { words, .. } => add_where(bounds, words, byte),
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
    const SHARES: [Share; 3] = [Share::Whole, Share::OneWord, Share::FurtherForms];

    #[test]
    fn shares_are_rounded_up() {
        for (bound, max_impact) in
            (0..=u8::MAX).flat_map(|bound| (0..=u8::MAX).map(move |max_impact| (bound, max_impact)))
        {
            assert_eq!(u16::from(share(bound, max_impact)), (u16::from(bound) * u16::from(max_impact)).div_ceil(255));
        }
    }

    proptest! {
        #[test]
        fn both_forms_add_what_each_set_says(
            sets in vec((btree_set(0..DOCS, 0..200usize), 1u8..40, any::<bool>(), 0..SHARES.len()), 0..6),
            max_impacts in proptest::option::of(vec(any::<u8>(), DOCS as usize)),
            candidates in btree_set(0..DOCS, 0..300usize),
            as_bitset in any::<bool>(),
        ) {
            let doc_set = |docs: &std::collections::BTreeSet<u32>, dense: bool| {
                let set = DocSet::from_sorted(docs.iter().copied().collect());
                if dense { set.into_bitset(DOCS) } else { set }
            };
            let share = |share: usize| if max_impacts.is_some() { SHARES[share] } else { Share::Whole };
            let sets: Vec<(DocSet, u8, Share)> =
                sets.iter().map(|(docs, byte, dense, of)| (doc_set(docs, *dense), *byte, share(*of))).collect();
            let sum = |doc: u32, share: Share| -> u32 {
                sets.iter().filter(|set| set.0.contains(doc) && set.2 == share).map(|set| u32::from(set.1)).sum()
            };
            let of = |doc: u32| {
                let at = |byte: u32, max_impact: u8| (byte * u32::from(max_impact)).div_ceil(255);
                let Some(max_impacts) = &max_impacts else { return sum(doc, Share::Whole) as u8 };
                let max_impact = max_impacts[doc as usize];
                let further = |set: &&(DocSet, u8, Share)| set.2 == Share::FurtherForms && set.0.contains(doc);
                let forms: u32 = sets.iter().filter(further).map(|set| at(set.1.into(), u8::MAX - max_impact)).sum();
                let of_words = at(sum(doc, Share::OneWord), max_impact);
                (sum(doc, Share::Whole) + of_words + forms) as u8
            };
            let parts: Vec<Part<'_>> =
                sets.iter().map(|(docs, byte, share)| Part { docs, byte: *byte, share: *share }).collect();
            let is_in_any = |doc: &u32| parts.iter().any(|part| part.docs.contains(*doc));
            let all = candidates.union(&(0..DOCS).filter(is_in_any).collect()).copied().collect();
            // A larger segment makes the same candidates sparse.
            for (doc_count, are_all) in [(DOCS, false), (DOCS, true), (DOCS * 100, false)] {
                let asked = if are_all { &all } else { &candidates };
                let mut want: Vec<(u8, u32)> = asked.iter().map(|&d| (of(d), d)).filter(|b| b.0 > 0).collect();
                want.sort_by_key(|&(bound, doc)| (std::cmp::Reverse(bound), doc));
                let among = doc_set(asked, as_bitset);
                let among = if doc_count > DOCS { DocSet::from_sorted(among.to_vec()) } else { among };
                let bounds = Bounds::new(&among, are_all, doc_count, max_impacts.as_deref(), &parts);
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
