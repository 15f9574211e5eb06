//! `displayedAttributes`, `searchableAttributes`, `sortableAttributes`: lists of attributes.

use lamina_base::error::Code;
use lamina_engine::index::Setting;
use lamina_engine::index::settings::{AttributeList, GEO_FIELD, SettingId};
use serde_json::{Value, json};

use super::bounds::attributes;
use super::kind::{Figure, Figures, Reference, SettingKind};
use super::values::{sent, setting, string_set};
use crate::wire::schema;

pub(super) const DISPLAYED: SettingKind = SettingKind {
    id: SettingId::DisplayedAttributes,
    key: "displayedAttributes",
    route: "displayed-attributes",
    code: Code::InvalidSettingsDisplayedAttributes,
    bounds: attributes,
    read: |at, patch| {
        patch.displayed_attributes = setting(at, |at| Ok(at.strings()?.into()))?;
        Ok(())
    },
    written: |settings| list(&settings.displayed_attributes),
    sent: |patch| sent_list(&patch.displayed_attributes),
    schema: schema::texts,
    figures: |patch| {
        figures(&patch.displayed_attributes, "displayed_attributes.total", "displayed_attributes.with_wildcard")
    },
    reference: Reference {
        purpose: "attributes that hits show; `[\"*\"]` means all",
        value: "array of strings",
        example: r#"["title", "year"]"#,
    },
    ..SettingKind::PLAIN
};

pub(super) const SEARCHABLE: SettingKind = SettingKind {
    id: SettingId::SearchableAttributes,
    key: "searchableAttributes",
    route: "searchable-attributes",
    code: Code::InvalidSettingsSearchableAttributes,
    bounds: attributes,
    read: |at, patch| {
        patch.searchable_attributes = setting(at, |at| Ok(at.strings()?.into()))?;
        Ok(())
    },
    written: |settings| list(&settings.searchable_attributes),
    sent: |patch| sent_list(&patch.searchable_attributes),
    schema: schema::texts,
    figures: |patch| {
        figures(&patch.searchable_attributes, "searchable_attributes.total", "searchable_attributes.with_wildcard")
    },
    reference: Reference {
        purpose: "attributes that are searched, the most important first; `[\"*\"]` means all, with equal weight",
        value: "array of strings",
        example: r#"["title", "overview"]"#,
    },
    ..SettingKind::PLAIN
};

pub(super) const SORTABLE: SettingKind = SettingKind {
    id: SettingId::SortableAttributes,
    key: "sortableAttributes",
    route: "sortable-attributes",
    code: Code::InvalidSettingsSortableAttributes,
    bounds: attributes,
    read: |at, patch| {
        patch.sortable_attributes = setting(at, string_set)?;
        Ok(())
    },
    written: |settings| json!(settings.sortable_attributes),
    sent: |patch| sent(&patch.sortable_attributes, |names| json!(names)),
    schema: schema::texts,
    figures: |patch| match &patch.sortable_attributes {
        Setting::Set(names) => vec![
            ("sortable_attributes.total", Figure::Max(names.len())),
            ("sortable_attributes.has_geo", Figure::Any(names.contains(GEO_FIELD))),
        ],
        _ => Figures::new(),
    },
    reference: Reference {
        purpose: "attributes that requests may sort by; `_geo` for distances",
        value: "array of strings",
        example: r#"["year", "_geo"]"#,
    },
    ..SettingKind::PLAIN
};

fn list(attributes: &AttributeList) -> Value {
    Vec::<String>::from(attributes.clone()).into()
}

/// A reset is shown as what it means.
fn sent_list(change: &Setting<AttributeList>) -> Option<Value> {
    match change {
        Setting::Unset => None,
        Setting::Reset => Some(list(&AttributeList::All)),
        Setting::Set(attributes) => Some(list(attributes)),
    }
}

fn figures(change: &Setting<AttributeList>, total: &'static str, with_wildcard: &'static str) -> Figures {
    let Setting::Set(attributes) = change else { return Figures::new() };
    let (count, is_all) = match attributes {
        AttributeList::All => (1, true),
        AttributeList::These(names) => (names.len(), false),
    };
    vec![(total, Figure::Max(count)), (with_wildcard, Figure::Any(is_all))]
}
