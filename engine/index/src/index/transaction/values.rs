//! New numbers and truth values of single fields.
//!
//! Where a field has no words and is no part of a vector, the value is kept beside the segment (see
//! [`patching`](super::super::patching)): nothing else of the document is touched. Elsewhere the document is written anew. Values of
//! several operations are gathered, and become one file a segment.

use std::collections::BTreeMap;

use lamina_segment::document::{FieldMap, merge_documents, top_level_value};
use lamina_segment::segment::{NewPatches, PatchValue};
use lamina_text::id::FieldId;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::super::error::{IndexError, OperationError};
use super::super::operation::{Outcome, Payload, Upsert, WriteMethod};
use super::super::patching::is_patchable;
use super::super::snapshot::{DocumentAddress, SegmentView};
use super::payload::{PayloadBytes, lines};
use super::scan::find_existing;
use super::{Attempt, Transaction};

/// A line of the payload, as the server has checked it.
#[derive(Deserialize)]
struct Line {
    id: String,
    #[serde(default)]
    increment: BTreeMap<String, Number>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
}

/// Change to a field.
#[derive(Clone, Copy, Debug)]
enum Change {
    Increment(PatchValue),
    Set(PatchValue),
}

/// Present content of a field.
enum PresentValue {
    /// Nothing: it is not there.
    Absent,
    /// `null`
    Null,
    Value(PatchValue),
    /// A text, an array or an object, as JSON.
    Other(String),
}

/// Values that no segment has yet.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// By position of the segment.
    patches: BTreeMap<u32, NewPatches>,
    /// By top-level field: how many more documents have it.
    added: BTreeMap<String, u64>,
}

/// Changes that one operation gathers.
#[derive(Default)]
struct Gathering {
    own: Gathered,
    /// Documents that are to be written anew, with the values that they get.
    rewritten: BTreeMap<DocumentAddress, BTreeMap<String, PatchValue>>,
    json: Vec<u8>,
    /// The document that `json` is.
    read: Option<DocumentAddress>,
    /// By field: whether its values can be kept beside segments.
    patchable: BTreeMap<String, bool>,
}

impl Gathered {
    pub(super) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    fn get(&self, address: DocumentAddress, field: FieldId) -> Option<PatchValue> {
        self.patches.get(&address.segment)?.get(&field)?.1.get(&address.doc).copied()
    }

    fn insert(&mut self, address: DocumentAddress, field: FieldId, name: &str, value: PatchValue) {
        let of_segment = self.patches.entry(address.segment).or_default();
        let of_field = of_segment.entry(field).or_insert_with(|| (name.to_owned(), BTreeMap::new()));
        of_field.1.insert(address.doc, value);
    }

    fn absorb(&mut self, other: Gathered) {
        for (segment, patches) in other.patches {
            let of_segment = self.patches.entry(segment).or_default();
            for (field, (name, values)) in patches {
                of_segment.entry(field).or_insert_with(|| (name, BTreeMap::new())).1.extend(values);
            }
        }
        for (field, count) in other.added {
            *self.added.entry(field).or_default() += count;
        }
    }
}

