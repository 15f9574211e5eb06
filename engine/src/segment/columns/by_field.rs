//! The columns of a segment by their field.

use super::Column;
use crate::id::FieldId;
use crate::segment::error::Damage;

/// The columns of a segment.
#[derive(Debug, Default)]
pub struct Columns {
    columns: Vec<(FieldId, Column)>,
}

impl Columns {
    /// Adds a column; it replaces one of the same field.
    pub(crate) fn insert(&mut self, field: FieldId, column: Column) {
        match self.columns.binary_search_by_key(&field, |entry| entry.0) {
            Ok(at) => self.columns[at].1 = column,
            Err(at) => self.columns.insert(at, (field, column)),
        }
    }

    /// The column of a field, or `None` when the segment was written without it.
    pub fn get(&self, field: FieldId) -> Option<Column> {
        let at = self.columns.binary_search_by_key(&field, |entry| entry.0).ok()?;
        Some(self.columns[at].1.clone())
    }

    /// The fields that have a column, ascending.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> + '_ {
        self.columns.iter().map(|entry| entry.0)
    }

    pub(crate) fn validate(&self) -> Result<(), Damage> {
        self.columns.iter().try_for_each(|(_, column)| column.validate())
    }
}
