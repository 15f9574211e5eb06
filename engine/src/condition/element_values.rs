//! The values that a field has in those elements of an array that pass a filter: `offers[stock > 0].price`.
//!
//! They are a column like any other, made of the documents that the columns on disk leave, and kept beside the segment: sorts
//! and facets need not know of elements.

use std::sync::Arc;

use lamina_index::index::SegmentView;
use lamina_index::index::settings::Settings;
use lamina_segment::bits::DocSet;
use lamina_segment::document::FieldMapSnapshot;
use lamina_segment::segment::Column;
use lamina_text::filter::ElementField;

use super::ConditionError;
use super::elements::ElementQuestion;
use super::evaluate::{FEW_SHARE, documents_of};
use super::node::Node;
use super::prepare::Preparation;
use super::time_limit::{OutOfTime, TimeLimit};

/// A field of elements whose filter was checked.
#[derive(Debug)]
pub struct ElementValues {
    question: ElementQuestion,
    /// Documents that have a value pass it.
    candidates: Node,
    field: String,
}

impl ElementValues {
    /// Checks the filter against `settings`, as [`PreparedFilter::new`](super::PreparedFilter::new) does; whether the field may be
    /// read is for callers to say.
    ///
    /// # Errors
    /// The first field or operator of the filter that the settings don't allow.
    pub fn new(
        asked: &ElementField,
        settings: &Settings,
        fields: &FieldMapSnapshot,
    ) -> Result<ElementValues, ConditionError> {
        let preparation = Preparation::new(settings, fields);
        let path = asked.elements.value.clone();
        let (test, passing) = preparation.test(&path, &asked.filter)?;
        let all = std::iter::once(preparation.existing(&asked.attribute())).chain(passing).collect();
        let question = ElementQuestion { path, test, text: asked.to_string().into() };
        Ok(ElementValues { question, candidates: Node::And { all, none: Vec::new() }, field: asked.field.clone() })
    }

    /// The values of the documents of a segment, or, if that takes much less time, of those `among` some. Cost: reading the documents
    /// that may have any, unless that was done before.
    ///
    /// # Errors
    /// When `limit` is over before.
    pub fn column(
        &self,
        segment: &SegmentView,
        among: &DocSet,
        limit: TimeLimit<'_>,
    ) -> Result<Arc<Column>, OutOfTime> {
        let kept = &segment.caches.element_values;
        if let Some(column) = kept.get(&self.question.text) {
            return Ok(column);
        }
        let candidates = documents_of(&self.candidates, segment, limit)?;
        let left = candidates.and(among);
        if left.len() < candidates.len() / FEW_SHARE {
            return Ok(Arc::new(self.question.values(&self.field, &left, &segment.reader, limit)?));
        }
        let column = self.question.values(&self.field, &candidates, &segment.reader, limit)?;
        // What could not be read is missing, and may be there again once it is repaired.
        if segment.reader.health().check().is_err() {
            return Ok(Arc::new(column));
        }
        Ok(kept.get_or_find(self.question.text.clone(), || column))
    }
}
