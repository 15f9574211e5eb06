//! Objects of a body whose fields are parameters of a query string, and the JSON that the text of a parameter stands for.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::Value;

use super::json::At;
use super::query_string::Parameter;

/// The JSON that a text stands for.
pub(in crate::wire) type OfText = fn(&Parameter<'_>) -> ApiResult<Value>;

/// The form of a parameter in a query string.
#[derive(Debug)]
pub(in crate::wire) enum InQueryStrings {
    /// No parameter.
    Absent,
    /// A parameter of the same name, whose text is read by the type of the value.
    Same,
    /// A parameter of the same name, with the function that reads its text and the schema of that.
    Read(OfText, fn() -> Value),
    /// A parameter for each field of an object.
    Fields(&'static TextFields),
}

/// The fields of an object, each as a parameter of its own.
#[derive(Debug)]
pub(in crate::wire) struct TextFields {
    pub(in crate::wire) fields: &'static [TextField],
    /// The object with these fields, as a body has it; null for none.
    ///
    /// # Errors
    /// Fields that do not go together.
    pub(in crate::wire) join: fn(&Given) -> ApiResult<Value>,
}

/// A field of an object as a parameter of a query string.
#[derive(Debug)]
pub(in crate::wire) struct TextField {
    pub(in crate::wire) name: &'static str,
    pub(in crate::wire) code: Code,
    pub(in crate::wire) of_text: OfText,
    /// Refuses what the field of a body may not be.
    pub(in crate::wire) check: fn(At<'_>) -> ApiResult<()>,
    pub(in crate::wire) schema: fn() -> Value,
}

/// The fields of an object that a query string has, in its order.
#[derive(Debug, Default)]
pub(in crate::wire) struct Given(pub(in crate::wire) Vec<(&'static str, Value)>);

impl Given {
    /// The value of a field; null where it is absent.
    pub(in crate::wire) fn value(&self, name: &str) -> Value {
        self.0.iter().find(|(given, _)| *given == name).map_or(Value::Null, |(_, value)| value.clone())
    }

    /// The value of the field that the object has to have.
    ///
    /// # Errors
    /// With `code` when only others are there; the message names the first of them in the order of `others`, or of the text.
    pub(in crate::wire) fn required(&self, name: &str, code: Code, others: &[&str]) -> ApiResult<Value> {
        let value = self.value(name);
        if !value.is_null() {
            return Ok(value);
        }
        let is_given = |other: &&&str| self.0.iter().any(|(given, _)| given == *other);
        let other = others.iter().find(is_given).copied().unwrap_or(self.0[0].0);
        Err(ApiError::new(code, format!("`{name}` is mandatory when `{other}` is present")))
    }
}

/// Reads a text as it stands.
pub(in crate::wire) fn text(parameter: &Parameter<'_>) -> ApiResult<Value> {
    Ok(parameter.text()?.into())
}

/// Reads `true` or `false`.
pub(in crate::wire) fn flag(parameter: &Parameter<'_>) -> ApiResult<Value> {
    Ok(parameter.boolean()?.into())
}

/// Reads a whole number that is not negative.
pub(in crate::wire) fn count(parameter: &Parameter<'_>) -> ApiResult<Value> {
    Ok(parameter.positive_integer()?.into())
}

/// Reads a number.
pub(in crate::wire) fn number(parameter: &Parameter<'_>) -> ApiResult<Value> {
    Ok(parameter.number()?.into())
}
