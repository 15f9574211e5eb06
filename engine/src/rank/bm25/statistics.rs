//! What the formula needs to know of a snapshot as a whole: sums over its live documents, so that neither the number of
//! segments nor deleted documents change a score.

use lamina_index::index::Snapshot;
use lamina_index::index::settings::{Bm25, lineage};
use lamina_segment::segment::FieldLengths;
use lamina_text::id::FieldId;
use rayon::prelude::*;

use crate::query::options::{NOT_SEARCHED, QueryOptions};

/// Rare words say more than their logarithm: in a whole question, most words are frequent and say nothing, and
/// together they outweigh the few that it is about. Does what a list of stop words does, in any language.
const SHARPNESS: f64 = 1.25;

/// Sums over a snapshot, and what follows from them.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    documents: u64,
    formula: Formula,
    fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    /// 0 where it is not searched.
    weight: f64,
    /// Tokens of a document, 0 where it lacks the field.
    average: f64,
}

impl Statistics {
    pub(crate) fn new(snapshot: &Snapshot, options: &QueryOptions) -> Statistics {
        let mut lengths = FieldLengths::default();
        let of_segments: Vec<FieldLengths> = snapshot.segments.par_iter().map(|view| view.field_lengths()).collect();
        of_segments.iter().for_each(|of_segment| lengths.add(of_segment));
        let documents = snapshot.readable_count();
        let weights = &snapshot.settings.searchable_attributes_weights;
        let field = |(id, name): (usize, &str)| {
            let id = FieldId::try_from(id).expect("ids of fields are as many");
            let length = lengths.get(id);
            let own = field_weight(options, id);
            let set = if weights.is_empty() { None } else { lineage(name).find_map(|name| weights.get(name)) };
            let weight = set.copied().filter(|_| own > 0.0).unwrap_or(own);
            Field { weight, average: length.tokens as f64 / documents.max(1) as f64 }
        };
        let fields = snapshot.fields.names().enumerate().take(options.weights.len()).map(field).collect();
        Statistics { documents, formula: Formula(snapshot.settings.bm25), fields }
    }

    /// Returns the formula, which depends on the settings alone.
    pub(crate) fn formula(&self) -> Formula {
        self.formula
    }

    /// Live documents.
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    /// The weight of a word that `docs` documents hold: much when they are few, and never nothing.
    pub(crate) fn idf(&self, docs: u64) -> f64 {
        let (all, docs) = (self.documents as f64, docs as f64);
        ((all - docs + 0.5).max(0.5) / (docs + 0.5)).ln_1p().powf(SHARPNESS)
    }

    /// Weight and average length of a field that is searched; the length is at least 1.
    pub(super) fn field(&self, field: FieldId) -> Option<(f64, f64)> {
        let field = self.fields.get(usize::from(field)).filter(|field| field.weight > 0.0)?;
        Some((field.weight, field.average.max(1.0)))
    }

    /// Returns the weighted frequency that one occurrence adds in a field of `tokens` tokens, or 0 for a field that is
    /// not searched.
    pub(crate) fn occurrence(&self, field: FieldId, tokens: usize) -> f64 {
        match self.field(field) {
            Some((weight, average)) => self.formula.occurrence(weight, average, tokens),
            None => 0.0,
        }
    }
}

/// Searchable attributes in an order: the first counts twice as much as a late one. Without an order all are equal.
fn field_weight(options: &QueryOptions, field: FieldId) -> f64 {
    match options.weight(field) {
        NOT_SEARCHED => 0.0,
        _ if options.max_weight == 0 => 1.0,
        order => 1.0 + 1.0 / (1.0 + f64::from(order)),
    }
}

/// The formula with the constants of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Formula(Bm25);

impl Formula {
    /// Returns the upper bound of the saturated term frequency, which is never reached.
    pub(crate) fn most(self) -> f64 {
        self.0.k1 + 1.0
    }

    /// Returns the weighted frequency that one occurrence adds in a field of `tokens` tokens.
    pub(super) fn occurrence(self, weight: f64, average: f64, tokens: usize) -> f64 {
        let Bm25 { b, .. } = self.0;
        weight / (1.0 - b + b * tokens as f64 / average)
    }

    /// Weighted occurrences to what they count: the first the most, [`Self::most`] at most.
    pub(crate) fn saturated(self, occurrences: f64) -> f64 {
        // Without any, a constant of 0 would divide by 0.
        if occurrences > 0.0 { occurrences * self.most() / (occurrences + self.0.k1) } else { 0.0 }
    }

