//! Settings of an index, resolved to [`QueryOptions`] for one request.

use hashbrown::HashMap;
use lamina_index::index::Snapshot;
use lamina_index::index::settings::{
    AttributeList, AttributePattern, AvailableAttributes, PrefixSearch, ProximityPrecision, covers, lineage, locales_of,
};
use lamina_text::text::Language;
use thiserror::Error;

use super::options::{FormOptions, NOT_SEARCHED, QueryOptions, TypoOptions};

/// A name of `attributesToSearchOn` that matches no searchable attribute.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{attribute}` matches no searchable attribute")]
pub struct NotSearchable {
    pub attribute: String,
    /// The searchable attributes in order.
    pub available: AvailableAttributes,
}

/// Options of one request. `search_on`: names or patterns (`*` at either end) of the attributes to search.
///
/// # Errors
/// The first name of `search_on` that the searchable attributes do not cover.
pub fn resolve(snapshot: &Snapshot, search_on: Option<&[String]>) -> Result<QueryOptions, NotSearchable> {
    let (settings, resolved) = (&snapshot.settings, snapshot.resolved_settings());
    let patterns: Option<Vec<AttributePattern>> =
        search_on.map(|names| names.iter().map(AttributePattern::new).collect());
    if let (Some(names), AttributeList::These(listed)) = (search_on, &settings.searchable_attributes) {
        for name in names {
            let pattern = AttributePattern::new(name);
            let known =
                |attribute: &String| pattern.matches(attribute) || covers(attribute, name) || covers(name, attribute);
            // A pattern may mean children of what is listed.
            let means_child = || {
                let mut fields = snapshot.fields.names();
                fields.any(|field| pattern.matches(field) && settings.searchable_attributes.selects(field))
            };
            if name != "*" && !listed.iter().any(known) && !means_child() {
                let available = AvailableAttributes::searchable(settings);
                return Err(NotSearchable { attribute: name.clone(), available });
            }
        }
    }
    let searched = |field: &str| match (&patterns, search_on) {
        (Some(patterns), Some(names)) => {
            patterns.iter().zip(names).any(|(p, name)| p.matches(field) || covers(name, field))
        }
        _ => true,
    };
    let positions = Positions::of(&settings.searchable_attributes);
    let names = || snapshot.fields.names();
    let position = |field| if is_never_searched(field) { None } else { positions.of_field(field) };
    let positions: Vec<Option<u16>> = names().map(position).collect();
    let weight = |(field, position): (&str, &Option<u16>)| match position {
        Some(position) if searched(field) => (*position).min(NOT_SEARCHED - 1),
        _ => NOT_SEARCHED,
    };
    let typos = &settings.typo_tolerance;
    Ok(QueryOptions {
        typos: TypoOptions {
            enabled: typos.enabled,
            one_typo_len: typos.min_word_size_for_typos.one_typo,
            two_typos_len: typos.min_word_size_for_typos.two_typos,
            exact_words: resolved.exact_words.clone(),
            exact_numbers: typos.disable_on_numbers,
        },
        stop_words: resolved.stop_words.clone(),
        synonyms: resolved.synonyms.clone(),
        prefix_search: settings.prefix_search == PrefixSearch::IndexingTime,
        proximity_by_attribute: settings.proximity_precision == ProximityPrecision::ByAttribute,
        weights: names().zip(&positions).map(weight).collect(),
        searchable: positions.iter().map(Option::is_some).collect(),
        max_weight: match &settings.searchable_attributes {
            AttributeList::All => 0,
            AttributeList::These(listed) => u16::try_from(listed.len().saturating_sub(1)).unwrap_or(NOT_SEARCHED - 1),
        },
        forms: FormOptions::default(),
        typos_allowed: names()
            .map(|field| !typos.disable_on_attributes.iter().any(|attribute| covers(attribute, field)))
            .collect(),
    })
}

/// The places of attributes in a list of them, looked up at once where it is long.
enum Positions<'s> {
    Short(&'s AttributeList),
    Long(HashMap<&'s str, u16>),
}

impl<'s> Positions<'s> {
    fn of(list: &'s AttributeList) -> Positions<'s> {
        const LONG: usize = 64;
        match list {
            AttributeList::These(names) if names.len() > LONG => {
                let mut places = HashMap::with_capacity(names.len());
                for (place, name) in (0u32..).zip(names) {
                    places.entry(name.as_str()).or_insert(u16::try_from(place).unwrap_or(u16::MAX));
                }
                Positions::Long(places)
            }
            short => Positions::Short(short),
        }
    }

    /// Works like [`AttributeList::position`].
    fn of_field(&self, field: &str) -> Option<u16> {
        match self {
            Positions::Short(list) => list.position(field),
            Positions::Long(places) => lineage(field).filter_map(|name| places.get(name)).min().copied(),
        }
    }
}

/// Languages of a query that names none: those of the rules of the searched fields; none (detection) without such rules.
/// Fields without one don't count: settings that name the language of one field are there to find what is in it.
pub(crate) fn query_languages(snapshot: &Snapshot, options: &QueryOptions) -> Vec<Language> {
    let Some(rules) = &snapshot.settings.localized_attributes else { return Vec::new() };
    let mut languages = Vec::new();
    for (name, &weight) in snapshot.fields.names().zip(&options.weights) {
        if weight == NOT_SEARCHED {
            continue;
        }
        for language in locales_of(rules, name).iter().filter_map(|code| Language::parse(code)) {
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
    }
    languages
}

/// Vectors and shapes are no text.
fn is_never_searched(field: &str) -> bool {
    covers("_vectors", field) || covers("_geojson", field)
}
