//! `distinctAttribute`: of documents with the same value, hits have the best alone.

use lamina_base::error::Code;
use lamina_engine::index::settings::SettingId;
use serde_json::json;

use super::bounds;
use super::kind::{Figure, Reference, SettingKind};
use super::values::{sent, setting};
use crate::wire::schema;

pub(super) const DISTINCT_ATTRIBUTE: SettingKind = SettingKind {
    id: SettingId::DistinctAttribute,
    key: "distinctAttribute",
    route: "distinct-attribute",
    code: Code::InvalidSettingsDistinctAttribute,
    read: |at, patch| {
        patch.distinct_attribute = setting(at, |at| at.string())?;
        Ok(())
    },
    bounds: bounds::attribute,
    written: |settings| json!(settings.distinct_attribute),
    sent: |patch| sent(&patch.distinct_attribute, |name| json!(name)),
    schema: schema::text,
    figures: |patch| vec![("distinct_attribute.set", Figure::Any(patch.distinct_attribute.as_set().is_some()))],
    reference: Reference {
        purpose: "of documents with the same value of this attribute, only the best is a hit",
        value: "string",
        example: r#""sku""#,
    },
    ..SettingKind::PLAIN
};
