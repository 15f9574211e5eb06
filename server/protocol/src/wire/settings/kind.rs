//! What the protocol has of one setting: names, reading, writing, and what the routes, `/openapi.json`, telemetry and the
//! reference page say of it.

use lamina_base::error::{ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::index::settings::{Effect, SettingId};
use lamina_engine::index::{Settings, SettingsPatch};
use serde_json::Value;

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

/// A figure of a change of settings: how long lists are, which switches are used; no name of an attribute, no word.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The largest counts.
    Max(usize),
    /// True if it was ever true.
    Any(bool),
    /// The last value counts.
    Last(Value),
    /// One of a closed list of words; all that occur count.
    Word(&'static str),
}

/// Figures by their dotted names.
pub type Figures = Vec<(&'static str, Figure)>;

/// Function that reports whether an experimental feature is on.
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

/// One setting on the wire. Most have nothing to say of some of it: they take it from [`SettingKind::PLAIN`].
#[derive(Debug)]
pub struct SettingKind {
    /// Id of the setting.
    pub id: SettingId,
    /// Key of the settings object.
    pub key: &'static str,
    /// Last segment of its own route.
    pub route: &'static str,
    /// HTTP verb for writes to its own route.
    pub verb: WriteVerb,
    /// Condition for the setting to be shown.
    pub presence: Presence,
    /// Error code of its refusals.
    pub(super) code: Code,
    /// Refuses a value that holds too much.
    pub(super) bounds: fn(&At<'_>) -> ApiResult<()>,
    /// Reads a value, or null, into a patch.
    pub(super) read: fn(At<'_>, &mut SettingsPatch) -> ApiResult<()>,
    /// The value as clients write it, with its secrets and without defaults of its parts.
    pub(super) written: fn(&Settings) -> Value,
    /// Converts a written value into the form that clients see.
    pub(super) shown: fn(Value) -> Value,
    /// Returns the part of a written or sent value that every server of the protocol knows.
    pub(super) portable: fn(Value) -> Value,
    /// Returns the value that a task shows of a change, if any: null for a reset, without secrets.
    pub(super) sent: fn(&SettingsPatch) -> Option<Value>,
    /// Refuses what belongs to a feature that is off.
    pub(super) check_features: fn(&Value, IsOn<'_>) -> ApiResult<()>,
    /// Checks the settings before and after a change by the rules that depend on stored values.
    pub(super) check_merged: fn(&SettingsPatch, &Settings, &Settings) -> ApiResult<()>,
    /// The JSON schema of a value that is set.
    pub schema: fn() -> Value,
    /// Returns the figures of a change for telemetry.
    pub figures: fn(&SettingsPatch) -> Figures,
    /// Line of the reference page.
    pub reference: Reference,
}

impl SettingKind {
    /// Default for all fields of a setting.
    pub(super) const PLAIN: SettingKind = SettingKind {
        id: SettingId::DisplayedAttributes,
        key: "",
        route: "",
        verb: WriteVerb::Put,
        presence: Presence::Always,
        code: Code::Internal,
        bounds: |_| Ok(()),
        read: |_, _| Ok(()),
        written: |_| Value::Null,
        shown: |written| written,
        portable: |value| value,
        sent: |_| None,
        check_features: |_, _| Ok(()),
        check_merged: |_, _, _| Ok(()),
        schema: || Value::Null,
        figures: |_| Vec::new(),
        reference: Reference { purpose: "", value: "", example: "" },
    };

    /// Returns the cost of a change, besides the change itself.
    pub fn cost(&self) -> &'static str {
        match self.id.effect() {
            Effect::SearchOnly => "none, it applies at search time",
            Effect::Columns => "missing columns are built",
            Effect::SearchableText => "all documents are reindexed if the text of an attribute was not indexed before",
            Effect::Text => "all documents are reindexed",
            Effect::Vectors => "missing and outdated vectors are created",
        }
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
        (self.bounds)(&at)?;
        (self.read)(at, patch)
    }

    /// The change that brings the setting back to its default.
    pub fn reset(&self) -> SettingsPatch {
        self.read(&Value::Null).expect("null resets every setting")
    }

    /// The value as clients see it: none of it while its feature is off.
    pub fn show(&self, settings: &Settings, is_on: IsOn<'_>) -> Value {
        match self.presence {
            Presence::WithFeature(feature) if !is_on(feature) => (self.written)(&Settings::default()),
            _ => (self.shown)((self.written)(settings)),
        }
    }

    /// Reports whether the settings object includes the setting, if its value is `value`.
    pub(super) fn is_present(&self, value: &Value, is_on: IsOn<'_>) -> bool {
        match self.presence {
            Presence::Always => true,
            Presence::WhenSet => !value.is_null(),
            Presence::WithFeature(feature) => is_on(feature),
        }
    }
}
