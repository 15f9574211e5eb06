//! What a change of settings costs: nothing, columns, or the text of the segments.

use super::{Effect, Settings};

/// The work that separates two settings. Everything else about them is read at query time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// Text is cut into words differently.
    pub text: bool,
    /// Columns may be needed that segments lack, or positions are read now.
    pub columns: bool,
    /// Other fields are searchable, so some may be missing in segments.
    pub searchable: bool,
}

impl SettingsChange {
    pub fn between(old: &Settings, new: &Settings) -> SettingsChange {
        let mut change = SettingsChange::default();
        for setting in old.changed(new) {
            match setting.effect() {
                // Vectors are compared embedder by embedder, with the fields that their texts are made of.
                Effect::SearchOnly | Effect::Vectors => {}
                Effect::Columns => change.columns = true,
                Effect::SearchableText => change.searchable = true,
                Effect::Text => change.text = true,
            }
        }
        change
    }
}
