//! Builds the postings sections from the posting lists of the terms, in order of the terms.

use super::grouped::{GroupWriter, is_grouped};
use super::infos::{TermInfo, put_infos};
use super::list::put_list;
use super::posting::Posting;
use crate::bits::varint::put_varint;
use crate::segment::SegmentError;
use crate::segment::format::{POSTINGS_BYTES_MAX, SectionKind, SectionWriter};
use hashbrown::HashMap;
use lamina_text::id::{DocId, FieldId};

/// So many pairs of sets are joined at most: documents of any shape must not make the table large.
const JOINED_MAX: usize = 1 << 12;
/// The sets that are joined have at most so many fields, all together.
const JOINED_FIELDS_MAX: usize = 1 << 18;

/// The distinct field sets while a segment is written. Codes are given in order of appearance and renumbered by falling
/// frequency at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldSetTable {
    sets: Vec<Box<[FieldId]>>,
    codes: HashMap<Box<[FieldId]>, u32, foldhash::fast::RandomState>,
    /// The code of the union of two sets, the smaller code first.
    joined: HashMap<(u32, u32), u32, foldhash::fast::RandomState>,
    /// The same for both orders of the first sets, which nearly all documents have, or [`NONE`](Self::NONE); empty
    /// until two sets are joined.
    joined_first: Vec<u32>,
    /// Fields of the pairs in `joined`.
    joined_fields: usize,
}

/// Sets with smaller codes are the first ones.
const FIRST_SETS: u32 = 64;

impl FieldSetTable {
    const NONE: u32 = u32::MAX;

    /// Code of an ascending set.
    pub(crate) fn code(&mut self, fields: &[FieldId]) -> u32 {
        if let Some(&code) = self.codes.get(fields) {
            return code;
        }
        let code = self.sets.len() as u32;
        self.sets.push(fields.into());
        self.codes.insert(fields.into(), code);
        code
    }

    /// Code of the union of two sets; of the empty set when there would be too many.
    #[inline]
    pub(super) fn join(&mut self, a: u32, b: u32) -> u32 {
        if a == b {
            return a;
        }
        let place = (a < FIRST_SETS && b < FIRST_SETS).then_some((a * FIRST_SETS + b) as usize);
        match place.and_then(|place| self.joined_first.get(place)) {
            Some(&code) if code != FieldSetTable::NONE => code,
            _ => {
                let code = self.find_joined(a, b);
                if let Some(place) = place {
                    self.joined_first.resize((FIRST_SETS * FIRST_SETS) as usize, FieldSetTable::NONE);
                    self.joined_first[place] = code;
                }
                code
            }
        }
    }

    fn find_joined(&mut self, a: u32, b: u32) -> u32 {
        // A union with unknown fields has unknown fields, which the empty set stands for.
        let is_unknown = |code: u32| self.sets[code as usize].is_empty();
        if is_unknown(a) || is_unknown(b) {
            return if is_unknown(a) { a } else { b };
        }
        let key = (a.min(b), a.max(b));
        if let Some(&code) = self.joined.get(&key) {
            return code;
        }
        let field_count = [a, b].iter().map(|&code| self.sets[code as usize].len()).sum::<usize>();
        if self.joined.len() >= JOINED_MAX || self.joined_fields + field_count > JOINED_FIELDS_MAX {
            return self.code(&[]);
        }
        self.joined_fields += field_count;
        let mut fields: Vec<FieldId> = [a, b].iter().flat_map(|&code| self.sets[code as usize].to_vec()).collect();
        fields.sort_unstable();
        fields.dedup();
        let code = self.code(&fields);
        self.joined.insert(key, code);
        code
    }