    /// Maps a score onto 0..=1, keeping the order. `words`: what the words of the query are worth together: a document that
    /// holds each of them once, in fields of average length, has about that score, and none has [`Self::most`] times it.
    ///
    /// A score that boosts have multiplied has no end: above the share 1 it comes ever nearer to 1 then.
    pub(crate) fn normalized(self, score: f64, words: f64, is_boosted: bool) -> f64 {
        if words <= 0.0 {
            return 0.0;
        }
        let share = score / words;
        let stretched = |share: f64| share / (share + 1.0) * (self.most() + 1.0) / self.most();
        if is_boosted && share > 1.0 {
            // The rest up to 1, with the slope that the curve has where it is left.
            let (rest, reach) = (1.0 - stretched(1.0), self.boosted_reach());
            return 1.0 - rest * reach / (share - 1.0 + reach);
        }
        stretched(share).min(1.0)
    }

    /// Returns the distance above the share 1 at which half of the remaining way to 1 is covered.
    fn boosted_reach(self) -> f64 {
        let scale = (self.most() + 1.0) / self.most();
        (1.0 - scale / 2.0) / (scale / 4.0)
    }

    /// A score that is not above any whose normalised form is at least `normal`.
    pub(super) fn score_at(self, normal: f64, words: f64, is_boosted: bool) -> f64 {
        let at_one = (self.most() + 1.0) / self.most() / 2.0;
        if is_boosted && normal > at_one {
            let left = ((1.0 - normal) / (1.0 - at_one)).max(1e-9);
            return words * (1.0 + self.boosted_reach() * (1.0 / left - 1.0)) * (1.0 - 1e-9);
        }
        let part = (normal * self.most() / (self.most() + 1.0)).clamp(0.0, 0.999);
        // Rounding must not cut what is exactly on the threshold.
        words * part / (1.0 - part) * (1.0 - 1e-9)
    }

    /// The constants as bits, to know them again.
    pub(super) fn bits(self) -> [u64; 2] {
        [self.0.k1, self.0.b].map(f64::to_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_mapped_in_order_onto_the_unit_interval() {
        for formula in [Bm25::default(), Bm25 { k1: 0.0, b: 0.0 }, Bm25 { k1: 20.0, b: 1.0 }].map(Formula) {
            let most = formula.most();
            let shares = [0.0, 0.1 * most, 0.3 * most, 0.7 * most, most];
            let mapped: Vec<f64> = shares.iter().map(|share| formula.normalized(share * 7.0, 7.0, false)).collect();
            assert!(mapped.is_sorted_by(|one, next| one < next), "{mapped:?}");
            assert!(mapped[0] == 0.0);
            assert!((mapped[4] - 1.0).abs() < 1e-12);
            for share in shares {
                let back = formula.score_at(formula.normalized(share * 7.0, 7.0, false), 7.0, false);
                assert!(back <= share * 7.0, "{share} became {back}");
                assert!(back > share * 7.0 - 1e-5, "{share} became {back}");
            }
            assert!(formula.saturated(1e9) <= most);
            assert!((formula.saturated(1.0) - 1.0).abs() < 1e-12);
            assert!(formula.saturated(0.0) == 0.0);
        }
    }

    #[test]
    fn boosted_scores_are_mapped_in_order_without_an_end() {
        let formula = Formula::default();
        let shares = [0.0, 0.5, 0.999, 1.0, 1.001, 2.2, 10.0, 1e4];
        let mapped: Vec<f64> = shares.iter().map(|share| formula.normalized(share * 7.0, 7.0, true)).collect();
        assert!(mapped.is_sorted_by(|one, next| one < next), "{mapped:?}");
        assert!(mapped.iter().all(|score| *score < 1.0), "{mapped:?}");
        assert_eq!(mapped[1], formula.normalized(3.5, 7.0, false));
        assert!((mapped[4] - mapped[3]) / (mapped[3] - mapped[2]) > 0.99, "no step: {mapped:?}");
        for share in shares {
            let back = formula.score_at(formula.normalized(share * 7.0, 7.0, true), 7.0, true);
            assert!(back <= share * 7.0, "{share} became {back}");
            assert!(back > share * 7.0 * (1.0 - 1e-4) - 1e-6, "{share} became {back}");
        }
    }

    #[test]
    fn rare_words_weigh_more_and_none_weighs_nothing() {
        let statistics = Statistics { documents: 100, formula: Formula::default(), fields: Vec::new() };
        let idf: Vec<f64> = [0, 1, 50, 99, 100].iter().map(|&docs| statistics.idf(docs)).collect();
        assert!(idf.is_sorted_by(|one, next| one > next), "{idf:?}");
        assert!(idf[4] > 0.0, "{idf:?}");
    }
}
