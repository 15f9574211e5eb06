//! One setting of the protocol: its names and its shape, from which reading, writing, and what the routes,
//! `/openapi.json`, telemetry and the reference page say of it follow.

use lamina_base::error::{ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::index::settings::{Effect, SettingId};
use lamina_engine::index::{Settings, SettingsPatch};
use serde_json::{Value, json};

use super::figures::{Figure, Measure};
use super::shape::Shape;
use crate::wire::json::At;

/// The HTTP verb that writes a sub-setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    /// The value is replaced.
    Put,
    /// An object, merged field by field.
    Patch,
}

/// Condition for a setting to be part of the settings object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// With its default when it is not set.
    Always,
    /// The protocol does not know it: it is shown while it is set.
    WhenSet,
    /// While the experimental feature is on.
    WithFeature(Feature),
}

/// Reports whether an experimental feature is on.
pub type IsOn<'f> = &'f dyn Fn(Feature) -> bool;

/// The line of the reference page, beside names, default and cost, which are known elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Purpose of the setting.
    pub purpose: &'static str,
    /// The type of its JSON.
    pub value: &'static str,
    /// A value as it is sent.
    pub example: &'static str,
}

/// One setting on the wire. Its value there is its stored form.
#[derive(Debug)]
pub struct SettingKind {
    /// Id of the setting.
    pub id: SettingId,
    /// Key of the settings object.
    pub key: &'static str,
    /// Last segment of its own route.
    pub route: &'static str,
    /// Condition for the setting to be shown.
    pub presence: Presence,
    /// Line of the reference page.
    pub reference: Reference,
    /// Error code of its refusals.
    pub(super) code: Code,
    pub(super) shape: Shape,
    /// Figures of a change for telemetry, by dotted names.
    pub(super) figures: &'static [(&'static str, Measure)],
    /// Refuses a value that holds too much by rules beside those of the shape.
    pub(super) bounds: fn(&At<'_>) -> ApiResult<()>,
    /// The form of a change in the details of a task: without secrets.
    pub(super) in_task: fn(Value) -> Value,
    /// The form of a written value for clients: without secrets, with the defaults of its parts.
    pub(super) shown: fn(Value) -> Value,
    /// Keeps of a written or sent value what every server of the protocol knows.
    pub(super) portable: fn(Value) -> Value,
    /// Refuses what belongs to a feature that is off.
    pub(super) check_features: fn(&Value, IsOn<'_>) -> ApiResult<()>,
    /// Checks the settings before and after a change by the rules that depend on stored values.
    pub(super) check_merged: fn(&SettingsPatch, &Settings, &Settings) -> ApiResult<()>,
}

/// A setting with the key of the settings object and the last segment of its own route, the code of its refusals, its figures,
/// and for the reference page its purpose, the type of its JSON and an example.
pub(super) const fn plain(
    id: SettingId,
    [key, route]: [&'static str; 2],
    code: Code,
    shape: Shape,
    figures: &'static [(&'static str, Measure)],
    [purpose, value, example]: [&'static str; 3],
) -> SettingKind {
    SettingKind {
        id,
        key,
        route,
        presence: Presence::Always,
        reference: Reference { purpose, value, example },
        code,
        shape,
        figures,
        bounds: |_| Ok(()),
        in_task: |change| change,
        shown: |written| written,
        portable: |value| value,
        check_features: |_, _| Ok(()),
        check_merged: |_, _, _| Ok(()),
    }
}

impl SettingKind {
    /// The setting as one that the protocol does not know.
    pub(super) const fn when_set(self) -> SettingKind {
        SettingKind { presence: Presence::WhenSet, ..self }
    }

    /// Returns the HTTP verb for writes to its own route.
    pub fn verb(&self) -> WriteVerb {
        if self.shape.is_merged() { WriteVerb::Patch } else { WriteVerb::Put }
    }

    /// The cost of a change, beside the change itself.
    pub fn cost(&self) -> &'static str {
        match self.id.effect() {
            Effect::SearchOnly => "none, it applies at search time",
            Effect::Columns => "missing columns are built",
            Effect::SearchableText => "all documents are reindexed if the text of an attribute was not indexed before",
            Effect::Text => "all documents are reindexed",
            Effect::Vectors => "missing and outdated vectors are created",
        }
    }

    /// The JSON schema of a value that is set.
    pub fn schema(&self) -> Value {
        self.shape.schema()
    }

    /// Reads the body of the setting's own route: the bare value; null resets.
    ///
    /// # Errors
    /// The setting's own code, places being relative to the value.
    pub fn read(&self, body: &Value) -> ApiResult<SettingsPatch> {
        let mut patch = SettingsPatch::default();
        self.read_into(At::root(body), &mut patch)?;
        Ok(patch)
    }

    pub(super) fn read_into(&self, at: At<'_>, patch: &mut SettingsPatch) -> ApiResult<()> {
        let at = at.code(self.code);
        self.shape.check_counts(&at)?;
        (self.bounds)(&at)?;
        self.shape.check_lengths(&at)?;
        let change = self.shape.read_or_null(at)?;
        patch.read_stored(self.id, change).map_err(|error| at.invalid(error))
    }

    /// The change that brings the setting back to its default.
    pub fn reset(&self) -> SettingsPatch {
        self.read(&Value::Null).expect("null resets every setting")
    }

    /// The value as clients write it, with its secrets and without defaults of its parts; null for one that is shown while it is
    /// set, and is not.
    pub(super) fn written(&self, settings: &Settings) -> Value {
        let value = json!(settings.stored(self.id));
        if self.presence == Presence::WhenSet && value == json!(Settings::default().stored(self.id)) {
            return Value::Null;
        }
        value
    }

    /// The value as clients see it: none of it while its feature is off.
    pub fn show(&self, settings: &Settings, is_on: IsOn<'_>) -> Value {
        match self.presence {
            Presence::WithFeature(feature) if !is_on(feature) => self.written(&Settings::default()),
            _ => (self.shown)(self.written(settings)),
        }
    }

    /// Reports whether the settings object has it, its value being `value`.
    pub(super) fn is_present(&self, value: &Value, is_on: IsOn<'_>) -> bool {
        match self.presence {
            Presence::Always => true,
            Presence::WhenSet => !value.is_null(),
            Presence::WithFeature(feature) => is_on(feature),
        }
    }

    /// A change as a task shows it, if it shows any: null for a reset, no secrets.
    pub(super) fn sent(&self, patch: &SettingsPatch) -> Option<Value> {
        let change = json!(patch.stored(self.id)?);
        // Clients of the protocol do not know the others, so a reset of all settings does not show them.
        if change.is_null() && self.presence == Presence::WhenSet { None } else { Some((self.in_task)(change)) }
    }

    /// Figures of a change for telemetry, by dotted names.
    pub fn figures(&self, patch: &SettingsPatch) -> Vec<(&'static str, Figure)> {
        if self.figures.is_empty() {
            return Vec::new();
        }
        let change = patch.stored(self.id).map(|change| json!(change)).unwrap_or_default();
        let measured = |(name, measure): &(&'static str, Measure)| {
            let name = *name;
            measure(&change).into_iter().map(move |figure| (name, figure))
        };
        self.figures.iter().flat_map(measured).collect()
    }
}
