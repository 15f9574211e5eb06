//! Query strings: the text of a parameter becomes the JSON of a body, which is then read as in one.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::text::Language;
use serde_json::{Value, json};

use super::super::{SearchQuery, component};
use super::SearchParameter;
use super::lists;
use crate::wire::json::At;
use crate::wire::query_string::{Parameter, QueryString};
use crate::wire::text_fields::{Given, InQueryStrings};
use crate::wire::{boosts, locale};

impl SearchQuery {
    /// Reads a query string.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_parameters(parameters: &QueryString) -> ApiResult<SearchQuery> {
        let mut query = SearchQuery::default();
        let mut given = Vec::new();
        parameters.parameters_by_place(lists::parameters(), |place, text| {
            let (parameter, field) = lists::texts()[place];
            let Some(field) = field else { return parameter.read_text(parameter.code, &mut query, text) };
            let value = (field.of_text)(&text.code(field.code))?;
            (field.check)(At::of_parameter(field.name, &value).code(field.code))?;
            given.push((parameter, field.name, value));
            Ok(())
        })?;
        if !given.is_empty() {
            query.join(given)?;
        }
        query.check_network()?;
        Ok(query)
    }

    /// Reads the objects of which a query string has fields.
    fn join(&mut self, mut given: Vec<(&'static SearchParameter, &'static str, Value)>) -> ApiResult<()> {
        for &parameter in lists::table() {
            let InQueryStrings::Fields(fields) = parameter.in_query_strings else { continue };
            let of_parameter = given.extract_if(.., |(of, ..)| of.name == parameter.name);
            let given = Given(of_parameter.map(|(_, name, value)| (name, value)).collect());
            if !given.0.is_empty() {
                parameter.read(parameter.code, self, At::root(&(fields.join)(&given)?))?;
            }
        }
        Ok(())
    }
}

impl SearchParameter {
    /// Reads a text of a query string, refused with `code`.
    pub(super) fn read_text(&self, code: Code, query: &mut SearchQuery, text: Parameter<'_>) -> ApiResult<()> {
        let text = text.code(code);
        let value = match self.in_query_strings {
            InQueryStrings::Read(of_text, _) => of_text(&text)?,
            _ => self.form.of_text(&text)?,
        };
        self.read(code, query, At::of_parameter(self.name, &value))
    }
}

/// The schema of a parameter of the query string of a search; `None` for another name.
pub fn parameter_schema(name: &str) -> Option<Value> {
    let place = lists::parameters().iter().position(|parameter| *parameter == name)?;
    Some(match lists::texts()[place] {
        (_, Some(field)) => (field.schema)(),
        (SearchParameter { in_query_strings: InQueryStrings::Read(_, schema), .. }, None) => schema(),
        (parameter, None) => parameter.form.text_schema(),
    })
}

/// Texts between commas.
pub(super) fn texts(parameter: &Parameter<'_>) -> ApiResult<Value> {
    Ok(parameter.texts()?.into())
}

/// The numbers of a vector, between commas.
pub(super) fn vector(parameter: &Parameter<'_>) -> ApiResult<Value> {
    let number = |element: &Parameter<'_>| {
        let number = element.number()?;
        component(number).map_err(|reason| element.invalid(reason))?;
        Ok(number)
    };
    Ok(json!(parameter.list(number)?))
}

/// Codes of languages, between commas.
pub(super) fn locales(parameter: &Parameter<'_>) -> ApiResult<Value> {
    let codes = parameter.texts()?;
    match codes.iter().find(|code| Language::parse(code).is_none()) {
        None => Ok(codes.into()),
        Some(code) => Err(parameter
            .invalid(format!("Unsupported locale `{code}`, expected one of {}", locale::accepted().join(", ")))),
    }
}

/// Boosts as JSON. Places in messages are those in the list.
pub(super) fn boosts(parameter: &Parameter<'_>) -> ApiResult<Value> {
    let value =
        serde_json::from_str(parameter.text()?).map_err(|error| parameter.invalid(format!("no JSON: {error}")))?;
    boosts::read_list(At::root(&value).code(Code::InvalidSearchBoosts))?;
    Ok(value)
}

/// The number of a state, or a time.
pub(super) fn state(parameter: &Parameter<'_>) -> ApiResult<Value> {
    let text = parameter.text()?;
    Ok(text.parse::<u64>().map_or_else(|_| text.into(), Value::from))
}

/// Arrays and quoted texts are JSON, everything else is an expression as it stands.
pub(in crate::wire) fn filter(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Array(_) | Value::String(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}

/// Splits at commas that are not between the parentheses of `_geoPoint(lat,lng)`, or between brackets.
pub(in crate::wire) fn sort(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if character == ',' && depth == 0 {
            entries.push(String::new());
        } else {
            entries.last_mut().expect("starts with one entry").push(character);
        }
    }
    entries.iter().map(|entry| entry.trim().trim_matches('"').to_owned()).collect()
}
