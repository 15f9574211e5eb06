//! The order of hits of different queries.

use std::cmp::Ordering;

use lamina_engine::rank::{
    ScoreDetail, SortedValue, compare_scores, compare_sorted, in_direction, multiplied_boosts, run_score,
};
use lamina_engine::search::Hit;
use serde_json::{Value, json};

/// Sort key of a hit, best first: relevancy as numbers times the weight of its query, sorts as their values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weighted {
    values: Vec<WeightedValue>,
    score: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum WeightedValue {
    /// Larger is better.
    Score(f64),
    Sort {
        ascending: bool,
        value: SortedValue,
    },
    Geo {
        ascending: bool,
        distance_m: Option<f64>,
    },
}

impl Weighted {
    pub(super) fn new(hit: &Hit, weight: f64) -> Weighted {
        let is_relevancy = |detail: &ScoreDetail| {
            !matches!(
                detail,
                ScoreDetail::Sort { .. }
                    | ScoreDetail::GeoSort { .. }
                    | ScoreDetail::Boost { .. }
                    | ScoreDetail::Vector(_)
            )
        };
        // Boosts that multiply stand behind all else, and are part of the score.
        let boosts = multiplied_boosts(&hit.details);
        let is_part = |detail: &ScoreDetail| matches!(detail, ScoreDetail::Boost { is_multiplied: true, .. });
        let end = hit.details.iter().position(is_part).unwrap_or(hit.details.len());
        let groups = hit.details[..end].chunk_by(|one, next| is_relevancy(one) && is_relevancy(next));
        let values = groups.map(|group| match &group[0] {
            ScoreDetail::Sort { ascending, value, .. } => {
                WeightedValue::Sort { ascending: *ascending, value: value.clone() }
            }
            ScoreDetail::GeoSort { ascending, distance_m, .. } => {
                WeightedValue::Geo { ascending: *ascending, distance_m: *distance_m }
            }
            // A rule by itself is like a sort by its factor.
            ScoreDetail::Boost { factor, .. } => {
                WeightedValue::Sort { ascending: false, value: SortedValue::Number(*factor) }
            }
            _ => WeightedValue::Score(run_score(group, boosts) * weight),
        });
        Weighted { values: values.collect(), score: hit.score * weight }
    }

    /// Bytes beside its own.
    pub(super) fn heap_bytes(&self) -> usize {
        let text = |value: &WeightedValue| match value {
            WeightedValue::Sort { value: SortedValue::String(text), .. } => text.len(),
            _ => 0,
        };
        self.values.iter().map(|value| size_of::<WeightedValue>() + text(value)).sum()
    }

    /// For another server, which reads it with [`Weighted::from_json`].
    pub(super) fn to_json(&self) -> Value {
        let value = |value: &WeightedValue| match value {
            WeightedValue::Score(score) => json!({ "score": score }),
            WeightedValue::Sort { ascending, value } => {
                let value = match value {
                    SortedValue::Number(number) => json!(number),
                    SortedValue::String(text) => json!(text),
                    SortedValue::Missing => Value::Null,
                };
                json!({ "sort": value, "ascending": ascending })
            }
            WeightedValue::Geo { ascending, distance_m } => json!({ "distance": distance_m, "ascending": ascending }),
        };
        self.values.iter().map(value).collect()
    }

    /// Reads the sort key that another server sent. Without one, the score alone decides.
    pub(crate) fn from_json(values: Option<&Value>, score: f64) -> Weighted {
        let value = |value: &Value| {
            let ascending = value["ascending"].as_bool().unwrap_or(true);
            if let Some(score) = value["score"].as_f64() {
                return Some(WeightedValue::Score(score));
            }
            if let Some(distance) = value.get("distance") {
                return Some(WeightedValue::Geo { ascending, distance_m: distance.as_f64() });
            }
            let value = match value.get("sort")? {
                Value::Number(number) => SortedValue::Number(number.as_f64()?),
                Value::String(text) => SortedValue::String(text.clone()),
                _ => SortedValue::Missing,
            };
            Some(WeightedValue::Sort { ascending, value })
        };
        let values: Option<Vec<WeightedValue>> =
            values.and_then(Value::as_array).and_then(|values| values.iter().map(value).collect());
        Weighted { values: values.unwrap_or_else(|| vec![WeightedValue::Score(score)]), score }
    }

    /// `Less`: this hit comes first.
    pub(crate) fn compare(&self, other: &Weighted) -> Ordering {
        for (one, another) in self.values.iter().zip(&other.values) {
            match one.compare(another) {
                Some(Ordering::Equal) => {}
                Some(order) => return order,
                // Values of different kinds: only the scores compare.
                None => return compare_scores(self.score, other.score),
            }
        }
        // The query with more to say about its hit comes first.
        other.values.len().cmp(&self.values.len())
    }
}

