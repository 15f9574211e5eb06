//! The sets of fields that postings name by code.

use lamina_text::id::FieldId;

use crate::bits::varint::read_varint;

/// The distinct sets of fields in which terms occur, by code.
#[derive(Debug, Default)]
pub struct FieldSets {
    fields: Vec<FieldId>,
    ends: Vec<u32>,
    counts: Vec<u64>,
}

impl FieldSets {
    pub(super) fn open(bytes: &[u8]) -> Option<FieldSets> {
        FieldSets::read(bytes, &mut 0)
    }

    /// Reads a table that starts at `at`, and moves `at` behind it.
    pub(super) fn read(bytes: &[u8], at: &mut usize) -> Option<FieldSets> {
        let count = read_varint(bytes, at)?;
        let mut sets = FieldSets::default();
        for _ in 0..count {
            read_field_list(bytes, at, &mut sets.fields)?;
            sets.ends.push(u32::try_from(sets.fields.len()).ok()?);
            sets.counts.push(read_varint(bytes, at)?);
        }
        Some(sets)
    }

    /// Number of codes.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Reports whether the segment has no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The fields of a code, ascending; empty for an unknown code.
    pub fn fields(&self, code: u32) -> &[FieldId] {
        let Some(&end) = self.ends.get(code as usize) else { return &[] };
        let start = code.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.fields[start as usize..end as usize]
    }

    /// Number of postings with this code when the segment was written; 0 for an unknown code.
    pub(crate) fn posting_count(&self, code: u32) -> u64 {
        self.counts.get(code as usize).copied().unwrap_or(0)
    }

    /// `allowed[code]`: whether the set of `code` has at least one field that satisfies `allow`.
    pub fn allowed(&self, mut allow: impl FnMut(FieldId) -> bool) -> Vec<bool> {
        (0..self.len() as u32).map(|code| self.fields(code).iter().any(|&field| allow(field))).collect()
    }
}

/// Reads what `put_field_list` wrote.
pub(crate) fn read_field_list(bytes: &[u8], at: &mut usize, out: &mut Vec<FieldId>) -> Option<()> {
    let count = read_varint(bytes, at)?;
    let mut next = 0u64;
    for _ in 0..count {
        let field = next.checked_add(read_varint(bytes, at)?)?;
        out.push(FieldId::try_from(field).ok()?);
        next = field + 1;
    }
    Some(())
}
