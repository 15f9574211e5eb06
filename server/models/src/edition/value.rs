//! JSON values inside a function, and back.

use rhai::{Array, Dynamic};
use serde_json::{Map, Number, Value};
use thiserror::Error;

/// Deepest value that may be kept: as deep as documents may be.
const DEPTH_MAX: usize = 100;

/// A value that cannot be kept as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotJson {
    /// There is no word for it.
    #[error("a value of type `{0}` cannot be kept in a document")]
    Type(String),
    /// The value is nested too deeply.
    #[error("a value that is nested more than {DEPTH_MAX} levels deep cannot be kept in a document")]
    TooDeep,
}

/// The value as a function sees it. Integers beyond 64 bits with a sign become floats, as in most languages.
pub(super) fn to_dynamic(value: &Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::String(text) => text.clone().into(),
        Value::Array(elements) => elements.iter().map(to_dynamic).collect::<Array>().into(),
        Value::Object(fields) => to_map(fields).into(),
    }
}

pub(super) fn to_map(fields: &Map<String, Value>) -> rhai::Map {
    fields.iter().map(|(name, value)| (name.as_str().into(), to_dynamic(value))).collect()
}

/// The JSON of what a function made, as a field of a document.
pub(super) fn to_json(value: Dynamic) -> Result<Value, NotJson> {
    json_at(value, 1)
}

fn json_at(value: Dynamic, depth: usize) -> Result<Value, NotJson> {
    // What a closure holds on to is behind a lock.
    let value = value.flatten();
    if value.is_unit() {
        return Ok(Value::Null);
    }
    let name = value.type_name();
    let refused = || NotJson::Type(name.to_owned());
    if let Ok(is) = value.as_bool() {
        return Ok(is.into());
    }
    if let Ok(integer) = value.as_int() {
        return Ok(integer.into());
    }
    if let Ok(float) = value.as_float() {
        return Number::from_f64(float).map(Value::Number).ok_or_else(|| NotJson::Type(float.to_string()));
    }
    if let Ok(character) = value.as_char() {
        return Ok(character.to_string().into());
    }
    if value.is_string() {
        return value.into_string().map(Value::String).map_err(|_| refused());
    }
    if depth >= DEPTH_MAX && (value.is_array() || value.is_map()) {
        return Err(NotJson::TooDeep);
    }
    if value.is_array() {
        let elements = value.into_array().map_err(|_| refused())?;
        let elements = elements.into_iter().map(|element| json_at(element, depth + 1));
        return elements.collect::<Result<_, _>>().map(Value::Array);
    }
    match value.try_cast::<rhai::Map>() {
        Some(fields) => {
            let fields = fields.into_iter().map(|(name, value)| Ok((name.to_string(), json_at(value, depth + 1)?)));
            fields.collect::<Result<_, _>>().map(Value::Object)
        }
        None => Err(refused()),
    }
}

/// Reports whether a function left the value unchanged.
pub(super) fn is_same(value: &Value, dynamic: &Dynamic) -> bool {
    match value {
        Value::Null => dynamic.is_unit(),
        Value::Bool(is) => dynamic.as_bool() == Ok(*is),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => dynamic.as_int() == Ok(integer),
            None => dynamic.as_float().is_ok_and(|float| number.as_f64() == Some(float)),
        },
        Value::String(text) => dynamic.read_lock::<rhai::ImmutableString>().is_some_and(|found| **found == **text),
        Value::Array(elements) => dynamic.read_lock::<Array>().is_some_and(|found| {
            found.len() == elements.len() && elements.iter().zip(found.iter()).all(|(one, other)| is_same(one, other))
        }),
        Value::Object(fields) => dynamic.read_lock::<rhai::Map>().is_some_and(|found| {
            let is_kept =
                |(name, value): (&String, &Value)| found.get(name.as_str()).is_some_and(|found| is_same(value, found));
            found.len() == fields.len() && fields.iter().all(is_kept)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::from),
            ".{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,10}", inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_survives_a_function(value in any_json()) {
            let dynamic = to_dynamic(&value);
            prop_assert!(is_same(&value, &dynamic));
            prop_assert_eq!(to_json(dynamic), Ok(value));
        }
    }

    #[test]
    fn changes_are_seen_at_any_depth() {
        let value = json!({"a": [1, {"b": "x"}]});
        for other in
            [json!({"a": [1, {"b": "y"}]}), json!({"a": [1]}), json!({}), json!([]), json!({"a": [1.0, {"b": "x"}]})]
        {
            assert!(!is_same(&value, &to_dynamic(&other)), "{other}");
        }
    }

    #[test]
    fn depth_has_a_bound() {
        let nested = |depth| (0..depth).fold(Dynamic::UNIT, |inner, _| vec![inner].into());
        assert!(to_json(nested(DEPTH_MAX - 1)).is_ok());
        assert_eq!(to_json(nested(DEPTH_MAX)), Err(NotJson::TooDeep));
    }

    #[test]
    fn what_json_cannot_say_is_refused() {
        assert_eq!(
            to_json(f64::INFINITY.into()).unwrap_err().to_string(),
            "a value of type `inf` cannot be kept in a document"
        );
        let blob = Dynamic::from_blob(vec![1]);
        assert!(to_json(blob).unwrap_err().to_string().contains("`blob`"));
        assert_eq!(to_json('x'.into()), Ok(json!("x")));
    }
}
