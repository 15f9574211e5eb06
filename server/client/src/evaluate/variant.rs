//! Ways of searching: those that are named, and the grid of a sweep.

use serde_json::{Map, Value};

/// A way of searching.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variant {
    pub(super) name: String,
    /// Instead of the one that all others search.
    pub(super) index: Option<String>,
    /// Settings of the cloned index while it is measured.
    pub(super) settings: Map<String, Value>,
    pub(super) parameters: Map<String, Value>,
}

/// A parameter, by the names on the way to it, and the values that it takes one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sweep {
    path: Vec<String>,
    values: Vec<Value>,
}

/// `NAME=JSON`
pub(super) fn parse_variant(text: &str) -> Result<Variant, String> {
    let (name, json) = text.split_once('=').ok_or("expected NAME=JSON")?;
    let parameters = serde_json::from_str(json).map_err(|error| format!("`{json}` is not a JSON object: {error}"));
    let mut parameters: Map<String, Value> = parameters?;
    let index = match parameters.remove("indexUid") {
        None => None,
        Some(Value::String(index)) => Some(index),
        Some(other) => return Err(format!("`indexUid` must be a string, not `{other}`")),
    };
    let settings = match parameters.remove("settings") {
        None => Map::new(),
        Some(Value::Object(settings)) => settings,
        Some(other) => return Err(format!("`settings` must be an object, not `{other}`")),
    };
    Ok(Variant { name: name.to_owned(), index, settings, parameters })
}

/// `PATH=VALUE,VALUE` or `PATH=[JSON, JSON]`
pub(super) fn parse_sweep(text: &str) -> Result<Sweep, String> {
    let (path, values) = text.split_once('=').ok_or("expected PATH=VALUE,VALUE")?;
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        return Err(format!("`{text}` names no parameter"));
    }
    let one = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let values = match serde_json::from_str(values) {
        Ok(Value::Array(values)) => values,
        _ => values.split(',').map(|value| one(value.trim())).collect(),
    };
    if values.is_empty() { Err(format!("`{text}` has no values")) } else { Ok(Sweep { path, values }) }
}

impl Sweep {
    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

/// Each of `variants` with every combination of the values.
///
/// # Errors
/// A path that goes through something other than an object.
pub(super) fn grid(variants: &[Variant], sweeps: &[Sweep]) -> Result<Vec<Variant>, String> {
    let mut all = variants.to_vec();
    for sweep in sweeps {
        let mut next = Vec::new();
        for variant in &all {
            for value in &sweep.values {
                let mut variant = variant.clone();
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                variant.name = format!("{} {}={shown}", variant.name, sweep.name());
                match sweep.path.split_first() {
                    Some((first, rest)) if first == "settings" && !rest.is_empty() => {
                        set(&mut variant.settings, rest, value)?;
                    }
                    _ => set(&mut variant.parameters, &sweep.path, value)?,
                }
                next.push(variant);
            }
        }
        all = next;
    }
    Ok(all)
}

pub(super) fn set(object: &mut Map<String, Value>, path: &[String], value: &Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    if rest.is_empty() {
        object.insert(first.clone(), value.clone());
        return Ok(());
    }
    let inner = object.entry(first.clone()).or_insert_with(|| Value::Object(Map::new()));
    match inner {
        Value::Object(inner) => set(inner, rest, value),
        other => Err(format!("`{first}` is `{other}`, and no object that has `{}`", rest.join("."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_way_has_a_name_and_parameters() {
        let read =
            parse_variant(r#"a={"indexUid": "x", "settings": {"matchingStrategy": "any"}, "q": "b=c"}"#).unwrap();
        assert_eq!((read.name.as_str(), read.index.as_deref()), ("a", Some("x")));
        assert_eq!(
            (json!(read.settings), json!(read.parameters)),
            (json!({"matchingStrategy": "any"}), json!({"q": "b=c"}))
        );
        for (wrong, part) in [
            ("a", "expected NAME=JSON"),
            ("a=[1]", "not a JSON object"),
            (r#"a={"indexUid": 1}"#, "`indexUid` must be a string"),
            (r#"a={"settings": 1}"#, "`settings` must be an object"),
        ] {
            assert!(parse_variant(wrong).unwrap_err().contains(part), "{wrong}");
        }
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let base = parse_variant(r#"both={"hybrid": {"embedder": "e"}}"#).unwrap();
        let sweeps =
            ["hybrid.semanticRatio=0.2,0.8", "matchingStrategy=any,last"].map(|text| parse_sweep(text).unwrap());
        let grid = grid(std::slice::from_ref(&base), &sweeps).unwrap();
        let names: Vec<&str> = grid.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names[0], "both semanticRatio=0.2 matchingStrategy=any");
        assert_eq!((names.len(), names[3]), (4, "both semanticRatio=0.8 matchingStrategy=last"));
        assert_eq!(
            json!(grid[1].parameters),
            json!({"hybrid": {"embedder": "e", "semanticRatio": 0.2}, "matchingStrategy": "last"})
        );
        let of_settings = parse_sweep(r#"settings.rankingRules=[["words"], ["words", "typo"]]"#).unwrap();
        let grid = super::grid(std::slice::from_ref(&base), &[of_settings]).unwrap();
        assert_eq!(json!(grid[1].settings), json!({"rankingRules": ["words", "typo"]}));
        let through = parse_sweep("hybrid.embedder.x=1").unwrap();
        assert!(super::grid(&[base], &[through]).unwrap_err().contains("no object"));
        for wrong in ["a", "=1", "a..b=1", "a=[]"] {
            assert!(parse_sweep(wrong).is_err(), "{wrong}");
        }
    }
}
