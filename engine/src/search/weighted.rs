//! What hits of lists of different kinds are compared by.

use std::cmp::Ordering;

use super::Hit;
use crate::rank::{
    ScoreDetail, SortedValue, compare_scores, compare_sorted, in_direction, multiplied_boosts, run_score,
};

/// Key part by which hits are compared: a run of relevancy rules is one number, sorts are their values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Group {
    Score(f64),
    Sort { ascending: bool, value: SortedValue },
    Geo { ascending: bool, distance_m: Option<f64> },
}

pub(super) fn groups(hit: &Hit, weight: f64) -> Vec<Group> {
    let is_sort = |detail: &ScoreDetail| matches!(detail, ScoreDetail::Sort { .. } | ScoreDetail::GeoSort { .. });
    let boosts = multiplied_boosts(&hit.details);
    // Boosts are part of the score, and stand behind everything.
    let end = hit.details.iter().position(|detail| matches!(detail, ScoreDetail::Boost { .. }));
    let details = &hit.details[..end.unwrap_or(hit.details.len())];
    let runs = details.chunk_by(|one, next| !is_sort(one) && !is_sort(next));
    runs.map(|run| match &run[0] {
        ScoreDetail::Sort { ascending, value, .. } => Group::Sort { ascending: *ascending, value: value.clone() },
        ScoreDetail::GeoSort { ascending, distance_m, .. } => {
            Group::Geo { ascending: *ascending, distance_m: *distance_m }
        }
        _ => Group::Score(run_score(run, boosts) * weight),
    })
    .collect()
}

/// `Less`: the first comes first.
pub(super) fn compare(one: &[Group], other: &[Group]) -> Ordering {
    for (one, other) in one.iter().zip(other) {
        let order = match (one, other) {
            (Group::Score(one), Group::Score(other)) => compare_scores(*one, *other),
            (Group::Sort { ascending, value: one }, Group::Sort { value: other, .. }) => {
                compare_sorted(one, other, *ascending)
            }
            (Group::Geo { ascending, distance_m: one }, Group::Geo { distance_m: other, .. }) => match (one, other) {
                (Some(one), Some(other)) => in_direction(one.total_cmp(other), *ascending),
                (one, other) => other.is_some().cmp(&one.is_some()),
            },
            // A number against a value: having found nothing loses, anything else wins.
            (Group::Score(score), _) => return if *score == 0.0 { Ordering::Greater } else { Ordering::Less },
            (_, Group::Score(score)) => return if *score == 0.0 { Ordering::Less } else { Ordering::Greater },
            _ => Ordering::Equal,
        };
        if order.is_ne() {
            return order;
        }
    }
    other.len().cmp(&one.len())
}
