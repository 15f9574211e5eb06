//! `completions`: what completions of queries come from, beside the words of the index.

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};
use super::patch::Setting;

/// Sources of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Completions {
    /// Also from what was asked before. The engine keeps nothing of it.
    pub from_queries: bool,
    /// Number of times that a query must have been asked before it completes others.
    pub min_count: u32,
}

impl Default for Completions {
    fn default() -> Completions {
        Completions { from_queries: false, min_count: 3 }
    }
}

/// Change of [`Completions`], merged field by field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CompletionsPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub from_queries: Setting<bool>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub min_count: Setting<u32>,
}

impl Definition for Completions {
    const NAME: &'static str = "completions";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Completions;
    type Patch = CompletionsPatch;

    fn default_value() -> Completions {
        Completions::default()
    }

    fn applied(current: &Completions, sent: &CompletionsPatch) -> Result<Completions, SettingsError> {
        let default = Completions::default();
        Ok(Completions {
            from_queries: sent.from_queries.merged(&current.from_queries, default.from_queries),
            min_count: sent.min_count.merged(&current.min_count, default.min_count),
        })
    }
}
