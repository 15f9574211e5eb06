//! What callers need who settle the places of some documents themselves: which documents pass the filter of a search, and
//! which words its text has.

use hashbrown::HashMap;
use lamina_index::index::{DocumentAddress, Snapshot};
use lamina_segment::bits::DocSet;

use super::filtering::Filtering;
use super::{SearchError, SearchRequest};
use crate::query::resolve::{query_languages, resolve};
use crate::query::{ParseOptions, QueryOptions, TermKind, parse_query};

/// Looks up documents that a search may show. The filter is evaluated once for each segment that has one of them.
#[derive(Debug)]
pub struct Admitted<'a> {
    snapshot: &'a Snapshot,
    filtering: Filtering,
    has_filter: bool,
    passing: HashMap<u32, DocSet>,
}

impl<'a> Admitted<'a> {
    /// # Errors
    /// A filter that the settings do not allow.
    pub fn new(snapshot: &'a Snapshot, request: &SearchRequest) -> Result<Admitted<'a>, SearchError> {
        let filtering = Filtering::new(snapshot, request)?;
        Ok(Admitted { snapshot, filtering, has_filter: request.filter.is_some(), passing: HashMap::new() })
    }

    /// Returns the address of the document with this key, if it passes the filter. If there is no time to evaluate the
    /// filter, no document passes.
    pub fn find(&mut self, key: &str) -> Option<DocumentAddress> {
        let address = self.snapshot.find(key)?;
        if !self.has_filter {
            return Some(address);
        }
        let view = &self.snapshot.segments[address.segment as usize];
        let passing = self.passing.entry(address.segment).or_insert_with(|| self.filtering.passing(view));
        passing.contains(address.doc).then_some(address)
    }
}

/// The words of a search, in reading order and in normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryWords {
    /// Without those of phrases of several words, and without excluded ones.
    pub words: Vec<String>,
    /// True if the search has no words and no phrases.
    pub is_empty: bool,
}

/// The first words and phrases of a search, `terms_max` at most.
///
/// # Errors
/// Attributes to search that the settings do not allow.
pub fn query_words(snapshot: &Snapshot, request: &SearchRequest, terms_max: usize) -> Result<QueryWords, SearchError> {
    let Some(text) = request.query.as_deref().filter(|text| !text.trim().is_empty()) else {
        return Ok(QueryWords { words: Vec::new(), is_empty: true });
    };
    let resolved = snapshot.resolved_settings();
    let languages = match (request.languages.as_slice(), &snapshot.settings.localized_attributes) {
        ([], None) => Vec::new(),
        ([], Some(_)) => {
            let options: QueryOptions = resolve(snapshot, request.search_on.as_deref())?;
            query_languages(snapshot, &options)
        }
        (named, _) => named.to_vec(),
    };
    let asked = ParseOptions {
        languages: &languages,
        stop_words: &resolved.stop_words,
        prefix_search: false,
        possessives: false,
        terms_max,
    };
    let parsed = parse_query(text, &resolved.tokenizer, &asked);
    let word = |kind: TermKind| match kind {
        TermKind::Word { text, .. } => Some(text),
        TermKind::Phrase(mut words) if words.len() == 1 => words.pop(),
        TermKind::Phrase(_) => None,
    };
    let is_empty = parsed.terms.is_empty();
    Ok(QueryWords { words: parsed.terms.into_iter().filter_map(|term| word(term.kind)).collect(), is_empty })
}
