//! The settings of an index that act on a query, resolved to what the hot paths need.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use lamina_index::index::settings::KnownForms;
use lamina_text::id::FieldId;
use lamina_text::text::Language;

/// Weight of a field that is not searched.
pub(crate) const NOT_SEARCHED: u16 = u16::MAX;

/// Settings of an index that a query needs.
#[derive(Clone, Debug, Default)]
pub struct QueryOptions {
    pub typos: TypoOptions,
    /// Normalised words that are dropped from queries and matched in phrases and synonyms only.
    pub stop_words: Arc<HashSet<String>>,
    /// Normalised words (one to three) -> alternatives, each a sequence of normalised words.
    pub synonyms: Arc<HashMap<Vec<String>, Vec<Vec<String>>>>,
    /// The last word also matches as a prefix.
    pub prefix_search: bool,
    /// Distances count words (`byWord`), or only whether words share an attribute (`byAttribute`).
    pub proximity_by_attribute: bool,
    /// Per field: position in the searchable attributes, or [`NOT_SEARCHED`].
    pub weights: Vec<u16>,
    /// Per field: whether it is one of the index's searchable attributes, searched by this request or not. A document
    /// must match in a searched field; how near and how early its words stand is looked up in all searchable ones.
    pub searchable: Vec<bool>,
    /// Largest weight any field of the index can have.
    pub max_weight: u16,
    /// Options for other forms of words.
    pub forms: FormOptions,
    /// Per field: words there are matched by typos too.
    pub typos_allowed: Vec<bool>,
}

/// Options for other forms of words.
#[derive(Clone, Debug, Default)]
pub struct FormOptions {
    /// True if typos are allowed; words count as they are otherwise.
    pub enabled: bool,
    /// Languages whose stems are looked for: terms that share the stem of a word count as forms of it.
    pub languages: Vec<Language>,
    /// Forms that the settings define for single words.
    pub(crate) known: Arc<KnownForms>,
    /// Per field: words there are matched by other forms too.
    pub allowed: Vec<bool>,
    /// A form stands for the word in the relevancy rules. Questions count it on its own.
    pub as_words: bool,
    /// Forms count in phrases, too.
    pub in_phrases: bool,
}

/// Conditions under which a word may be misspelt.
#[derive(Clone, Debug)]
pub struct TypoOptions {
    pub enabled: bool,
    /// Characters from which one typo is accepted.
    pub one_typo_len: u8,
    /// Characters from which two typos are accepted.
    pub two_typos_len: u8,
    /// Normalised words that must be spelt exactly.
    pub exact_words: Arc<HashSet<String>>,
    /// Words of digits and ASCII punctuation must be spelt exactly and are not reached by typos.
    pub exact_numbers: bool,
}

impl Default for TypoOptions {
    fn default() -> Self {
        TypoOptions {
            enabled: true,
            one_typo_len: 5,
            two_typos_len: 9,
            exact_words: Arc::default(),
            exact_numbers: false,
        }
    }
}

impl TypoOptions {
    /// Typos accepted in a word on its own: 0, 1 or 2.
    pub fn budget(&self, word: &str) -> u8 {
        let len = word.chars().count();
        if !self.enabled
            || len < usize::from(self.one_typo_len)
            || self.exact_words.contains(word)
            || (self.exact_numbers && is_number(word))
        {
            0
        } else if len < usize::from(self.two_typos_len) {
            1
        } else {
            2
        }
    }
}

/// Reports whether a word consists only of numeric characters and ASCII punctuation.
pub fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_numeric() || c.is_ascii_punctuation())
}

impl QueryOptions {
    /// Weight of a field; [`NOT_SEARCHED`] for fields that appeared after the options were resolved.
    pub fn weight(&self, field: FieldId) -> u16 {
        self.weights.get(usize::from(field)).copied().unwrap_or(NOT_SEARCHED)
    }

    /// Reports whether words of a field are searchable.
    pub fn is_searchable(&self, field: FieldId) -> bool {
        self.searchable.get(usize::from(field)).copied().unwrap_or(false)
    }

    /// Reports whether some searchable attributes are excluded from this search.
    pub(crate) fn is_restricted(&self) -> bool {
        self.searchable
            .iter()
            .zip(&self.weights)
            .any(|(&is_searchable, &weight)| is_searchable && weight == NOT_SEARCHED)
    }

    /// Reports whether other forms of words count in a field.
    pub(crate) fn forms_reach(&self, field: FieldId) -> bool {
        self.forms.allowed.get(usize::from(field)).copied().unwrap_or(true)
    }

    /// Reports whether words of a field can be matched by typos.
    pub(crate) fn typos_reach(&self, field: FieldId) -> bool {
        self.typos_allowed.get(usize::from(field)).copied().unwrap_or(true)
    }
}
