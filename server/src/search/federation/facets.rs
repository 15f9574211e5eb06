//! Facets of a federated search: of each index, or of all together.

use std::collections::{BTreeMap, HashMap};

use lamina_engine::bits::DocSet;
use lamina_engine::facet::{FacetStats, FieldFacet};
use lamina_engine::index::settings::{FacetOrder, Faceting};

use super::super::Facets;
use super::super::multi::{Snapshots, target};
use super::at_facets;
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::multi_search::{Federation, MergeFacets};

/// Index, its settings for facets, its counts.
pub(crate) type Counted<'a> = (String, &'a Faceting, Facets);

/// Counts the facets asked for by index, over everything that its queries match. Those that are merged list as many
/// values as the merged facet may, and all of them where the sums decide which ones these are.
pub(super) fn count_by_index<'a>(
    snapshots: &'a Snapshots,
    federation: &'a Federation,
    candidates: &BTreeMap<&str, Vec<DocSet>>,
) -> ApiResult<Vec<Counted<'a>>> {
    let mut counted = Vec::with_capacity(federation.facets_by_index.len());
    for (uid, names) in &federation.facets_by_index {
        let matching = candidates.get(uid.as_str());
        let refuse = |error| at_facets(error, uid, matching.is_some());
        let target = target(snapshots, uid).map_err(refuse)?;
        let nothing = || vec![DocSet::default(); target.snapshot.segments.len()];
        let matching = matching.cloned().unwrap_or_else(nothing);
        let faceting = &target.snapshot.settings.faceting;
        let values_max = federation.merge_facets.map_or(faceting.max_values_per_facet, MergeFacets::values_max);
        let mut facets = Facets::count_up_to(target.snapshot, &matching, names, values_max).map_err(refuse)?;
        let is_shared = federation.merge_facets.is_some() && federation.facets_by_index.len() > 1;
        for facet in facets.0.iter_mut().filter(|facet| is_shared && facet.is_cut) {
            if faceting.order_of(&facet.name) == FacetOrder::Count {
                let name = std::slice::from_ref(&facet.name);
                let whole = Facets::count_up_to(target.snapshot, &matching, name, usize::MAX).map_err(refuse)?;
                // A name can select fields inside it too.
                let same = whole.0.into_iter().find(|other| other.name == facet.name);
                *facet = same.unwrap_or_else(|| facet.clone());
            }
        }
        counted.push((uid.clone(), faceting, facets));
    }
    Ok(counted)
}

/// What is added to the error of an index that no query searches.
pub(super) fn unused_note(uid: &str) -> String {
    format!("\n - Note: index `{uid}` is not used in queries")
}

/// One facet for each name: counts added by value, in the order that the indexes agree on.
pub(crate) fn merged(counted: &[Counted<'_>], options: MergeFacets) -> ApiResult<Facets> {
    let mut by_name: BTreeMap<&str, Sum<'_>> = BTreeMap::new();
    for (uid, faceting, facets) in counted {
        for facet in &facets.0 {
            let order = faceting.order_of(&facet.name);
            match by_name.get_mut(facet.name.as_str()) {
                None => {
                    by_name.insert(&facet.name, Sum::new(uid, order, facet));
                }
                Some(sum) if sum.order != order => {
                    return Err(different_orders(&facet.name, uid, order, sum.first_uid, sum.order));
                }
                Some(sum) => sum.add(facet),
            }
        }
    }
    let limit = options.values_max();
    let facets = by_name.into_values().map(|Sum { order, mut facet, .. }| {
        match order {
            FacetOrder::Alpha => facet.values.sort_by(|a, b| a.0.cmp(&b.0)),
            FacetOrder::Count => facet.values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))),
        }
        facet.is_cut |= facet.values.len() > limit;
        facet.values.truncate(limit);
        facet
    });
    Ok(Facets(facets.collect()))
}

/// A facet of several indexes.
struct Sum<'u> {
    /// The first index that has it.
    first_uid: &'u str,
    order: FacetOrder,
    facet: FieldFacet,
    /// Where each value is in the facet.
    places: HashMap<String, usize>,
}

impl<'u> Sum<'u> {
    fn new(first_uid: &'u str, order: FacetOrder, facet: &FieldFacet) -> Sum<'u> {
        let places = (0..).zip(&facet.values).map(|(place, (value, _))| (value.clone(), place)).collect();
        Sum { first_uid, order, facet: facet.clone(), places }
    }

    fn add(&mut self, other: &FieldFacet) {
        let Sum { facet, places, .. } = self;
        for (value, count) in &other.values {
            if let Some(&place) = places.get(value) {
                facet.values[place].1 += count;
            } else {
                places.insert(value.clone(), facet.values.len());
                facet.values.push((value.clone(), *count));
            }
        }
        facet.is_cut |= other.is_cut;
        facet.stats = match (facet.stats, other.stats) {
            (Some(one), Some(other)) => Some(FacetStats { min: one.min.min(other.min), max: one.max.max(other.max) }),
            (one, other) => one.or(other),
        };
    }
}

fn different_orders(facet: &str, uid: &str, order: FacetOrder, other: &str, known: FacetOrder) -> ApiError {
    let name = |order| match order {
        FacetOrder::Alpha => "alpha",
        FacetOrder::Count => "count",
    };
    ApiError::new(
        Code::InvalidMultiSearchFacetOrder,
        format!(
            "Inside `.federation.facetsByIndex.{uid}`: Inconsistent order for values in facet `{facet}`: index \
             `{other}` orders {}, but index `{uid}` orders {}.\n - Hint: Remove `federation.mergeFacets` or change \
             `faceting.sortFacetValuesBy` to be consistent in settings.",
            name(known),
            name(order)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facet(values: &[(&str, u64)], stats: Option<(f64, f64)>) -> Facets {
        Facets(vec![FieldFacet {
            name: "genre".into(),
            values: values.iter().map(|(value, count)| ((*value).to_owned(), *count)).collect(),
            stats: stats.map(|(min, max)| FacetStats { min, max }),
            is_cut: false,
        }])
    }

    #[test]
    fn counts_are_added_by_value() {
        let faceting = Faceting::default();
        let counted = [
            ("a".to_owned(), &faceting, facet(&[("Drama", 1), ("War", 2)], Some((1.0, 2.0)))),
            ("b".to_owned(), &faceting, facet(&[("Action", 5), ("War", 3)], Some((0.5, 1.5)))),
        ];
        let sum = merged(&counted, MergeFacets::default()).unwrap();
        assert_eq!(sum, facet(&[("Action", 5), ("Drama", 1), ("War", 5)], Some((0.5, 2.0))));
        let cut = merged(&counted, MergeFacets { max_values_per_facet: Some(1) }).unwrap();
        assert_eq!(cut.0[0].values, [("Action".to_owned(), 5)]);
        assert!(cut.0[0].is_cut && !sum.0[0].is_cut);
    }

    #[test]
    fn orders_must_agree() {
        let by_name = Faceting::default();
        let mut by_count = Faceting::default();
        by_count.sort_facet_values_by.insert("genre".into(), FacetOrder::Count);
        let counted =
            [("a".to_owned(), &by_name, facet(&[("x", 1)], None)), ("b".to_owned(), &by_count, facet(&[], None))];
        assert_eq!(merged(&counted, MergeFacets::default()).unwrap_err().code, Code::InvalidMultiSearchFacetOrder);
    }
}
