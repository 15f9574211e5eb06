//! `faceting`: resolved value and its field-by-field patch.

use std::collections::BTreeMap;

use lamina_text::filter::attribute_of;
use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};
use super::patch::Setting;

/// Listing of facet values.
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

/// Change of [`Faceting`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FacetingPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub max_values_per_facet: Setting<usize>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub sort_facet_values_by: Setting<BTreeMap<String, FacetOrder>>,
}

impl Definition for Faceting {
    const NAME: &'static str = "faceting";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Faceting;
    type Patch = FacetingPatch;

    fn default_value() -> Faceting {
        Faceting::default()
    }

    fn applied(current: &Faceting, sent: &FacetingPatch) -> Result<Faceting, SettingsError> {
        let default = Faceting::default();
        Ok(Faceting {
            max_values_per_facet: sent
                .max_values_per_facet
                .merged(&current.max_values_per_facet, default.max_values_per_facet),
            // Replaced as a whole when sent.
            sort_facet_values_by: with_star(
                sent.sort_facet_values_by.merged(&current.sort_facet_values_by, default.sort_facet_values_by),
            ),
        })
    }
}
