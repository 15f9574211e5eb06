//! `faceting`: how facet values are listed.

use std::collections::BTreeMap;

use lamina_text::filter::attribute_of;
use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::value::object;

object! {
    /// Listing of facet values.
    #[derive(Eq)]
    Faceting changed by FacetingPatch {
        max_values_per_facet: usize = 100,
        /// Field name or `*` to order; always holds `*`. A change replaces all of them.
        sort_facet_values_by: BTreeMap<String, FacetOrder> = with_star(BTreeMap::new()),
    }
    finish keep_star
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

impl Faceting {
    /// The order of the values of `field`: its own entry, or that of `*`. Of elements, that of the field without the condition.
    pub fn order_of(&self, field: &str) -> FacetOrder {
        let orders = &self.sort_facet_values_by;
        orders.get(&*attribute_of(field)).or_else(|| orders.get("*")).copied().unwrap_or_default()
    }
}

fn with_star(mut orders: BTreeMap<String, FacetOrder>) -> BTreeMap<String, FacetOrder> {
    orders.entry("*".to_owned()).or_default();
    orders
}

fn keep_star(mut merged: Faceting, _: &FacetingPatch) -> Result<Faceting, SettingsError> {
    merged.sort_facet_values_by = with_star(merged.sort_facet_values_by);
    Ok(merged)
}
