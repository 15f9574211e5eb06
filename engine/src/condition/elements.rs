//! Filters on one element of an array of objects.
//!
//! An element is looked at as if it were a document. The columns hold the values of all elements of a document together: they
//! say which documents may have such an element, and these are read. What was found in a segment is kept beside it.

use lamina_segment::bits::DocSet;
use lamina_segment::document::Number;
use lamina_segment::segment::{Column, ColumnsBuilder, SegmentReader};
use lamina_text::id::FieldId;
use lamina_text::text::normalize_facet;
use serde_json::Value;

use super::exact::Exact;
use super::needles::Needles;
use super::ordinals::ValueQuestion;
use super::reading::passing_when_read;
use super::time_limit::{OutOfTime, TimeLimit};

/// Asks for documents of which one element passes a filter.
#[derive(Debug)]
pub(super) struct ElementQuestion {
    /// Path of the array elements.
    pub(super) path: String,
    pub(super) test: Test,
    /// The filter, under which the answer is kept.
    pub(super) text: Box<str>,
}

/// A filter whose fields are those of an element.
#[derive(Debug)]
pub(super) enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    /// A value of the field is one that the question asks for, or an empty text.
    Value {
        path: String,
        question: ValueQuestion,
        or_blank: bool,
    },
    Exists(String),
    Null(String),
    Empty(String),
    Element(String, Box<Test>),
}

