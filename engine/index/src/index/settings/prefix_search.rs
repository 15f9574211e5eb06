//! `prefixSearch`: whether the last word of a query may be a prefix.

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Prefix matching of the last word of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixSearch {
    #[default]
    IndexingTime,
    Disabled,
}

impl Definition for PrefixSearch {
    const NAME: &'static str = "prefixSearch";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = PrefixSearch;
    type Patch = PrefixSearch;

    fn default_value() -> PrefixSearch {
        PrefixSearch::IndexingTime
    }

    fn applied(_: &PrefixSearch, sent: &PrefixSearch) -> Result<PrefixSearch, SettingsError> {
        Ok(*sent)
    }
}
