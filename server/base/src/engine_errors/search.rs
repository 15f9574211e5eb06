//! Sentences about searches: sorts, facets, attributes.

use lamina_engine::boost::BoostError;
use lamina_engine::facet::{FacetError, FacetSearchError};
use lamina_engine::index::settings::AvailableAttributes;
use lamina_engine::query::resolve::NotSearchable;
use lamina_engine::search::{Limit, SearchError};
use lamina_engine::sort::SortError;

use super::sentence::{FILTERABLE, SORTABLE, Sentence, adds, joined};

/// A limit that was met, as answers show it.
pub fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::TimeBudget => "searchCutoffMs",
        Limit::QueryTerms => "queryTerms",
        Limit::QueryReadings => "queryReadings",
    }
}

impl Sentence for SearchError {
    fn sentence(&self) -> String {
        match self {
            SearchError::Filter(error) => error.sentence(),
            SearchError::Sort(error) => error.sentence(),
            SearchError::Boost(error) => error.sentence(),
            SearchError::SearchOn(error) => error.sentence(),
            SearchError::NotDistinct { attribute, available } => format!(
                "Attribute `{attribute}` is not filterable and thus, cannot be used as distinct attribute. {} {}",
                filterable(available),
                adds(FILTERABLE, [&**attribute])
            ),
            SearchError::UnknownEmbedder { name } => format!("Cannot find embedder with name `{name}`."),
            SearchError::VectorDimensions { expected, found } => {
                format!("Invalid vector dimensions: expected: `{expected}`, found: `{found}`.")
            }
            other => other.to_string(),
        }
    }
}

impl Sentence for BoostError {
    fn sentence(&self) -> String {
        match self {
            BoostError::NotReadable { attribute, available } => format!(
                "Attribute `{attribute}` is neither filterable nor sortable, so boosts cannot read it: add it to \
                 `sortableAttributes` or `filterableAttributes`. {}{}",
                adds(SORTABLE, [&**attribute]),
                if available.is_empty() {
                    String::new()
                } else {
                    format!(" Sortable attributes are: `{}`.", joined(available))
                }
            ),
            BoostError::Filter(error) => format!("A boost has a filter that is not allowed: {}", error.sentence()),
            other => other.to_string(),
        }
    }
}

impl Sentence for NotSearchable {
    fn sentence(&self) -> String {
        let NotSearchable { attribute, available } = self;
        let available = joined(available);
        format!("Attribute `{attribute}` is not searchable. Available searchable attributes are: `{available}`.")
    }
}

impl Sentence for SortError {
    fn sentence(&self) -> String {
        match self {
            SortError::MissingDirection { found } => format!(
                "Invalid syntax for the sort parameter: expected expression ending by `:asc` or `:desc`, found `{found}`."
            ),
            SortError::ReservedGeo { name } => format!(
                "`{name}` is a reserved keyword and thus can't be used as a sort expression. Use the _geoPoint(latitude, \
                 longitude) built-in rule to sort on _geo field coordinates."
            ),
            SortError::ReservedGeoDistance => {
                "`_geoDistance` is a reserved keyword and thus can't be used as a sort expression.".to_owned()
            }
            SortError::BadGeoPoint { found } => format!(
                "Invalid syntax for the geo parameter: expected expression formated like `_geoPoint(latitude, longitude)` \
                 and ending by `:asc` or `:desc`, found `{found}`."
            ),
            SortError::Coordinates(error) => error.sentence(),
            SortError::Elements(error) => error.sentence(),
            SortError::Condition(error) => error.sentence(),
            SortError::NoSortRule => {
                "You must specify where `sort` is listed in the rankingRules setting to use the sort \
                                      parameter at search time."
                    .to_owned()
            }
            SortError::NotSortable { attribute, available } => {
                let offer = if available.is_empty() {
                    "This index does not have configured sortable attributes.".to_owned()
                } else {
                    format!("Available sortable attributes are: `{}`.", joined(available))
                };
                format!("Attribute `{attribute}` is not sortable. {offer} {}", adds(SORTABLE, [&**attribute]))
            }
            other => other.to_string(),
        }
    }
}

impl Sentence for FacetError {
    fn sentence(&self) -> String {
        match self {
            FacetError::NotFilterable { patterns, available } => {
                let names = patterns.join(", ");
                let refused = if patterns.len() == 1 {
                    format!("Pattern `{names}` is not filterable.")
                } else {
                    format!("Patterns `{names}` are not filterable.")
                };
                let mended = adds(FILTERABLE, patterns.iter().map(String::as_str));
                format!("Invalid facet distribution: {refused} {} {mended}", filterable(available))
            }
            FacetError::TooManyBuckets { facet, most } => format!(
                "Invalid facet distribution: the histogram of `{facet}` has more than {most} buckets with documents, which \
                 is the most that an answer holds.\nHint: ask for a larger `interval`, or filter by `{facet}`"
            ),
            FacetError::FilteringDisabled { attribute, rule } => format!(
                "Invalid facet distribution: Attribute `{attribute}` matched rule #{rule} in filterableAttributes, but \
                 this rule does not enable filtering.\nHint: enable filtering in rule #{rule} by modifying the \
                 features.filter object\nHint: prepend another rule matching `{attribute}` with appropriate filter \
                 features before rule #{rule}"
            ),
            FacetError::Condition(error) => format!("Invalid facet distribution: {}", error.sentence()),
            FacetError::OutOfTime(error) => error.sentence(),
            other => other.to_string(),
        }
    }
}

