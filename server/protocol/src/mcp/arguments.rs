//! Arguments as models write them, read as the schema of a tool means them: `3` for `"3"`, `5.0` or `"5"` for `5`, one text
//! for a list of one, `matchingStrategy` for `matching_strategy`.

use serde_json::{Map, Value};

use super::excerpt;

/// The arguments of a tool in the form of its schema.
///
/// # Errors
/// What is wrong with them, in a sentence.
pub(super) fn fitted(tool: &str, schema: &Value, arguments: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    members(tool, "", schema, arguments)
}

/// The members of an object; `path` leads to it from the arguments.
fn members(tool: &str, path: &str, schema: &Value, given: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let properties = schema["properties"].as_object();
    let mut fitted = Map::new();
    for (key, value) in given {
        let known = properties.into_iter().flatten().find(|(name, _)| is_same(name, key));
        let Some((name, schema)) = known else {
            return Err(format!("`{tool}` has no argument `{path}{}`", excerpt(key)));
        };
        if value.is_null() {
            continue;
        }
        let path = format!("{path}{name}");
        fitted.insert(name.clone(), fit(tool, &path, schema, value)?);
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|key| !fitted.contains_key(*key)) {
        Some(key) => Err(format!("`{tool}` needs the argument `{path}{key}`")),
        None => Ok(fitted),
    }
}

/// Returns whether two names are the same but for the case of letters and underscores.
fn is_same(name: &str, other: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect::<String>();
    name == other || (other.len() <= 2 * name.len() && letters(name) == letters(other))
}

fn fit(tool: &str, path: &str, schema: &Value, value: &Value) -> Result<Value, String> {
    let kind = schema["type"].as_str().unwrap_or_default();
    let wrong = || format!("the argument `{path}` of `{tool}` must be {}", wanted(schema));
    let fitted = match kind {
        "string" => text(value).and_then(|text| one_of(schema, text)).map(Value::from),
        "integer" => integer(value).filter(|number| is_within(schema, *number as f64)).map(Value::from),
        "number" => number(value).filter(|number| is_within(schema, *number)).map(Value::from),
        "array" => {
            let values = list(value).filter(|values| has_right_length(schema, values.len())).ok_or_else(wrong)?;
            let fitted = values.iter().map(|value| fit(tool, path, &schema["items"], value).map_err(|_| wrong()));
            Some(Value::Array(fitted.collect::<Result<_, _>>()?))
        }
        "object" => {
            let given = object(value).ok_or_else(wrong)?;
            Some(Value::Object(members(tool, &format!("{path}."), schema, &given)?))
        }
        _ => None,
    };
    fitted.ok_or_else(wrong)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        // The number of a document is written without a fraction.
        Value::Number(number) => Some(match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 => format!("{float:.0}"),
            _ => number.to_string(),
        }),
        _ => None,
    }
}

fn one_of(schema: &Value, text: String) -> Option<String> {
    let Some(values) = schema["enum"].as_array() else { return Some(text) };
    let found = values.iter().filter_map(Value::as_str).find(|value| value.eq_ignore_ascii_case(text.trim()));
    found.map(str::to_owned)
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

/// Whole numbers that every JSON can carry.
fn integer(value: &Value) -> Option<i64> {
    const MAX: f64 = 9_007_199_254_740_992.0;
    number(value).filter(|number| number.fract() == 0.0 && number.abs() < MAX).map(|number| number as i64)
}

fn list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values.clone()),
        Value::String(text) if text.trim_start().starts_with('[') => match serde_json::from_str(text) {
            Ok(Value::Array(values)) => Some(values),
            _ => Some(vec![value.clone()]),
        },
        Value::String(_) | Value::Number(_) => Some(vec![value.clone()]),
        _ => None,
    }
}

/// An object, or the text of one.
pub(super) fn object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn is_within(schema: &Value, number: f64) -> bool {
    schema["minimum"].as_f64().is_none_or(|minimum| number >= minimum)
        && schema["maximum"].as_f64().is_none_or(|maximum| number <= maximum)
}

fn has_right_length(schema: &Value, len: usize) -> bool {
    let len = len as u64;
    schema["minItems"].as_u64().is_none_or(|least| len >= least)
        && schema["maxItems"].as_u64().is_none_or(|most| len <= most)
}

/// Returns what a schema wants, for a sentence.
fn wanted(schema: &Value) -> String {
    let range = |low: &str, high: &str| match (&schema[low], &schema[high]) {
        (Value::Null, Value::Null) => String::new(),
        (low, Value::Null) => format!(" of at least {low}"),
        (Value::Null, high) => format!(" of at most {high}"),
        (low, high) => format!(" from {low} to {high}"),
    };
    match schema["type"].as_str().unwrap_or_default() {
        "integer" => format!("an integer{}", range("minimum", "maximum")),
        "number" => format!("a number{}", range("minimum", "maximum")),
        "array" => match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
            (least, Some(most)) => format!("an array of {} to {most} strings", least.unwrap_or(0)),
            _ => "an array of strings".to_owned(),
        },
        "object" => "an object".to_owned(),
        _ => match schema["enum"].as_array() {
            Some(values) => {
                let names: Vec<String> = values.iter().filter_map(Value::as_str).map(|v| format!("`{v}`")).collect();
                format!("one of {}", names.join(", "))
            }
            None => "a string".to_owned(),
        },
    }
}
