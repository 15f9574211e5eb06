//! Facets of a federated search: of each index, or of all together.

use std::collections::BTreeMap;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::bits::DocSet;
use lamina_engine::facet::{FacetStats, FieldFacet, Listing, merge_facets};
use lamina_engine::index::settings::{FacetOrder, Faceting};
use lamina_protocol::wire::multi_search::{Federation, MergeFacets};
use serde_json::{Map, Value, json};

use super::super::multi::target;
use super::super::{Context, Facets};
use super::at_facets;
use super::merge::Candidates;
use crate::answer::points_in_time::Snapshots;

/// Number of values of each facet that a server wants from the others, to merge them with its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValuesWanted {
    /// Number that the settings of each index define.
    AsSet,
    /// Number of values.
    UpTo(usize),
}

impl ValuesWanted {
    /// Returns the number that a federated search over several servers wants from each.
    pub(crate) fn of(federation: &Federation) -> ValuesWanted {
        federation.merge_facets.map_or(ValuesWanted::AsSet, |merge| ValuesWanted::UpTo(merge.values_max()))
    }
}

/// The facets that queries counted in one index, with the settings to list them by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IndexFacets {
    /// Name of the index in the request.
    pub(crate) name: String,
    /// Server and uid of the index: two names may mean the same one.
    pub(crate) index: (usize, String),
    /// Settings by which the index lists them.
    pub(crate) faceting: Faceting,
    pub(crate) facets: Facets,
}

/// Counts the facets asked for by index, over everything that its queries match; those of an index that no query searches are
/// checked, and no more. Another server that merges them, or `mergeFacets` with several indexes, has them listed to be merged.
///
/// Where documents of one index keep those of another from the merged list, the second sets are what each index had without
/// that: the extremes of its numbers are those of all of them.
pub(super) fn count_by_index(
    snapshots: &Snapshots,
    federation: &Federation,
    candidates: &Candidates<'_>,
    matched: Option<&Candidates<'_>>,
    context: &Context,
) -> ApiResult<Vec<IndexFacets>> {
    let wanted = context.values_wanted;
    let mut counted = Vec::with_capacity(federation.facets_by_index.len());
    for (name, names) in &federation.facets_by_index {
        let target = target(snapshots, name).map_err(|error| at_facets(error, name, false))?;
        let matching = candidates.get(target.uid);
        let refuse = |error| at_facets(error, name, matching.is_some());
        let nothing = || vec![DocSet::default(); target.snapshot.segments.len()];
        let is_searched = matching.is_some();
        let matching = matching.cloned().unwrap_or_else(nothing);
        let faceting = &target.snapshot.settings.faceting;
        let values_max = match wanted {
            Some(ValuesWanted::UpTo(values_max)) => values_max,
            Some(ValuesWanted::AsSet) => faceting.max_values_per_facet,
            None => federation.merge_facets.map_or(faceting.max_values_per_facet, MergeFacets::values_max),
        };
        let is_shared = federation.merge_facets.is_some() && federation.facets_by_index.len() > 1;
        let listing = Listing { values_max, to_be_merged: is_shared || wanted.is_some() };
        let mut facets = Facets::list(target.snapshot, &matching, names, listing, context).map_err(refuse)?;
        if let Some(all) = matched.and_then(|matched| matched.get(target.uid)) {
            let listing = Listing { values_max: 0, ..listing };
            let of_all = Facets::list(target.snapshot, all, names, listing, context).map_err(refuse)?;
            for (facet, of_all) in facets.0.iter_mut().zip(of_all.0) {
                facet.stats = of_all.stats;
            }
        }
        if is_searched {
            let index = (0, target.uid.to_owned());
            counted.push(IndexFacets { name: name.clone(), index, faceting: faceting.clone(), facets });
        }
    }
    Ok(counted)
}

/// Returns a note for the error of an index that no query searches.
pub(super) fn unused_note(uid: &str) -> String {
    format!("\n - Note: index `{uid}` is not used in queries")
}

