//! `facetSearch`: whether values of facets may be searched.

use super::SettingsError;
use super::definition::{Definition, Effect};

/// True if the values of facets can be searched.
#[derive(Debug)]
pub struct FacetSearch;

impl Definition for FacetSearch {
    const NAME: &'static str = "facetSearch";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = bool;
    type Patch = bool;

    fn default_value() -> bool {
        true
    }

    fn applied(_: &bool, sent: &bool) -> Result<bool, SettingsError> {
        Ok(*sent)
    }
}
