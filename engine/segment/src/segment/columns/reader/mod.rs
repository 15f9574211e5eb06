//! Reads columns of a mapped segment.

mod counts;
mod numbers;

use super::doc_sets::read_doc_set;
use super::section::{ColumnData, HEADER_BYTES, PART_COUNT, encode_column};
use crate::bits::bitpack::{bit_width, get_bits, packed_bytes, unpack};
use crate::bits::little_endian::{read_u32, read_u64};
use crate::bits::monotone::Monotone;
use crate::bits::{BitsetBuilder, DocSet};
use crate::segment::error::Damage;
use crate::storage::OwnedBytes;
use lamina_text::id::DocId;
use numbers::Numbers;
use std::ops::Range;

/// One column. Its values are numbered by ordinals: first the distinct numbers ascending, then the distinct normalised
/// strings in byte order. Cheap to clone (shared bytes).
#[derive(Clone)]
pub struct Column {
    bytes: OwnedBytes,
    doc_count: u32,
    value_count: u32,
    number_count: u32,
    pair_count: u32,
    dense_count: u32,
    forward_width: u8,
    inverted_width: u8,
    is_multi: bool,
    is_plain: bool,
    /// Offsets of the parts in the section; the last one is the end of the last part.
    parts: [usize; PART_COUNT + 1],
    numbers: Numbers,
    strings: Monotone,
    originals: Monotone,
    forward_offsets: Monotone,
    inverted_offsets: Monotone,
}

const NUMBERS: usize = 0;
const STRINGS: usize = 1;
const ORIGINALS: usize = 2;
const FORWARD_OFFSETS: usize = 3;
const FORWARD: usize = 4;
const INVERTED_OFFSETS: usize = 5;
const INVERTED: usize = 6;
const DENSE: usize = 7;
const SETS: usize = 8;

/// Counters of a value.
const COUNTED_BESIDE: usize = 4;
/// Number of counted documents, of 64, from which all 64 values are unpacked.
const UNPACKED_FROM: u32 = 24;

/// Ordinal and number of documents.
const DENSE_ENTRY_BYTES: usize = 8;

impl Column {
    pub fn open(bytes: OwnedBytes, doc_count: u32) -> Result<Column, Damage> {
        Column::parse(bytes, doc_count).ok_or(Damage("a column is cut or contradicts itself"))
    }

    /// A column in which no document has a value.
    pub(crate) fn without_values(doc_count: u32) -> Column {
        let bytes = encode_column(&ColumnData { doc_count, is_plain: true, ..ColumnData::default() });
        Column::parse(OwnedBytes::from(bytes), doc_count).expect("the writer writes what the reader reads")
    }

    fn parse(bytes: OwnedBytes, doc_count: u32) -> Option<Column> {
        let word = |index: usize| read_u32(&bytes, 4 * index);
        let [value_count, number_count, pair_count, dense_count] = [word(1)?, word(2)?, word(3)?, word(4)?];
        let [forward_width, inverted_width, is_multi, is_plain] = *bytes.get(20..)?.first_chunk()?;
        if word(0)? != doc_count || number_count > value_count || forward_width > 32 || inverted_width > 32 {
            return None;
        }
        let mut parts = [HEADER_BYTES; PART_COUNT + 1];
        for part in 0..PART_COUNT {
            let end = usize::try_from(read_u64(&bytes, 24 + 8 * part)?).ok()?;
            parts[part + 1] = HEADER_BYTES.checked_add(end)?;
        }
        if !parts.is_sorted() || parts[PART_COUNT] != bytes.len() {
            return None;
        }
        let part = |index: usize| &bytes[parts[index]..parts[index + 1]];
        let numbers = Numbers::open(part(NUMBERS), number_count)?;
        let string_count = (value_count - number_count) as usize;
        let texts = |index: usize| {
            let ends = Monotone::open(part(index)).filter(|ends| ends.len() == string_count + 1)?;
            let bytes = part(index).len() - ends.byte_len();
            (ends.get(part(index), string_count) == bytes as u64).then_some(ends)
        };
        let (strings, originals) = (texts(STRINGS)?, texts(ORIGINALS)?);
        let is_multi = is_multi != 0;
        let forward_offsets = if is_multi { Monotone::open(part(FORWARD_OFFSETS))? } else { Monotone::default() };
        let forward_count = if is_multi { pair_count } else { doc_count };
        let inverted_offsets = Monotone::open(part(INVERTED_OFFSETS))?;
        let inverted_count = inverted_offsets.get(part(INVERTED_OFFSETS), value_count as usize);
        let bitset_bytes = (doc_count as usize).div_ceil(64) * 8;
        // Where values take no bits, pairs take none of the file: their number is bounded by what they are of.
        let consistent = forward_width >= bit_width(value_count.saturating_sub(u32::from(is_multi)))
            && u64::from(pair_count) <= u64::from(doc_count) * u64::from(value_count)
            && (!is_multi || forward_offsets.len() == doc_count as usize + 1)
            && part(FORWARD).len() == packed_bytes(forward_count as usize, forward_width)
            && inverted_offsets.len() == value_count as usize + 1
            && inverted_count <= u64::from(pair_count)
            && part(INVERTED).len() == packed_bytes(inverted_count as usize, inverted_width)
            && part(DENSE).len() == dense_count as usize * (DENSE_ENTRY_BYTES + bitset_bytes);
        let (doc_count, column_bytes) = (doc_count, bytes.clone());
        consistent.then_some(Column {
            bytes: column_bytes,
            doc_count,
            value_count,
            number_count,
            pair_count,
            dense_count,
            forward_width,
            inverted_width,
            is_multi,
            is_plain: is_plain != 0,
            parts,
            numbers,
            strings,
            originals,
            forward_offsets,
            inverted_offsets,
        })
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        self.bytes.as_slice().get(self.parts[index]..self.parts[index + 1]).unwrap_or_default()
    }