impl WeightedValue {
    /// `None` when the two are of different kinds.
    fn compare(&self, other: &WeightedValue) -> Option<Ordering> {
        match (self, other) {
            (WeightedValue::Score(one), WeightedValue::Score(other)) => Some(compare_scores(*one, *other)),
            (WeightedValue::Sort { ascending, value: one }, WeightedValue::Sort { ascending: same, value: other })
                if ascending == same =>
            {
                Some(compare_sorted(one, other, *ascending))
            }
            (
                WeightedValue::Geo { ascending, distance_m: one },
                WeightedValue::Geo { ascending: same, distance_m: other },
            ) if ascending == same => Some(match (one, other) {
                (Some(one), Some(other)) => in_direction(one.total_cmp(other), *ascending),
                (one, other) => other.is_some().cmp(&one.is_some()),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lamina_engine::rank::{Rank, global_score};

    fn weighted(details: &[ScoreDetail], weight: f64) -> Weighted {
        let address = lamina_engine::index::DocumentAddress { segment: 0, doc: 0 };
        Weighted::new(&Hit { address, score: global_score(details), details: details.to_vec() }, weight)
    }

    fn rank(rank: u32) -> ScoreDetail {
        ScoreDetail::Proximity(Rank { rank, max: 10 })
    }

    fn year(ascending: bool, value: SortedValue) -> ScoreDetail {
        ScoreDetail::Sort { field: "year".into(), ascending, value }
    }

    #[test]
    fn relevancy_counts_with_its_weight() {
        let (good, bad) = (weighted(&[rank(9)], 1.0), weighted(&[rank(5)], 1.0));
        assert_eq!(good.compare(&bad), Ordering::Less);
        assert_eq!(weighted(&[rank(9)], 0.5).compare(&bad), Ordering::Greater);
        assert_eq!(good.compare(&good.clone()), Ordering::Equal);
        assert_eq!(weighted(&[rank(9)], 0.0).compare(&weighted(&[rank(1)], 0.0)), Ordering::Equal);
    }

    #[test]
    fn sorts_compare_by_value() {
        let number = |n: f64| SortedValue::Number(n);
        let of = |ascending, value| weighted(&[year(ascending, value), rank(5)], 1.0);
        assert_eq!(of(true, number(1.0)).compare(&of(true, number(2.0))), Ordering::Less);
        assert_eq!(of(false, number(1.0)).compare(&of(false, number(2.0))), Ordering::Greater);
        for ascending in [true, false] {
            let text = SortedValue::String("a".into());
            assert_eq!(of(ascending, number(1.0)).compare(&of(ascending, text.clone())), Ordering::Less);
            assert_eq!(of(ascending, text).compare(&of(ascending, SortedValue::Missing)), Ordering::Less);
        }
    }

    #[test]
    fn what_cannot_be_compared_goes_by_score() {
        let sorted = weighted(&[year(true, SortedValue::Number(1.0)), rank(5)], 1.0);
        assert_eq!(weighted(&[rank(9)], 1.0).compare(&sorted), Ordering::Less);
        assert_eq!(weighted(&[rank(2)], 1.0).compare(&sorted), Ordering::Greater);
    }

    #[test]
    fn boosts_multiply_scores_or_are_rules() {
        let boost = |factor, is_multiplied| ScoreDetail::Boost { name: "boost", field: None, factor, is_multiplied };
        let boosted = |place, factor| weighted(&[rank(place), boost(factor, true)], 1.0);
        assert_eq!(boosted(3, 3.0).compare(&boosted(8, 1.0)), Ordering::Less);
        assert_eq!(boosted(3, 2.0).compare(&boosted(8, 1.0)), Ordering::Greater);
        let near = |similarity, factor| weighted(&[ScoreDetail::Vector(Some(similarity)), boost(factor, true)], 1.0);
        assert_eq!(near(0.5, 2.0).compare(&near(0.9, 1.0)), Ordering::Less);
        let ruled = |place, factor| weighted(&[boost(factor, false), rank(place)], 1.0);
        assert_eq!(ruled(1, 2.0).compare(&ruled(9, 1.5)), Ordering::Less);
        assert_eq!(ruled(1, 2.0).compare(&ruled(9, 2.0)), Ordering::Greater);
    }

    #[test]
    fn other_servers_read_the_same() {
        let details = [
            rank(9),
            year(false, SortedValue::Number(3.0)),
            year(true, SortedValue::String("a".into())),
            year(true, SortedValue::Missing),
            rank(2),
        ];
        let one = weighted(&details, 0.5);
        let read = Weighted::from_json(Some(&one.to_json()), one.score);
        assert_eq!(read, one);
        assert_eq!(Weighted::from_json(None, 0.3).compare(&weighted(&[rank(9)], 1.0)), Ordering::Greater);
    }

    #[test]
    fn the_longer_list_wins() {
        let placeholder = weighted(&[], 1.0);
        assert_eq!(placeholder.compare(&weighted(&[rank(1)], 1.0)), Ordering::Greater);
    }
}
