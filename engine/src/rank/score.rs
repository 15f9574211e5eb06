//! The global score of a hit and the details it is made of.
//!
//! Each scored rule gives a rank `r` of `m` (`r = m` is best). Rules are combined in their order as the digits of a
//! number in a mixed base, so the score sorts like the ranking itself: earlier rules dominate.

use std::sync::Arc;

use lamina_text::id::DocId;

pub use crate::sort::SortedValue;
use crate::sort::{SegmentSort, SortTarget};

/// Degree to which the start of an attribute equals the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExactMatch {
    /// An attribute is exactly the query.
    Exact,
    /// An attribute starts with the query.
    Starts,
    /// Neither.
    None,
}

/// Exactness of the words of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exactness {
    pub kind: ExactMatch,
    /// Words of the query that are there exactly: the last one of `jean bap` is not in `jean baptiste`, which starts with the
    /// query all the same.
    pub matching_words: u32,
    pub max_matching_words: u32,
}

impl Exactness {
    /// The two steps of the rule.
    fn ranks(self) -> [Rank; 2] {
        let kind = match self.kind {
            ExactMatch::Exact => 3,
            ExactMatch::Starts => 2,
            ExactMatch::None => 1,
        };
        let words = Rank { rank: self.matching_words + 1, max: self.max_matching_words + 1 };
        [Rank { rank: kind, max: 3 }, words]
    }

    /// Score of the rule as it is shown: the words count where no attribute starts with the query.
    pub fn shown_score(self) -> f64 {
        let [kind, words] = self.ranks();
        if self.kind == ExactMatch::None { Rank::combined(kind, words) } else { kind.local_score() }
    }
}

/// Result of one ranking rule for one hit.
#[derive(Clone, Debug, PartialEq)]
pub enum ScoreDetail {
    Words {
        matching: u32,
        max: u32,
    },
    Typo {
        count: u32,
        max: u32,
        /// By the words in whose place only other forms stand, where these count as words.
        forms: Option<Rank>,
    },
    Proximity(Rank),
    AttributeRank(Rank),
    WordPosition(Rank),
    /// `attributeRank` and `wordPosition` as one rule.
    Attribute {
        rank: Rank,
        position: Rank,
    },
    Exactness(Exactness),
    Sort {
        field: String,
        ascending: bool,
        value: SortedValue,
    },
    GeoSort {
        target: [f64; 2],
        ascending: bool,
        /// `[lat, lng]` of the document.
        value: Option<[f64; 2]>,
        distance_m: Option<f64>,
    },
    /// Result of the strategy for questions, which replaces all relevancy rules.
    Bm25 {
        /// Sum over the words.
        value: f64,
        /// Upper bound, which no document reaches.
        max: f64,
        matching_words: u32,
        max_matching_words: u32,
        /// 0..=1, in the order of `value`.
        score: f64,
    },
    /// Similarity 0..=1; `None` for documents without a vector.
    Vector(Option<f32>),
    /// Result of a hybrid search that fuses its lists, which replaces all relevancy rules.
    Fusion {
        /// 0..=1: the weighted sum of the shares.
        score: f64,
        words: Option<FusedArm>,
        nearness: Option<FusedArm>,
    },
    /// Factor of a boost.
    Boost {
        /// `boost`, `decay`, `boostIf`; `boosts` for the product of all.
        name: &'static str,
        /// The field that it reads.
        field: Option<String>,
        factor: f64,
        /// The score is multiplied by it; otherwise it is a rule by itself.
        is_multiplied: bool,
    },
    /// In place of all rules: the hit was put to its place.
    Pin {
        /// The place that was asked for, from 0.
        position: u32,
        /// Origin of the pin.
        by: Arc<str>,
    },
    /// Behind all rules: the first hits were put into another order.
    Rerank {
        /// Score by which they are ordered, largest first.
        score: f64,
        /// The place that the hit had before, from 1.
        rank: u32,
    },
    /// The time budget ended before this rule was applied.
    Skipped,
}

