//! What defines a setting: its stored name, its type, its default, how a change is applied, and what a change costs.

use super::SettingsError;
use super::patch::Setting;

/// One setting, implemented by a type of its name for each line of the [list](super::SettingId).
pub trait Definition {
    /// Key in manifests and in the queue. The key stays, whatever protocols call the setting.
    const NAME: &'static str;
    /// Effect of a change on existing segments.
    const EFFECT: Effect;
    /// The resolved value.
    type Value: Clone + PartialEq;
    /// Patch that a change carries: a whole value, or the parts of it that change.
    type Patch;

    /// The value of an index that does not set it.
    fn default_value() -> Self::Value;

    /// `current` once `sent` is applied.
    ///
    /// # Errors
    /// When both contradict each other.
    fn applied(current: &Self::Value, sent: &Self::Patch) -> Result<Self::Value, SettingsError>;

    /// Reports whether a change from `old` to `new` has the [effect](Self::EFFECT). Different values may be equivalent
    /// to segments.
    fn differs(old: &Self::Value, new: &Self::Value) -> bool {
        old != new
    }

    /// `current` after a change.
    ///
    /// # Errors
    /// The errors of [`Definition::applied`].
    fn merged(current: &Self::Value, change: &Setting<Self::Patch>) -> Result<Self::Value, SettingsError> {
        match change {
            Setting::Unset => Ok(current.clone()),
            Setting::Reset => Ok(Self::default_value()),
            Setting::Set(sent) => Self::applied(current, sent),
        }
    }
}

/// Effect of a change of a setting on existing segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: searches read the setting.
    SearchOnly,
    /// Columns are added that segments lack; positions and shapes are read.
    Columns,
    /// Documents are written anew when segments lack the text of a field that is searchable now.
    SearchableText,
    /// Text is cut into words differently: all documents are written anew.
    Text,
    /// Vectors are made that are missing or were made otherwise.
    Vectors,
}
