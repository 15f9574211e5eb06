//! `distinctAttribute`: the field of whose equal values the best hit alone is shown.

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Attribute for deduplication: of the documents with the same value, searches show one.
#[derive(Debug)]
pub struct DistinctAttribute;

impl Definition for DistinctAttribute {
    const NAME: &'static str = "distinctAttribute";
    const EFFECT: Effect = Effect::Columns;
    type Value = Option<String>;
    type Patch = String;

    fn default_value() -> Option<String> {
        None
    }

    fn applied(_: &Option<String>, sent: &String) -> Result<Option<String>, SettingsError> {
        Ok(Some(sent.clone()))
    }
}