/// Contribution of one list of a hybrid search to a hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FusedArm {
    /// Place in the list, from 1.
    pub rank: u32,
    /// Score in the list: similarity, or the sum of BM25.
    pub score: f64,
    /// 0..=1: what it counts, before the weight of the list.
    pub share: f64,
}

impl ScoreDetail {
    /// Returns the result of criterion `index` of `sort` for a document.
    pub(crate) fn of_sort(sort: &SegmentSort<'_>, index: usize, doc: DocId) -> ScoreDetail {
        let criterion = sort.criterion(index);
        let ascending = criterion.ascending;
        match &criterion.target {
            SortTarget::Field(field) => {
                ScoreDetail::Sort { field: field.clone(), ascending, value: sort.value(index, doc) }
            }
            SortTarget::Elements { name, .. } => {
                ScoreDetail::Sort { field: name.clone(), ascending, value: sort.value(index, doc) }
            }
            SortTarget::GeoPoint { lat, lng } => ScoreDetail::GeoSort {
                target: [*lat, *lng],
                ascending,
                value: sort.position(index, doc).map(|(lat, lng)| [lat, lng]),
                distance_m: sort.distance_m(index, doc),
            },
            SortTarget::Computed { name, field, .. } => ScoreDetail::Boost {
                name,
                field: field.clone(),
                factor: sort.computed(index, doc).unwrap_or(1.0),
                is_multiplied: false,
            },
        }
    }
}

/// `rank` of `max`, larger is better, `1..=max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    pub rank: u32,
    pub max: u32,
}

impl Rank {
    /// From a cost (`0` is best) and the largest possible cost.
    pub fn from_cost(cost: u32, max_cost: u32) -> Rank {
        let max_cost = max_cost.max(cost);
        Rank { rank: max_cost - cost + 1, max: max_cost + 1 }
    }

    /// `rank / max`.
    pub fn local_score(self) -> f64 {
        f64::from(self.rank) / f64::from(self.max)
    }

    fn fold(ranks: impl IntoIterator<Item = Rank>) -> f64 {
        let (mut rank, mut max) = (1.0, 1.0);
        for r in ranks {
            rank = (rank - 1.0) * f64::from(r.max) + f64::from(r.rank);
            max *= f64::from(r.max);
        }
        rank / max
    }

    /// Score of an ordered pair of ranks as one rule.
    pub fn combined(a: Rank, b: Rank) -> f64 {
        Rank::fold([a, b])
    }
}

impl ScoreDetail {
    /// The digits this rule adds to the global score: none, one, or two (`attribute`, `exactness`).
    fn ranks(&self) -> [Option<Rank>; 2] {
        match *self {
            ScoreDetail::Words { matching, max } => [Some(Rank { rank: matching, max }), None],
            ScoreDetail::Typo { count, max, forms } => [Some(Rank::from_cost(count, max)), forms],
            ScoreDetail::Proximity(r) | ScoreDetail::AttributeRank(r) | ScoreDetail::WordPosition(r) => [Some(r), None],
            ScoreDetail::Attribute { rank, position } => [Some(rank), Some(position)],
            ScoreDetail::Exactness(exactness) => exactness.ranks().map(Some),
            ScoreDetail::Skipped => [Some(Rank { rank: 0, max: 1 }), None],
            ScoreDetail::Sort { .. }
            | ScoreDetail::GeoSort { .. }
            | ScoreDetail::Bm25 { .. }
            | ScoreDetail::Vector(_)
            | ScoreDetail::Boost { .. }
            | ScoreDetail::Pin { .. }
            | ScoreDetail::Rerank { .. }
            | ScoreDetail::Fusion { .. } => [None, None],
        }
    }
}

/// The global score of a hit: 0..=1, 1 when no rule gives a rank.
pub fn global_score(details: &[ScoreDetail]) -> f64 {
    run_score(details, multiplied_boosts(details))
}

