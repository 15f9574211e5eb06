//! "Which numbers and truth values has this document got since its segment was written?"
//!
//! Counters change often and have no words. What they became is kept beside the segment: readers see the documents and the
//! columns as if they were written so, and the next merge writes them so. The layout is in `segment-format.md`.

mod section;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use super::columns::{Column, NewValue};
use crate::bits::DocSet;
use crate::document::{DocumentError, merge_documents};
use crate::id::{DocId, FieldId};

/// What a field became.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PatchValue {
    /// A number without fraction.
    Integer(i64),
    /// One above all of those.
    Unsigned(u64),
    /// Finite.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
}

/// New values of one field.
#[derive(Clone, Debug, PartialEq)]
struct PatchedField {
    field: FieldId,
    name: String,
    /// Ascending by document.
    values: Vec<(DocId, PatchValue)>,
}

/// What documents of a segment got since it was written, by top-level field.
#[derive(Debug, Default)]
pub struct Patches {
    /// Ascending by field.
    fields: Vec<PatchedField>,
    docs: OnceLock<DocSet>,
}

/// New values by field, with its name, and by document.
pub type NewPatches = BTreeMap<FieldId, (String, BTreeMap<DocId, PatchValue>)>;

impl PatchValue {
    /// As it is written in documents.
    pub fn to_json(self) -> String {
        match self {
            PatchValue::Integer(value) => value.to_string(),
            PatchValue::Unsigned(value) => value.to_string(),
            PatchValue::Float(value) => serde_json::Value::from(value).to_string(),
            PatchValue::Boolean(value) => value.to_string(),
        }
    }

    /// As columns hold it.
    fn in_column(self) -> NewValue {
        match self {
            PatchValue::Integer(value) => NewValue::Number(value as f64),
            PatchValue::Unsigned(value) => NewValue::Number(value as f64),
            PatchValue::Float(value) => NewValue::Number(value),
            PatchValue::Boolean(true) => NewValue::Text("true"),
            PatchValue::Boolean(false) => NewValue::Text("false"),
        }
    }
}

impl Patches {
    /// These, and over them `new`. Cost: their number.
    pub(crate) fn with(&self, new: &NewPatches) -> Patches {
        let mut fields: BTreeMap<FieldId, PatchedField> =
            self.fields.iter().map(|patched| (patched.field, patched.clone())).collect();
        for (&field, (name, values)) in new {
            let values: Vec<(DocId, PatchValue)> = values.iter().map(|(&doc, &value)| (doc, value)).collect();
            let patched = fields.entry(field);
            let patched = patched.or_insert_with(|| PatchedField { field, name: name.clone(), values: Vec::new() });
            patched.values = over(&patched.values, &values);
        }
        Patches { fields: fields.into_values().collect(), docs: OnceLock::new() }
    }

    /// The documents that have any.
    pub fn docs(&self) -> &DocSet {
        self.docs.get_or_init(|| {
            let mut docs: Vec<DocId> =
                self.fields.iter().flat_map(|field| field.values.iter().map(|(doc, _)| *doc)).collect();
            docs.sort_unstable();
            docs.dedup();
            DocSet::from_sorted(docs)
        })
    }

    /// Whether a document of the range has any.
    pub(crate) fn touch(&self, docs: &Range<DocId>) -> bool {
        self.fields.iter().any(|field| {
            let first = field.values.partition_point(|(doc, _)| *doc < docs.start);
            field.values.get(first).is_some_and(|(doc, _)| *doc < docs.end)
        })
    }

    /// What the field of a document became, if it is here.
    pub fn get(&self, field: FieldId, doc: DocId) -> Option<PatchValue> {
        self.fields.get(self.position(field)?)?.of(doc)
    }

    /// Whether `doc` has other values here than in `other`.
    pub fn differs(&self, other: &Patches, doc: DocId) -> bool {
        let not_in = |one: &Patches, other: &Patches| {
            one.fields.iter().any(|field| field.of(doc).is_some_and(|value| other.get(field.field, doc) != Some(value)))
        };
        not_in(self, other) || not_in(other, self)
    }

    /// What is here and not in `before`, with each document renumbered by `renumber`; one without a new number is left out.
    pub(crate) fn since(&self, before: Option<&Patches>, renumber: impl Fn(DocId) -> Option<DocId>) -> NewPatches {
        let mut new = NewPatches::new();
        for patched in &self.fields {
            let is_new =
                |doc: DocId, value: PatchValue| before.and_then(|before| before.get(patched.field, doc)) != Some(value);
            let changed = patched.values.iter().filter(|(doc, value)| is_new(*doc, *value));
            let values: BTreeMap<DocId, PatchValue> =
                changed.filter_map(|(doc, value)| Some((renumber(*doc)?, *value))).collect();
            if !values.is_empty() {
                new.insert(patched.field, (patched.name.clone(), values));
            }
        }
        new
    }

