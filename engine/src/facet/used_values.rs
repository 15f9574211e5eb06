//! At most so many documents per value of an attribute.

use hashbrown::HashMap;
use lamina_index::index::{DocumentAddress, Snapshot};
use lamina_segment::segment::Column;
use lamina_text::id::DocId;
use lamina_text::text::same_facet_number;

/// A value, comparable across segments and indexes. A string that looks like a number is this number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum UsedValue {
    /// Bits of the number; columns hold no `-0.0`.
    Number(u64),
    /// Normalised.
    String(String),
}

/// Number of documents, among those kept so far, that have each value.
#[derive(Debug)]
pub struct UsedValues {
    used: HashMap<UsedValue, u32>,
    values: Vec<UsedValue>,
    limit: u32,
    groups: u64,
}

impl Default for UsedValues {
    fn default() -> UsedValues {
        UsedValues::with_limit(1)
    }
}

impl UsedValues {
    /// Keeps `limit` documents of each value.
    pub(crate) fn with_limit(limit: u32) -> UsedValues {
        UsedValues { used: HashMap::new(), values: Vec::new(), limit, groups: 0 }
    }

    /// Documents that were the first of all of their values, or had none: as many as would be kept with one of each.
    pub(crate) fn groups(&self) -> u64 {
        self.groups
    }

    /// Reports whether no value of the document has reached the limit of uses, and then counts one more use of each.
    /// Documents without a value are all kept.
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
        let most = self.values.iter().map(|value| self.used.get(value).copied().unwrap_or(0)).max().unwrap_or(0);
        if most >= self.limit {
            return false;
        }
        self.groups += u64::from(most == 0);
        for value in self.values.drain(..) {
            *self.used.entry(value).or_default() += 1;
        }
        true
    }

    /// Works like [`UsedValues::admit`], for the values at `attribute` of a document of an index. The values count only
    /// if the attribute has a column there, for example because it is filterable.
    pub fn admit_document(&mut self, snapshot: &Snapshot, attribute: &str, address: DocumentAddress) -> bool {
        let column = snapshot.fields.get(attribute).and_then(|field| {
            let segment = snapshot.segments.get(address.segment as usize)?;
            segment.reader.columns().get(field)
        });
        match column {
            Some(column) => self.admit(&column, address.doc),
            None => {
                self.groups += 1;
                true
            }
        }
    }
}
