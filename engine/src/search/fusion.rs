//! How the lists by words and by nearness become one.

use hashbrown::{HashMap, HashSet};
use lamina_index::index::DocumentAddress;

use super::Hit;
use crate::rank::{FusedArm, ScoreDetail};

/// Method for merging two lists.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fusion {
    /// By the weighted scores, as the protocol has it.
    #[default]
    Score,
    /// Reciprocal ranks: a hit at place `r`, from 1, counts `(k + 1) / (k + r)` of the weight of its list.
    Rrf { k: f64 },
    /// Scores between the best and the worst of the first [`FUSED_HITS`] of a list, from 1 to 0.
    Relative,
}

/// The `k` that most use.
pub const DEFAULT_RRF_K: f64 = 60.0;
/// Hits of each list that a score is given to; further ones keep the order they have.
pub(super) const FUSED_HITS: usize = 100;

/// A hit of the merged list.
pub(super) struct Fused {
    pub(super) hit: Hit,
    /// Nearness gave it more than words.
    pub(super) is_semantic: bool,
}

/// Key by which the hits of the merged list are ordered: whether a field is the query, the fused score, and the better
/// rank of the two lists.
type Standing = (bool, f64, Option<u32>);

/// Merges both lists. `None` when sorts come before relevancy, by which the hits are to be merged then. The order of the
/// first hits does not depend on how many more there are, so pages fit together.
/// `whole`: hits of which a field is the query. They score 1 and come first, whatever is near.
pub(super) fn fuse(
    fusion: Fusion,
    ratio: f64,
    words: &[Hit],
    near: &[Hit],
    whole: &HashSet<DocumentAddress>,
) -> Option<Vec<Fused>> {
    let is_sorted =
        |hit: &Hit| matches!(hit.details.first(), Some(ScoreDetail::Sort { .. } | ScoreDetail::GeoSort { .. }));
    if fusion == Fusion::Score || words.iter().chain(near).any(is_sorted) {
        return None;
    }
    let by_words = arm(fusion, words, true);
    let by_nearness = arm(fusion, near, false);
    let mut places: HashMap<DocumentAddress, usize> = HashMap::new();
    let mut all: Vec<(Hit, Option<FusedArm>, Option<FusedArm>)> = Vec::new();
    for (hit, arm) in words.iter().zip(by_words) {
        places.insert(hit.address, all.len());
        all.push((hit.clone(), Some(arm), None));
    }
    for (hit, arm) in near.iter().zip(by_nearness) {
        match places.get(&hit.address) {
            Some(&place) => all[place].2 = Some(arm),
            None => all.push((hit.clone(), None, Some(arm))),
        }
    }
    let fused = all.into_iter().map(|(mut hit, words, nearness)| {
        let share = |arm: Option<FusedArm>, weight: f64| arm.map_or(0.0, |arm| arm.share * weight);
        let (of_words, of_nearness) = (share(words, 1.0 - ratio), share(nearness, ratio));
        let sum = of_words + of_nearness;
        let is_whole = whole.contains(&hit.address);
        hit.score = if is_whole { 1.0 } else { sum };
        let score = ScoreDetail::Fusion { score: hit.score, words, nearness };
        let is_relevancy =
            |detail: &ScoreDetail| !matches!(detail, ScoreDetail::Sort { .. } | ScoreDetail::GeoSort { .. });
        hit.details.retain(|detail| !is_relevancy(detail));
        hit.details.insert(0, score);
        let place = words.into_iter().chain(nearness).map(|arm| arm.rank).min();
        ((is_whole, sum, place), Fused { hit, is_semantic: of_nearness > of_words || words.is_none() })
    });
    let mut fused: Vec<(Standing, Fused)> = fused.collect();
    fused.sort_by(|((one_whole, one, one_place), _), ((other_whole, other, other_place), _)| {
        other_whole.cmp(one_whole).then_with(|| other.total_cmp(one)).then_with(|| one_place.cmp(other_place))
    });
    Some(fused.into_iter().map(|(_, fused)| fused).collect())
}