impl Sentence for FacetSearchError {
    fn sentence(&self) -> String {
        let not_searchable = |attribute: &str, available: &AvailableAttributes| {
            let offer = if available.is_empty() {
                "This index does not have configured facet-searchable attributes.".to_owned()
            } else {
                format!("Available facet-searchable attributes patterns are: `{}`.", joined(available))
            };
            format!("Attribute `{attribute}` is not facet-searchable. {offer}")
        };
        match self {
            FacetSearchError::Disabled => "The facet search is disabled for this index".to_owned(),
            FacetSearchError::NotFacetSearchable { attribute, available } => {
                format!("{} {}", not_searchable(attribute, available), adds(FILTERABLE, [&**attribute]))
            }
            FacetSearchError::FeatureDisabled { attribute, rule, available } => format!(
                "{} Note: this attribute matches rule #{rule} in `filterableAttributes`, but this rule does not enable \
                 facetSearch.\nHint: enable facetSearch in rule #{rule} by adding `\"facetSearch\": true` to the \
                 rule.\nHint: prepend another rule matching `{attribute}` with `facetSearch: true` before rule #{rule}.",
                not_searchable(attribute, available)
            ),
            other => other.to_string(),
        }
    }
}

fn filterable(available: &AvailableAttributes) -> String {
    if available.is_empty() {
        return "This index does not have configured filterable attributes.".to_owned();
    }
    format!("Available filterable attributes patterns are: `{}`.", joined(available))
}

#[cfg(test)]
mod tests {
    use lamina_engine::index::Settings;
    use serde_json::{Value, json};

    use super::*;

    fn settings(settings: Value) -> Settings {
        serde_json::from_value(settings).unwrap()
    }

    #[test]
    fn refusals_offer_what_there_is() {
        let listed = settings(json!({
            "sortableAttributes": ["id", "a"], "filterableAttributes": ["title", "genres"],
            "searchableAttributes": ["title", "secret"], "displayedAttributes": ["title", "genres", "id", "a"]
        }));
        let unsortable = |settings: &Settings| {
            let available = AvailableAttributes::sortable(settings);
            SortError::NotSortable { attribute: "x".to_owned(), available }.sentence()
        };
        assert_eq!(
            unsortable(&listed),
            "Attribute `x` is not sortable. Available sortable attributes are: `a, id`. `lamina settings add sortableAttributes x` changes that."
        );
        assert_eq!(
            unsortable(&Settings::default()),
            "Attribute `x` is not sortable. This index does not have configured sortable attributes. `lamina settings add \
             sortableAttributes x` changes that."
        );
        let available = AvailableAttributes::filterable(&listed);
        assert_eq!(
            FacetError::NotFilterable { patterns: vec!["x".to_owned()], available }.sentence(),
            "Invalid facet distribution: Pattern `x` is not filterable. Available filterable attributes patterns are: \
             `genres, title`. `lamina settings add filterableAttributes x` changes that."
        );
        let (patterns, available) = (vec!["a".to_owned(), "b".to_owned()], AvailableAttributes::default());
        assert_eq!(
            FacetError::NotFilterable { patterns, available }.sentence(),
            "Invalid facet distribution: Patterns `a, b` are not filterable. This index does not have configured \
             filterable attributes. `lamina settings add filterableAttributes a b` changes that."
        );
        let available = AvailableAttributes::searchable(&listed);
        assert_eq!(
            NotSearchable { attribute: "x".to_owned(), available }.sentence(),
            "Attribute `x` is not searchable. Available searchable attributes are: `title, <..hidden-attributes>`."
        );
        let available = AvailableAttributes::facet_searchable(&listed);
        assert_eq!(
            FacetSearchError::NotFacetSearchable { attribute: "x".to_owned(), available }.sentence(),
            "Attribute `x` is not facet-searchable. Available facet-searchable attributes patterns are: `genres, title`. \
             `lamina settings add filterableAttributes x` changes that."
        );
    }

    #[test]
    fn rules_that_forbid_are_named() {
        let disabled = FacetError::FilteringDisabled { attribute: "x".to_owned(), rule: 0 }.sentence();
        assert!(
            disabled.starts_with("Invalid facet distribution: Attribute `x` matched rule #0 in filterableAttributes,")
        );
        let available = AvailableAttributes::default();
        let lacking = FacetSearchError::FeatureDisabled { attribute: "x".to_owned(), rule: 0, available }.sentence();
        assert!(lacking.contains("matches rule #0 in `filterableAttributes`"), "{lacking}");
        assert!(SortError::NoSortRule.sentence().starts_with("You must specify where `sort` is listed"));
    }
}
