//! The body of PATCH `/indexes/{uid}/documents`: numbers and truth values of single fields that change.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::settings::is_reserved;
use serde_json::{Map, Value, json};

use super::identifier;
use super::json::{At, Kind};
use super::schema::exactly;

const FIELDS: [&str; 3] = ["id", "increment", "set"];

/// One update, or an array of them, as lines: ids are texts.
///
/// # Errors
/// The first problem in the order of the text.
pub fn lines(body: &Value) -> ApiResult<Vec<String>> {
    let root = At::root(body).code(Code::InvalidDocumentUpdates);
    match body {
        Value::Object(_) => Ok(vec![line(&root)?]),
        Value::Array(_) => root.list(|update| line(&update)),
        _ => Err(root.wrong_type(&[Kind::Array, Kind::Object])),
    }
}

fn line(update: &At<'_>) -> ApiResult<String> {
    let mut id = None;
    let (mut increment, mut set) = (Map::new(), Map::new());
    update.given(&FIELDS, &["id"], |name, field| {
        match name {
            "id" => id = Some(document_id(&field)?),
            "increment" => increment = changes(&field, false)?,
            _ => set = changes(&field, true)?,
        }
        Ok(())
    })?;
    let id = id.ok_or_else(|| update.missing_field("id"))?;
    if let Some(both) = increment.keys().find(|name| set.contains_key(*name)) {
        return Err(update.invalid(format!("`{both}` can be in `increment` or in `set`, not in both")));
    }
    Ok(json!({ "id": id, "increment": increment, "set": set }).to_string())
}

fn document_id(field: &At<'_>) -> ApiResult<String> {
    let place = field.path();
    identifier::document_id(field.value())
        .map_err(|reason| ApiError::new(Code::InvalidDocumentUpdates, format!("In `{place}`: {reason}")))
}

/// The fields of `increment` or `set`.
fn changes(field: &At<'_>, takes_truth: bool) -> ApiResult<Map<String, Value>> {
    let mut changes = Map::new();
    field.entries(|name, value| {
        if name.is_empty() || name.contains('.') || is_reserved(name) {
            return Err(value.invalid(format!("`{name}` is no field of a document's top level that holds a number")));
        }
        let is_right = value.value().is_number() || (takes_truth && value.value().is_boolean());
        if !is_right {
            let number = [Kind::PositiveInteger, Kind::NegativeInteger, Kind::Number];
            let kinds: Vec<Kind> = takes_truth.then_some(Kind::Boolean).into_iter().chain(number).collect();
            return Err(value.wrong_type(&kinds));
        }
        changes.insert(name.to_owned(), value.value().clone());
        Ok(())
    })?;
    Ok(changes)
}

/// The schema of the body.
pub fn schema() -> Value {
    let names = json!({ "pattern": r"^[^.]+$" });
    let of = |kinds: Value| json!({ "type": ["object", "null"], "propertyNames": names, "additionalProperties": { "type": kinds } });
    let id = json!({ "type": ["string", "integer"], "pattern": "^[A-Za-z0-9_-]{1,511}$" });
    let update =
        exactly([("id", id), ("increment", of(json!("number"))), ("set", of(json!(["number", "boolean"])))], &["id"]);
    json!({ "anyOf": [update, { "type": "array", "items": update }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_become_lines() {
        let body = json!([{"id": 7, "increment": {"views": 1.5}}, {"set": {"isNew": false, "stock": -3}, "id": "a-b"}]);
        assert_eq!(
            lines(&body).unwrap(),
            [
                r#"{"id":"7","increment":{"views":1.5},"set":{}}"#,
                r#"{"id":"a-b","increment":{},"set":{"isNew":false,"stock":-3}}"#
            ]
        );
        assert_eq!(lines(&json!({"id": 1})).unwrap().len(), 1);
        assert!(lines(&json!([])).unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (body, expected) in [
            (json!(1), "Invalid value type: expected an array or an object, but found a positive integer: `1`"),
            (json!([{"increment": {}}]), "Missing field `id` inside `[0]`"),
            (json!([{"id": "a b"}]), "In `[0].id`: Document identifier"),
            (json!({"id": 1.5}), "In `.id`: Document identifier"),
            (json!([{"id": 1, "inc": {}}]), "Unknown field `inc` inside `[0]`: expected one of"),
            (json!([{"id": 1, "increment": {"a": "1"}}]), "Invalid value type at `[0].increment.a`: expected a number"),
            (
                json!([{"id": 1, "increment": {"a": true}}]),
                "Invalid value type at `[0].increment.a`: expected a number",
            ),
            (
                json!([{"id": 1, "set": {"a": null}}]),
                "Invalid value type at `[0].set.a`: expected a boolean or a number",
            ),
            (json!([{"id": 1, "set": {"a.b": 1}}]), "Invalid value at `[0].set.a.b`: `a.b` is no field"),
            (json!([{"id": 1, "set": {"_geo": 1}}]), "Invalid value at `[0].set._geo`: `_geo` is no field"),
            (json!([{"id": 1, "set": {"": 1}}]), "Invalid value at `[0].set.`: `` is no field"),
            (json!([{"id": 1, "set": {"a": 1}, "increment": {"a": 1}}]), "Invalid value at `[0]`: `a` can be in"),
        ] {
            let error = lines(&body).unwrap_err();
            assert_eq!(error.code, Code::InvalidDocumentUpdates, "{body}");
            assert!(error.message.starts_with(expected), "{}", error.message);
        }
    }
}
