//! Words to read and write values of settings with.

use std::collections::{BTreeMap, BTreeSet};

use lamina_base::error::ApiResult;
use lamina_engine::index::Setting;
use serde_json::{Map, Value};

use crate::wire::json::At;

/// Null resets, anything else is read.
pub(super) fn setting<T>(at: At<'_>, read: impl FnOnce(At<'_>) -> ApiResult<T>) -> ApiResult<Setting<T>> {
    if at.value().is_null() { Ok(Setting::Reset) } else { read(at).map(Setting::Set) }
}

pub(super) fn string_set(at: At<'_>) -> ApiResult<BTreeSet<String>> {
    Ok(at.strings()?.into_iter().collect())
}

/// An object with free keys.
pub(super) fn map<T>(at: At<'_>, mut read: impl FnMut(At<'_>) -> ApiResult<T>) -> ApiResult<BTreeMap<String, T>> {
    let mut values = BTreeMap::new();
    at.entries(|name, value| {
        values.insert(name.to_owned(), read(value)?);
        Ok(())
    })?;
    Ok(values)
}

/// A count. What does not fit the machine is as good as infinite.
pub(super) fn size(at: At<'_>) -> ApiResult<usize> {
    Ok(usize::try_from(at.positive_integer()?).unwrap_or(usize::MAX))
}

/// A change as it is written: nothing of what is left alone, null for a reset.
pub(super) fn sent<T>(change: &Setting<T>, write: impl FnOnce(&T) -> Value) -> Option<Value> {
    match change {
        Setting::Unset => None,
        Setting::Reset => Some(Value::Null),
        Setting::Set(value) => Some(write(value)),
    }
}

/// An object of the parts that a change has.
pub(super) fn parts<const N: usize>(parts: [(&str, Option<Value>); N]) -> Value {
    let parts = parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(Map::from_iter(parts))
}

/// The word of `value` in a closed list that names all values.
pub(super) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, one)| one == value).map(|(word, _)| *word).expect("the list names all values")
}

/// The words of a closed list.
pub(super) fn words<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
    words.iter().map(|(word, _)| *word).collect()
}
