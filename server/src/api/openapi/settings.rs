//! Schemas of the settings of an index: as they are written, where null resets, and as they are read.

use lamina_protocol::wire::schema::{exactly, or_null};
use lamina_protocol::wire::settings::{Presence, SettingKind, WriteVerb, embedder_schema};
use serde_json::{Value, json};

use super::searches::without_links;
use crate::http::routing::{Body, Route};

/// The operation of one setting, made from that of any.
pub(super) fn operation(route: &Route, setting: &SettingKind, mut any: Value) -> Value {
    if matches!(route.body, Body::Json { .. }) {
        let example: Value = serde_json::from_str(setting.reference.example).unwrap_or_default();
        any["requestBody"]["content"]["application/json"] = json!({ "schema": of(setting), "example": example });
    } else if route.endpoint.method == "GET" {
        any["responses"]["200"]["content"]["application/json"]["schema"] = of(setting);
    }
    any
}

/// The body of a change of several settings.
pub(in crate::api) fn body() -> Value {
    exactly(values(), &[])
}

/// The value of one setting, as it is read and written.
fn of(setting: &SettingKind) -> Value {
    json!({ "$ref": format!("#/components/schemas/Settings/properties/{}", setting.key) })
}

/// The settings whose own routes have this method.
pub(super) fn written_by(method: &str) -> impl Iterator<Item = &'static SettingKind> {
    SettingKind::all().filter(move |setting| match method {
        "PUT" => setting.verb() == WriteVerb::Put,
        "PATCH" => setting.verb() == WriteVerb::Patch,
        _ => true,
    })
}

/// All settings of an index, by the names of their schemas.
pub(super) fn answers() -> Vec<(&'static str, Value)> {
    let always = SettingKind::all().filter(|setting| setting.presence == Presence::Always);
    let always: Vec<&str> = always.map(|setting| setting.key).collect();
    // What is not set is shown with its default, and what has none as null.
    vec![("Settings", exactly(values(), &always)), ("Embedder", embedder_schema())]
}

fn values() -> impl Iterator<Item = (&'static str, Value)> {
    SettingKind::all().map(|setting| {
        let mut schema = or_null(setting.schema());
        schema["description"] =
            format!("{}. Cost of a change: {}.", without_links(setting.reference.purpose), setting.cost()).into();
        (setting.key, schema)
    })
}
