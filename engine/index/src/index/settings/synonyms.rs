//! `synonyms`: by word or phrase, what else to look for.

use std::collections::BTreeMap;

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Alternatives for a word or a phrase of a query.
#[derive(Debug)]
pub struct Synonyms;

impl Definition for Synonyms {
    const NAME: &'static str = "synonyms";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = BTreeMap<String, Vec<String>>;
    type Patch = BTreeMap<String, Vec<String>>;

    fn default_value() -> BTreeMap<String, Vec<String>> {
        BTreeMap::new()
    }

    fn applied(
        _: &BTreeMap<String, Vec<String>>,
        sent: &BTreeMap<String, Vec<String>>,
    ) -> Result<BTreeMap<String, Vec<String>>, SettingsError> {
        Ok(sent.clone())
    }
}