impl Transaction<'_> {
    /// Changes single fields of documents; those that are not there are passed over.
    pub(super) fn update_values(&mut self, payload: &Payload) -> Attempt {
        let payload = PayloadBytes::open(payload)?;
        let all = match read(&payload) {
            Ok(all) => all,
            Err(error) => return Ok(Err(error)),
        };
        if all.iter().any(|line| self.plan.holds(&line.id)) {
            // Their documents are not written yet.
            self.carry_out_plan()?;
        }
        let (received, mut indexed) = (all.len() as u64, 0);
        let fields = FieldMap::from(self.state.fields.clone());
        let mut gathering = Gathering::default();
        for Line { id, increment, set } in all {
            let Some(address) = find_existing(&self.state.segments, &id) else { continue };
            indexed += 1;
            let increments =
                increment.into_iter().filter_map(|(name, by)| Some((name, Change::Increment(number(&by)?))));
            let sets = set.into_iter().filter_map(|(name, to)| Some((name, Change::Set(scalar(&to)?))));
            for (name, change) in increments.chain(sets) {
                if let Err(error) = self.gather(&mut gathering, &fields, address, &id, &name, change)? {
                    return Ok(Err(error));
                }
            }
        }
        self.state.fields = fields.snapshot();
        self.gathered.absorb(gathering.own);
        if let Err(error) = self.rewrite_with(gathering.rewritten)? {
            return Ok(Err(error));
        }
        Ok(Ok(Outcome::Upserted { received, indexed }))
    }

    /// Takes one change. The outer error fails the batch, the inner one the operation.
    fn gather(
        &self,
        gathering: &mut Gathering,
        fields: &FieldMap,
        address: DocumentAddress,
        id: &str,
        name: &str,
        change: Change,
    ) -> Result<Result<(), OperationError>, IndexError> {
        let primary_key = self.state.primary_key.as_deref().unwrap_or_default();
        if primary_key.split('.').next() == Some(name) {
            return Ok(Err(OperationError::KeyUpdate { field: name.to_owned() }));
        }
        let field = fields.get_or_insert(name)?;
        let held = self.held(gathering, address, field, name)?;
        let value = match (change, &held) {
            (Change::Set(value), _) => value,
            (Change::Increment(by), PresentValue::Absent | PresentValue::Null) => by,
            (Change::Increment(by), PresentValue::Value(value)) => match sum(*value, by) {
                Some(sum) => sum,
                None => return Ok(Err(OperationError::not_a_number(id, name, value.to_json()))),
            },
            (Change::Increment(_), PresentValue::Other(json)) => {
                return Ok(Err(OperationError::not_a_number(id, name, json.clone())));
            }
        };
        let is_scalar = !matches!(held, PresentValue::Other(_));
        // What is written anew stays so for the whole operation.
        let is_written = gathering.rewritten.get(&address).is_some_and(|fields| fields.contains_key(name));
        if is_scalar && !is_written && self.is_patchable(gathering, name) {
            if matches!(held, PresentValue::Absent) {
                *gathering.own.added.entry(name.to_owned()).or_default() += 1;
            }
            gathering.own.insert(address, field, name, value);
        } else {
            gathering.rewritten.entry(address).or_default().insert(name.to_owned(), value);
        }
        Ok(Ok(()))
    }

    fn is_patchable(&self, gathering: &mut Gathering, name: &str) -> bool {
        if let Some(known) = gathering.patchable.get(name) {
            return *known;
        }
        let is_patchable = is_patchable(&self.state.settings, name);
        gathering.patchable.insert(name.to_owned(), is_patchable);
        is_patchable
    }

    /// Returns the content of a field of a document after all changes so far.
    fn held(
        &self,
        gathering: &mut Gathering,
        address: DocumentAddress,
        field: FieldId,
        name: &str,
    ) -> Result<PresentValue, IndexError> {
        let rewritten = gathering.rewritten.get(&address).and_then(|fields| fields.get(name)).copied();
        let gathered = gathering.own.get(address, field).or_else(|| self.gathered.get(address, field));
        let segment = &self.state.segments[address.segment as usize];
        let stored = || segment.reader.patches().and_then(|patches| patches.get(field, address.doc));
        if let Some(value) = rewritten.or(gathered).or_else(stored) {
            return Ok(PresentValue::Value(value));
        }
        // Where a name leads nowhere but to its top-level field, the column may know.
        let column = segment.reader.columns().as_written(field).filter(|_| !name.contains('.'));
        if let Some(number) = column.and_then(|column| column.plain_number(address.doc)) {
            return Ok(PresentValue::Value(PatchValue::of_column(number)));
        }
        if gathering.read != Some(address) {
            gathering.read = None;
            segment.reader.store().get(address.doc, &mut gathering.json)?;
            gathering.read = Some(address);
        }
        let Some(value) = top_level_value(&gathering.json, name)? else { return Ok(PresentValue::Absent) };
        Ok(match serde_json::from_slice::<Value>(value) {
            Ok(Value::Null) => PresentValue::Null,
            Ok(value) => scalar(&value).map_or_else(|| PresentValue::Other(value.to_string()), PresentValue::Value),
            Err(_) => PresentValue::Other(String::from_utf8_lossy(value).into_owned()),
        })
    }

    /// Puts what was gathered beside the segments.
    pub(super) fn apply_gathered(&mut self) -> Result<(), IndexError> {
        let gathered = std::mem::take(&mut self.gathered);
        for (segment, patches) in &gathered.patches {
            let view: &mut SegmentView = &mut self.state.segments[*segment as usize];
            *view = view.with_patches(self.resources.directory, self.resources.first_number, patches)?;
            self.state.is_changed = true;
        }
        if !gathered.added.is_empty() {
            let distribution = std::sync::Arc::make_mut(&mut self.state.distribution);
            for (field, count) in gathered.added {
                *distribution.entry(field).or_default() += count;
            }
        }
        Ok(())
    }

    /// Plans documents that get values which cannot be kept beside them.
    fn rewrite_with(
        &mut self,
        documents: BTreeMap<DocumentAddress, BTreeMap<String, PatchValue>>,
    ) -> Result<Result<(), OperationError>, IndexError> {
        if documents.is_empty() {
            return Ok(Ok(()));
        }
        self.apply_gathered()?;
        let (mut payload, mut json) = (Vec::new(), Vec::new());
        for (address, fields) in documents {
            self.state.segments[address.segment as usize].reader.store().get(address.doc, &mut json)?;
            let new: serde_json::Map<String, Value> =
                fields.into_iter().map(|(name, value)| (name, value.into())).collect();
            payload.extend(merge_documents(&json, Value::Object(new).to_string().as_bytes())?);
            payload.push(b'\n');
        }
        let payload = Payload::Bytes(payload.into());
        // An update: vectors that came with a document stay.
        let method = WriteMethod::Update;
        let upsert = Upsert { payload, method, primary_key: None, skip_creation: true };
        Ok(self.upsert(&upsert)?.map(drop))
    }
}

