//! Facet counts of a search, in the order in which they are shown.

use lamina_engine::bits::DocSet;
use lamina_engine::facet::{FieldFacet, Listing, distributions, select_facets};
use lamina_engine::index::Snapshot;
use serde_json::{Map, Value, json};

use crate::error::{ApiError, ApiResult, Code};

/// The values of each selected field with their counts, and the extremes of its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facets(pub Vec<FieldFacet>);

impl Facets {
    /// Counts the values of the fields that `names` select among `candidates` (one set per segment), and lists as many
    /// of each as the settings let through.
    ///
    /// # Errors
    /// `invalid_search_facets` for names that are not filterable.
    pub fn count(snapshot: &Snapshot, candidates: &[DocSet], names: &[String]) -> ApiResult<Facets> {
        Facets::list(snapshot, candidates, names, Listing::up_to(snapshot.settings.faceting.max_values_per_facet))
    }

    /// As [`Facets::count`], listing what `listing` says.
    ///
    /// # Errors
    /// As [`Facets::count`].
    pub fn list(snapshot: &Snapshot, candidates: &[DocSet], names: &[String], listing: Listing) -> ApiResult<Facets> {
        let fields = select_facets(names, &snapshot.settings, &snapshot.fields)
            .map_err(|error| ApiError::new(Code::InvalidSearchFacets, error.to_string()))?;
        Ok(Facets(distributions(snapshot, candidates, &fields, listing)))
    }

    /// The facets of which values were left out, as limits of an answer.
    pub fn cuts(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter(|facet| facet.is_cut).map(|facet| format!("maxValuesPerFacet:{}", facet.name))
    }

    /// `facetDistribution`
    pub fn distribution(&self) -> Value {
        let values = |facet: &FieldFacet| -> Map<String, Value> {
            facet.values.iter().map(|(value, count)| (value.clone(), json!(count))).collect()
        };
        self.0.iter().map(|facet| (facet.name.clone(), Value::Object(values(facet)))).collect::<Map<_, _>>().into()
    }

    /// `facetStats`
    pub fn stats(&self) -> Value {
        let with_numbers = self.0.iter().filter_map(|facet| Some((facet.name.clone(), facet.stats?)));
        with_numbers
            .map(|(name, stats)| (name, json!({ "min": stats.min, "max": stats.max })))
            .collect::<Map<_, _>>()
            .into()
    }
}
