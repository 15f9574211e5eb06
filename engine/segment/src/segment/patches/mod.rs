//! "Which numbers and truth values has this document got since its segment was written?"
//!
//! Counters change often and have no words. What they became is kept beside the segment: readers see the documents and the
//! columns as if they were written so, and the next merge writes them so. The layout is in `segment-format.md`.

mod section;

use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use lamina_text::id::{DocId, FieldId};

use super::columns::{Column, NewValue};
use crate::bits::DocSet;
use crate::document::{DocumentError, merge_documents};
pub use section::Layer;

/// New value of a field.
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

impl From<PatchValue> for Value {
    fn from(value: PatchValue) -> Value {
        match value {
            PatchValue::Integer(value) => value.into(),
            PatchValue::Unsigned(value) => value.into(),
            PatchValue::Float(value) => value.into(),
            PatchValue::Boolean(value) => value.into(),
        }
    }
}

/// Integers below this are exact in a float.
const EXACT: u64 = 1 << 53;

/// Values that documents of a segment received since it was written, by top-level field. They are layers: those of some
/// commits, and above them those of later commits.
#[derive(Clone, Debug, Default)]
pub struct Patches {
    /// Oldest first; where several have a value, the last counts.
    layers: Vec<Arc<Layer>>,
    /// With their names, ascending.
    fields: BTreeMap<FieldId, Arc<str>>,
    docs: OnceLock<DocSet>,
}

/// A layer that is to be written over others.
pub struct NewLayer {
    /// Section of the layer, encoded.
    pub bytes: Vec<u8>,
    /// The number of layers, from the last one on, that it takes the place of.
    pub replaced: usize,
}

/// A layer takes in those below it that have at most so many times its values: each is more than that much larger than the
/// next one, so there are few, and a value is written anew a few times only.
const GROWTH: usize = 4;
/// Layers of so few values are always taken in: a file costs more than writing them again.
const SMALL_LAYER: usize = 1 << 11;

/// New values by field, with its name, and by document.
pub type NewPatches = BTreeMap<FieldId, (String, BTreeMap<DocId, PatchValue>)>;

impl PatchValue {
    /// Returns the value as it is written in documents.
    pub fn to_json(self) -> String {
        match self {
            PatchValue::Integer(value) => value.to_string(),
            PatchValue::Unsigned(value) => value.to_string(),
            PatchValue::Float(value) => serde_json::Value::from(value).to_string(),
            PatchValue::Boolean(value) => value.to_string(),
        }
    }

    /// Reports whether [`PatchValue::of_column`] restores this value from a column.
    pub fn is_plain(self) -> bool {
        match self {
            PatchValue::Integer(value) => value.unsigned_abs() < EXACT,
            PatchValue::Unsigned(_) => false,
            PatchValue::Float(value) => value.fract() != 0.0,
            PatchValue::Boolean(_) => true,
        }
    }

    /// Converts a number of a column whose numbers are all plain, see [`is_plain_number`].
    pub fn of_column(value: f64) -> PatchValue {
        if value.fract() == 0.0 { PatchValue::Integer(value as i64) } else { PatchValue::Float(value) }
    }

    /// Converts the value to the form that columns hold.
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

/// Reports whether [`PatchValue::of_column`] restores the JSON number `text` exactly from `value`, the number that a
/// column keeps of it.
pub fn is_plain_number(text: &str, value: f64) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        value.abs() < EXACT as f64 && !(value == 0.0 && digits.len() < text.len())
    } else {
        value.fract() != 0.0
    }
}

impl Patches {
    /// Puts a layer over these.
    pub fn push(&mut self, layer: Layer) {
        self.fields.extend(layer.fields().map(|values| (values.field, Arc::clone(&values.name))));
        self.layers.push(Arc::new(layer));
        self.docs = OnceLock::new();
    }

    /// Returns the patches without the last layers, and over them `layer`.
    pub fn with(&self, replaced: usize, layer: Layer) -> Patches {
        let kept = self.layers.len().saturating_sub(replaced);
        let mut patches =
            Patches { layers: self.layers[..kept].to_vec(), fields: self.fields.clone(), docs: OnceLock::new() };
        patches.push(layer);
        patches
    }

    /// Encodes the layer to be written so that `new` overrides these values. Cost: that of `new`, and occasionally of
    /// more.
    pub fn over_these(&self, new: &NewPatches) -> NewLayer {
        let mut count: usize = new.values().map(|(_, values)| values.len()).sum();
        let mut replaced = 0;
        for layer in self.layers.iter().rev() {
            if layer.len() > SMALL_LAYER.max(GROWTH * count) {
                break;
            }
            count += layer.len();
            replaced += 1;
        }
        let below = &self.layers[self.layers.len() - replaced..];
        NewLayer { bytes: section::encode(below, new), replaced }
    }