/// One facet for each name: counts added by value, in the order that the indexes agree on. An index that was asked for by two
/// names counts once.
pub(crate) fn merged(counted: &[IndexFacets], values_max: usize) -> ApiResult<Facets> {
    let mut by_name: BTreeMap<&str, Vec<(&IndexFacets, &FieldFacet)>> = BTreeMap::new();
    for one in counted {
        for facet in &one.facets.0 {
            let same = by_name.entry(&facet.name).or_default();
            if !same.iter().any(|(other, _)| other.index == one.index) {
                same.push((one, facet));
            }
        }
    }
    let mut facets = Vec::with_capacity(by_name.len());
    for (name, same) in by_name {
        let (first, order) = (same[0].0, same[0].0.faceting.order_of(name));
        if let Some((other, _)) = same.iter().find(|(other, _)| other.faceting.order_of(name) != order) {
            return Err(different_orders(name, &other.name, other.faceting.order_of(name), &first.name, order));
        }
        let same: Vec<&FieldFacet> = same.into_iter().map(|(_, facet)| facet).collect();
        facets.push(merge_facets(name, &same, order, values_max));
    }
    Ok(Facets(facets))
}

/// Field that names to another server the index that a name stands for.
const INDEX: &str = "index";

/// The index that the name of a value of `facetsByIndex` stands for on the server that sent it.
pub(crate) fn index_of<'a>(name: &'a str, value: &'a Value) -> &'a str {
    value[INDEX].as_str().unwrap_or(name)
}

impl IndexFacets {
    /// A value of `facetsByIndex`.
    pub(super) fn shown(&self) -> Value {
        json!({ "distribution": self.facets.distribution(), "stats": self.facets.stats() })
    }

    /// Returns the same as [`IndexFacets::shown`], with additional data for a server that merges it with others.
    pub(super) fn to_be_merged(&self) -> Value {
        let mut shown = self.shown();
        let lists = self.facets.0.iter().map(|facet| {
            let order = self.faceting.order_of(&facet.name);
            let numbers = facet.numbers.iter().map(|&(at, alone)| (facet.values[at].0.clone(), json!(alone)));
            let numbers: Map<String, Value> = numbers.collect();
            let list = json!({ "order": order, "numbers": numbers, "isCut": facet.is_cut });
            (facet.name.clone(), list)
        });
        shown["lists"] = Value::Object(lists.collect());
        shown[INDEX] = self.index.1.as_str().into();
        shown["maxValuesPerFacet"] = self.faceting.max_values_per_facet.into();
        shown
    }

    /// Reads what [`IndexFacets::to_be_merged`] writes, of the server at the position `server`. Servers of another make show values only: in an order that they do not
    /// name, and without a word of those that they left out, so that any list may lack some.
    pub(crate) fn read(name: &str, value: &Value, server: usize) -> IndexFacets {
        let values_max = value["maxValuesPerFacet"].as_u64().and_then(|max| usize::try_from(max).ok());
        let mut faceting =
            Faceting { max_values_per_facet: values_max.unwrap_or(usize::MAX), sort_facet_values_by: BTreeMap::new() };
        let no_fields = Map::new();
        let mut facets = Vec::new();
        for (name, shown) in value["distribution"].as_object().unwrap_or(&no_fields) {
            let (list, stats) = (&value["lists"][name], &value["stats"][name]);
            if let Ok(order) = serde_json::from_value::<FacetOrder>(list["order"].clone()) {
                faceting.sort_facet_values_by.insert(name.clone(), order);
            }
            let shown = shown.as_object().unwrap_or(&no_fields);
            let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
            let places = shown.iter().enumerate();
            let numbers = match list["numbers"].as_object() {
                Some(sent) => places
                    .filter(|(_, (text, _))| is_number(text))
                    .filter_map(|(at, (text, _))| Some((at, sent.get(text)?.as_u64()?)))
                    .collect(),
                None => places
                    .take_while(|(_, (text, _))| is_number(text))
                    .map(|(at, (_, count))| (at, count.as_u64().unwrap_or(0)))
                    .collect(),
            };
            facets.push(FieldFacet {
                name: name.clone(),
                values: shown.iter().map(|(text, count)| (text.clone(), count.as_u64().unwrap_or(0))).collect(),
                numbers,
                stats: stats["min"].as_f64().zip(stats["max"].as_f64()).map(|(min, max)| FacetStats { min, max }),
                is_cut: list["isCut"].as_bool().unwrap_or(!shown.is_empty()),
            });
        }
        let index = (server, index_of(name, value).to_owned());
        IndexFacets { name: name.to_owned(), index, faceting, facets: Facets(facets) }
    }
}

