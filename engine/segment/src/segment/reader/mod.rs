//! A view over the mapped file of a segment.

mod opening;

use std::sync::{Arc, OnceLock};

use super::comparison::Comparison;
use super::error::{Damage, WHOLE_FILE};
use super::format::{COMPARED_AT_OPENING_MAX, SectionKind, SectionTable};
use super::health::Health;
use super::tokens::FieldLengths;
use super::vectors::Vectors;
use super::verify::{agree_with_tokens, unions_agree_with_postings};
use super::word_pairs::StoredWordPairs;
use super::{
    ColumnFileMeta, Columns, Damaged, FileMeta, Geo, Keys, Layer, Patches, Postings, SegmentError, SegmentMeta, Shapes,
    Store, Terms, TextFields, TokenColumn,
};
use crate::bits::monotone::Monotone;
use crate::storage::{Directory, OwnedBytes};
use lamina_text::id::{DocId, FIRST_TERM, FieldId, InternalId};
use opening::{Text, Values, damaged, open_file, open_info, open_internal_ids, open_store};

/// An open segment. Everything is read from the mapped file; the heap holds a few kilobytes, and what documents got since.
#[derive(Debug)]
pub struct SegmentReader {
    meta: SegmentMeta,
    /// The segment file, then the files with added columns.
    files: Vec<Arc<SectionTable>>,
    columns: Columns,
    store: Store,
    patches: Option<Arc<Patches>>,
    written: Arc<Written>,
}

/// Parts that never change while a segment is open.
#[derive(Debug)]
struct Written {
    internal_ids: OwnedBytes,
    internal_ids_shape: Monotone,
    terms: Terms,
    postings: Postings,
    tokens: TokenColumn,
    word_pairs: StoredWordPairs,
    geo: Option<Geo>,
    shapes: Option<Shapes>,
    vectors: Vec<Vectors>,
    keys: Keys,
    field_lengths: OnceLock<FieldLengths>,
    health: Arc<Health>,
}

impl SegmentReader {
    /// Maps the files and checks their structure: frames, bounds, counts, and the checksums of the sections that answers
    /// need whole and of all small ones: about a millisecond for ten megabytes of them.
    pub fn open(directory: &dyn Directory, meta: &SegmentMeta) -> Result<SegmentReader, SegmentError> {
        SegmentReader::open_comparing(directory, meta, COMPARED_AT_OPENING_MAX)
    }

    /// Works like [`SegmentReader::open`], but compares small sections of up to `bytes_max` bytes.
    pub fn open_comparing(
        directory: &dyn Directory,
        meta: &SegmentMeta,
        bytes_max: u64,
    ) -> Result<SegmentReader, SegmentError> {
        let file = open_file(directory, &meta.file, bytes_max)?;
        let info = open_info(&file, meta)?;
        let doc_count = info.doc_count;
        let (internal_ids, internal_ids_shape) = open_internal_ids(&file, doc_count)?;
        let Text { terms, postings, tokens, word_pairs } = Text::open(&file, &info)?;
        let store = open_store(&file, doc_count)?;
        let keys = Keys::open(&file, doc_count)?;
        let mut files = vec![Arc::new(file)];
        for column_file in &meta.column_files {
            files.push(Arc::new(open_file(directory, &column_file.file, bytes_max)?));
        }
        let health = Arc::<Health>::default();
        let Values { columns, geo, shapes, vectors, patches } = Values::open(&files, doc_count, &health)?;
        let written = Written {
            internal_ids,
            internal_ids_shape,
            terms,
            postings,
            tokens,
            word_pairs,
            geo,
            shapes,
            vectors,
            keys,
            field_lengths: OnceLock::new(),
            health,
        };
        let reader =
            SegmentReader { meta: meta.clone(), files, columns, store, patches: None, written: Arc::new(written) };
        Ok(match patches {
            Some(patches) => reader.reading(Arc::new(patches)),
            None => reader,
        })
    }