/// Returns the factor by which the score of a hit is multiplied; `None` without boosts.
pub fn multiplied_boosts(details: &[ScoreDetail]) -> Option<f64> {
    let factors = details.iter().filter_map(|detail| match detail {
        ScoreDetail::Boost { factor, is_multiplied: true, .. } => Some(*factor),
        _ => None,
    });
    factors.reduce(|one, other| one * other)
}

/// The score of some of the details of a hit, whose boosts make `boosts`. Those of BM25 and of fused lists hold them already.
pub fn run_score(run: &[ScoreDetail], boosts: Option<f64>) -> f64 {
    let whole = run.iter().find_map(|d| match d {
        ScoreDetail::Vector(s) => Some(boosted(f64::from(s.unwrap_or(0.0)), boosts)),
        ScoreDetail::Bm25 { score, .. } | ScoreDetail::Fusion { score, .. } => Some(*score),
        _ => None,
    });
    whole.unwrap_or_else(|| boosted(Rank::fold(run.iter().flat_map(|d| d.ranks()).flatten()), boosts))
}

/// A score from 0 to 1 times its boosts, again from 0 to 1: up to a half the product itself, above it less and less of what is
/// more, so that the order is that of the products.
pub fn boosted(score: f64, boosts: Option<f64>) -> f64 {
    let Some(boosts) = boosts else { return score };
    let product = score * boosts;
    if product <= 0.5 { product } else { 1.0 - 0.25 / product }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_example_of_the_contract() {
        let details = [
            ScoreDetail::Words { matching: 2, max: 2 },
            ScoreDetail::Typo { count: 0, max: 2, forms: None },
            ScoreDetail::Proximity(Rank::from_cost(1, 3)),
            ScoreDetail::AttributeRank(Rank::from_cost(0, 0)),
            ScoreDetail::WordPosition(Rank::from_cost(4, 20)),
            ScoreDetail::Exactness(Exactness { kind: ExactMatch::None, matching_words: 2, max_matching_words: 2 }),
        ];
        let score = global_score(&details);
        assert!(score > 0.75 - 0.25, "{score}");
        assert!(score < 1.0, "{score}");
        assert_eq!(global_score(&[]), 1.0);
        assert_eq!(global_score(&[ScoreDetail::Words { matching: 1, max: 2 }]), 0.5);
    }

    #[test]
    fn boosted_scores_keep_the_order_of_the_products() {
        let products = [0.0, 0.1, 0.5, 0.5001, 0.9, 1.0, 7.0, 1e9];
        let scores = products.map(|product| boosted(0.1, Some(product * 10.0)));
        assert!(scores.is_sorted_by(|one, next| one < next), "{scores:?}");
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
        assert_eq!((boosted(0.9, None), boosted(0.25, Some(1.0))), (0.9, 0.25));
        let boost = |is_multiplied| ScoreDetail::Boost { name: "boost", field: None, factor: 2.0, is_multiplied };
        let half = ScoreDetail::Words { matching: 1, max: 4 };
        assert_eq!(global_score(&[half.clone(), boost(true)]), 0.5);
        assert_eq!(global_score(&[half, boost(false)]), 0.25);
    }

    #[test]
    fn a_start_that_is_a_prefix_scores_less_than_a_whole_one() {
        let of = |kind, matching_words| Exactness { kind, matching_words, max_matching_words: 2 };
        let score = |kind, words| global_score(&[ScoreDetail::Exactness(of(kind, words))]);
        assert_eq!((score(ExactMatch::Exact, 2), score(ExactMatch::Starts, 2)), (1.0, 6.0 / 9.0));
        assert_eq!((score(ExactMatch::Starts, 1), score(ExactMatch::None, 2)), (5.0 / 9.0, 3.0 / 9.0));
        assert_eq!(of(ExactMatch::Starts, 1).shown_score(), 2.0 / 3.0);
        assert_eq!(of(ExactMatch::None, 2).shown_score(), 3.0 / 9.0);
    }
}