/// Computes the contribution of each hit of a list.
fn arm(fusion: Fusion, hits: &[Hit], is_of_words: bool) -> Vec<FusedArm> {
    let scores: Vec<f64> = hits.iter().map(score).collect();
    let first = &scores[..scores.len().min(FUSED_HITS)];
    let best = first.iter().copied().fold(f64::MIN, f64::max);
    // Where words have found fewer, all others score nothing. Everything is near to some degree.
    let worst =
        if is_of_words && hits.len() < FUSED_HITS { 0.0 } else { first.iter().copied().fold(f64::MAX, f64::min) };
    let ranked = (1u32..).zip(scores);
    ranked
        .map(|(rank, score)| {
            let share = match fusion {
                _ if rank as usize > FUSED_HITS => 0.0,
                Fusion::Rrf { k } => (k + 1.0) / (k + f64::from(rank)),
                _ if best > worst => ((score - worst) / (best - worst)).clamp(0.0, 1.0),
                _ => f64::from(u8::from(score > 0.0)),
            };
            FusedArm { rank, score, share }
        })
        .collect()
}

/// Returns the raw score of a hit, before it was mapped to 0..=1.
fn score(hit: &Hit) -> f64 {
    let raw = hit.details.iter().find_map(|detail| match detail {
        ScoreDetail::Bm25 { value, .. } => Some(*value),
        ScoreDetail::Vector(similarity) => Some(f64::from(similarity.unwrap_or(0.0))),
        _ => None,
    });
    raw.unwrap_or(hit.score)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(scores: &[(u32, f64)]) -> Vec<Hit> {
        let hit = |&(doc, score): &(u32, f64)| Hit {
            address: DocumentAddress { segment: 0, doc },
            score,
            details: vec![ScoreDetail::Vector(Some(score as f32))],
        };
        scores.iter().map(hit).collect()
    }

    fn order(fusion: Fusion, ratio: f64, words: &[(u32, f64)], near: &[(u32, f64)]) -> Vec<u32> {
        let fused = fuse(fusion, ratio, &hits(words), &hits(near), &HashSet::new()).expect("no sort");
        fused.iter().map(|fused| fused.hit.address.doc).collect()
    }

    #[test]
    fn what_both_lists_know_comes_first() {
        let (words, near) = ([(1, 9.0), (2, 8.0), (3, 1.0)], [(4, 0.9), (2, 0.85), (5, 0.8)]);
        for fusion in [Fusion::Relative, Fusion::Rrf { k: DEFAULT_RRF_K }] {
            assert_eq!(order(fusion, 0.5, &words, &near)[0], 2, "{fusion:?}");
            assert_eq!(order(fusion, 0.01, &words, &near)[..2], [1, 2], "{fusion:?}");
            assert_eq!(order(fusion, 0.99, &words, &near)[..2], [4, 2], "{fusion:?}");
        }
        assert!(fuse(Fusion::Score, 0.5, &hits(&words), &hits(&near), &HashSet::new()).is_none());
    }

    #[test]
    fn whole_values_come_first() {
        let (words, near) = (hits(&[(1, 9.0), (3, 1.0), (6, 0.5)]), hits(&[(4, 0.9), (1, 0.85), (5, 0.8)]));
        let whole: HashSet<DocumentAddress> = [3, 6].map(|doc| DocumentAddress { segment: 0, doc }).into();
        for fusion in [Fusion::Relative, Fusion::Rrf { k: DEFAULT_RRF_K }] {
            let fused = fuse(fusion, 0.99, &words, &near, &whole).expect("no sort");
            let shown: Vec<(u32, bool)> =
                fused.iter().map(|fused| (fused.hit.address.doc, fused.hit.score == 1.0)).collect();
            assert_eq!(shown[..2], [(3, true), (6, true)], "{fusion:?}");
            assert!(fused.is_sorted_by(|one, next| one.hit.score >= next.hit.score));
        }
    }

    #[test]
    fn pages_fit_together_whatever_the_number_of_hits() {
        let list = |from: u32, count: u32| -> Vec<(u32, f64)> {
            (0..count).map(|n| ((n * 7 + from) % 997, 1.0 - f64::from(n) / 1000.0)).collect()
        };
        for fusion in [Fusion::Relative, Fusion::Rrf { k: 1.0 }] {
            let short = order(fusion, 0.4, &list(0, 150), &list(300, 150));
            let long = order(fusion, 0.4, &list(0, 300), &list(300, 300));
            assert_eq!(short[..60], long[..60], "{fusion:?}");
        }
    }
}