    /// The same, with these patches.
    fn reading(self, patches: Arc<Patches>) -> SegmentReader {
        SegmentReader {
            columns: self.columns.with_patches(&patches),
            store: self.store.with_patches(&patches),
            patches: Some(patches),
            ..self
        }
    }

    /// The segment with what documents got since it was written: `file` was just written, and has taken in the last `replaced`
    /// files of patches. What is open stays open.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn with_patches(
        &self,
        directory: &dyn Directory,
        file: ColumnFileMeta,
        replaced: usize,
    ) -> Result<SegmentReader, SegmentError> {
        let new = Arc::new(open_file(directory, &file.file, COMPARED_AT_OPENING_MAX)?);
        let layer = Layer::read(new.required(SectionKind::Patches)?, self.doc_count());
        let layer = layer.map_err(damaged(&new, SectionKind::Patches))?;
        let patches = Arc::new(self.patches.as_deref().unwrap_or(&Patches::default()).with(replaced, layer));
        let meta = self.meta.with_patch_file(file, replaced);
        let is_kept = |open: &&Arc<SectionTable>| meta.files().any(|named| named.name == open.name());
        let files = self.files.iter().filter(is_kept).cloned().chain([new]).collect();
        Ok(SegmentReader {
            files,
            columns: self.columns.with_patches(&patches),
            store: self.store.with_patches(&patches),
            patches: Some(patches),
            written: Arc::clone(&self.written),
            meta,
        })
    }

    /// Returns the values that documents received since the segment was written.
    pub fn patches(&self) -> Option<&Patches> {
        self.patches.as_deref()
    }

    /// Reports whether both are the same segment, apart from values that documents received since.
    pub fn is_same_but_for_patches(&self, other: &SegmentReader) -> bool {
        Arc::ptr_eq(&self.written, &other.written)
    }

    /// Returns the metadata of the segment in the manifest.
    pub fn meta(&self) -> &SegmentMeta {
        &self.meta
    }

    /// Documents of neighbouring frequent words.
    pub fn word_pairs(&self) -> &StoredWordPairs {
        &self.written.word_pairs
    }

    /// Enters the files into the tables of the process, where they have at most so many bytes together; else nothing.
    pub fn populate(&self, bytes_max: usize) {
        let files = || self.files.iter().map(|file| file.bytes());
        if files().map(|bytes| bytes.len()).sum::<usize>() <= bytes_max {
            files().for_each(OwnedBytes::populate);
        }
    }

    /// Returns the total length of each field over all documents, deleted ones included. The first call reads the token
    /// counts of every document (some 30 nanoseconds each) and keeps the sums.
    pub fn field_lengths(&self) -> &FieldLengths {
        self.written.field_lengths.get_or_init(|| FieldLengths::of(&self.written.tokens, 0..self.doc_count()))
    }

    /// Number of documents, deleted ones included.
    pub fn doc_count(&self) -> u32 {
        self.meta.doc_count
    }

    /// Text fields the segment indexes.
    pub fn text_fields(&self) -> &TextFields {
        &self.meta.text_fields
    }

    /// Internal id of a document; ascends with the document.
    #[inline]
    pub fn internal_id(&self, doc: DocId) -> InternalId {
        self.written.internal_ids_shape.get(&self.written.internal_ids, doc as usize)
    }

    /// The document with this internal id.
    pub fn doc_of_internal_id(&self, id: InternalId) -> Option<DocId> {
        let doc = self.first_doc_from(id);
        (doc < self.doc_count() && self.internal_id(doc) == id).then_some(doc)
    }

    /// The first document whose internal id is not below `id`; the document count when there is none.
    pub(crate) fn first_doc_from(&self, id: InternalId) -> DocId {
        self.written.internal_ids_shape.partition_point(&self.written.internal_ids, |found| found < id) as DocId
    }

    /// The term dictionary.
    pub fn terms(&self) -> &Terms {
        &self.written.terms
    }

    /// Documents by term.
    pub fn postings(&self) -> &Postings {
        &self.written.postings
    }

    /// Terms by document.
    pub fn tokens(&self) -> &TokenColumn {
        &self.written.tokens
    }

    /// Values by field.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The geo column, when the segment was written with one.
    pub fn geo(&self) -> Option<&Geo> {
        self.written.geo.as_ref()
    }

    /// The shapes, when the segment was written with them.
    pub fn shapes(&self) -> Option<&Shapes> {
        self.written.shapes.as_ref()
    }

    /// The vectors of every embedder that has any, also of some that the settings do not know any more.
    pub fn vectors(&self) -> &[Vectors] {
        &self.written.vectors
    }

    /// The vectors of an embedder. Without them no document has any.
    pub fn vectors_of(&self, embedder: &str) -> Option<&Vectors> {
        self.written.vectors.iter().find(|vectors| vectors.name() == embedder)
    }

    /// The documents.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Documents by primary key.
    pub fn keys(&self) -> &Keys {
        &self.written.keys
    }

    /// Compares all checksums, and asks `go_on` before each megabyte: what is written anew from damaged bytes would pass for
    /// sound. Cost: one look at every byte, a second for some ten gigabytes that are in memory.
    pub(super) fn verify_checksums(
        &self,
        mut go_on: impl FnMut() -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        self.comparisons().try_for_each(|file| {
            let pieces = file.pieces();
            let sum = |piece| go_on().map(|()| file.sum(piece));
            let sums = pieces.iter().map(sum).collect::<Result<Vec<_>, _>>()?;
            file.judge(&pieces, &sums).into_iter().next().map_or(Ok(()), Err)
        })
    }

    /// All files, to be compared with their checksums.
    pub fn comparisons(&self) -> impl Iterator<Item = Comparison<'_>> {
        self.files.iter().zip(self.meta.files()).map(|(file, meta)| Comparison::new(file, meta))
    }

    /// Marks the segment for what a comparison has found, if its sections can give wrong answers: blocks of the store, which
    /// are compared at each read, and bytes between sections can not.
    pub fn mark(&self, found: &SegmentError) {
        let Some(damaged) = Damaged::of(found) else { return };
        if damaged.section != WHOLE_FILE && damaged.section != SectionKind::Store.name() {
            self.written.health.mark(damaged);
        }
    }

    /// Refuses a segment that is known to be damaged, or of which a file became shorter: it is marked then. Cost: a load for each
    /// file.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`] and [`SegmentError::Corrupt`]
    pub fn check_health(&self) -> Result<(), SegmentError> {
        self.health().check()?;
        self.files.iter().try_for_each(|file| file.check_end()).inspect_err(|error| {
            Damaged::of(error).map(|damaged| self.health().mark(damaged));
        })
    }

    /// Returns the known damage of this segment.
    pub fn health(&self) -> &Health {
        &self.written.health
    }

    /// Compares what shows a document, its block of the store and `with_vectors` its vectors, with their checksums. Cost: a
    /// look at the compressed block.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`], or what contradicts the format.
    pub fn check_document(&self, doc: DocId, with_vectors: bool) -> Result<(), SegmentError> {
        self.store.check(doc)?;
        if with_vectors {
            self.written.vectors.iter().try_for_each(|vectors| vectors.get(doc).map(drop))?;
        }
        Ok(())
    }

    /// Re-reads every byte of all files: checksums, then the invariants of each section. Names the first damage.
    pub fn verify(&self) -> Result<(), SegmentError> {
        self.verify_checksums(|| Ok(()))?;
        self.verify_structure()
    }

    /// Checks the invariants of each section: that what is written is what a writer would write. Cost: seconds for a hundred
    /// megabytes. Names the first damage.
    pub fn verify_structure(&self) -> Result<(), SegmentError> {
        let name = self.files[0].name();
        let at = |kind: SectionKind| move |damage: Damage| damage.at(name, kind.name());
        let ascend = (1..self.doc_count()).all(|doc| self.internal_id(doc - 1) < self.internal_id(doc));
        if !ascend || self.internal_id(0) != self.meta.first_internal_id {
            return Err(at(SectionKind::InternalIds)(Damage("internal ids do not ascend from the recorded one")));
        }
        self.written.terms.validate().map_err(at(SectionKind::Terms))?;
        self.written.postings.validate().map_err(at(SectionKind::Postings))?;
        self.written.tokens.validate().map_err(at(SectionKind::Tokens))?;
        let word_pairs = self.written.word_pairs.validate(FIRST_TERM + self.written.terms.len());
        word_pairs.map_err(|(damage, section)| at(section)(damage))?;
        agree_with_tokens(self).map_err(|(damage, section)| damage.at(name, section.name()))?;
        unions_agree_with_postings(self).map_err(at(SectionKind::PrefixUnions))?;
        self.columns.validate().map_err(at(SectionKind::Column))?;
        if let Some(geo) = &self.written.geo {
            geo.validate().map_err(at(SectionKind::Geo))?;
        }
        if let Some(shapes) = &self.written.shapes {
            shapes.validate().map_err(at(SectionKind::Shapes))?;
        }
        for vectors in &self.written.vectors {
            vectors.validate().map_err(at(SectionKind::Vectors))?;
            let codes = vectors.codes().map_or(Ok(()), |codes| codes.validate(vectors));
            codes.map_err(at(SectionKind::VectorCodes))?;
        }
        self.store.validate()?;
        self.written.keys.validate(self.doc_count()).map_err(at(self.written.keys.section()))
    }

    /// Bytes of the section that holds the documents.
    pub fn store_bytes(&self) -> u64 {
        self.files.iter().map(|file| bytes_of_store(file)).sum()
    }

    /// Kind and length in bytes of each section; a kind may come several times.
    pub fn bytes_by_kind(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.files.iter().flat_map(|file| file.list()).map(|(kind, _, bytes)| (kind.name(), bytes))
    }

    /// Name and length in bytes of each section: those of a field or an embedder say of which. `field_name` knows the fields.
    pub fn sections(&self, field_name: impl Fn(FieldId) -> String) -> Vec<(String, u64)> {
        let owner = |file: &SectionTable, kind, param| match kind {
            SectionKind::Column => Some(field_name(param)),
            SectionKind::Vectors | SectionKind::VectorCodes | SectionKind::VectorSums | SectionKind::VectorCodeSums => {
                let (_, bytes) = file.all(SectionKind::Vectors).find(|(number, _)| *number == param)?;
                Vectors::open(bytes, self.doc_count()).ok().map(|vectors| vectors.name().to_owned())
            }
            _ => None,
        };
        let named = |file: &SectionTable, kind: SectionKind, param| match owner(file, kind, param) {
            Some(owner) => format!("{} of {owner}", kind.name()),
            None => kind.name().to_owned(),
        };
        let of_file = |file: &SectionTable| {
            file.list().map(|(kind, param, bytes)| (named(file, kind, param), bytes)).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(|file| of_file(file)).collect()
    }
}

/// Bytes of the section of a segment file that holds the documents. Reads the section table only.
///
/// # Errors
/// When the file cannot be read, or its table is damaged.
pub fn store_bytes_of_file(directory: &dyn Directory, file: &FileMeta) -> Result<u64, SegmentError> {
    SectionTable::open(directory, file).map(|table| bytes_of_store(&table))
}

fn bytes_of_store(table: &SectionTable) -> u64 {
    table.list().filter(|(kind, ..)| *kind == SectionKind::Store).map(|(.., bytes)| bytes).sum()
}
