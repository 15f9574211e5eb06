//! Collects the values of columns, document by document.

use super::Column;
use super::section::{ColumnData, StringList, encode_column, write_column};
use crate::bits::first_bytes;
use crate::segment::SegmentError;
use crate::segment::format::SectionWriter;
use crate::storage::OwnedBytes;
use hashbrown::{HashMap, HashTable};
use lamina_text::id::{DocId, FieldId};
use std::collections::BTreeMap;
use std::hash::BuildHasher;

/// All columns of a segment that is being written.
#[derive(Debug, Default)]
pub struct ColumnsBuilder {
    columns: BTreeMap<FieldId, ColumnBuilder>,
    /// The document that values belong to now.
    doc: DocId,
}

impl ColumnsBuilder {
    /// With a column, perhaps without values, for each of `fields`.
    pub fn new(fields: &[FieldId]) -> ColumnsBuilder {
        let columns = fields.iter().map(|&field| (field, ColumnBuilder::default())).collect();
        ColumnsBuilder { columns, doc: 0 }
    }

    pub fn begin_document(&mut self, doc: DocId) {
        self.doc = doc;
    }

    fn column(&mut self, field: FieldId) -> &mut ColumnBuilder {
        let column = self.columns.entry(field).or_default();
        push_once(&mut column.exists, self.doc);
        column
    }

    pub fn number(&mut self, field: FieldId, value: f64) {
        debug_assert!(value.is_finite());
        let doc = self.doc;
        let column = self.column(field);
        // Adding zero turns the negative zero, which equals the other one, into it.
        let value = column.number(value + 0.0);
        column.pairs.push((doc, value));
    }

    /// A text. An empty one (`normalised` is) is found by conditions and is no value otherwise.
    pub fn string(&mut self, field: FieldId, normalised: &str, original: &str) {
        let doc = self.doc;
        let column = self.column(field);
        if normalised.is_empty() {
            return push_once(&mut column.blank, doc);
        }
        let value = column.string(normalised, original);
        column.pairs.push((doc, value));
    }

    pub fn null(&mut self, field: FieldId) {
        let doc = self.doc;
        push_once(&mut self.column(field).null, doc);
    }

    /// The field of the document may be something else than one number that its column gives back.
    pub fn inexact(&mut self, field: FieldId) {
        self.column(field).is_inexact = true;
    }

    pub fn empty(&mut self, field: FieldId) {
        let doc = self.doc;
        push_once(&mut self.column(field).empty, doc);
    }

    pub fn exists(&mut self, field: FieldId) {
        self.column(field);
    }

    /// Adds the documents of `other`, numbered from `first_doc` on.
    pub fn absorb(&mut self, other: ColumnsBuilder, first_doc: DocId) {
        for (field, column) in other.columns {
            self.columns.entry(field).or_default().absorb(&column, first_doc);
        }
    }

    /// The column of a field in memory, of a segment with so many documents.
    pub fn into_column(mut self, field: FieldId, doc_count: u32) -> Column {
        let data = self.columns.remove(&field).unwrap_or_default().finish(None, doc_count);
        let bytes = OwnedBytes::from(encode_column(&data));
        Column::open(bytes, doc_count).expect("the writer writes what the reader reads")
    }

    pub fn heap_bytes(&self) -> usize {
        self.columns.values().map(|column| size_of::<ColumnBuilder>() + column.heap_bytes()).sum()
    }

    /// Writes a section per column and answers their fields. `new_docs` gives the final number of each document
    /// (`DocId::MAX`: left out); `None`: they keep theirs.
    pub fn finish(
        self,
        file: &mut SectionWriter,
        new_docs: Option<&[DocId]>,
        doc_count: u32,
    ) -> Result<Vec<FieldId>, SegmentError> {
        let mut fields = Vec::with_capacity(self.columns.len());
        for (field, column) in self.columns {
            write_column(file, field, &column.finish(new_docs, doc_count))?;
            fields.push(field);
        }
        Ok(fields)
    }
}

fn push_once(docs: &mut Vec<DocId>, doc: DocId) {
    if docs.last() != Some(&doc) {
        docs.push(doc);
    }
}

const STRING: u32 = 1;

/// The values of one column. A value is known by its index among the numbers or strings, doubled, plus one for strings.
#[derive(Debug, Default)]
struct ColumnBuilder {
    numbers: Vec<f64>,
    number_index: HashMap<u64, u32, foldhash::fast::RandomState>,
    texts: String,
    strings: Vec<Text>,
    string_index: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
    pairs: Vec<(DocId, u32)>,
    null: Vec<DocId>,
    empty: Vec<DocId>,
    exists: Vec<DocId>,
    blank: Vec<DocId>,
    is_inexact: bool,
}

/// Position of a string in the texts: the normalised form, then the original (empty if they are equal).
#[derive(Clone, Copy, Debug)]
struct Text {
    start: usize,
    normalised_end: usize,
    end: usize,
}

impl ColumnBuilder {
    fn number(&mut self, value: f64) -> u32 {
        let next = self.numbers.len() as u32;
        let index = *self.number_index.entry(value.to_bits()).or_insert(next);
        if index == next {
            self.numbers.push(value);
        }
        index * 2
    }