/// One index that several servers have: the first that names an order of a facet decides it for all, and the shortest
/// lists bound how many values are known.
pub(crate) fn agree(parts: &mut [IndexFacets]) {
    let mut agreed = Faceting { max_values_per_facet: usize::MAX, sort_facet_values_by: BTreeMap::new() };
    for part in &*parts {
        agreed.max_values_per_facet = agreed.max_values_per_facet.min(part.faceting.max_values_per_facet);
        for (name, &order) in &part.faceting.sort_facet_values_by {
            agreed.sort_facet_values_by.entry(name.clone()).or_insert(order);
        }
    }
    parts.iter_mut().for_each(|part| part.faceting = agreed.clone());
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

    fn counted(uid: &str, order: FacetOrder, values: &[(&str, u64)]) -> IndexFacets {
        let facet = FieldFacet {
            name: "genre".into(),
            values: values.iter().map(|(value, count)| ((*value).to_owned(), *count)).collect(),
            numbers: vec![(0, 1)],
            stats: Some(FacetStats { min: 1.0, max: 2.0 }),
            is_cut: false,
        };
        let mut faceting = Faceting { max_values_per_facet: 7, ..Faceting::default() };
        faceting.sort_facet_values_by.insert("genre".into(), order);
        IndexFacets { name: uid.into(), index: (0, uid.into()), faceting, facets: Facets(vec![facet]) }
    }

    #[test]
    fn orders_must_agree() {
        let counted = [counted("a", FacetOrder::Alpha, &[("1", 1)]), counted("b", FacetOrder::Count, &[])];
        let error = merged(&counted, 100).unwrap_err();
        assert_eq!(error.code, Code::InvalidMultiSearchFacetOrder);
        assert!(error.message.contains("index `a` orders alpha, but index `b` orders count"), "{}", error.message);
        assert_eq!(merged(&counted[..1], 100).unwrap().0[0].values, [("1".to_owned(), 1)]);
    }

    #[test]
    fn an_index_of_two_names_counts_once() {
        let of = |name: &str, index: (usize, &str)| IndexFacets {
            name: name.into(),
            index: (index.0, index.1.into()),
            ..counted("a", FacetOrder::Count, &[("1", 3)])
        };
        let all = [of("a", (0, "a")), of("alias", (0, "a")), of("a", (1, "a")), of("b", (0, "b"))];
        assert_eq!(merged(&all, 100).unwrap().0[0].values, [("1".to_owned(), 9)]);
    }

    #[test]
    fn other_servers_read_the_same() {
        let mut sent = counted("a", FacetOrder::Count, &[("1", 3), ("02", 4), ("x", 5)]);
        sent.faceting.sort_facet_values_by.remove("*");
        assert_eq!(IndexFacets::read("a", &sent.to_be_merged(), 0), sent);
    }

    #[test]
    fn what_others_do_not_say() {
        let sent =
            json!({"distribution": {"genre": {"1": 3, "x": 5, "2": 1}, "kind": {}}, "stats": {"genre": {"min": 1.0}}});
        let read = IndexFacets::read("a", &sent, 0);
        assert_eq!(read.faceting.max_values_per_facet, usize::MAX);
        let sent: Vec<_> = read.facets.0.iter().map(|facet| (&facet.numbers[..], facet.is_cut, facet.stats)).collect();
        assert_eq!(sent, [(&[(0, 3)][..], true, None), (&[][..], false, None)]);
        for odd in [json!(null), json!([]), json!({"distribution": 1}), json!({"distribution": {"genre": [1]}})] {
            assert!(IndexFacets::read("a", &odd, 0).facets.0.iter().all(|facet| facet.values.is_empty()), "{odd}");
        }
        let lies =
            json!({"distribution": {"genre": {"x": -1}}, "lists": {"genre": {"order": "size", "numbers": {"x": 9}}}});
        let read = IndexFacets::read("a", &lies, 0);
        assert_eq!((&read.facets.0[0].numbers[..], read.facets.0[0].values[0].1), (&[][..], 0));
    }

    #[test]
    fn servers_of_one_index_agree() {
        let silent = IndexFacets::read("a", &json!({"distribution": {"genre": {"1": 3}}}), 0);
        let mut parts = [silent, counted("a", FacetOrder::Count, &[]), counted("a", FacetOrder::Alpha, &[])];
        agree(&mut parts);
        let sent = parts.map(|part| (part.faceting.order_of("genre"), part.faceting.max_values_per_facet));
        assert_eq!(sent, [(FacetOrder::Count, 7); 3]);
    }
}