    /// The fields that have any, ascending.
    pub(crate) fn fields(&self) -> impl Iterator<Item = FieldId> {
        self.fields.iter().map(|patched| patched.field)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|patched| patched.name.as_str())
    }

    /// Whether documents got the same values for the field.
    pub(crate) fn has_same_values(&self, other: &Patches, field: FieldId) -> bool {
        match (self.position(field), other.position(field)) {
            (Some(one), Some(two)) => self.fields[one].values == other.fields[two].values,
            (one, two) => one == two,
        }
    }

    /// The column of a field with what it became. `base`: as it was written.
    pub(crate) fn column(&self, field: FieldId, base: &Column) -> Column {
        match self.position(field) {
            Some(at) => {
                let values = self.fields[at].values.iter().map(|(doc, value)| (*doc, value.in_column()));
                base.with_values(&values.collect::<Vec<_>>())
            }
            None => base.clone(),
        }
    }

    /// At most so many bytes longer is a document with its new values.
    pub(crate) fn extra_bytes_max(&self) -> usize {
        const PER_FIELD: usize = "\"\":,-1234567890.1234567890e-300".len();
        self.fields.iter().map(|field| 2 * field.name.len() + PER_FIELD).sum()
    }

    /// Puts the new values of a document over its JSON.
    ///
    /// # Errors
    /// `json` is no JSON object.
    pub(crate) fn apply(&self, doc: DocId, json: &mut Vec<u8>) -> Result<(), DocumentError> {
        let mut new = String::new();
        for field in &self.fields {
            let Some(value) = field.of(doc) else { continue };
            new.push(if new.is_empty() { '{' } else { ',' });
            new.push_str(&serde_json::Value::from(field.name.as_str()).to_string());
            new.push(':');
            new.push_str(&value.to_json());
        }
        if !new.is_empty() {
            new.push('}');
            *json = merge_documents(json, new.as_bytes())?;
        }
        Ok(())
    }

    fn position(&self, field: FieldId) -> Option<usize> {
        self.fields.binary_search_by_key(&field, |patched| patched.field).ok()
    }
}

impl PatchedField {
    fn of(&self, doc: DocId) -> Option<PatchValue> {
        let at = self.values.binary_search_by_key(&doc, |(doc, _)| *doc).ok()?;
        Some(self.values[at].1)
    }
}

/// Both, ascending; where both have a document, `new` counts.
fn over(old: &[(DocId, PatchValue)], new: &[(DocId, PatchValue)]) -> Vec<(DocId, PatchValue)> {
    let mut joined = Vec::with_capacity(old.len() + new.len());
    let mut old = old.iter().copied().peekable();
    for &(doc, value) in new {
        while let Some(before) = old.next_if(|(before, _)| *before < doc) {
            joined.push(before);
        }
        old.next_if(|(before, _)| *before == doc);
        joined.push((doc, value));
    }
    joined.extend(old);
    joined
}

/// The example of the page on the format.
#[cfg(test)]
pub(super) fn example() -> Vec<u8> {
    tests::patches(&[(3, "views", 0, PatchValue::Integer(7)), (3, "views", 1, PatchValue::Boolean(true))]).encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn patches(values: &[(FieldId, &str, DocId, PatchValue)]) -> Patches {
        let mut new = NewPatches::new();
        for &(field, name, doc, value) in values {
            new.entry(field).or_insert_with(|| (name.to_owned(), BTreeMap::new())).1.insert(doc, value);
        }
        Patches::default().with(&new)
    }

    #[test]
    fn later_values_count() {
        let one = patches(&[(3, "a", 1, PatchValue::Integer(1)), (3, "a", 9, PatchValue::Integer(2))]);
        let two = one.with(&NewPatches::from([
            (1, ("b".to_owned(), BTreeMap::from([(9, PatchValue::Boolean(true))]))),
            (3, ("a".to_owned(), BTreeMap::from([(9, PatchValue::Float(2.5)), (4, PatchValue::Unsigned(u64::MAX))]))),
        ]));
        assert_eq!(two.fields().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(two.docs().to_vec(), [1, 4, 9]);
        assert!(two.touch(&(2..5)) && !two.touch(&(5..9)) && two.touch(&(9..10)));
        assert!(two.differs(&one, 9) && two.differs(&one, 4) && !two.differs(&one, 1) && one.differs(&two, 4));
        let mut json = br#"{"id":1,"a":7,"c":"x"}"#.to_vec();
        two.apply(9, &mut json).expect("an object");
        assert_eq!(String::from_utf8(json).unwrap(), r#"{"id":1,"a":2.5,"c":"x","b":true}"#);
        let mut json = br#"{"id":1}"#.to_vec();
        let before = json.len();
        two.apply(4, &mut json).expect("an object");
        assert_eq!(json, br#"{"id":1,"a":18446744073709551615}"#);
        assert!(json.len() <= before + two.extra_bytes_max());
        two.apply(5, &mut json).expect("nothing to do");

        let since = two.since(Some(&one), |doc| (doc != 4).then_some(doc + 100));
        assert_eq!(since[&3].1, BTreeMap::from([(109, PatchValue::Float(2.5))]));
        assert_eq!(since[&1].1, BTreeMap::from([(109, PatchValue::Boolean(true))]));
        assert!(one.since(Some(&one), Some).is_empty());
    }
}