    /// The sets under the codes that [`finish`](Self::finish) gives them.
    pub(crate) fn renumbered(&self, counts: &[u64]) -> FieldSetTable {
        let mut table = FieldSetTable::default();
        for old in self.by_frequency(counts).1 {
            table.code(&self.sets[old as usize]);
        }
        table
    }

    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// New code of each code when they are numbered by falling frequency, and the section. Unused sets are left out.
    pub(crate) fn finish(&self, counts: &[u64]) -> (Vec<u32>, Vec<u8>) {
        let (renumbered, order) = self.by_frequency(counts);
        let mut section = Vec::new();
        put_varint(&mut section, order.len() as u64);
        for old in order {
            put_field_list(&mut section, &self.sets[old as usize]);
            put_varint(&mut section, counts[old as usize]);
        }
        (renumbered, section)
    }

    /// All sets in the order of their codes, in the form of the section, without counts of postings.
    pub(super) fn table(&self) -> Vec<u8> {
        let mut table = Vec::new();
        put_varint(&mut table, self.sets.len() as u64);
        for set in &self.sets {
            put_field_list(&mut table, set);
            put_varint(&mut table, 0);
        }
        table
    }

    /// New code of each code, and the old codes in the order of the new ones.
    fn by_frequency(&self, counts: &[u64]) -> (Vec<u32>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.sets.len() as u32).filter(|&c| counts[c as usize] > 0).collect();
        order.sort_by_key(|&code| (std::cmp::Reverse(counts[code as usize]), code));
        let mut renumbered = vec![0; self.sets.len()];
        for (new, &old) in order.iter().enumerate() {
            renumbered[old as usize] = new as u32;
        }
        (renumbered, order)
    }
}

/// Count, first field, then the distances: ascending fields in a byte or two each.
pub(crate) fn put_field_list(out: &mut Vec<u8>, fields: &[FieldId]) {
    put_varint(out, fields.len() as u64);
    let mut next = 0;
    for &field in fields {
        put_varint(out, u64::from(field) - next);
        next = u64::from(field) + 1;
    }
}

/// Writes posting lists to the open postings section and keeps the term infos.
pub(crate) struct PostingsBuilder {
    doc_count: u32,
    infos: Vec<TermInfo>,
    list: Vec<u8>,
    docs: Vec<DocId>,
    codes: Vec<u32>,
    zones: Vec<u8>,
    groups: GroupWriter,
}

impl PostingsBuilder {
    pub(crate) fn new(doc_count: u32, term_count: usize) -> PostingsBuilder {
        PostingsBuilder {
            doc_count,
            infos: Vec::with_capacity(term_count),
            list: Vec::new(),
            docs: Vec::new(),
            codes: Vec::new(),
            zones: Vec::new(),
            groups: GroupWriter::default(),
        }
    }

    /// The postings of the next term, documents ascending; at least one. The postings section is open in `file`.
    pub(crate) fn push(&mut self, file: &mut SectionWriter, postings: &[Posting]) -> Result<(), SegmentError> {
        let info = if let &[Posting { doc, mark }] = postings {
            TermInfo::Single { doc, code: mark.code(), zone: mark.zone() }
        } else {
            let offset = file.section_bytes();
            if offset >= POSTINGS_BYTES_MAX {
                return Err(SegmentError::Limit { what: "bytes of postings", limit: POSTINGS_BYTES_MAX });
            }
            let PostingsBuilder { doc_count, list, docs, codes, zones, groups, .. } = self;
            list.clear();
            docs.clear();
            codes.clear();
            zones.clear();
            docs.extend(postings.iter().map(|posting| posting.doc));
            if is_grouped(docs.len() as u32, *doc_count) {
                groups.put(list, docs, postings.iter().map(|posting| posting.mark), *doc_count);
            } else {
                codes.extend(postings.iter().map(|posting| posting.mark.code()));
                zones.extend(postings.iter().map(|posting| posting.mark.zone()));
                put_list(list, docs, codes, zones, *doc_count);
            }
            file.write(list)?;
            TermInfo::List { doc_freq: postings.len() as u32, offset }
        };
        self.infos.push(info);
        Ok(())
    }

    /// Ends the postings section and writes the one that belongs to it.
    pub(crate) fn finish(self, file: &mut SectionWriter) -> Result<(), SegmentError> {
        file.end();
        file.section(SectionKind::TermInfos, 0, &put_infos(&self.infos))
    }
}
