//! `faceting` and `pagination`: resolved values and their field-by-field patches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::patch::Setting;

/// How facet values are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Faceting {
    pub max_values_per_facet: usize,
    /// Field name or `*` to order; always holds `*`.
    pub sort_facet_values_by: BTreeMap<String, FacetOrder>,
}

/// Order of a facet's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FacetOrder {
    /// By value, ascending.
    #[default]
    Alpha,
    /// By number of documents, descending.
    Count,
}

impl Default for Faceting {
    fn default() -> Faceting {
        Faceting { max_values_per_facet: 100, sort_facet_values_by: with_star(BTreeMap::new()) }
    }
}

impl Faceting {
    /// The order of the values of `field`: its own entry, or that of `*`.
    pub fn order_of(&self, field: &str) -> FacetOrder {
        let orders = &self.sort_facet_values_by;
        orders.get(field).or_else(|| orders.get("*")).copied().unwrap_or_default()
    }

    pub(super) fn patched(&self, patch: &FacetingPatch) -> Faceting {
        let default = Faceting::default();
        Faceting {
            max_values_per_facet: patch
                .max_values_per_facet
                .merged(&self.max_values_per_facet, default.max_values_per_facet),
            // Replaced as a whole when sent.
            sort_facet_values_by: with_star(
                patch.sort_facet_values_by.merged(&self.sort_facet_values_by, default.sort_facet_values_by),
            ),
        }
    }
}

fn with_star(mut orders: BTreeMap<String, FacetOrder>) -> BTreeMap<String, FacetOrder> {
    orders.entry("*".to_owned()).or_default();
    orders
}

/// Change of [`Faceting`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FacetingPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub max_values_per_facet: Setting<usize>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub sort_facet_values_by: Setting<BTreeMap<String, FacetOrder>>,
}

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
    /// Of `found` hits, as many as pages can reach.
    pub fn reachable(self, found: u64) -> u64 {
        found.min(self.max_total_hits as u64)
    }

    /// The estimate of hits for an answer without pages: [`Pagination::reachable`], but all that were found where an index
    /// keeps the default.
    pub fn estimate(self, found: u64) -> u64 {
        if self == Pagination::default() { found } else { self.reachable(found) }
    }

    pub(super) fn patched(&self, patch: &PaginationPatch) -> Pagination {
        let default = Pagination::default();
        Pagination { max_total_hits: patch.max_total_hits.merged(&self.max_total_hits, default.max_total_hits) }
    }
}

/// Change of [`Pagination`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PaginationPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub max_total_hits: Setting<usize>,
}
