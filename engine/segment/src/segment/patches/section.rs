//! Patches as bytes, and read from them.

use lamina_text::id::{DocId, FieldId};

use super::{NewPatches, PatchValue};
use crate::bits::little_endian::{put_u16, put_u32, put_u64, read_u16, read_u32, read_u64};
use crate::segment::error::Damage;
use crate::storage::OwnedBytes;
use std::collections::BTreeMap;
use std::sync::Arc;

const INTEGER: u8 = 0;
const UNSIGNED: u8 = 1;
const FLOAT: u8 = 2;
const BOOLEAN: u8 = 3;

/// Document, kind and bits.
const VALUE_BYTES: usize = 4 + 1 + 8;

/// The patches of one file. They stay in it.
#[derive(Debug)]
pub struct Layer {
    /// Ascending by field.
    fields: Vec<FieldValues>,
}

/// Values of one field.
#[derive(Debug)]
pub(super) struct FieldValues {
    pub(super) field: FieldId,
    pub(super) name: Arc<str>,
    /// Records as they are in the file, ascending by document.
    records: OwnedBytes,
}

impl Layer {
    /// # Errors
    /// The bytes are cut, or contradict the segment.
    pub fn read(bytes: OwnedBytes, doc_count: u32) -> Result<Layer, Damage> {
        let mut fields: Vec<FieldValues> = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let values = read_field(&bytes, &mut at, doc_count).ok_or(Damage("the patches are cut"))?;
            if fields.last().is_some_and(|before| before.field >= values.field) {
                return Err(Damage("the fields of the patches do not ascend"));
            }
            fields.push(values);
        }
        Ok(Layer { fields })
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &FieldValues> {
        self.fields.iter()
    }

    pub(super) fn of(&self, field: FieldId) -> Option<&FieldValues> {
        let at = self.fields.binary_search_by_key(&field, |values| values.field).ok()?;
        Some(&self.fields[at])
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.fields.iter().map(|values| values.records.len() / VALUE_BYTES).sum()
    }
}

impl FieldValues {
    pub(super) fn iter(&self) -> impl Iterator<Item = (DocId, PatchValue)> {
        values(&self.records)
    }

    pub(super) fn get(&self, doc: DocId) -> Option<PatchValue> {
        let (records, _) = self.records.as_chunks::<VALUE_BYTES>();
        let at = records.binary_search_by_key(&doc, doc_of).ok()?;
        read_value(&records[at])
    }

    /// The first document that is not before `doc`.
    pub(super) fn first_from(&self, doc: DocId) -> Option<DocId> {
        let (records, _) = self.records.as_chunks::<VALUE_BYTES>();
        records.get(records.partition_point(|record| doc_of(record) < doc)).map(doc_of)
    }
}

/// The section of `new` over `layers`.
pub(super) fn encode(layers: &[Arc<Layer>], new: &NewPatches) -> Vec<u8> {
    let below = layers.iter().flat_map(|layer| &layer.fields).map(|values| (values.field, &*values.name));
    let names: BTreeMap<FieldId, &str> =
        below.chain(new.iter().map(|(field, (name, _))| (*field, name.as_str()))).collect();
    let mut out = Vec::new();
    for (field, name) in names {
        let mut records = joined(layers.iter().filter_map(|layer| layer.of(field)));
        if let Some((_, values)) = new.get(&field) {
            let mut added = Vec::with_capacity(values.len() * VALUE_BYTES);
            values.iter().for_each(|(&doc, &value)| put_value(&mut added, doc, value));
            records = over(&records, &added);
        }
        put_u16(&mut out, field);
        put_u32(&mut out, name.len() as u32);
        out.extend_from_slice(name.as_bytes());
        put_u32(&mut out, (records.len() / VALUE_BYTES) as u32);
        out.extend_from_slice(&records);
    }
    out
}

/// The records of a field in several layers, oldest first.
pub(super) fn joined<'a>(layers: impl Iterator<Item = &'a FieldValues>) -> Vec<u8> {
    layers.fold(Vec::new(), |below, values| over(&below, &values.records))
}

pub(super) fn values(records: &[u8]) -> impl Iterator<Item = (DocId, PatchValue)> {
    let (records, _) = records.as_chunks::<VALUE_BYTES>();
    // What was read was checked.
    records.iter().filter_map(|record| Some((doc_of(record), read_value(record)?)))
}

