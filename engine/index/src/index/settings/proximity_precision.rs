//! `proximityPrecision`: how finely the `proximity` rule looks.

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Precision of the `proximity` rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProximityPrecision {
    /// Distances in words.
    #[default]
    ByWord,
    /// Same attribute or not.
    ByAttribute,
}

impl Definition for ProximityPrecision {
    const NAME: &'static str = "proximityPrecision";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = ProximityPrecision;
    type Patch = ProximityPrecision;

    fn default_value() -> ProximityPrecision {
        ProximityPrecision::ByWord
    }

    fn applied(_: &ProximityPrecision, sent: &ProximityPrecision) -> Result<ProximityPrecision, SettingsError> {
        Ok(*sent)
    }
}
