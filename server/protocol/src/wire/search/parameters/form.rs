//! The types of values.

use lamina_base::error::ApiResult;
use serde_json::{Value, json};

use super::super::hybrid::share;
use super::super::{MARK_BYTES_MAX, SearchQuery};
use super::text;
use crate::wire::json::At;
use crate::wire::query_string::Parameter;
use crate::wire::{schema, text_fields};

type Get<T> = fn(&SearchQuery) -> &T;
type GetMut<T> = fn(&mut SearchQuery) -> &mut T;

/// The type of a value, with the field that has it.
#[derive(Debug)]
pub(super) enum Form {
    Flag(Get<bool>, GetMut<bool>),
    /// With its default.
    Count(Get<usize>, GetMut<usize>, usize),
    OptionalCount(Get<Option<usize>>, GetMut<Option<usize>>),
    Text(Get<Option<String>>, GetMut<Option<String>>),
    /// A text around what matched, or where a text was cut; with its default.
    Mark(Get<String>, GetMut<String>, &'static str),
    /// With the largest number of entries.
    Texts(Get<Option<Vec<String>>>, GetMut<Option<Vec<String>>>, usize),
    /// A number from 0 to 1.
    Share(Get<Option<f64>>, GetMut<Option<f64>>),
    Own(Own),
}

/// A type that one parameter has. In query strings, its text is read by a function of its own.
#[derive(Debug)]
pub(super) struct Own {
    /// In words.
    pub(super) kind: &'static str,
    /// Schema of a value in a body, null included.
    pub(super) schema: fn() -> Value,
    /// Reads a value that is not null.
    pub(super) read: fn(&mut SearchQuery, At<'_>) -> ApiResult<()>,
    /// The value as a body has it; null where nothing is set.
    pub(super) written: fn(&SearchQuery) -> Value,
    /// Returns whether something is set.
    pub(super) is_set: fn(&SearchQuery) -> bool,
}

impl Form {
    /// Reads a value that is not null.
    pub(super) fn read(&self, query: &mut SearchQuery, at: At<'_>) -> ApiResult<()> {
        match self {
            Form::Flag(_, field) => *field(query) = at.boolean()?,
            Form::Count(_, field, _) => *field(query) = size(at.positive_integer()?),
            Form::OptionalCount(_, field) => *field(query) = Some(size(at.positive_integer()?)),
            Form::Text(_, field) => *field(query) = Some(at.string()?),
            Form::Mark(_, field, _) => *field(query) = mark(&at)?,
            Form::Texts(_, field, most) => *field(query) = Some(at.at_most(*most)?.strings()?),
            Form::Share(_, field) => *field(query) = Some(share(&at)?),
            Form::Own(own) => (own.read)(query, at)?,
        }
        Ok(())
    }

    /// The value as a body has it; null where nothing is set.
    pub(super) fn written(&self, query: &SearchQuery) -> Value {
        match self {
            Form::Flag(field, _) => json!(field(query)),
            Form::Count(field, ..) => json!(field(query)),
            Form::OptionalCount(field, _) => json!(field(query)),
            Form::Text(field, _) => json!(field(query)),
            Form::Mark(field, ..) => json!(field(query)),
            Form::Texts(field, ..) => json!(field(query)),
            Form::Share(field, _) => json!(field(query)),
            Form::Own(own) => (own.written)(query),
        }
    }

    /// Returns whether the value is another one than by default.
    pub(super) fn is_set(&self, query: &SearchQuery) -> bool {
        match self {
            Form::Flag(field, _) => *field(query),
            Form::Count(field, _, default) => field(query) != default,
            Form::OptionalCount(field, _) => field(query).is_some(),
            Form::Text(field, _) => field(query).is_some(),
            Form::Mark(field, _, default) => field(query) != default,
            Form::Texts(field, ..) => field(query).is_some(),
            Form::Share(field, _) => field(query).is_some(),
            Form::Own(own) => (own.is_set)(query),
        }
    }

    /// The JSON that a text of a query string stands for.
    pub(super) fn of_text(&self, parameter: &Parameter<'_>) -> ApiResult<Value> {
        match self {
            Form::Flag(..) => text_fields::flag(parameter),
            Form::Count(..) | Form::OptionalCount(..) => text_fields::count(parameter),
            Form::Texts(..) => text::texts(parameter),
            Form::Share(..) => text_fields::number(parameter),
            Form::Text(..) | Form::Mark(..) | Form::Own(_) => text_fields::text(parameter),
        }
    }

    /// The schema of a value in a query string.
    pub(super) fn text_schema(&self) -> Value {
        match self {
            Form::Flag(..) => schema::flag(),
            Form::Count(..) | Form::OptionalCount(..) => schema::count(),
            Form::Share(..) => schema::share(),
            _ => schema::text(),
        }
    }

    /// The schema of a value in a body.
    pub(super) fn schema(&self) -> Value {
        match self {
            Form::Own(own) => (own.schema)(),
            Form::Texts(..) => schema::or_null(schema::texts()),
            plain => schema::or_null(plain.text_schema()),
        }
    }

    /// The type in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Form::Flag(..) => "boolean",
            Form::Count(..) | Form::OptionalCount(..) => "integer from 0",
            Form::Text(..) => "string",
            Form::Mark(..) => "string of at most 1,024 bytes",
            Form::Texts(..) => "array of strings",
            Form::Share(..) => "number from 0 to 1",
            Form::Own(own) => own.kind,
        }
    }
}

/// A count; what does not fit the machine is as good as infinite.
fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn mark(at: &At<'_>) -> ApiResult<String> {
    let mark = at.string()?;
    if mark.len() > MARK_BYTES_MAX {
        return Err(at.invalid(format!("it has {} bytes, and may have at most {MARK_BYTES_MAX}.", mark.len())));
    }
    Ok(mark)
}
