//! What a change of settings costs: nothing, columns, or the text of the segments.

use super::Settings;

/// The work that separates two settings. Everything else about them is read at query time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SettingsChange {
    /// Text is cut into words differently: separators, dictionary or languages changed.
    pub(crate) text: bool,
    /// Columns may be needed that segments lack, or positions are read now.
    pub(crate) columns: bool,
    /// Other fields are searchable, so some may be missing in segments.
    pub(crate) searchable: bool,
}

impl SettingsChange {
    pub(crate) fn between(old: &Settings, new: &Settings) -> SettingsChange {
        SettingsChange {
            text: old.separator_tokens != new.separator_tokens
                || old.non_separator_tokens != new.non_separator_tokens
                || old.dictionary != new.dictionary
                || old.localized_attributes.as_deref().unwrap_or_default()
                    != new.localized_attributes.as_deref().unwrap_or_default(),
            columns: old.filterable_attributes != new.filterable_attributes
                || old.sortable_attributes != new.sortable_attributes
                || old.distinct_attribute != new.distinct_attribute
                || !old
                    .ranking_rules
                    .iter()
                    .filter_map(|rule| rule.field())
                    .eq(new.ranking_rules.iter().filter_map(|rule| rule.field())),
            searchable: old.searchable_attributes != new.searchable_attributes,
        }
    }
}