/// A test as it is carried out: what depends on the operands alone is there.
enum Ready<'t> {
    All(Vec<Ready<'t>>),
    Any(Vec<Ready<'t>>),
    Not(Box<Ready<'t>>),
    Compared { path: &'t str, exact: Exact<'t>, or_blank: bool },
    Begins { path: &'t str, prefix: &'t str },
    Contains { path: &'t str, needles: &'t [Needles] },
    Exists(&'t str),
    Null(&'t str),
    Empty(&'t str),
    Element(&'t str, Box<Ready<'t>>),
}

impl ElementQuestion {
    /// Returns the documents of `docs` that pass. Cost: reading each of them.
    ///
    /// # Errors
    /// When the time is up.
    pub(super) fn passing(
        &self,
        docs: &DocSet,
        reader: &SegmentReader,
        limit: TimeLimit<'_>,
    ) -> Result<DocSet, OutOfTime> {
        let test = self.test.ready();
        passing_when_read(docs, reader, limit, |_, _, json| {
            serde_json::from_slice::<Value>(json).is_ok_and(|document| {
                any_at(&document, &self.path, &mut |value| any_element(value, &mut |element| test.holds(element)))
            })
        })
    }
}

impl ElementQuestion {
    /// The column of what `field` has in the elements that pass, for the documents `docs`, ascending. Cost: reading each of them.
    ///
    /// # Errors
    /// When the time is up.
    pub(super) fn values(
        &self,
        field: &str,
        docs: &DocSet,
        reader: &SegmentReader,
        limit: TimeLimit<'_>,
    ) -> Result<Column, OutOfTime> {
        const FIELD: FieldId = 0;
        let test = self.test.ready();
        let mut values = ColumnsBuilder::default();
        passing_when_read(docs, reader, limit, |doc, _, json| {
            let Ok(document) = serde_json::from_slice::<Value>(json) else { return false };
            values.begin_document(doc);
            let mut add = |leaf: &Value| match leaf {
                Value::Number(number) => number.as_f64().into_iter().for_each(|value| values.number(FIELD, value)),
                Value::String(text) => values.string(FIELD, &normalize_facet(text), text),
                Value::Bool(value) => values.string(FIELD, &value.to_string(), &value.to_string()),
                _ => {}
            };
            // Nothing ends the walk: all elements count.
            any_at(&document, &self.path, &mut |value| {
                any_element(value, &mut |element| {
                    test.holds(element)
                        && any_leaf_at(element, field, &mut |leaf| {
                            add(leaf);
                            false
                        })
                })
            })
        })?;
        Ok(values.into_column(FIELD, reader.doc_count()))
    }
}

impl Test {
    fn ready(&self) -> Ready<'_> {
        match self {
            Test::All(tests) => Ready::All(tests.iter().map(Test::ready).collect()),
            Test::Any(tests) => Ready::Any(tests.iter().map(Test::ready).collect()),
            Test::Not(test) => Ready::Not(Box::new(test.ready())),
            Test::Value { path, question: ValueQuestion::StartsWith(prefix), .. } => Ready::Begins { path, prefix },
            Test::Value { path, question: ValueQuestion::Contains(needles), .. } => Ready::Contains { path, needles },
            Test::Value { path, question, or_blank } => {
                Ready::Compared { path, exact: Exact::new(question), or_blank: *or_blank }
            }
            Test::Exists(path) => Ready::Exists(path),
            Test::Null(path) => Ready::Null(path),
            Test::Empty(path) => Ready::Empty(path),
            Test::Element(path, test) => Ready::Element(path, Box::new(test.ready())),
        }
    }
}

impl Ready<'_> {
    fn holds(&self, element: &Value) -> bool {
        match self {
            Ready::All(tests) => tests.iter().all(|test| test.holds(element)),
            Ready::Any(tests) => tests.iter().any(|test| test.holds(element)),
            Ready::Not(test) => !test.holds(element),
            Ready::Compared { path, exact, or_blank } => any_leaf_at(element, path, &mut |leaf| match leaf {
                Value::Number(number) => number.as_f64().is_some_and(|value| {
                    exact.holds_for_number(&Number { value: value + 0.0, text: &number.to_string() })
                }),
                leaf => text_of(leaf).is_some_and(|text| match text.is_empty() {
                    true => *or_blank,
                    false => exact.holds_for_string(&text),
                }),
            }),
            Ready::Begins { path, prefix } => {
                any_leaf_at(element, path, &mut |leaf| text_of(leaf).is_some_and(|text| text.starts_with(prefix)))
            }
            Ready::Contains { path, needles } => any_leaf_at(element, path, &mut |leaf| {
                let text = text_of(leaf).filter(|text| !text.is_empty());
                text.is_some_and(|text| needles.iter().any(|needle| needle.are_in(&text)))
            }),
            Ready::Exists(path) => any_at(element, path, &mut |_| true),
            Ready::Null(path) => any_at(element, path, &mut |value| value.is_null()),
            Ready::Empty(path) => any_at(element, path, &mut |value| match value {
                Value::String(text) => text.is_empty(),
                Value::Array(values) => values.is_empty(),
                Value::Object(members) => members.is_empty(),
                _ => false,
            }),
            Ready::Element(path, test) => {
                any_at(element, path, &mut |value| any_element(value, &mut |element| test.holds(element)))
            }
        }
    }
}

/// A text or a boolean as columns hold it; empty for a text of spaces.
fn text_of(leaf: &Value) -> Option<String> {
    match leaf {
        Value::String(text) => Some(normalize_facet(text).into_owned()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Reports whether `test` accepts a value at a dotted path of a document or of an element. Arrays along the path are
/// searched element by element. Names may contain dots themselves.
fn any_at(value: &Value, path: &str, test: &mut dyn FnMut(&Value) -> bool) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| match path.strip_prefix(name.as_str()) {
            Some("") => test(value),
            Some(rest) => rest.strip_prefix('.').is_some_and(|rest| any_at(value, rest, test)),
            None => false,
        }),
        Value::Array(values) => values.iter().any(|value| any_at(value, path, test)),
        _ => false,
    }
}

fn any_element(value: &Value, test: &mut dyn FnMut(&Value) -> bool) -> bool {
    match value {
        Value::Object(_) => test(value),
        Value::Array(values) => values.iter().any(|value| any_element(value, test)),
        _ => false,
    }
}

/// Works like [`any_at`], but tests each value of an array at the end of the path.
fn any_leaf_at(value: &Value, path: &str, test: &mut dyn FnMut(&Value) -> bool) -> bool {
    fn any_leaf(value: &Value, test: &mut dyn FnMut(&Value) -> bool) -> bool {
        match value {
            Value::Array(values) => values.iter().any(|value| any_leaf(value, test)),
            value => test(value),
        }
    }
    any_at(value, path, &mut |value| any_leaf(value, test))
}
