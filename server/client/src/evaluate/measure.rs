//! The measures of one question.

/// Quality measures of the result of a query; each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measures {
    /// Normalised discounted cumulative gain: 1 when the best documents come first, in the order of their grades.
    pub(super) ndcg: f64,
    /// One over the place of the first relevant hit; 0 without one.
    pub(super) mrr: f64,
    /// The share of the relevant documents that are hits.
    pub(super) recall: f64,
    /// The share of the places that relevant documents have.
    pub(super) precision: f64,
}

impl Measures {
    /// `found` are the grades of the hits, `judged` those of all judged documents; the first `depth` hits count.
    pub(super) fn new(found: &[f64], judged: &[f64], depth: usize) -> Measures {
        let found = &found[..found.len().min(depth)];
        let relevant = |grades: &[f64]| grades.iter().filter(|grade| **grade > 0.0).count() as f64;
        let all = relevant(judged);
        Measures {
            ndcg: ndcg(found, judged, depth),
            mrr: reciprocal_rank(found),
            recall: if all > 0.0 { relevant(found) / all } else { 0.0 },
            precision: relevant(found) / depth.max(1) as f64,
        }
    }
}

fn ndcg(found: &[f64], judged: &[f64], depth: usize) -> f64 {
    let gain = |grades: &[f64]| -> f64 {
        let each = grades.iter().take(depth).enumerate();
        each.map(|(place, grade)| (grade.exp2() - 1.0) / (place as f64 + 2.0).log2()).sum()
    };
    let mut ideal = judged.to_vec();
    ideal.sort_by(|one, other| other.total_cmp(one));
    let best = gain(&ideal);
    // Of nothing, the sum is minus zero.
    if best > 0.0 { gain(found) / best + 0.0 } else { 0.0 }
}

fn reciprocal_rank(found: &[f64]) -> f64 {
    found.iter().position(|grade| *grade > 0.0).map_or(0.0, |place| 1.0 / (place as f64 + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_order_is_one() {
        assert_eq!(ndcg(&[3.0, 1.0], &[1.0, 3.0], 10), 1.0);
        assert_eq!(ndcg(&[], &[1.0], 10), 0.0);
        assert_eq!(ndcg(&[0.0], &[], 10), 0.0);
        // Gains 1 and 7, discounts 1 and log2(3): (1 + 7 / 1.585) / (7 + 1 / 1.585).
        assert!((ndcg(&[1.0, 3.0], &[3.0, 1.0], 10) - 0.709_81).abs() < 1e-4);
    }

    #[test]
    fn each_measure_looks_as_deep_as_asked() {
        let of = |found: &[f64], judged: &[f64]| Measures::new(found, judged, 2);
        assert_eq!(of(&[0.0, 0.0, 2.0], &[2.0, 0.0]), Measures::default());
        let half = of(&[0.0, 1.0, 1.0], &[1.0, 1.0, 0.0]);
        assert_eq!((half.mrr, half.recall, half.precision), (0.5, 0.5, 0.5));
        let whole = of(&[1.0], &[1.0]);
        assert_eq!((whole.ndcg, whole.mrr, whole.recall, whole.precision), (1.0, 1.0, 1.0, 0.5));
    }
}
