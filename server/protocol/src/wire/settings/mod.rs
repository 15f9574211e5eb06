//! The settings of an index on the wire: reading changes, showing values.
//!
//! Each setting is a row of [`list`], one for each setting of the engine, with its [`Shape`](shape::Shape); routes,
//! `/openapi.json`, telemetry, dumps and the page of settings go by that list. Everything decidable from the request alone is
//! checked here and refused at once; what depends on the stored values is checked by [`merged`] when the task runs.

mod bounds;
pub mod chat;
mod embedder;
mod embedders;
mod figures;
mod kind;
mod list;
mod moved;
mod parts;
mod ranking_rules;
#[cfg(test)]
mod reference_tests;
mod rerankers;
mod secrets;
mod shape;
#[cfg(test)]
mod tests;

use lamina_base::error::{ApiError, ApiResult};
use lamina_engine::index::{Settings, SettingsPatch};
use serde_json::{Map, Value};

pub use embedder::schema as embedder_schema;
pub use figures::Figure;
pub use kind::{IsOn, Presence, SettingKind, WriteVerb};
pub use moved::forget_moved_secrets;
pub use secrets::remove_secrets;

use super::json::At;

/// Reads the body of a settings update: absent keys are left alone, null resets.
///
/// # Errors
/// `bad_request` for unknown keys, else the code of the setting.
pub fn read(body: &Value) -> ApiResult<SettingsPatch> {
    let mut patch = SettingsPatch::default();
    let known = SettingKind::all;
    let accepted: Vec<&str> = known().map(|setting| setting.key).collect();
    At::root(body).fields(&accepted, |name, field| match known().find(|setting| setting.key == name) {
        Some(setting) => setting.read_into(field, &mut patch),
        None => Ok(()),
    })?;
    Ok(patch)
}

/// Refuses what belongs to features that are off, in a body for all settings or for `kind`.
///
/// # Errors
/// `feature_not_enabled`
pub fn check_features(kind: Option<&SettingKind>, body: &Value, is_on: IsOn<'_>) -> ApiResult<()> {
    match kind {
        Some(kind) => (kind.check_features)(body, is_on),
        None => SettingKind::all().try_for_each(|kind| match body.get(kind.key) {
            Some(value) => (kind.check_features)(value, is_on),
            None => Ok(()),
        }),
    }
}

/// All settings as clients see them: every key in order, secrets redacted, embedders with their defaults.
pub fn show(settings: &Settings, is_on: IsOn<'_>) -> Value {
    let shown = SettingKind::all().map(|kind| (kind, kind.show(settings, is_on)));
    object(shown.filter(|(kind, value)| kind.is_present(value, is_on)))
}

/// All settings as a client would write them, with their secrets: for dumps and for other servers. Settings that not every
/// server knows are there when they are set.
pub fn written(settings: &Settings) -> Value {
    let default = Settings::default();
    let written = SettingKind::all().map(|kind| (kind, kind.written(settings)));
    object(written.filter(|(kind, value)| kind.presence == Presence::Always || *value != kind.written(&default)))
}

/// The body of a settings update that turns settings into others, with their secrets.
pub fn changes(from: &Settings, to: &Settings) -> Value {
    let changed = SettingKind::all().filter_map(|kind| {
        let (before, after) = (kind.written(from), kind.written(to));
        // Some objects change field by field, at one level or at two, and some are replaced.
        let turns = |change: &Value| {
            let changed = kind.read(change).ok().and_then(|patch| from.patched(&patch).ok());
            changed.is_some_and(|changed| kind.written(&changed) == after)
        };
        let change = (0..=2).map(|levels| with_resets(&before, after.clone(), levels)).find(turns);
        (before != after).then(|| (kind, change.unwrap_or(after)))
    });
    object(changed)
}

/// `after`, with null for each field that only `before` has, at so many levels.
fn with_resets(before: &Value, mut after: Value, levels: usize) -> Value {
    if let (1.., Value::Object(before), Value::Object(after)) = (levels, before, &mut after) {
        for (name, value) in before {
            let change = after.get(name).map(|after| with_resets(value, after.clone(), levels - 1));
            after.insert(name.clone(), change.unwrap_or_default());
        }
    }
    after
}

/// Takes out of settings, as they are written or sent, what not every server of the protocol knows. What is no setting stays.
pub fn keep_portable(settings: &mut Map<String, Value>) {
    for kind in SettingKind::all() {
        if kind.presence == Presence::WhenSet {
            settings.shift_remove(kind.key);
        } else if let Some(value) = settings.get_mut(kind.key) {
            *value = (kind.portable)(value.take());
        }
    }
}

/// The setting whose refusals have this code.
pub fn key_of_code(code: &str) -> Option<&'static str> {
    SettingKind::all().find(|kind| kind.code.as_str() == code).map(|kind| kind.key)
}

/// The change as a task shows it: only what was sent, null for a reset (or `["*"]` where that is what a reset means),
/// secrets redacted.
pub fn details(patch: &SettingsPatch) -> Map<String, Value> {
    SettingKind::all().filter_map(|kind| Some((kind.key.to_owned(), kind.sent(patch)?))).collect()
}

/// `current` with `patch` applied, after a check of the rules that depend on stored values.
///
/// # Errors
/// With the code of the setting that contradicts what is stored.
pub fn merged(current: &Settings, patch: &SettingsPatch) -> ApiResult<Settings> {
    let merged = current.patched(patch).map_err(|error| ApiError::from(&error))?;
    SettingKind::all().try_for_each(|kind| (kind.check_merged)(patch, current, &merged))?;
    Ok(merged)
}

/// Configurations by name as clients see them.
fn shown_entries(written: Value, show: fn(&Value) -> Value) -> Value {
    match written {
        Value::Object(entries) => {
            entries.into_iter().map(|(name, one)| (name, show(&one))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

fn object(settings: impl Iterator<Item = (&'static SettingKind, Value)>) -> Value {
    Value::Object(settings.map(|(kind, value)| (kind.key.to_owned(), value)).collect())
}