    /// Returns the size of the column in bytes, which it takes if it is in memory and not mapped.
    pub fn bytes_len(&self) -> usize {
        self.bytes.as_slice().len()
    }

    /// Reports whether the field of each document that has a number here is that number, as it is read from JSON.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Number of documents of the segment.
    pub fn doc_count(&self) -> u32 {
        self.doc_count
    }

    /// Number of distinct values.
    pub fn value_count(&self) -> u32 {
        self.value_count
    }

    /// Number of distinct numbers; ordinals below it are numbers, from it on strings.
    pub fn number_count(&self) -> u32 {
        self.number_count
    }

    /// Number of (document, value) pairs.
    pub fn pair_count(&self) -> u32 {
        self.pair_count
    }

    /// The number of an ordinal (NaN for others).
    #[inline]
    pub fn number(&self, ordinal: u32) -> f64 {
        if ordinal >= self.number_count {
            return f64::NAN;
        }
        self.numbers.get(self.part(NUMBERS), ordinal)
    }

    fn text(&self, part: usize, ends: Monotone, ordinal: u32) -> &str {
        let Some(index) = ordinal.checked_sub(self.number_count) else { return "" };
        let bytes = self.part(part);
        let start = ends.get(bytes, index as usize) as usize;
        let end = ends.get(bytes, index as usize + 1) as usize;
        let text = bytes.get(ends.byte_len()..).and_then(|texts| texts.get(start..end)).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or("")
    }

    /// The normalised string of an ordinal (empty for others).
    pub fn string(&self, ordinal: u32) -> &str {
        self.text(STRINGS, self.strings, ordinal)
    }

    /// The string as the first document with it wrote it (empty for others).
    pub fn original(&self, ordinal: u32) -> &str {
        match self.text(ORIGINALS, self.originals, ordinal) {
            "" => self.string(ordinal),
            original => original,
        }
    }

    /// Reports whether no document has more than one value.
    pub fn is_single_valued(&self) -> bool {
        !self.is_multi
    }

    /// Returns the range of a document's ordinals in the forward part.
    #[inline]
    fn forward_range(&self, doc: DocId) -> Range<usize> {
        let offsets = self.part(FORWARD_OFFSETS);
        let start = self.forward_offsets.get(offsets, doc as usize) as usize;
        let end = self.forward_offsets.get(offsets, doc as usize + 1) as usize;
        start.min(self.pair_count as usize)..end.min(self.pair_count as usize)
    }

    #[inline]
    fn forward(&self, index: usize) -> u32 {
        get_bits(self.part(FORWARD), index * usize::from(self.forward_width), self.forward_width)
    }

    /// Replaces `out` by the ordinals of a document, ascending.
    pub fn ordinals_of(&self, doc: DocId, out: &mut Vec<u32>) {
        out.clear();
        self.for_each_ordinal(doc, |ordinal| out.push(ordinal));
    }

    /// Calls `f` with each ordinal of a document, ascending.
    #[inline]
    pub fn for_each_ordinal(&self, doc: DocId, mut f: impl FnMut(u32)) {
        if self.is_multi {
            self.forward_range(doc).for_each(|index| self.valid(self.forward(index)).into_iter().for_each(&mut f));
        } else {
            self.first(doc).into_iter().for_each(f);
        }
    }

    #[inline]
    fn valid(&self, ordinal: u32) -> Option<u32> {
        (ordinal < self.value_count).then_some(ordinal)
    }

    /// Smallest ordinal of a document.
    #[inline]
    pub fn first(&self, doc: DocId) -> Option<u32> {
        if doc >= self.doc_count {
            return None;
        }
        if self.is_multi {
            let range = self.forward_range(doc);
            return if range.is_empty() { None } else { self.valid(self.forward(range.start)) };
        }
        self.forward(doc as usize).checked_sub(1).and_then(|ordinal| self.valid(ordinal))
    }

