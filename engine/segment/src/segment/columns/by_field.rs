//! The columns of a segment by their field.

use lamina_text::id::FieldId;

use super::Column;
use crate::segment::Patches;
use crate::segment::error::Damage;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The columns of a segment.
#[derive(Debug, Default)]
pub struct Columns {
    /// Columns as they were written.
    written: Arc<Vec<(FieldId, Column)>>,
    /// With what documents got since, made when first asked for.
    patched: Vec<(FieldId, Arc<OnceLock<Column>>)>,
    patches: Arc<Patches>,
    doc_count: u32,
}

impl Columns {
    /// Returns an empty set of columns, of a segment with so many documents.
    pub fn of(doc_count: u32) -> Columns {
        Columns { doc_count, ..Columns::default() }
    }

    /// Adds a column; it replaces one of the same field.
    pub fn insert(&mut self, field: FieldId, column: Column) {
        let written = Arc::make_mut(&mut self.written);
        match written.binary_search_by_key(&field, |entry| entry.0) {
            Ok(at) => written[at].1 = column,
            Err(at) => written.insert(at, (field, column)),
        }
    }

    /// The same columns, with the patches of their segment. Those of fields that have the same patches as before are not made
    /// again.
    pub fn with_patches(&self, patches: &Arc<Patches>) -> Columns {
        let of_field = |field: FieldId| {
            let is_same = patches.has_same_values(&self.patches, field);
            let made = self.patched.iter().find(|(known, _)| *known == field && is_same);
            (field, made.map(|(_, column)| Arc::clone(column)).unwrap_or_default())
        };
        Columns {
            written: Arc::clone(&self.written),
            patched: patches.fields().map(of_field).collect(),
            patches: Arc::clone(patches),
            doc_count: self.doc_count,
        }
    }

    /// The column of a field, or `None` when the segment was written without it, and no document got a value since. Cost: that
    /// of writing a column, the first time after a document got one.
    pub fn get(&self, field: FieldId) -> Option<Column> {
        let written = self.as_written(field);
        let Ok(at) = self.patched.binary_search_by_key(&field, |entry| entry.0) else { return written.cloned() };
        let patched = self.patched[at].1.get_or_init(|| match written {
            Some(written) => self.patches.column(field, written),
            None => self.patches.column(field, &Column::without_values(self.doc_count)),
        });
        Some(patched.clone())
    }

    /// Works like [`Columns::get`], without values that documents received since.
    pub fn as_written(&self, field: FieldId) -> Option<&Column> {
        self.written.binary_search_by_key(&field, |entry| entry.0).ok().map(|at| &self.written[at].1)
    }

    /// The fields that have a column, ascending.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> {
        let fields = self.written.iter().map(|entry| entry.0).chain(self.patched.iter().map(|entry| entry.0));
        fields.collect::<BTreeSet<FieldId>>().into_iter()
    }

    pub(crate) fn validate(&self) -> Result<(), Damage> {
        self.written.iter().try_for_each(|(_, column)| column.validate())
    }
}