    pub(crate) fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// The documents that have any.
    pub fn docs(&self) -> &DocSet {
        self.docs.get_or_init(|| {
            let all = self.layers.iter().flat_map(|layer| layer.fields());
            let mut docs: Vec<DocId> = all.flat_map(|values| values.iter().map(|(doc, _)| doc)).collect();
            docs.sort_unstable();
            docs.dedup();
            DocSet::from_sorted(docs)
        })
    }

    /// Reports whether a document of the range has any patched value.
    pub(crate) fn touch(&self, docs: &Range<DocId>) -> bool {
        let mut all = self.layers.iter().flat_map(|layer| layer.fields());
        all.any(|values| values.first_from(docs.start).is_some_and(|doc| doc < docs.end))
    }

    /// Returns the patched value of the field of a document, if there is one.
    pub fn get(&self, field: FieldId, doc: DocId) -> Option<PatchValue> {
        self.layers.iter().rev().find_map(|layer| layer.of(field)?.get(doc))
    }

    /// Reports whether the patched values of `doc` differ from those in `other`.
    pub fn differs(&self, other: &Patches, doc: DocId) -> bool {
        let fields = self.fields.keys().chain(other.fields.keys());
        fields.copied().any(|field| self.get(field, doc) != other.get(field, doc))
    }

    /// Returns the values that are here and not in `before`, with each document renumbered by `renumber`. Documents
    /// without a new number are left out.
    pub fn since(&self, before: Option<&Patches>, renumber: impl Fn(DocId) -> Option<DocId>) -> NewPatches {
        let mut new = NewPatches::new();
        for (&field, name) in &self.fields {
            let is_new =
                |doc: DocId, value: PatchValue| before.and_then(|before| before.get(field, doc)) != Some(value);
            let changed = self.values(field).into_iter().filter(|(doc, value)| is_new(*doc, *value));
            let values: BTreeMap<DocId, PatchValue> =
                changed.filter_map(|(doc, value)| Some((renumber(doc)?, value))).collect();
            if !values.is_empty() {
                new.insert(field, (name.to_string(), values));
            }
        }
        new
    }

    /// The fields that have any, ascending.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> {
        self.fields.keys().copied()
    }

    /// Returns the names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.values().map(|name| &**name)
    }

    /// Reports whether documents are known to have the same patched values of the field, because both have these in the
    /// same layers.
    pub(crate) fn has_same_values(&self, other: &Patches, field: FieldId) -> bool {
        let with_field = |patches: &Patches| -> Vec<*const Layer> {
            let layers = patches.layers.iter().filter(|layer| layer.of(field).is_some());
            layers.map(Arc::as_ptr).collect()
        };
        with_field(self) == with_field(other)
    }

    /// The column of a field with what it became. `base`: as it was written.
    pub fn column(&self, field: FieldId, base: &Column) -> Column {
        if !self.fields.contains_key(&field) {
            return base.clone();
        }
        let values = self.values(field);
        let is_plain = values.iter().all(|(_, value)| value.is_plain());
        let values: Vec<(DocId, NewValue)> = values.into_iter().map(|(doc, value)| (doc, value.in_column())).collect();
        base.with_values(&values, is_plain)
    }

    /// At most so many bytes longer is a document with its new values.
    pub(crate) fn extra_bytes_max(&self) -> usize {
        const PER_FIELD: usize = "\"\":,-1234567890.1234567890e-300".len();
        self.names().map(|name| 2 * name.len() + PER_FIELD).sum()
    }

    /// Puts the new values of a document over its JSON.
    ///
    /// # Errors
    /// `json` is no JSON object.
    pub fn apply(&self, doc: DocId, json: &mut Vec<u8>) -> Result<(), DocumentError> {
        let mut new = String::new();
        for (&field, name) in &self.fields {
            let Some(value) = self.get(field, doc) else { continue };
            new.push(if new.is_empty() { '{' } else { ',' });
            new.push_str(&serde_json::Value::from(&**name).to_string());
            new.push(':');
            new.push_str(&value.to_json());
        }
        if !new.is_empty() {
            new.push('}');
            *json = merge_documents(json, new.as_bytes())?;
        }
        Ok(())
    }

    /// Returns the values that documents received for a field, ascending by document.
    fn values(&self, field: FieldId) -> Vec<(DocId, PatchValue)> {
        let records = section::joined(self.layers.iter().filter_map(|layer| layer.of(field)));
        section::values(&records).collect()
    }
}

