//! What criteria compare that sort by the elements of arrays.

use std::sync::Arc;

use lamina_index::index::{SegmentView, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_segment::segment::Column;

use super::criterion::SortCriterion;
use crate::condition::{ConditionError, ElementValues, OutOfTime, TimeLimit};

/// The columns of one segment, with the places of their criteria.
pub type ElementColumns = Vec<(usize, Arc<Column>)>;

/// The criteria of a sort that compare elements.
#[derive(Debug, Default)]
pub struct ElementSorts(Vec<(usize, ElementValues)>);

impl ElementSorts {
    /// # Errors
    /// A condition that the settings do not allow.
    pub fn new(criteria: &[SortCriterion], snapshot: &Snapshot) -> Result<ElementSorts, ConditionError> {
        let with_places = criteria.iter().enumerate();
        let by_elements = with_places.filter_map(|(place, criterion)| Some((place, criterion.elements()?)));
        let values = by_elements
            .map(|(place, field)| Ok((place, ElementValues::new(field, &snapshot.settings, &snapshot.fields)?)));
        Ok(ElementSorts(values.collect::<Result<_, _>>()?))
    }

    /// Returns the columns for sorting the documents of a segment that are in `among`. Cost: that of
    /// [`ElementValues::column`].
    ///
    /// # Errors
    /// When `limit` is reached before.
    pub fn columns(
        &self,
        segment: &SegmentView,
        among: &DocSet,
        limit: TimeLimit<'_>,
    ) -> Result<ElementColumns, OutOfTime> {
        self.0.iter().map(|(place, values)| Ok((*place, values.column(segment, among, limit)?))).collect()
    }
}
