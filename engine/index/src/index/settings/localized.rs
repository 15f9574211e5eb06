//! `localizedAttributes`: the languages in which fields are written.

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::attribute_list::without_duplicates;
use super::attribute_pattern::AttributePattern;
use super::definition::{Definition, Effect};

/// One rule; the first rule that matches a field decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalizedAttributes {
    pub attribute_patterns: Vec<AttributePattern>,
    /// Three-letter language codes; empty means detection among all languages.
    pub locales: Vec<String>,
}

impl Definition for LocalizedAttributes {
    const NAME: &'static str = "localizedAttributes";
    const EFFECT: Effect = Effect::Text;
    type Value = Option<Vec<LocalizedAttributes>>;
    type Patch = Vec<LocalizedAttributes>;

    fn default_value() -> Option<Vec<LocalizedAttributes>> {
        None
    }

    fn applied(
        _: &Option<Vec<LocalizedAttributes>>,
        sent: &Vec<LocalizedAttributes>,
    ) -> Result<Option<Vec<LocalizedAttributes>>, SettingsError> {
        Ok(Some(without_duplicates(sent.clone())))
    }

    fn differs(old: &Option<Vec<LocalizedAttributes>>, new: &Option<Vec<LocalizedAttributes>>) -> bool {
        // No rules are as good as an empty list of them.
        old.as_deref().unwrap_or_default() != new.as_deref().unwrap_or_default()
    }
}

/// The language codes of `field` (dotted path); empty when no rule matches or the rule leaves it to detection.
pub fn locales_of<'a>(rules: &'a [LocalizedAttributes], field: &str) -> &'a [String] {
    rules
        .iter()
        .find(|rule| rule.attribute_patterns.iter().any(|pattern| pattern.matches(field)))
        .map_or(&[], |rule| &rule.locales)
}
