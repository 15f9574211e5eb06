//! Shapes of settings. From the declaration of one follow what is read, what is refused with which words, and the schema.

use lamina_base::error::ApiResult;
use serde_json::{Map, Value, json};

use super::bounds::{Limit, check_names, check_texts};
use crate::wire::json::At;
use crate::wire::schema;

/// The shape of a value.
#[derive(Debug)]
pub(super) enum Shape {
    /// `true` or `false`.
    Flag,
    /// An integer of at least 0.
    Count,
    /// An integer from 0 to 255.
    Byte,
    /// An integer from the first to the second.
    Integer(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// Any JSON.
    Anything,
    /// An array.
    List(&'static Shape, &'static [Limit]),
    /// An object with free keys, which is replaced as a whole.
    Map(&'static Shape, &'static [Limit]),
    /// An object with free keys whose entries are set one by one; null removes one.
    Entries(&'static Shape, &'static [Limit]),
    /// An object whose fields are set one by one; null resets one.
    Fields(&'static [(&'static str, Shape)]),
    /// An object whose fields are set together: whether each is mandatory. Null leaves one out that is not.
    Record(&'static [(&'static str, bool, Shape)]),
    /// A shape with a check that precedes the reading.
    Before(fn(&At<'_>) -> ApiResult<()>, &'static Shape),
    /// A shape with a check of what was read.
    After(&'static Shape, fn(&At<'_>, &Value) -> ApiResult<()>),
    /// A shape of one setting only: what reads it, and its schema.
    Own(fn(At<'_>) -> ApiResult<Value>, fn() -> Value),
}

/// The words of a table, for a [`Shape::Choice`].
pub(super) const fn words<T: Copy, const COUNT: usize>(table: &[(&'static str, T); COUNT]) -> [&'static str; COUNT] {
    let mut words = [""; COUNT];
    let mut place = 0;
    while place < COUNT {
        words[place] = table[place].0;
        place += 1;
    }
    words
}

/// The texts of a value whose length is limited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    None,
    Names,
    All,
}

impl Shape {
    /// Reads a value into the stored form.
    ///
    /// # Errors
    /// Returns the first fault in the order of the text, with the code of `at`.
    pub(super) fn read(&self, at: At<'_>) -> ApiResult<Value> {
        match self {
            Shape::Flag => at.boolean().map(Value::from),
            Shape::Count => at.positive_integer().map(Value::from),
            Shape::Byte => at.byte().map(Value::from),
            Shape::Integer(least, most) => match at.positive_integer()? {
                found if (least..=most).contains(&&found) => Ok(found.into()),
                found => Err(at.invalid(format!("expected a number from {least} to {most}, but found {found}"))),
            },
            Shape::Number(least, most) => match at.number()? {
                found if (least..=most).contains(&&found) => Ok(found.into()),
                found => Err(at.invalid(format!("{found} is not between {least} and {most}."))),
            },
            Shape::Choice(words) => match at.string()? {
                word if words.contains(&word.as_str()) => Ok(word.into()),
                other => Err(at.unknown_value(&other, words)),
            },
            Shape::Text => at.string().map(Value::from),
            Shape::Anything => Ok(at.value().clone()),
            Shape::List(entry, _) => at.list(|at| entry.read(at)).map(Value::from),
            Shape::Map(entry, _) => read_entries(at, |at| entry.read(at)),
            Shape::Entries(entry, _) => read_entries(at, |at| entry.read_or_null(at)),
            Shape::Fields(fields) => read_fields(at, fields),
            Shape::Record(fields) => read_record(at, fields),
            Shape::Before(check, shape) => {
                check(&at)?;
                shape.read(at)
            }
            Shape::After(shape, check) => {
                let read = shape.read(at)?;
                check(&at, &read)?;
                Ok(read)
            }
            Shape::Own(read, _) => read(at),
        }
    }

    /// Reads a value like [`Shape::read`]; null stays.
    pub(super) fn read_or_null(&self, at: At<'_>) -> ApiResult<Value> {
        if at.value().is_null() { Ok(Value::Null) } else { self.read(at) }
    }

    /// The schema of a value.
    pub(super) fn schema(&self) -> Value {
        match self {
            Shape::Flag => schema::flag(),
            Shape::Count => schema::count(),
            Shape::Byte => Shape::Integer(0, 255).schema(),
            Shape::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
            Shape::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
            Shape::Choice(words) => schema::one_of(words),
            Shape::Text => schema::text(),
            Shape::Anything => schema::anything(),
            Shape::List(entry, _) => schema::list(entry.schema()),
            Shape::Map(entry, _) => schema::map_of(entry.schema()),
            Shape::Entries(entry, _) => schema::map_of(schema::or_null(entry.schema())),
            Shape::Fields(fields) => {
                schema::exactly(fields.iter().map(|(name, shape)| (*name, schema::or_null(shape.schema()))), &[])
            }
            Shape::Record(fields) => {
                let required: Vec<&str> = fields.iter().filter(|field| field.1).map(|field| field.0).collect();
                let of = |shape: &Shape, is_mandatory: bool| match is_mandatory {
                    true => shape.schema(),
                    false => schema::or_null(shape.schema()),
                };
                schema::exactly(fields.iter().map(|(name, must, shape)| (*name, of(shape, *must))), &required)
            }
            Shape::Before(_, shape) | Shape::After(shape, _) => shape.schema(),
            Shape::Own(_, schema) => schema(),
        }
    }

    /// Reports whether a change is merged into what is stored.
    pub(super) fn is_merged(&self) -> bool {
        matches!(self, Shape::Fields(_) | Shape::Entries(..))
    }

    /// The names of the fields of an object, in order.
    pub(super) fn names(&self) -> Vec<&'static str> {
        match self {
            Shape::Fields(fields) => fields.iter().map(|(name, _)| *name).collect(),
            _ => Vec::new(),
        }
    }

    /// Refuses a value of a setting that holds too much, before it is read.
    ///
    /// # Errors
    /// With the code of `at`.
    pub(super) fn check_counts(&self, at: &At<'_>) -> ApiResult<()> {
        self.limits(at.value()).into_iter().try_for_each(|(limit, value)| limit.check(at, value))
    }

    /// Refuses a value of a setting with a text that is too long.
    ///
    /// # Errors
    /// With the code of `at`.
    pub(super) fn check_lengths(&self, at: &At<'_>) -> ApiResult<()> {
        match self.texts() {
            Texts::None => Ok(()),
            Texts::Names => check_names(at),
            Texts::All => check_texts(at),
        }
    }

    /// The limits, each with the part of `value` to which it applies.
    fn limits<'v>(&self, value: &'v Value) -> Vec<(&'static Limit, &'v Value)> {
        match self {
            Shape::List(_, limits) | Shape::Map(_, limits) | Shape::Entries(_, limits) => {
                limits.iter().map(|limit| (limit, value)).collect()
            }
            Shape::Fields(fields) => fields.iter().flat_map(|(name, shape)| shape.limits(&value[name])).collect(),
            Shape::Before(_, shape) | Shape::After(shape, _) => shape.limits(value),
            _ => Vec::new(),
        }
    }

    fn texts(&self) -> Texts {
        match self {
            Shape::Text | Shape::List(..) | Shape::Map(..) => Texts::All,
            // Their content has rules of its own.
            Shape::Entries(..) => Texts::Names,
            Shape::Fields(fields) if fields.iter().any(|(_, shape)| shape.texts() == Texts::All) => Texts::All,
            Shape::Before(_, shape) | Shape::After(shape, _) => shape.texts(),
            _ => Texts::None,
        }
    }
}

