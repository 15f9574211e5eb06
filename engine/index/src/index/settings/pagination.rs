//! `pagination`: resolved value and its field-by-field patch.

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};
use super::patch::Setting;

/// Bounds of paging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pagination {
    /// No answer goes further than this many hits; at least 1.
    pub max_total_hits: usize,
}

impl Default for Pagination {
    fn default() -> Pagination {
        Pagination { max_total_hits: 1000 }
    }
}

impl Pagination {
    /// Returns the number of hits, of `found`, that pages can reach.
    pub fn reachable(self, found: u64) -> u64 {
        found.min(self.max_total_hits as u64)
    }

    /// The estimate of hits for an answer without pages: [`Pagination::reachable`], but all that were found where an index
    /// keeps the default.
    pub fn estimate(self, found: u64) -> u64 {
        if self == Pagination::default() { found } else { self.reachable(found) }
    }
}

/// Change of [`Pagination`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PaginationPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub max_total_hits: Setting<usize>,
}

impl Definition for Pagination {
    const NAME: &'static str = "pagination";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Pagination;
    type Patch = PaginationPatch;

    fn default_value() -> Pagination {
        Pagination::default()
    }

    fn applied(current: &Pagination, sent: &PaginationPatch) -> Result<Pagination, SettingsError> {
        let max_total_hits = sent.max_total_hits.merged(&current.max_total_hits, Pagination::default().max_total_hits);
        Ok(Pagination { max_total_hits })
    }
}
