//! Telemetry of settings: lengths of lists and switches that are used; no name of an attribute, no word.

use serde_json::{Value, json};

/// A number or a word that telemetry gets of a change of settings.
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

/// Function from a change, in its stored form, to what it adds to a figure. A reset is null, and so is no change.
pub(super) type Measure = fn(&Value) -> Vec<Figure>;

/// The length of a list, or of an object with free keys.
pub(super) fn total(change: &Value) -> Vec<Figure> {
    match change {
        Value::Array(entries) => vec![Figure::Max(entries.len())],
        Value::Object(entries) => vec![Figure::Max(entries.len())],
        _ => Vec::new(),
    }
}

/// Reports whether the setting is set.
pub(super) fn is_set(change: &Value) -> Vec<Figure> {
    vec![Figure::Any(!change.is_null())]
}

/// The value, unless it is reset.
pub(super) fn value(change: &Value) -> Vec<Figure> {
    if change.is_null() { Vec::new() } else { vec![Figure::Last(change.clone())] }
}

/// Reports whether an entry of a list has a property.
pub(super) fn any(change: &Value, has: fn(&Value) -> bool) -> Vec<Figure> {
    change.as_array().map(|entries| Figure::Any(entries.iter().any(has))).into_iter().collect()
}

/// A field of an object that is set, or null.
pub(super) fn field(change: &Value, path: &str) -> Vec<Figure> {
    if change.is_null() { Vec::new() } else { vec![Figure::Last(change.pointer(path).cloned().unwrap_or_default())] }
}

/// Reports whether a list in an object that is set has entries.
pub(super) fn is_listed(change: &Value, name: &str) -> Vec<Figure> {
    let has_entries = change[name].as_array().is_some_and(|entries| !entries.is_empty());
    if change.is_null() { Vec::new() } else { vec![Figure::Any(has_entries)] }
}

/// The place of a ranking rule.
pub(super) fn place(change: &Value, rule: &str) -> Vec<Figure> {
    let place = |rules: &Vec<Value>| Figure::Last(json!(rules.iter().position(|one| one == rule)));
    change.as_array().map(place).into_iter().collect()
}

/// The ranking rules, custom ones without the names of their attributes.
pub(super) fn rules(change: &Value) -> Vec<Figure> {
    let rule = |rule: &Value| match rule {
        Value::String(name) if name.ends_with(":asc") => "*:asc".to_owned(),
        Value::String(name) if name.ends_with(":desc") => "*:desc".to_owned(),
        Value::String(name) => name.clone(),
        boost => boost.as_object().and_then(|boost| boost.keys().next().cloned()).unwrap_or_default(),
    };
    let joined = |rules: &Vec<Value>| rules.iter().map(rule).collect::<Vec<String>>().join(", ");
    change.as_array().map(|rules| Figure::Last(joined(rules).into())).into_iter().collect()
}

/// Returns the figure of each configuration that is set.
pub(super) fn each(change: &Value, of_one: impl Fn(&Value) -> Option<Figure>) -> Vec<Figure> {
    change.as_object().into_iter().flatten().filter_map(|(_, configuration)| of_one(configuration)).collect()
}
