//! Facets of a federated search: of each index, or of all together.

use std::collections::BTreeMap;

use lamina_engine::bits::DocSet;
use lamina_engine::facet::{FacetStats, FieldFacet};
use lamina_engine::index::settings::{FacetOrder, Faceting};

use super::super::Facets;
use super::super::multi::{Snapshots, target};
use super::at_facets;
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::multi_search::{Federation, MergeFacets};

/// Values of a merged facet when nothing else is asked for.
const DEFAULT_VALUE_COUNT_MAX: usize = 100;

/// Index, its settings for facets, its counts.
pub(crate) type Counted<'a> = (String, &'a Faceting, Facets);

/// Counts the facets asked for by index, over everything that its queries match.
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
        let facets = Facets::count(target.snapshot, &matching, names).map_err(refuse)?;
        counted.push((uid.clone(), &target.snapshot.settings.faceting, facets));
    }
    Ok(counted)
}

/// What is added to the error of an index that no query searches.
pub(super) fn unused_note(uid: &str) -> String {
    format!("\n - Note: index `{uid}` is not used in queries")
}

/// One facet for each name: counts added by value, in the order that the indexes agree on.
pub(crate) fn merged(counted: &[Counted<'_>], options: MergeFacets) -> ApiResult<Facets> {
    let mut by_name: BTreeMap<&str, (&str, FacetOrder, FieldFacet)> = BTreeMap::new();
    for (uid, faceting, facets) in counted {
        for facet in &facets.0 {
            let order = faceting.order_of(&facet.name);
            match by_name.get_mut(facet.name.as_str()) {
                None => {
                    by_name.insert(&facet.name, (uid, order, facet.clone()));
                }
                Some((other, known, sum)) => {
                    if *known != order {
                        return Err(different_orders(&facet.name, uid, order, other, *known));
                    }
                    add(sum, facet);
                }
            }
        }
    }
    let limit = options.max_values_per_facet.unwrap_or(DEFAULT_VALUE_COUNT_MAX);
    let facets = by_name.into_values().map(|(_, order, mut facet)| {
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

fn add(sum: &mut FieldFacet, facet: &FieldFacet) {
    for (value, count) in &facet.values {
        match sum.values.iter_mut().find(|(known, _)| known == value) {
            Some((_, total)) => *total += count,
            None => sum.values.push((value.clone(), *count)),
        }
    }
    sum.is_cut |= facet.is_cut;
    sum.stats = match (sum.stats, facet.stats) {
        (Some(one), Some(other)) => Some(FacetStats { min: one.min.min(other.min), max: one.max.max(other.max) }),
        (one, other) => one.or(other),
    };
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
