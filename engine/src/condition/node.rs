//! A condition with what the columns are asked.

use lamina_text::id::FieldId;

use super::elements::ElementQuestion;
use super::ordinals::ValueQuestion;
use super::vectors::VectorQuestion;
use crate::geo::{Region, ShapeRegion};

/// A filter whose fields are known and whose operands are normalised.
#[derive(Debug)]
pub(super) enum Node {
    /// Documents that pass all of `all` and none of `none`.
    And {
        all: Vec<Node>,
        none: Vec<Node>,
    },
    Or(Vec<Node>),
    Not(Box<Node>),
    /// No document: the field is in none, or the value can't be.
    Nothing,
    Values(FieldId, ValueQuestion),
    /// Works like `Values`, but also has the name of the field, because floats alone cannot answer the question.
    Digits(FieldId, String, ValueQuestion),
    Exists(FieldId),
    Null(FieldId),
    Empty(FieldId),
    /// An empty text is among the values of the field.
    Blank(FieldId),
    Region(Box<dyn Region + Send + Sync>),
    Shapes(ShapeRegion),
    Vectors(VectorQuestion),
    /// One element of an array passes a filter. Documents with such an element pass `candidates` for certain.
    Elements {
        question: Box<ElementQuestion>,
        candidates: Option<Box<Node>>,
    },
}
