//! The search among the values of a facet.

use lamina_index::index::Snapshot;
use lamina_index::index::settings::AvailableAttributes;
use lamina_index::index::settings::{FacetOrder, Settings, covers, locales_of};
use lamina_segment::bits::DocSet;
use lamina_text::text::{Language, TypoPattern, normalize_word_in};

use super::distribution::ordered;
use super::error::FacetSearchError;
use super::look_alikes::LookAlikes;
use super::values::{columns, original_text, summed};

/// A value that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetHit {
    /// Value as one of the documents wrote it.
    pub value: String,
    /// Number of candidates that have it, at least 1.
    pub count: u64,
}

/// The values of a facet that match a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetHits {
    /// In the order that the settings ask for, at most `maxValuesPerFacet`.
    pub hits: Vec<FacetHit>,
    /// More values match than `maxValuesPerFacet` lets through.
    pub is_cut: bool,
}

/// The string values of the facet `name` that start with `query`, accents and case apart, with the typos that the
/// settings allow for a word of that length; all values without a query.
///
/// `languages` are those of the query and the values; without any, those that the settings give for the attribute.
/// `candidates`: live documents, one set per segment. Cost: reads all distinct strings of the field.
pub fn search_facet(
    snapshot: &Snapshot,
    candidates: &[DocSet],
    name: &str,
    query: Option<&str>,
    languages: &[Language],
) -> Result<FacetHits, FacetSearchError> {
    let settings = &*snapshot.settings;
    check(name, settings)?;
    let Some(field) = snapshot.fields.get(name) else { return Ok(FacetHits { hits: Vec::new(), is_cut: false }) };
    let (order, limit) = (settings.faceting.order_of(name), settings.faceting.max_values_per_facet);
    // One more than are listed: it shows that some are not.
    let limit_per_segment = if order == FacetOrder::Alpha { limit.saturating_add(1) } else { usize::MAX };
    let languages = match languages {
        [] => languages_of(settings, name),
        named => named.to_vec(),
    };
    let matcher = ValueMatcher::new(query.unwrap_or(""), name, settings, &languages);

    let columns = columns(snapshot, field);
    let mut found = Vec::new();
    for (place, column) in &columns {
        let docs = &candidates[*place];
        let strings = column.number_count()..column.value_count();
        let matching = strings.filter(|&ordinal| matcher.matches(column.string(ordinal), &languages));
        let counted = matching.map(|ordinal| (column.string(ordinal), u64::from(column.count_in(ordinal, docs))));
        found.extend(counted.filter(|&(_, count)| count > 0).take(limit_per_segment));
    }
    let sources: Vec<_> = columns.iter().map(|(place, column)| (&*snapshot.segments[*place].reader, column)).collect();
    let mut found = summed(found, |a, b| a.cmp(b));
    let look_alikes = LookAlikes::new(snapshot, &columns, candidates);
    if look_alikes.may_exist() {
        found.iter_mut().for_each(|(text, count)| *count = look_alikes.with_either(text, *count));
    }
    let is_cut = found.len() > limit;
    let hits = ordered(found, order, limit).into_iter();
    let hits = hits.map(|(value, count)| FacetHit { value: original_text(value, &sources), count }).collect();
    Ok(FacetHits { hits, is_cut })
}

fn languages_of(settings: &Settings, name: &str) -> Vec<Language> {
    let rules = settings.localized_attributes.as_deref().unwrap_or_default();
    locales_of(rules, name).iter().filter_map(|code| Language::parse(code)).collect()
}

fn check(name: &str, settings: &Settings) -> Result<(), FacetSearchError> {
    if !settings.facet_search {
        return Err(FacetSearchError::Disabled);
    }
    let attribute = name.to_owned();
    let available = || AvailableAttributes::facet_searchable(settings);
    match settings.filterable_attributes.iter().position(|rule| rule.matches(name)) {
        Some(rule) if settings.filterable_attributes[rule].features().facet_search => Ok(()),
        Some(rule) => Err(FacetSearchError::FeatureDisabled { attribute, rule, available: available() }),
        None => Err(FacetSearchError::NotFacetSearchable { attribute, available: available() }),
    }
}

enum ValueMatcher {
    Everything,
    Prefix(String),
    Typos(TypoPattern),
}

impl ValueMatcher {
    fn new(query: &str, name: &str, settings: &Settings, languages: &[Language]) -> ValueMatcher {
        let query = normalize_word_in(query, languages);
        if query.is_empty() {
            return ValueMatcher::Everything;
        }
        match typo_budget(&query, name, settings) {
            0 => ValueMatcher::Prefix(query),
            typos => ValueMatcher::Typos(TypoPattern::new(&query, true, typos)),
        }
    }

    /// Reports whether a value matches. `value` is in the form that columns have, which keeps accents.
    fn matches(&self, value: &str, languages: &[Language]) -> bool {
        let accepts = |value: &str| match self {
            ValueMatcher::Everything => true,
            ValueMatcher::Prefix(prefix) => value.starts_with(prefix.as_str()),
            ValueMatcher::Typos(pattern) => pattern.typos_of(value).is_some(),
        };
        // Without accents there is nothing left to fold.
        if value.is_ascii() { accepts(value) } else { accepts(&normalize_word_in(value, languages)) }
    }
}

/// Typos that `query` (normalised) may have.
fn typo_budget(query: &str, name: &str, settings: &Settings) -> u8 {
    let typos = &settings.typo_tolerance;
    let disabled = !typos.enabled
        || typos.disable_on_words.contains(query)
        || typos.disable_on_attributes.iter().any(|attribute| covers(attribute, name));
    let length = query.chars().count();
    match () {
        () if disabled || length < usize::from(typos.min_word_size_for_typos.one_typo) => 0,
        () if length < usize::from(typos.min_word_size_for_typos.two_typos) => 1,
        () => 2,
    }
}
