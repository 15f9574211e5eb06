//! A change of a setting: left alone, reset to its default, or set.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::SettingsError;
use super::value::SettingValue;

/// One setting of a patch. In JSON: key absent, `null`, or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting<T> {
    /// Leave as it is.
    #[default]
    Unset,
    /// Back to the default.
    Reset,
    Set(T),
}

impl<T> Setting<T> {
    pub fn is_unset(&self) -> bool {
        matches!(self, Setting::Unset)
    }

    pub fn as_set(&self) -> Option<&T> {
        match self {
            Setting::Set(value) => Some(value),
            _ => None,
        }
    }
}

impl<C> Setting<C> {
    /// Returns `current` after the change.
    ///
    /// # Errors
    /// Returns an error if both contradict each other.
    pub(super) fn applied<V: SettingValue<Change = C>>(&self, current: &V, default: V) -> Result<V, SettingsError> {
        match self {
            Setting::Unset => Ok(current.clone()),
            Setting::Reset => Ok(default),
            Setting::Set(sent) => current.changed(sent),
        }
    }
}

impl<T: Serialize> Serialize for Setting<T> {
    /// An unset field must be skipped by the struct that holds it; here it would read back as a reset.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Setting::Unset | Setting::Reset => serializer.serialize_none(),
            Setting::Set(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Setting<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Setting<T>, D::Error> {
        Ok(match Option::<T>::deserialize(deserializer)? {
            Some(value) => Setting::Set(value),
            None => Setting::Reset,
        })
    }
}
