//! Facet counts of a search, in the order in which they are shown.

use lamina_engine::bits::DocSet;
use lamina_engine::facet::{FieldFacet, Listing, distributions, listed_values_max, select_facets};
use lamina_engine::index::Snapshot;
use serde_json::{Map, Value, json};

use crate::budget::AnswerBudget;
use crate::engine_errors::Sentence;
use crate::error::{ApiError, ApiResult, Code};

/// A value with its count: in a list, and as a member of an object.
const VALUE_BYTES: usize = 200;
/// How often the text of a value is there: in the list, in the object, and in the body.
const TEXTS: usize = 3;

/// The values of each selected field with their counts, and the extremes of its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facets(pub Vec<FieldFacet>);

impl Facets {
    /// Counts the values of the fields that `names` select among `candidates` (one set per segment), and lists as many
    /// of each as the settings let through.
    ///
    /// # Errors
    /// `invalid_search_facets` for names that are not filterable; more values than there is memory for.
    pub fn count(
        snapshot: &Snapshot,
        candidates: &[DocSet],
        names: &[String],
        budget: &AnswerBudget,
    ) -> ApiResult<Facets> {
        let listing = Listing::up_to(snapshot.settings.faceting.max_values_per_facet);
        Facets::list(snapshot, candidates, names, listing, budget)
    }

    /// As [`Facets::count`], listing what `listing` says.
    ///
    /// # Errors
    /// As [`Facets::count`].
    pub fn list(
        snapshot: &Snapshot,
        candidates: &[DocSet],
        names: &[String],
        listing: Listing,
        budget: &AnswerBudget,
    ) -> ApiResult<Facets> {
        let fields = select_facets(names, &snapshot.settings, &snapshot.fields)
            .map_err(|error| ApiError::new(Code::InvalidSearchFacets, error.sentence()))?;
        let most: usize = fields.iter().map(|field| listed_values_max(snapshot, field, listing)).sum();
        let mut counting = budget.hold(most.saturating_mul(VALUE_BYTES))?;
        let facets = distributions(snapshot, candidates, &fields, listing);
        counting.shrink(0);
        let values = facets.iter().flat_map(|facet| &facet.values);
        budget.take(values.map(|(value, _)| VALUE_BYTES + TEXTS * value.len()).sum())?;
        Ok(Facets(facets))
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
