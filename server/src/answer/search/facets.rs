//! Facet counts of a search, in the order in which they are shown.

use lamina_base::budget::costs::{FACET_VALUE_BYTES, FACET_VALUE_TEXTS};
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::bits::DocSet;
use lamina_engine::facet::{FacetField, FieldFacet, Listing, distributions, listed_values_max, select_facets};
use lamina_engine::filter::ElementField;
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::filter::check_contains;
use serde_json::{Map, Value, json};

use super::{Context, filter_time};

/// The values of each selected field with their counts, and the extremes of its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facets(pub Vec<FieldFacet>);

impl Facets {
    /// Counts the values of the fields that `names` select among `candidates` (one set per segment), and lists as many
    /// of each as the settings let through.
    ///
    /// # Errors
    /// `invalid_search_facets` for names that are not filterable; more values than there is memory for; elements that take too
    /// long to look at.
    pub(crate) fn count(
        snapshot: &Snapshot,
        candidates: &[DocSet],
        names: &[String],
        context: &Context,
    ) -> ApiResult<Facets> {
        let listing = Listing::up_to(snapshot.settings.faceting.max_values_per_facet);
        Facets::list(snapshot, candidates, names, listing, context)
    }

    /// Counts values like [`Facets::count`], and lists those that `listing` selects.
    ///
    /// # Errors
    /// Same as [`Facets::count`].
    pub(crate) fn list(
        snapshot: &Snapshot,
        candidates: &[DocSet],
        names: &[String],
        listing: Listing,
        context: &Context,
    ) -> ApiResult<Facets> {
        let fields = fields(snapshot, candidates, names, context)?;
        let most: usize = fields.iter().map(|field| listed_values_max(snapshot, field, listing)).sum();
        let budget = &context.budget;
        let mut counting = budget.hold(most.saturating_mul(FACET_VALUE_BYTES))?;
        let facets = distributions(snapshot, candidates, &fields, listing);
        counting.shrink(0);
        let values = facets.iter().flat_map(|facet| &facet.values);
        budget.take(values.map(|(value, _)| FACET_VALUE_BYTES + FACET_VALUE_TEXTS * value.len()).sum())?;
        Ok(Facets(facets))
    }

    /// The facets of which values were left out, as limits of an answer.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter(|facet| facet.is_cut).map(|facet| format!("maxValuesPerFacet:{}", facet.name))
    }

    /// `facetDistribution`
    pub(crate) fn distribution(&self) -> Value {
        let values = |facet: &FieldFacet| -> Map<String, Value> {
            facet.values.iter().map(|(value, count)| (value.clone(), json!(count))).collect()
        };
        self.0.iter().map(|facet| (facet.name.clone(), Value::Object(values(facet)))).collect::<Map<_, _>>().into()
    }

    /// `facetStats`
    pub(crate) fn stats(&self) -> Value {
        let with_numbers = self.0.iter().filter_map(|facet| Some((facet.name.clone(), facet.stats?)));
        with_numbers
            .map(|(name, stats)| (name, json!({ "min": stats.min, "max": stats.max })))
            .collect::<Map<_, _>>()
            .into()
    }
}

/// The fields that `names` select, those of elements among them, by name.
fn fields(
    snapshot: &Snapshot,
    candidates: &[DocSet],
    names: &[String],
    context: &Context,
) -> ApiResult<Vec<FacetField>> {
    let refuse = |reason: String| ApiError::new(Code::InvalidSearchFacets, reason);
    let (mut plain, mut of_elements) = (Vec::new(), Vec::new());
    for name in names {
        match ElementField::parse(name).map_err(|error| refuse(error.sentence()))? {
            Some(field) => {
                check_contains(&field.filter, context.contains_filter)?;
                of_elements.push((name, field));
            }
            None => plain.push(name.clone()),
        }
    }
    let mut fields = Vec::new();
    if !plain.is_empty() {
        fields =
            select_facets(&plain, &snapshot.settings, &snapshot.fields).map_err(|error| refuse(error.sentence()))?;
    }
    let limit = filter_time();
    for (name, field) in of_elements {
        let field = FacetField::of_elements(name, &field, snapshot, candidates, limit);
        fields.push(field.map_err(|error| refuse(error.sentence()))?);
    }
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    fields.dedup_by(|a, b| a.name == b.name);
    Ok(fields)
}
