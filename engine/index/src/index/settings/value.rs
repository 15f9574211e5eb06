//! The types of settings: how a change of a value is applied, and what it means for the segments that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use super::SettingsError;
use super::attribute_list::{AttributeList, without_duplicates};
use super::choices::{MatchingStrategy, PrefixSearch, ProximityPrecision};
use super::faceting::FacetOrder;

/// A type of which a setting, or a field of one, can be.
pub trait SettingValue: Clone + PartialEq {
    /// The content of a change: a value, or those of its parts that change.
    type Change;

    /// Returns the value after a change.
    ///
    /// # Errors
    /// Returns an error if both contradict each other.
    fn changed(&self, sent: &Self::Change) -> Result<Self, SettingsError>;

    /// Reports whether two values, of which each may be unset, differ for segments.
    fn differ(old: Option<&Self>, new: Option<&Self>) -> bool {
        old != new
    }
}

/// Implements [`SettingValue`] for types whose values are replaced as a whole.
macro_rules! replaced {
    ($($type:ty),+ $(,)?) => {
        $(impl SettingValue for $type {
            type Change = $type;

            fn changed(&self, sent: &$type) -> Result<$type, SettingsError> {
                Ok(sent.clone())
            }
        })+
    };
}

replaced!(
    bool,
    u8,
    u32,
    u64,
    usize,
    f64,
    String,
    AttributeList,
    BTreeSet<String>,
    BTreeMap<String, f64>,
    BTreeMap<String, FacetOrder>,
    BTreeMap<String, Vec<String>>,
    MatchingStrategy,
    PrefixSearch,
    ProximityPrecision,
    Vec<String>,
);

/// A setting without a value: the engine or the request decides.
impl<T: SettingValue + Default> SettingValue for Option<T> {
    type Change = T::Change;

    fn changed(&self, sent: &T::Change) -> Result<Option<T>, SettingsError> {
        self.clone().unwrap_or_default().changed(sent).map(Some)
    }

    fn differ(old: Option<&Option<T>>, new: Option<&Option<T>>) -> bool {
        T::differ(old.and_then(Option::as_ref), new.and_then(Option::as_ref))
    }
}

/// An entry of a list that holds each entry once.
pub trait Entry: Clone + Eq + Hash {
    /// Reports whether two lists differ for segments.
    fn differ(old: &[Self], new: &[Self]) -> bool {
        old != new
    }
}

impl<T: Entry> SettingValue for Vec<T> {
    type Change = Vec<T>;

    fn changed(&self, sent: &Vec<T>) -> Result<Vec<T>, SettingsError> {
        Ok(without_duplicates(sent.clone()))
    }

    fn differ(old: Option<&Vec<T>>, new: Option<&Vec<T>>) -> bool {
        // No list is as good as an empty one.
        let [old, new] = [old, new].map(|list| list.map(Vec::as_slice).unwrap_or_default());
        T::differ(old, new)
    }
}

/// Defines a setting that is an object, and the type of its changes, in which each field is left alone, reset or set. After a
/// change, `finish` sees the merged object and what was sent.
macro_rules! object {
    (
        $(#[$attribute:meta])*
        $name:ident changed by $patch:ident {
            $($(#[$doc:meta])* $field:ident: $value:ty = $default:expr,)+
        }
        $(finish $finish:path)?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$doc])* pub $field: $value,)+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)+ }
            }
        }

        #[doc = concat!("A change of [`", stringify!($name), "`], merged field by field.")]
        #[derive(Clone, Debug, Default, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
        pub struct $patch {
            $($(#[$doc])*
            #[serde(skip_serializing_if = "crate::index::settings::Setting::is_unset")]
            pub $field: $crate::index::settings::Setting<<$value as $crate::index::settings::SettingValue>::Change>,)+
        }

        impl $crate::index::settings::SettingValue for $name {
            type Change = $patch;

            fn changed(&self, sent: &$patch) -> Result<$name, $crate::index::settings::SettingsError> {
                let default = $name::default();
                let merged = $name { $($field: sent.$field.applied(&self.$field, default.$field)?,)+ };
                $(let merged = $finish(merged, sent)?;)?
                Ok(merged)
            }
        }
    };
}

pub(super) use object;

/// The meaning of a change of a setting for the segments that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: searches read the setting.
    SearchOnly,
    /// Columns are added that segments lack; positions and shapes are read.
    Columns,
    /// Documents are written again when segments lack the text of a field that is searchable now.
    SearchableText,
    /// Text is cut into words differently: all documents are written again.
    Text,
    /// Vectors are made that are missing or were made otherwise.
    Vectors,
}
