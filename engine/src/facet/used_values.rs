//! At most one document per value of an attribute.

use hashbrown::HashSet;

use crate::id::DocId;
use crate::index::{DocumentAddress, Snapshot};
use crate::segment::Column;
use crate::text::same_facet_number;

/// A value, comparable across segments and indexes. A string that looks like a number is this number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum UsedValue {
    /// Bits of the number; columns hold no `-0.0`.
    Number(u64),
    /// Normalised.
    String(String),
}

/// The values that the documents kept so far have.
#[derive(Debug, Default)]
pub struct UsedValues {
    used: HashSet<UsedValue>,
    values: Vec<UsedValue>,
}

impl UsedValues {
    /// Whether no value of the document was used; all of them are used then. Documents without a value are all kept.
    pub(crate) fn admit(&mut self, column: &Column, doc: DocId) -> bool {
        self.values.clear();
        column.for_each_ordinal(doc, |ordinal| {
            self.values.push(if ordinal < column.number_count() {
                UsedValue::Number(column.number(ordinal).to_bits())
            } else {
                let string = column.string(ordinal);
                match same_facet_number(string) {
                    Some(number) => UsedValue::Number(number.to_bits()),
                    None => UsedValue::String(string.to_owned()),
                }
            });
        });
        let is_new = self.values.iter().all(|value| !self.used.contains(value));
        if is_new {
            self.used.extend(self.values.drain(..));
        }
        is_new
    }

    /// As [`UsedValues::admit`], for the values at `attribute` of a document of an index. It must have a column there
    /// (be filterable, say) for its values to count.
    pub fn admit_document(&mut self, snapshot: &Snapshot, attribute: &str, address: DocumentAddress) -> bool {
        let column = snapshot.fields.get(attribute).and_then(|field| {
            let segment = snapshot.segments.get(address.segment as usize)?;
            segment.reader.columns().get(field)
        });
        column.is_none_or(|column| self.admit(&column, address.doc))
    }
}