    /// Largest ordinal of a document.
    #[inline]
    pub fn last(&self, doc: DocId) -> Option<u32> {
        if !self.is_multi {
            return self.first(doc);
        }
        let range = if doc < self.doc_count { self.forward_range(doc) } else { 0..0 };
        if range.is_empty() { None } else { self.valid(self.forward(range.end - 1)) }
    }

    /// Entry of a dense value: its number of documents and its bitset.
    fn dense(&self, ordinal: u32) -> Option<(u32, &[u8])> {
        let bytes = self.part(DENSE);
        let (mut low, mut high) = (0, self.dense_count as usize);
        while low < high {
            let middle = low.midpoint(high);
            if read_u32(bytes, middle * DENSE_ENTRY_BYTES)? < ordinal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.dense_count as usize || read_u32(bytes, low * DENSE_ENTRY_BYTES)? != ordinal {
            return None;
        }
        let bitset_bytes = (self.doc_count as usize).div_ceil(64) * 8;
        let at = self.dense_count as usize * DENSE_ENTRY_BYTES + low * bitset_bytes;
        Some((read_u32(bytes, low * DENSE_ENTRY_BYTES + 4)?, bytes.get(at..at + bitset_bytes)?))
    }

    /// Returns the range in the inverted part of the documents of a range of ordinals. Dense values have no documents
    /// there.
    fn inverted_range(&self, ordinals: Range<u32>) -> Range<usize> {
        let offsets = self.part(INVERTED_OFFSETS);
        let start = self.inverted_offsets.get(offsets, ordinals.start.min(self.value_count) as usize) as usize;
        let end = self.inverted_offsets.get(offsets, ordinals.end.min(self.value_count) as usize) as usize;
        start.min(self.pair_count as usize)..end.min(self.pair_count as usize)
    }

    #[inline]
    fn inverted(&self, index: usize) -> DocId {
        get_bits(self.part(INVERTED), index * usize::from(self.inverted_width), self.inverted_width)
    }

    /// Number of documents that have the value.
    pub fn doc_freq(&self, ordinal: u32) -> u32 {
        if ordinal >= self.value_count {
            return 0;
        }
        match self.inverted_range(ordinal..ordinal + 1).len() {
            0 => self.dense(ordinal).map_or(0, |(count, _)| count.min(self.doc_count)),
            count => count as u32,
        }
    }

    /// Number of (document, value) pairs of a range of ordinals. Cost: one look at each dense value of the column.
    pub fn pair_count_of(&self, ordinals: Range<u32>) -> u32 {
        if ordinals.start >= ordinals.end.min(self.value_count) {
            return 0;
        }
        let bytes = self.part(DENSE);
        let dense = (0..self.dense_count as usize).filter_map(|entry| {
            let ordinal = read_u32(bytes, entry * DENSE_ENTRY_BYTES)?;
            ordinals.contains(&ordinal).then(|| read_u32(bytes, entry * DENSE_ENTRY_BYTES + 4).unwrap_or(0))
        });
        dense.fold(self.inverted_range(ordinals.clone()).len() as u32, u32::saturating_add)
    }

    /// Number of values that are kept as bitsets.
    pub fn dense_count(&self) -> u32 {
        self.dense_count
    }

    /// Number of (document, value) pairs of the values of a range that are kept as lists.
    pub fn listed_count_of(&self, ordinals: Range<u32>) -> u32 {
        self.inverted_range(ordinals).len() as u32
    }

    /// The documents of one value, ascending.
    pub fn docs_of(&self, ordinal: u32) -> impl Iterator<Item = DocId> + '_ {
        let range = if ordinal < self.value_count { self.inverted_range(ordinal..ordinal + 1) } else { 0..0 };
        let bits = if range.is_empty() { self.dense(ordinal).map_or(&[][..], |(_, bits)| bits) } else { &[] };
        let doc_count = self.doc_count;
        let from_bits = bits.as_chunks::<8>().0.iter().enumerate().flat_map(|(index, chunk)| {
            let mut word = u64::from_le_bytes(*chunk);
            std::iter::from_fn(move || {
                let doc = (word != 0).then(|| index as u32 * 64 + word.trailing_zeros())?;
                word &= word - 1;
                Some(doc)
            })
        });
        range.map(|index| self.inverted(index)).chain(from_bits).filter(move |&doc| doc < doc_count)
    }

    /// Calls `f(ordinal, doc)` for each document of each value of the range, by ascending ordinal, then document.
    pub fn for_each_doc(&self, ordinals: Range<u32>, mut f: impl FnMut(u32, DocId)) {
        for ordinal in ordinals.start..ordinals.end.min(self.value_count) {
            self.docs_of(ordinal).for_each(|doc| f(ordinal, doc));
        }
    }

