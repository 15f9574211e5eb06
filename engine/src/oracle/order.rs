//! The order of documents under sort criteria, by comparing them one by one.

use std::cmp::Ordering;

use serde_json::Value;

use super::facts::point;
use super::{Facts, normal};
use crate::geo::distance_m;
use crate::sort::{SortCriterion, SortTarget};

/// Key by which two documents are compared: first the kind, then the value in the direction of the criterion.
#[derive(Debug, PartialEq)]
enum Deciding {
    Number(f64),
    String(String),
    Missing,
}

impl Deciding {
    fn of(document: &Value, criterion: &SortCriterion) -> Deciding {
        let facts = match &criterion.target {
            SortTarget::Field(field) => Facts::of(document, field),
            SortTarget::Elements { field, .. } => Facts::of_elements(document, field),
            SortTarget::Computed { .. } => return Deciding::Missing,
            SortTarget::GeoPoint { lat, lng } => {
                return point(document)
                    .map_or(Deciding::Missing, |point| Deciding::Number(distance_m((*lat, *lng), point).round()));
            }
        };
        let best = |a: &Ordering| if criterion.ascending { *a } else { a.reverse() };
        if let Some(number) = facts.numbers.iter().copied().min_by(|a, b| best(&a.total_cmp(b))) {
            return Deciding::Number(number + 0.0);
        }
        let strings = facts.strings.iter().map(|string| normal(string));
        strings.min_by(|a, b| best(&a.cmp(b))).map_or(Deciding::Missing, Deciding::String)
    }

    fn compare(&self, other: &Deciding, ascending: bool) -> Ordering {
        let directed = |order: Ordering| if ascending { order } else { order.reverse() };
        let kind = |value: &Deciding| match value {
            Deciding::Number(_) => 0,
            Deciding::String(_) => 1,
            Deciding::Missing => 2,
        };
        match (self, other) {
            (Deciding::Number(a), Deciding::Number(b)) => directed(a.total_cmp(b)),
            (Deciding::String(a), Deciding::String(b)) => directed(a.cmp(b)),
            _ => kind(self).cmp(&kind(other)),
        }
    }
}

/// Sorts by the criteria in order; ties stay as they are.
pub(crate) fn sort_documents(documents: &mut [&Value], criteria: &[SortCriterion]) {
    documents.sort_by(|a, b| {
        let orders = criteria
            .iter()
            .map(|criterion| Deciding::of(a, criterion).compare(&Deciding::of(b, criterion), criterion.ascending));
        orders.fold(Ordering::Equal, Ordering::then)
    });
}