fn read_entries(at: At<'_>, mut read: impl FnMut(At<'_>) -> ApiResult<Value>) -> ApiResult<Value> {
    let mut entries = Map::new();
    at.entries(|name, entry| {
        entries.insert(name.to_owned(), read(entry)?);
        Ok(())
    })?;
    entries.sort_keys();
    Ok(Value::Object(entries))
}

fn read_fields(at: At<'_>, fields: &[(&str, Shape)]) -> ApiResult<Value> {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let mut read = Map::new();
    at.fields(&names, |name, field| {
        if let Some((_, shape)) = fields.iter().find(|(known, _)| *known == name) {
            read.insert(name.to_owned(), shape.read_or_null(field)?);
        }
        Ok(())
    })?;
    Ok(Value::Object(read))
}

fn read_record(at: At<'_>, fields: &[(&str, bool, Shape)]) -> ApiResult<Value> {
    let names: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
    let mut read = Map::new();
    at.fields(&names, |name, field| {
        match fields.iter().find(|(known, ..)| *known == name) {
            Some((_, false, _)) if field.value().is_null() => {}
            Some((.., shape)) => drop(read.insert(name.to_owned(), shape.read(field)?)),
            None => {}
        }
        Ok(())
    })?;
    match fields.iter().find(|(name, is_mandatory, _)| *is_mandatory && !read.contains_key(*name)) {
        Some((name, ..)) => Err(at.missing_field(name)),
        None => Ok(Value::Object(read)),
    }
}