/// Both, ascending; where both have a document, `new` counts.
fn over(old: &[u8], new: &[u8]) -> Vec<u8> {
    if old.is_empty() {
        return new.to_vec();
    }
    let mut out = Vec::with_capacity(old.len() + new.len());
    let (mut old, _) = old.as_chunks::<VALUE_BYTES>();
    for record in new.as_chunks::<VALUE_BYTES>().0 {
        let doc = doc_of(record);
        let before = old.partition_point(|old| doc_of(old) < doc);
        out.extend_from_slice(old[..before].as_flattened());
        let is_replaced = old.get(before).is_some_and(|old| doc_of(old) == doc);
        old = &old[before + usize::from(is_replaced)..];
        out.extend_from_slice(record);
    }
    out.extend_from_slice(old.as_flattened());
    out
}

fn put_value(out: &mut Vec<u8>, doc: DocId, value: PatchValue) {
    put_u32(out, doc);
    let (kind, bits) = match value {
        PatchValue::Integer(value) => (INTEGER, value.cast_unsigned()),
        PatchValue::Unsigned(value) => (UNSIGNED, value),
        PatchValue::Float(value) => (FLOAT, value.to_bits()),
        PatchValue::Boolean(value) => (BOOLEAN, u64::from(value)),
    };
    out.push(kind);
    put_u64(out, bits);
}

fn read_field(bytes: &OwnedBytes, at: &mut usize, doc_count: u32) -> Option<FieldValues> {
    let field = read_u16(bytes, *at)?;
    let name_end = (*at + 6).checked_add(read_u32(bytes, *at + 2)? as usize)?;
    let name = std::str::from_utf8(bytes.get(*at + 6..name_end)?).ok()?.into();
    let count = read_u32(bytes, name_end)? as usize;
    let start = name_end + 4;
    let end = start.checked_add(count.checked_mul(VALUE_BYTES)?)?;
    let records = bytes.slice(start..end)?;
    let (all, _) = records.as_chunks::<VALUE_BYTES>();
    let is_sound = all.is_sorted_by(|a, b| doc_of(a) < doc_of(b))
        && all.last().is_none_or(|last| doc_of(last) < doc_count)
        && all.iter().all(|record| read_value(record).is_some());
    *at = end;
    is_sound.then_some(FieldValues { field, name, records })
}

fn doc_of(record: &[u8; VALUE_BYTES]) -> DocId {
    read_u32(record, 0).unwrap_or_default()
}

fn read_value(record: &[u8; VALUE_BYTES]) -> Option<PatchValue> {
    let bits = read_u64(record, 5)?;
    Some(match record[4] {
        INTEGER => PatchValue::Integer(bits.cast_signed()),
        UNSIGNED => PatchValue::Unsigned(bits),
        FLOAT => PatchValue::Float(Some(f64::from_bits(bits)).filter(|value| value.is_finite())?),
        BOOLEAN if bits <= 1 => PatchValue::Boolean(bits == 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::new;
    use super::*;

    fn read_back(layer: &Layer) -> NewPatches {
        layer.fields().map(|values| (values.field, (values.name.to_string(), values.iter().collect()))).collect()
    }

    #[test]
    fn bytes_read_back_and_damage_is_noticed() {
        let written = new(&[
            (2, "views", 0, PatchValue::Integer(-4)),
            (2, "views", 7, PatchValue::Unsigned(u64::MAX)),
            (5, "é", 3, PatchValue::Float(0.5)),
            (5, "é", 4, PatchValue::Boolean(true)),
        ]);
        let bytes = encode(&[], &written);
        let read = |bytes: &[u8], doc_count| Layer::read(bytes.to_vec().into(), doc_count);
        let layer = read(&bytes, 8).expect("whole");
        assert_eq!(read_back(&layer), written);
        assert_eq!(layer.len(), 4);
        let views = layer.of(2).expect("there");
        assert_eq!((views.get(7), views.get(3)), (Some(PatchValue::Unsigned(u64::MAX)), None));
        assert_eq!([0, 1, 8].map(|doc| views.first_from(doc)), [Some(0), Some(7), None]);
        assert!(read(&bytes, 7).is_err(), "a document that is not there");
        let first = 6 + "views".len() + 4 + 2 * VALUE_BYTES;
        for cut in (1..bytes.len()).filter(|cut| *cut != first) {
            assert!(read(&bytes[..cut], 8).is_err(), "cut at {cut}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x80;
            // Whatever comes of it, nothing panics.
            let _ = read(&damaged, 8);
        }
        assert!(read(&[bytes.clone(), bytes].concat(), 8).is_err(), "fields come once");
    }
}
