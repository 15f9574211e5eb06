//! The two measures.

/// Sums over queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Quality {
    ndcg_sum: f64,
    mrr_sum: f64,
    count: usize,
    /// Queries without any relevant hit.
    pub(super) unanswered: usize,
}

impl Quality {
    pub(super) fn add(&mut self, ndcg: f64, reciprocal_rank: f64) {
        self.ndcg_sum += ndcg;
        self.mrr_sum += reciprocal_rank;
        self.count += 1;
        self.unanswered += usize::from(reciprocal_rank == 0.0);
    }

    /// The mean, 0..=1.
    pub(super) fn ndcg(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.ndcg_sum / self.count as f64 }
    }

    /// The mean, 0..=1.
    pub(super) fn mrr(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.mrr_sum / self.count as f64 }
    }
}

/// Normalised discounted cumulative gain of the first `depth` hits: 1 when the best documents come first, in the order
/// of their grades. `found` are the grades of the hits, `ideal` those of all relevant documents.
pub(super) fn ndcg(found: &[f64], ideal: &[f64], depth: usize) -> f64 {
    let gain = |grades: &[f64]| -> f64 {
        let each = grades.iter().take(depth).enumerate();
        each.map(|(place, grade)| (grade.exp2() - 1.0) / (place as f64 + 2.0).log2()).sum()
    };
    let mut ideal = ideal.to_vec();
    ideal.sort_by(|one, other| other.total_cmp(one));
    let best = gain(&ideal);
    if best > 0.0 { gain(found) / best } else { 0.0 }
}

/// One over the place of the first relevant hit; 0 without one.
pub(super) fn reciprocal_rank(found: &[f64]) -> f64 {
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
        assert_eq!(ndcg(&[0.0, 1.0], &[1.0], 1), 0.0, "beyond the depth");
    }

    #[test]
    fn places_of_the_first_relevant_hit() {
        assert_eq!(reciprocal_rank(&[0.0, 0.0, 2.0]), 1.0 / 3.0);
        assert_eq!(reciprocal_rank(&[0.0]), 0.0);
        let mut quality = Quality::default();
        quality.add(1.0, 1.0);
        quality.add(0.0, 0.0);
        assert_eq!((quality.ndcg(), quality.mrr(), quality.unanswered), (0.5, 0.5, 1));
    }
}