/// The example of the page on the format.
#[cfg(test)]
pub(super) fn example() -> Vec<u8> {
    section::encode(
        &[],
        &tests::new(&[(3, "views", 0, PatchValue::Integer(7)), (3, "views", 1, PatchValue::Boolean(true))]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Read from the bytes of new values over `below`.
    fn with(below: &Patches, new: &NewPatches) -> Patches {
        let NewLayer { bytes, replaced } = below.over_these(new);
        below.with(replaced, Layer::read(bytes.into(), DocId::MAX).expect("whole"))
    }

    pub(super) fn new(values: &[(FieldId, &str, DocId, PatchValue)]) -> NewPatches {
        let mut new = NewPatches::new();
        for &(field, name, doc, value) in values {
            new.entry(field).or_insert_with(|| (name.to_owned(), BTreeMap::new())).1.insert(doc, value);
        }
        new
    }

    #[test]
    fn later_values_count() {
        let one = [(3, "a", 1, PatchValue::Integer(1)), (3, "a", 9, PatchValue::Integer(2))];
        let one = with(&Patches::default(), &new(&one));
        let new = NewPatches::from([
            (1, ("b".to_owned(), BTreeMap::from([(9, PatchValue::Boolean(true))]))),
            (3, ("a".to_owned(), BTreeMap::from([(9, PatchValue::Float(2.5)), (4, PatchValue::Unsigned(u64::MAX))]))),
        ]);
        let layer = Layer::read(section::encode(&[], &new).into(), 10).expect("whole");
        // The same in one layer, as few values are written, and in two.
        for two in [with(&one, &new), one.with(0, layer)] {
            assert_eq!(two.fields().collect::<Vec<_>>(), [1, 3]);
            assert_eq!(two.docs().to_vec(), [1, 4, 9]);
            assert!(two.touch(&(2..5)));
            assert!(!two.touch(&(5..9)));
            assert!(two.touch(&(9..10)));
            assert!(two.differs(&one, 9));
            assert!(two.differs(&one, 4));
            assert!(!two.differs(&one, 1));
            assert!(one.differs(&two, 4));
            let mut json = br#"{"id":1,"a":7,"c":"x"}"#.to_vec();
            two.apply(9, &mut json).expect("an object");
            assert_eq!(String::from_utf8(json).unwrap(), r#"{"id":1,"a":2.5,"c":"x","b":true}"#);
            let mut json = br#"{"id":1}"#.to_vec();
            let before = json.len();
            two.apply(4, &mut json).expect("an object");
            assert_eq!(json, br#"{"id":1,"a":18446744073709551615}"#);
            assert!(json.len() <= before + two.extra_bytes_max());
            two.apply(5, &mut json).expect("nothing to do");
            assert!(!two.has_same_values(&one, 3));
            assert!(two.has_same_values(&two.clone(), 3));

            let since = two.since(Some(&one), |doc| (doc != 4).then_some(doc + 100));
            assert_eq!(since[&3].1, BTreeMap::from([(109, PatchValue::Float(2.5))]));
            assert_eq!(since[&1].1, BTreeMap::from([(109, PatchValue::Boolean(true))]));
        }
        assert!(one.since(Some(&one), Some).is_empty());
    }

    #[test]
    fn layers_are_few_and_values_seldom_written_anew() {
        const BATCH: u32 = 500;
        let (mut patches, mut written) = (Patches::default(), 0);
        for batch in 0..200 {
            let doc = |number: u32| (batch * BATCH + number) % 70_000;
            let values = (0..BATCH).map(|number| (3, "a", doc(number), PatchValue::Integer(batch.into())));
            let new = new(&values.collect::<Vec<_>>());
            written += patches.over_these(&new).bytes.len();
            patches = with(&patches, &new);
            assert!(patches.layer_count() <= 5, "{} layers", patches.layer_count());
        }
        let amplification = written as f64 / f64::from(200 * BATCH * 13);
        assert!(amplification < 10.0, "every value was written {amplification} times");
        for doc in (0..70_000).step_by(997) {
            let last = if doc < 30_000 { (70_000 + doc) / BATCH } else { doc / BATCH };
            assert_eq!(patches.get(3, doc), Some(PatchValue::Integer(last.into())));
        }
    }

    #[test]
    fn plain_values_come_back_from_columns() {
        use PatchValue::{Boolean, Float, Integer, Unsigned};
        for value in [Integer(0), Integer(-7), Integer((1 << 53) - 1), Float(0.5), Float(-1e-300)] {
            let NewValue::Number(number) = value.in_column() else { panic!("a number") };
            assert!(value.is_plain(), "{value:?}");
            assert!(is_plain_number(&value.to_json(), number), "{value:?}");
            assert_eq!(PatchValue::of_column(number), value);
        }
        assert!(Boolean(true).is_plain());
        for value in [Integer(1 << 53), Integer(i64::MIN), Unsigned(1 << 63), Float(5.0), Float(1e300), Float(-0.0)] {
            let NewValue::Number(number) = value.in_column() else { panic!("a number") };
            assert!(!value.is_plain(), "{value:?}");
            assert!(!is_plain_number(&value.to_json(), number), "{value:?}");
        }
        assert!(!is_plain_number("9007199254740993", 9007199254740992.0));
        assert!(!is_plain_number("-0", -0.0));
        assert!(is_plain_number("1.50", 1.5));
        assert!(!is_plain_number("1e3", 1e3));
    }
}