    /// Adds the documents of the values of a range: one pass over neighbouring lists, one over each bitset.
    pub fn add_docs(&self, ordinals: Range<u32>, set: &mut BitsetBuilder) {
        if ordinals.start >= ordinals.end.min(self.value_count) {
            return;
        }
        let range = self.inverted_range(ordinals.clone());
        let mut index = range.start;
        // `unpack` starts at a whole byte: eight values always end at one.
        while index < range.end && !index.is_multiple_of(8) {
            set.insert(self.inverted(index));
            index += 1;
        }
        if index < range.end {
            let width = usize::from(self.inverted_width);
            let bytes = self.part(INVERTED).get(index / 8 * width..).unwrap_or_default();
            unpack(bytes, range.end - index, self.inverted_width, |doc| set.insert(doc));
        }
        let bytes = self.part(DENSE);
        for entry in 0..self.dense_count as usize {
            let Some(ordinal) = read_u32(bytes, entry * DENSE_ENTRY_BYTES) else { return };
            if ordinals.contains(&ordinal)
                && let Some((_, bits)) = self.dense(ordinal)
            {
                set.insert_bitset_bytes(bits);
            }
        }
    }

    /// The documents of the values of a range.
    pub fn docs_in(&self, ordinals: Range<u32>) -> DocSet {
        let mut set = BitsetBuilder::new(self.doc_count);
        self.add_docs(ordinals, &mut set);
        set.finish()
    }

    /// Ordinal of a normalised string, or where it would be inserted.
    pub fn find_string(&self, value: &str) -> Result<u32, u32> {
        self.find(self.number_count..self.value_count, |ordinal| self.string(ordinal).cmp(value))
    }

    /// Ordinal of a number, or where it would be inserted.
    pub fn find_number(&self, value: f64) -> Result<u32, u32> {
        self.find(0..self.number_count, |ordinal| self.number(ordinal).total_cmp(&(value + 0.0)))
    }

    fn find(&self, range: Range<u32>, compare: impl Fn(u32) -> std::cmp::Ordering) -> Result<u32, u32> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low.midpoint(high);
            match compare(middle) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn set(&self, index: usize) -> Option<DocSet> {
        let bytes = self.part(SETS);
        let mut at = 0usize;
        for _ in 0..index {
            at = at.checked_add(4)?.checked_add(read_u32(bytes, at)? as usize)?;
        }
        let length = read_u32(bytes, at)? as usize;
        read_doc_set(bytes.get(at + 4..)?.get(..length)?, self.doc_count)
    }

    /// Documents in which the field is null.
    pub fn null(&self) -> DocSet {
        self.set(0).unwrap_or_default()
    }

    /// Documents in which the field is an empty string, array or object.
    pub fn empty(&self) -> DocSet {
        self.set(1).unwrap_or_default()
    }

    /// Documents that have the field at all.
    pub fn exists(&self) -> DocSet {
        self.set(2).unwrap_or_default()
    }

    /// Documents with an empty text (or one of spaces) among their values.
    pub fn blank(&self) -> DocSet {
        self.set(3).unwrap_or_default()
    }

    /// Checks that values ascend and that both directions say the same.
    pub(crate) fn validate(&self) -> Result<(), Damage> {
        let numbers_ascend = (1..self.number_count).all(|o| self.number(o - 1) < self.number(o));
        let strings_ascend = (self.number_count + 1..self.value_count).all(|o| self.string(o - 1) < self.string(o));
        if !numbers_ascend || !strings_ascend {
            return Err(Damage("the values of a column do not ascend"));
        }
        let mut counts = vec![0u32; self.value_count as usize];
        let mut pairs = 0;
        let (mut ordinals, mut valid) = (Vec::new(), true);
        for doc in 0..self.doc_count {
            self.ordinals_of(doc, &mut ordinals);
            valid &= ordinals.is_sorted_by(|a, b| a < b);
            ordinals.iter().for_each(|&ordinal| counts[ordinal as usize] += 1);
            pairs += ordinals.len();
        }
        valid &= pairs == self.pair_count as usize;
        for ordinal in 0..self.value_count {
            let mut docs = self.docs_of(ordinal);
            let mut count = 0;
            let mut previous = None;
            valid &= docs.all(|doc| {
                count += 1;
                previous.replace(doc).is_none_or(|before| before < doc)
            });
            valid &= count == counts[ordinal as usize] && count == self.doc_freq(ordinal);
        }
        valid &= (0..4).all(|index| self.set(index).is_some());
        if valid { Ok(()) } else { Err(Damage("documents and values of a column contradict each other")) }
    }
}

impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Column({} numbers, {} values)", self.number_count, self.value_count)
    }
}

#[cfg(test)]
mod tests;
