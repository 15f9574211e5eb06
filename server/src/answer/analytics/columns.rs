//! The columns of one segment of the store.

use lamina_data::events::fields;
use lamina_engine::index::{SegmentView, Snapshot};
use lamina_engine::segment::Column;
use uuid::Uuid;

/// Fields that figures are made of.
const READ: [&str; 9] = [
    fields::KIND,
    fields::AT,
    fields::USER,
    fields::QUERIES,
    fields::TEXT,
    fields::FILTER,
    fields::TOTAL,
    fields::MILLIS,
    fields::POSITION,
];

/// Values of documents, by field.
pub(super) struct Columns(Vec<(&'static str, Column)>);

impl Columns {
    pub(super) fn of(snapshot: &Snapshot, segment: &SegmentView) -> Columns {
        let column = |name: &&'static str| Some((*name, segment.reader.columns().get(snapshot.fields.get(name)?)?));
        Columns(READ.iter().filter_map(column).collect())
    }

    fn get(&self, field: &str) -> Option<&Column> {
        self.0.iter().find(|(name, _)| std::ptr::eq(*name, field) || *name == field).map(|(_, column)| column)
    }

    /// The text of a document, without case; empty where it has none.
    pub(super) fn text(&self, field: &str, doc: u32) -> &str {
        self.get(field).and_then(|column| Some(column.string(column.first(doc)?))).unwrap_or_default()
    }

    /// The text as it was written first.
    pub(super) fn original(&self, field: &str, doc: u32) -> &str {
        self.get(field).and_then(|column| Some(column.original(column.first(doc)?))).unwrap_or_default()
    }

    pub(super) fn number(&self, field: &str, doc: u32) -> Option<u64> {
        let column = self.get(field)?;
        let number = column.number(column.first(doc)?);
        // A column has no other ones.
        (number >= 0.0).then_some(number as u64)
    }

    pub(super) fn user(&self, doc: u32) -> Option<u128> {
        u128::from_str_radix(self.text(fields::USER, doc).strip_prefix('u')?, 16).ok()
    }

    /// Calls `see` with each `queryUid` of a document.
    pub(super) fn queries(&self, doc: u32, mut see: impl FnMut(u128)) {
        let Some(column) = self.get(fields::QUERIES) else { return };
        column.for_each_ordinal(doc, |ordinal| {
            if let Ok(uid) = Uuid::parse_str(column.string(ordinal)) {
                see(uid.as_u128());
            }
        });
    }
}
