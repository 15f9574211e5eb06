//! `expiryAttribute`: when a document is not found any more.

use lamina_base::error::Code;
use lamina_engine::index::settings::SettingId;
use serde_json::json;

use super::bounds;
use super::kind::{Presence, Reference, SettingKind};
use super::values::setting;
use crate::wire::schema;

pub(super) const EXPIRY_ATTRIBUTE: SettingKind = SettingKind {
    id: SettingId::ExpiryAttribute,
    key: "expiryAttribute",
    route: "expiry-attribute",
    presence: Presence::WhenSet,
    code: Code::InvalidSettingsExpiryAttribute,
    read: |at, patch| {
        patch.expiry_attribute = setting(at, |at| at.string())?;
        Ok(())
    },
    bounds: bounds::attribute,
    written: |settings| json!(settings.expiry_attribute),
    // Clients of the protocol do not know it, so a reset of all settings does not show it.
    sent: |patch| patch.expiry_attribute.as_set().map(|name| json!(name)),
    schema: schema::text,
    reference: Reference {
        purpose: "attribute with the expiry time of a document: a date, or seconds since 1970",
        value: "string",
        example: r#""expiresAt""#,
    },
    ..SettingKind::PLAIN
};