fn read(payload: &[u8]) -> Result<Vec<Line>, OperationError> {
    let read = |line: &[u8]| {
        let no_update = |_| OperationError::NoUpdate { line: String::from_utf8_lossy(line).into_owned() };
        serde_json::from_slice(line).map_err(no_update)
    };
    lines(payload, 0..payload.len()).map(|(_, line)| read(line)).collect()
}

impl OperationError {
    fn not_a_number(document_id: &str, field: &str, value: String) -> OperationError {
        OperationError::NotANumber { document_id: document_id.to_owned(), field: field.to_owned(), value }
    }
}

/// `None`: no number that fits 64 bits.
fn number(number: &Number) -> Option<PatchValue> {
    let integer = number.as_i64().map(PatchValue::Integer).or_else(|| number.as_u64().map(PatchValue::Unsigned));
    integer.or_else(|| number.as_f64().filter(|value| value.is_finite()).map(PatchValue::Float))
}

/// `None`: neither a number nor a truth value.
fn scalar(value: &Value) -> Option<PatchValue> {
    match value {
        Value::Bool(value) => Some(PatchValue::Boolean(*value)),
        Value::Number(value) => number(value),
        _ => None,
    }
}

/// `None`: one is no number. Integers stay integers while 64 bits can hold them.
fn sum(value: PatchValue, by: PatchValue) -> Option<PatchValue> {
    let integer = |value| match value {
        PatchValue::Integer(value) => Some(i128::from(value)),
        PatchValue::Unsigned(value) => Some(i128::from(value)),
        _ => None,
    };
    let float = |value| match value {
        PatchValue::Integer(value) => Some(value as f64),
        PatchValue::Unsigned(value) => Some(value as f64),
        PatchValue::Float(value) => Some(value),
        PatchValue::Boolean(_) => None,
    };
    if let (Some(value), Some(by)) = (integer(value), integer(by)) {
        let sum = value + by;
        let signed = i64::try_from(sum).map(PatchValue::Integer);
        let exact = signed.or_else(|_| u64::try_from(sum).map(PatchValue::Unsigned));
        return Some(exact.unwrap_or(PatchValue::Float(sum as f64)));
    }
    Some(PatchValue::Float((float(value)? + float(by)?).clamp(f64::MIN, f64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_integers() {
        use PatchValue::{Boolean, Float, Integer, Unsigned};
        for (value, by, expected) in [
            (Integer(1), Integer(2), Some(Integer(3))),
            (Integer(i64::MAX), Integer(1), Some(Unsigned(1 << 63))),
            (Unsigned(u64::MAX), Integer(-1), Some(Unsigned(u64::MAX - 1))),
            (Unsigned(1 << 63), Integer(-1), Some(Integer(i64::MAX))),
            (Unsigned(u64::MAX), Integer(1), Some(Float(18446744073709551616.0))),
            (Integer(1), Float(0.5), Some(Float(1.5))),
            (Float(f64::MAX), Float(f64::MAX), Some(Float(f64::MAX))),
            (Boolean(true), Integer(1), None),
        ] {
            assert_eq!(sum(value, by), expected, "{value:?} + {by:?}");
        }
    }
}
