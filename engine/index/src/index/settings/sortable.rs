//! `sortableAttributes`: the fields that requests may sort by.

use std::collections::BTreeSet;

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Attributes by which searches may sort.
#[derive(Debug)]
pub struct SortableAttributes;

impl Definition for SortableAttributes {
    const NAME: &'static str = "sortableAttributes";
    const EFFECT: Effect = Effect::Columns;
    type Value = BTreeSet<String>;
    type Patch = BTreeSet<String>;

    fn default_value() -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn applied(_: &BTreeSet<String>, sent: &BTreeSet<String>) -> Result<BTreeSet<String>, SettingsError> {
        Ok(sent.clone())
    }
}
