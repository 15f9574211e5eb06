//! Patches as bytes.

use super::{PatchValue, PatchedField, Patches};
use crate::bits::little_endian::{put_u16, put_u32, put_u64, read_u16, read_u32, read_u64};
use crate::id::DocId;
use crate::segment::error::Damage;
use std::sync::OnceLock;

const INTEGER: u8 = 0;
const UNSIGNED: u8 = 1;
const FLOAT: u8 = 2;
const BOOLEAN: u8 = 3;

/// Document, kind and bits.
const VALUE_BYTES: usize = 4 + 1 + 8;

impl Patches {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for patched in &self.fields {
            put_u16(&mut out, patched.field);
            put_u32(&mut out, patched.name.len() as u32);
            out.extend_from_slice(patched.name.as_bytes());
            put_u32(&mut out, patched.values.len() as u32);
            for &(doc, value) in &patched.values {
                put_u32(&mut out, doc);
                let (kind, bits) = match value {
                    PatchValue::Integer(value) => (INTEGER, value.cast_unsigned()),
                    PatchValue::Unsigned(value) => (UNSIGNED, value),
                    PatchValue::Float(value) => (FLOAT, value.to_bits()),
                    PatchValue::Boolean(value) => (BOOLEAN, u64::from(value)),
                };
                out.push(kind);
                put_u64(&mut out, bits);
            }
        }
        out
    }

    /// # Errors
    /// The bytes are cut, or contradict the segment.
    pub(crate) fn decode(bytes: &[u8], doc_count: u32) -> Result<Patches, Damage> {
        let mut fields: Vec<PatchedField> = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let patched = read_field(bytes, &mut at, doc_count).ok_or(Damage("the patches are cut"))?;
            if fields.last().is_some_and(|before| before.field >= patched.field) {
                return Err(Damage("the fields of the patches do not ascend"));
            }
            fields.push(patched);
        }
        Ok(Patches { fields, docs: OnceLock::new() })
    }
}

fn read_field(bytes: &[u8], at: &mut usize, doc_count: u32) -> Option<PatchedField> {
    let field = read_u16(bytes, *at)?;
    let name_end = (*at + 6).checked_add(read_u32(bytes, *at + 2)? as usize)?;
    let name = std::str::from_utf8(bytes.get(*at + 6..name_end)?).ok()?.to_owned();
    let count = read_u32(bytes, name_end)? as usize;
    let start = name_end + 4;
    let end = start.checked_add(count.checked_mul(VALUE_BYTES)?)?;
    let values: Option<Vec<(DocId, PatchValue)>> =
        bytes.get(start..end)?.chunks_exact(VALUE_BYTES).map(read_value).collect();
    let values = values?;
    *at = end;
    let is_sound = values.is_sorted_by(|a, b| a.0 < b.0) && values.last().is_none_or(|(last, _)| *last < doc_count);
    is_sound.then_some(PatchedField { field, name, values })
}

fn read_value(bytes: &[u8]) -> Option<(DocId, PatchValue)> {
    let bits = read_u64(bytes, 5)?;
    let value = match *bytes.get(4)? {
        INTEGER => PatchValue::Integer(bits.cast_signed()),
        UNSIGNED => PatchValue::Unsigned(bits),
        FLOAT => PatchValue::Float(Some(f64::from_bits(bits)).filter(|value| value.is_finite())?),
        BOOLEAN if bits <= 1 => PatchValue::Boolean(bits == 1),
        _ => return None,
    };
    Some((read_u32(bytes, 0)?, value))
}

#[cfg(test)]
mod tests {
    use super::super::tests::patches;
    use super::*;

    #[test]
    fn bytes_read_back_and_damage_is_noticed() {
        let written = patches(&[
            (2, "views", 0, PatchValue::Integer(-4)),
            (2, "views", 7, PatchValue::Unsigned(u64::MAX)),
            (5, "é", 3, PatchValue::Float(0.5)),
            (5, "é", 4, PatchValue::Boolean(true)),
        ]);
        let bytes = written.encode();
        let read = Patches::decode(&bytes, 8).expect("whole");
        assert_eq!(read.fields, written.fields);
        assert!(Patches::decode(&bytes, 7).is_err(), "a document that is not there");
        let first = 6 + "views".len() + 4 + 2 * VALUE_BYTES;
        for cut in (1..bytes.len()).filter(|cut| *cut != first) {
            assert!(Patches::decode(&bytes[..cut], 8).is_err(), "cut at {cut}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x80;
            // Whatever comes of it, nothing panics.
            let _ = Patches::decode(&damaged, 8);
        }
        assert!(Patches::decode(&[bytes.clone(), bytes].concat(), 8).is_err(), "fields come once");
    }
}