    fn string(&mut self, normalised: &str, original: &str) -> u32 {
        let ColumnBuilder { texts, strings, string_index, hasher, .. } = self;
        let hash = hasher.hash_one(normalised);
        let text = |index: u32| {
            let text: Text = strings[index as usize];
            &texts[text.start..text.normalised_end]
        };
        if let Some(&index) = string_index.find(hash, |&index| text(index) == normalised) {
            return index * 2 + STRING;
        }
        let index = strings.len() as u32;
        string_index.insert_unique(hash, index, |&index| hasher.hash_one(text(index)));
        let start = texts.len();
        texts.push_str(normalised);
        let normalised_end = texts.len();
        if original != normalised {
            texts.push_str(original);
        }
        strings.push(Text { start, normalised_end, end: texts.len() });
        index * 2 + STRING
    }

    fn absorb(&mut self, other: &ColumnBuilder, first_doc: DocId) {
        let numbers: Vec<u32> = other.numbers.iter().map(|&number| self.number(number)).collect();
        let string = |&Text { start, normalised_end, end }: &Text| {
            let (normalised, original) = (&other.texts[start..normalised_end], &other.texts[normalised_end..end]);
            self.string(normalised, if original.is_empty() { normalised } else { original })
        };
        let strings: Vec<u32> = other.strings.iter().map(string).collect();
        let value = |value: u32| if value & STRING == 0 { &numbers } else { &strings }[(value >> 1) as usize];
        self.pairs.extend(other.pairs.iter().map(|&(doc, old)| (doc + first_doc, value(old))));
        let sets = [
            (&mut self.null, &other.null),
            (&mut self.empty, &other.empty),
            (&mut self.exists, &other.exists),
            (&mut self.blank, &other.blank),
        ];
        for (docs, others) in sets {
            docs.extend(others.iter().map(|doc| doc + first_doc));
        }
        self.is_inexact |= other.is_inexact;
    }

    fn heap_bytes(&self) -> usize {
        self.numbers.capacity() * 32
            + self.texts.capacity()
            + self.strings.capacity() * 32
            + self.pairs.capacity() * 16
            + (self.null.capacity() + self.empty.capacity() + self.exists.capacity() + self.blank.capacity()) * 4
    }

    fn finish(mut self, new_docs: Option<&[DocId]>, doc_count: u32) -> ColumnData {
        if let Some(new_docs) = new_docs {
            let renumber = |doc: &mut DocId| {
                *doc = new_docs[*doc as usize];
                *doc != DocId::MAX
            };
            self.pairs.retain_mut(|pair| renumber(&mut pair.0));
            for set in [&mut self.null, &mut self.empty, &mut self.exists, &mut self.blank] {
                set.retain_mut(renumber);
                // Two writers have had theirs in order: a stable sort joins the two runs.
                set.sort();
            }
        }
        // Only values that a document still has get an ordinal.
        let mut ordinals = vec![u32::MAX; 2 * self.numbers.len().max(self.strings.len())];
        self.pairs.iter().for_each(|pair| ordinals[pair.1 as usize] = 0);
        let used = (0..).zip(&self.numbers).filter(|&(n, _)| ordinals[2 * n as usize] == 0);
        let mut order: Vec<(f64, u32)> = used.map(|(n, &number)| (number, n)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut numbers = Vec::with_capacity(order.len());
        for &(number, n) in &order {
            ordinals[2 * n as usize] = numbers.len() as u32;
            numbers.push(number);
        }
        let is_used = |&s: &u32| ordinals[(s * 2 + STRING) as usize] == 0;
        let text = |s: u32| {
            let text = self.strings[s as usize];
            (&self.texts[text.start..text.normalised_end], &self.texts[text.normalised_end..text.end])
        };
        // Most strings differ in their first bytes: a million of them are compared without being fetched.
        let used = (0..self.strings.len() as u32).filter(is_used);
        let mut order: Vec<(u64, u32)> = used.map(|s| (first_bytes(text(s).0.as_bytes()), s)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| text(a.1).0.cmp(text(b.1).0)));
        let (mut strings, mut originals) = (StringList::default(), StringList::default());
        for (rank, &(_, string)) in order.iter().enumerate() {
            ordinals[(string * 2 + STRING) as usize] = (numbers.len() + rank) as u32;
            let (normalised, original) = text(string);
            strings.push(normalised);
            originals.push(original);
        }
        let mut pairs = self.pairs;
        pairs.iter_mut().for_each(|pair| pair.1 = ordinals[pair.1 as usize]);
        if !pairs.is_sorted_by(|a, b| a < b) {
            // Two runs here as well, but for documents with several values.
            pairs.sort();
            pairs.dedup();
        }
        let (null, empty, exists, blank) = (self.null, self.empty, self.exists, self.blank);
        let is_plain = !self.is_inexact;
        ColumnData { doc_count, numbers, strings, originals, pairs, null, empty, exists, blank, is_plain }
    }
}
