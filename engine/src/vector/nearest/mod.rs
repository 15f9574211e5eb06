//! Approximate search in large segments: codes say which vectors may be near, the vectors themselves say which are.

use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::{VectorCodes, Vectors};
use lamina_text::id::DocId;

use super::scan::{Pairing, QueryVector, similarities};

/// More hits than this are found by comparing all.
const COUNT_MAX: usize = 1000;
/// Maximum number of rounds in which more vectors are requested because documents have several.
const ROUNDS_MAX: u32 = 4;

/// The `count` documents of `docs` nearest to `query` with their similarities (all of them above what any document that
/// is missing has, but for very few), and some more, in no order. `None` where all are to be compared instead: nothing is
/// prepared for a search, or it is of another kind. Of few documents that is as fast, and exact.
///
/// Costs a pass over an eighth of the bytes of the vectors, or of those in the lists that may hold near ones, and some
/// hundred exact comparisons.
pub fn nearest(
    vectors: &Vectors,
    queries: &[QueryVector],
    pairing: Pairing,
    docs: &DocSet,
    count: usize,
) -> Option<Vec<(DocId, f32)>> {
    let (codes, [query]) = (vectors.codes()?, queries) else { return None };
    let is_comparable = query.dimensions() == vectors.shape().dimensions as usize;
    let is_any_to_any = pairing == Pairing::All || vectors.is_one_each();
    if !is_comparable || !is_any_to_any || !(1..=COUNT_MAX).contains(&count) {
        return None;
    }
    let admitted = Admitted::new(vectors, docs);
    let mut row_count = if vectors.is_one_each() { count } else { 2 * count };
    for _ in 0..ROUNDS_MAX {
        let mut found: Vec<DocId> = admitted.candidates(codes, query.unit(), row_count);
        found.iter_mut().for_each(|row| *row = vectors.doc_of(*row));
        // Only that many vectors are known to be the nearest: they must be those of enough documents.
        let mut certain: Vec<DocId> = found.iter().take(row_count).copied().collect();
        certain.sort_unstable();
        certain.dedup();
        found.sort_unstable();
        found.dedup();
        if certain.len() >= count {
            let mut nearest = Vec::with_capacity(found.len());
            similarities(vectors, queries, pairing, &DocSet::from_sorted(found), |doc, similarity| {
                nearest.extend(similarity.map(|similarity| (doc, similarity)));
            });
            return Some(nearest);
        }
        row_count *= 4;
    }
    None
}

/// The vectors that a search may find.
enum Admitted {
    All,
    /// By number.
    Set(Vec<u64>),
}

impl Admitted {
    fn new(vectors: &Vectors, docs: &DocSet) -> Admitted {
        if docs.len() == vectors.doc_count() {
            return Admitted::All;
        }
        let rows = if vectors.is_one_each() {
            docs.clone().into_bitset(vectors.doc_count())
        } else {
            let mut rows = BitsetBuilder::new(vectors.vector_count());
            docs.for_each(|doc| rows.insert_range(vectors.of(doc)));
            rows.finish().into_bitset(vectors.vector_count())
        };
        match rows {
            DocSet::Bitset { words, .. } => Admitted::Set(words),
            DocSet::Sorted(_) => unreachable!("a bitset was asked for"),
        }
    }

    fn candidates(&self, codes: &VectorCodes, unit: &[f32], count: usize) -> Vec<u32> {
        match self {
            Admitted::All => codes.candidates(unit, count, |_| true),
            Admitted::Set(words) => codes.candidates(unit, count, |row| {
                words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
            }),
        }
    }
}

#[cfg(test)]
mod tests;
