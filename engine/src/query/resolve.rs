//! Settings of an index, resolved to [`QueryOptions`] for one request.
//!
//! What depends on the settings alone (the tokenizer, normalised synonyms and stop words) is built once per version
//! of the settings and kept in a small cache, so that a change of settings applies to the next search at once.

use std::sync::{Arc, LazyLock, Weak};

use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use thiserror::Error;

use super::options::{NOT_SEARCHED, QueryOptions, TypoOptions};
use crate::index::Snapshot;
use crate::index::settings::{
    AttributeList, AttributePattern, PrefixSearch, ProximityPrecision, Settings, covers, lineage, locales_of,
};
use crate::text::{Language, TokenKind, Tokenizer, normalize_word};

/// Settings kept resolved at once, over all indexes of the process.
const CACHED_MAX: usize = 64;
/// Alternatives of one word or phrase that a query looks for. The settings let one key have as many; only where several keys
/// come down to the same words may there be more, and the rest is left out.
pub const ALTERNATIVES_MAX: usize = 1000;
/// Longest synonym key, in words: what concatenations can look up.
const SYNONYM_KEY_WORDS_MAX: usize = 3;

/// What follows from the settings alone.
pub struct ResolvedSettings {
    pub tokenizer: Tokenizer,
    stop_words: Arc<HashSet<String>>,
    synonyms: Arc<HashMap<Vec<String>, Vec<Vec<String>>>>,
    exact_words: Arc<HashSet<String>>,
}

/// A normalised sequence of words.
type Words = Vec<String>;

/// Versions of settings and what follows from them, oldest first.
type Cache = Vec<(Weak<Settings>, Arc<ResolvedSettings>)>;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

impl ResolvedSettings {
    /// From the cache, or built. Cost of building: tokenising all synonyms.
    pub fn of(settings: &Arc<Settings>) -> Arc<ResolvedSettings> {
        let found = |cache: &[(Weak<Settings>, Arc<ResolvedSettings>)]| {
            cache.iter().find(|(s, _)| std::ptr::eq(s.as_ptr(), Arc::as_ptr(settings))).map(|(_, r)| r.clone())
        };
        if let Some(resolved) = found(&CACHE.lock()) {
            return resolved;
        }
        let resolved = Arc::new(ResolvedSettings::new(settings));
        let mut cache = CACHE.lock();
        cache.retain(|(s, _)| s.strong_count() > 0);
        if cache.len() >= CACHED_MAX {
            cache.remove(0);
        }
        cache.push((Arc::downgrade(settings), resolved.clone()));
        resolved
    }

    fn new(settings: &Settings) -> ResolvedSettings {
        let tokenizer = settings.tokenizer();
        let stop_words: HashSet<String> = settings.stop_words.iter().map(|word| normalize_word(word)).collect();
        let words = |text: &str| -> Vec<String> {
            let words = tokenizer.tokens(text, &[]).into_iter().filter(|t| t.kind == TokenKind::Word);
            words.map(|t| t.text.into_owned()).collect()
        };
        let mut synonyms: HashMap<Vec<String>, (Vec<Words>, HashSet<Words>)> = HashMap::new();
        for (key, values) in &settings.synonyms {
            // As in queries, where the last word counts even if it is a stop word; what a key stands for is looked for as it is.
            let mut key = words(key);
            let last = key.pop();
            key.retain(|word| !stop_words.contains(word));
            key.extend(last.filter(|word| key.is_empty() || !stop_words.contains(word)));
            if key.is_empty() || key.len() > SYNONYM_KEY_WORDS_MAX {
                continue;
            }
            let (list, known) = synonyms.entry(key).or_default();
            for value in values.iter().map(|v| words(v)).filter(|v| !v.is_empty()) {
                if list.len() < ALTERNATIVES_MAX && known.insert(value.clone()) {
                    list.push(value);
                }
            }
        }
        let synonyms = synonyms.into_iter().map(|(key, (list, _))| (key, list)).collect();
        // Stored in the normal form of the version that wrote them.
        let exact_words = settings.typo_tolerance.disable_on_words.iter().map(|word| normalize_word(word)).collect();
        ResolvedSettings {
            tokenizer,
            stop_words: Arc::new(stop_words),
            synonyms: Arc::new(synonyms),
            exact_words: Arc::new(exact_words),
        }
    }
}

/// A name of `attributesToSearchOn` that matches no searchable attribute.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Attribute `{attribute}` is not searchable. Available searchable attributes are: `{}`.", available.join(", "))]
pub struct NotSearchable {
    pub attribute: String,
    /// Searchable attributes in order; those that are not displayed as one `<..hidden-attributes>` at the end.
    pub available: Vec<String>,
}

/// Options of one request. `search_on`: names or patterns (`*` at either end) of the attributes to search.
///
/// # Errors
/// The first name of `search_on` that the searchable attributes do not cover.
pub fn resolve(
    snapshot: &Snapshot,
    resolved: &ResolvedSettings,
    search_on: Option<&[String]>,
) -> Result<QueryOptions, NotSearchable> {
    let settings = &snapshot.settings;
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
                let (mut available, hidden): (Vec<_>, Vec<_>) =
                    listed.iter().cloned().partition(|a| settings.displayed_attributes.selects(a));
                if !hidden.is_empty() {
                    available.push("<..hidden-attributes>".to_owned());
                }
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
    let searchable = |field: &str| !is_never_searched(field) && positions.of_field(field).is_some();
    let weight = |field: &str| -> u16 {
        if !searched(field) || !searchable(field) {
            return NOT_SEARCHED;
        }
        positions.of_field(field).map_or(NOT_SEARCHED, |p| p.min(NOT_SEARCHED - 1))
    };
    let typos = &settings.typo_tolerance;
    let names = || snapshot.fields.names();
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
        weights: names().map(weight).collect(),
        searchable: names().map(searchable).collect(),
        max_weight: match &settings.searchable_attributes {
            AttributeList::All => 0,
            AttributeList::These(listed) => u16::try_from(listed.len().saturating_sub(1)).unwrap_or(NOT_SEARCHED - 1),
        },
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

    /// As [`AttributeList::position`].
    fn of_field(&self, field: &str) -> Option<u16> {
        match self {
            Positions::Short(list) => list.position(field),
            Positions::Long(places) => lineage(field).filter_map(|name| places.get(name)).min().copied(),
        }
    }
}

/// Languages of a query that names none: those of the rules of the searched fields; none (detection) without such rules.
/// Fields without one don't count: whoever names the language of one field wants to find what is in it.
pub fn query_languages(snapshot: &Snapshot, options: &QueryOptions) -> Vec<Language> {
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
