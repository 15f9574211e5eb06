//! `bm25` and `searchableAttributesWeights`: how the score of questions counts occurrences of words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};
use super::patch::Setting;

/// The constants of the score of questions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bm25 {
    /// Saturation of the term frequency, from 0. The greater it is, the more repetitions of a word count.
    pub k1: f64,
    /// Degree of length normalisation, 0 to 1.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Bm25 {
        Bm25 { k1: 1.2, b: 0.75 }
    }
}

/// Change of [`Bm25`], merged field by field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Bm25Patch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub k1: Setting<f64>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub b: Setting<f64>,
}

impl Definition for Bm25 {
    const NAME: &'static str = "bm25";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Bm25;
    type Patch = Bm25Patch;

    fn default_value() -> Bm25 {
        Bm25::default()
    }

    fn applied(current: &Bm25, sent: &Bm25Patch) -> Result<Bm25, SettingsError> {
        let default = Bm25::default();
        Ok(Bm25 { k1: sent.k1.merged(&current.k1, default.k1), b: sent.b.merged(&current.b, default.b) })
    }
}

/// Weight of each attribute in searches that score by BM25.
#[derive(Debug)]
pub struct SearchableAttributesWeights;

impl Definition for SearchableAttributesWeights {
    const NAME: &'static str = "searchableAttributesWeights";
    const EFFECT: Effect = Effect::SearchOnly;
    /// By attribute, which covers its nested children, above 0.
    type Value = BTreeMap<String, f64>;
    type Patch = BTreeMap<String, f64>;

    fn default_value() -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    fn applied(
        _: &BTreeMap<String, f64>,
        sent: &BTreeMap<String, f64>,
    ) -> Result<BTreeMap<String, f64>, SettingsError> {
        Ok(sent.clone())
    }
}
