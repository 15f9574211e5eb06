//! `localizedAttributes`: the languages in which fields are written.

use serde::{Deserialize, Serialize};

use super::attribute_pattern::AttributePattern;
use super::value::Entry;

/// One rule; the first rule that matches a field decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalizedAttributes {
    pub attribute_patterns: Vec<AttributePattern>,
    /// Three-letter language codes; empty means detection among all languages.
    pub locales: Vec<String>,
}

impl Entry for LocalizedAttributes {}

/// The language codes of `field` (dotted path); empty when no rule matches or the rule leaves it to detection.
pub fn locales_of<'a>(rules: &'a [LocalizedAttributes], field: &str) -> &'a [String] {
    rules
        .iter()
        .find(|rule| rule.attribute_patterns.iter().any(|pattern| pattern.matches(field)))
        .map_or(&[], |rule| &rule.locales)
}
