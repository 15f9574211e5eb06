//! Keys of the documents of one segment under the criteria of a request.

use std::cmp::Ordering;
use std::sync::Arc;

use lamina_index::index::{SegmentView, Snapshot};
use lamina_segment::segment::{Column, Geo};
use lamina_text::id::DocId;

use super::SortedValue;
use super::criterion::{SortCriterion, SortTarget};
use super::elements::ElementColumns;
use crate::geo::distance_m;

/// Key of documents without a value: last in both directions.
const MISSING: u64 = u64::MAX;

pub(super) enum Source<'a> {
    Column(Option<Box<Column>>),
    Geo(Option<&'a Geo>),
    Computed(usize),
}

/// Numbers of the documents of a segment that are not among their values.
pub trait Computed: Send + Sync {
    /// Finite and not negative.
    fn number(&self, index: usize, doc: DocId) -> f64;
}

/// The sort columns of one segment. Keys are `u64`, smaller first, and comparable within the segment.
pub struct SegmentSort<'a> {
    pub(super) criteria: &'a [SortCriterion],
    pub(super) sources: Vec<Source<'a>>,
    computed: Option<Arc<dyn Computed + 'a>>,
}

impl<'a> SegmentSort<'a> {
    /// Criteria that compare elements find no value before [`SegmentSort::with_elements`].
    pub fn new(snapshot: &'a Snapshot, view: &'a SegmentView, criteria: &'a [SortCriterion]) -> SegmentSort<'a> {
        let sources = criteria
            .iter()
            .map(|c| match &c.target {
                SortTarget::Field(field) => {
                    Source::Column(snapshot.fields.get(field).and_then(|f| view.reader.columns().get(f)).map(Box::new))
                }
                SortTarget::Elements { .. } => Source::Column(None),
                SortTarget::GeoPoint { .. } => Source::Geo(view.reader.geo()),
                SortTarget::Computed { index, .. } => Source::Computed(*index),
            })
            .collect();
        SegmentSort { criteria, sources, computed: None }
    }

    /// The same, with what computes the numbers of criteria that are computed.
    #[must_use]
    pub(crate) fn with_computed(self, computed: Arc<dyn Computed + 'a>) -> SegmentSort<'a> {
        SegmentSort { computed: Some(computed), ..self }
    }

    /// The same, with the columns of criteria that compare elements.
    #[must_use]
    pub fn with_elements(mut self, columns: ElementColumns) -> SegmentSort<'a> {
        for (index, column) in columns {
            self.sources[index] = Source::Column(Some(Box::new(column.as_ref().clone())));
        }
        self
    }

    /// The number of a document, when criterion `index` is computed.
    pub fn computed(&self, index: usize, doc: DocId) -> Option<f64> {
        let Source::Computed(number) = self.sources[index] else { return None };
        Some(self.computed.as_ref()?.number(number, doc))
    }

    /// Replaces `out` by the keys of a document, one per criterion.
    pub fn keys(&self, doc: DocId, out: &mut Vec<u64>) {
        out.clear();
        out.extend((0..self.criteria.len()).map(|i| self.key(i, doc)));
    }

    /// Key of a document under criterion `index`.
    pub fn key(&self, index: usize, doc: DocId) -> u64 {
        let ascending = self.criteria[index].ascending;
        match &self.sources[index] {
            Source::Column(None) => MISSING,
            Source::Column(Some(column)) => match ordinal(column, ascending, doc) {
                None => MISSING,
                Some(ordinal) if ascending => u64::from(ordinal),
                // Descending among numbers, then descending among strings.
                Some(ordinal) if ordinal < column.number_count() => u64::from(column.number_count() - 1 - ordinal),
                Some(ordinal) => u64::from(column.number_count()) + u64::from(column.value_count() - 1 - ordinal),
            },
            Source::Geo(_) => match self.distance_m(index, doc) {
                // Whole metres: documents at the same place are left to the next rule.
                Some(metres) if ascending => metres.round() as u64,
                Some(metres) => MISSING - 1 - metres.round() as u64,
                None => MISSING,
            },
            // Not negative: the bits are in the order of the numbers.
            Source::Computed(_) => self.computed(index, doc).map_or(MISSING, |number| MISSING - 1 - number.to_bits()),
        }
    }

    /// Number of criteria.
    pub(crate) fn criteria_count(&self) -> usize {
        self.criteria.len()
    }

    /// Criterion `index` of the request.
    pub fn criterion(&self, index: usize) -> &SortCriterion {
        &self.criteria[index]
    }

    /// Latitude and longitude of a document, when criterion `index` is a distance.
    pub fn position(&self, index: usize, doc: DocId) -> Option<(f64, f64)> {
        let Source::Geo(Some(geo)) = &self.sources[index] else { return None };
        geo.point(doc)
    }

    /// Metres from a document to the point of criterion `index`.
    pub fn distance_m(&self, index: usize, doc: DocId) -> Option<f64> {
        let SortTarget::GeoPoint { lat, lng } = self.criteria[index].target else { return None };
        self.position(index, doc).map(|position| distance_m((lat, lng), position))
    }

    /// The value that decides for a document under criterion `index`, when that is a field.
    pub fn value(&self, index: usize, doc: DocId) -> SortedValue {
        let Source::Column(Some(column)) = &self.sources[index] else { return SortedValue::Missing };
        match ordinal(column, self.criteria[index].ascending, doc) {
            None => SortedValue::Missing,
            Some(ordinal) if ordinal < column.number_count() => SortedValue::Number(column.number(ordinal)),
            Some(ordinal) => SortedValue::String(column.string(ordinal).to_owned()),
        }
    }

    /// Compares a document with one of another segment under criterion `index`, by real values.
    pub fn compare_across(&self, index: usize, doc: DocId, other: &SegmentSort<'_>, other_doc: DocId) -> Ordering {
        if !matches!(self.sources[index], Source::Column(_)) {
            return self.key(index, doc).cmp(&other.key(index, other_doc));
        }
        let direction = |o: Ordering| if self.criteria[index].ascending { o } else { o.reverse() };
        match (self.value(index, doc), other.value(index, other_doc)) {
            (SortedValue::Missing, SortedValue::Missing) => Ordering::Equal,
            (SortedValue::Missing, _) => Ordering::Greater,
            (_, SortedValue::Missing) => Ordering::Less,
            (SortedValue::Number(_), SortedValue::String(_)) => Ordering::Less,
            (SortedValue::String(_), SortedValue::Number(_)) => Ordering::Greater,
            (SortedValue::Number(a), SortedValue::Number(b)) => direction(a.total_cmp(&b)),
            (SortedValue::String(a), SortedValue::String(b)) => direction(a.cmp(&b)),
        }
    }
}

/// The value that counts: the smallest, or the largest of the numbers, if any, else of the strings.
pub(super) fn ordinal(column: &Column, ascending: bool, doc: DocId) -> Option<u32> {
    if ascending {
        return column.first(doc);
    }
    let last = column.last(doc)?;
    if last < column.number_count() || column.first(doc)? >= column.number_count() {
        return Some(last);
    }
    let mut largest = None;
    column.for_each_ordinal(doc, |o| {
        if o < column.number_count() {
            largest = largest.max(Some(o));
        }
    });
    largest
}
