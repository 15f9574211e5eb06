//! A view over the mapped file of a segment.

use std::sync::{Arc, OnceLock};

use super::checked_blocks::CheckedBlocks;
use super::columns::Column;
use super::comparison::Comparison;
use super::error::Damage;
use super::format::{COMPARED_AT_OPENING_MAX, DOCS_MAX, SectionKind, SectionTable, WHOLE_FILE};
use super::health::Health;
use super::info::Info;
use super::neighbours::StoredNeighbours;
use super::store::StoreSections;
use super::tokens::FieldLengths;
use super::vectors::Vectors;
use super::verify::{agree_with_tokens, unions_agree_with_postings};
use super::{
    Columns, Damaged, FileMeta, Geo, Keys, Postings, SegmentError, SegmentMeta, Shapes, Store, Terms, TextFields,
    TokenColumn, VectorCodes,
};
use crate::bits::monotone::Monotone;
use crate::id::{DocId, FIRST_TERM, InternalId};
use crate::storage::{Directory, OwnedBytes};

fn open_file(directory: &dyn Directory, meta: &FileMeta, bytes_max: u64) -> Result<SectionTable, SegmentError> {
    let file = SectionTable::open(directory, meta)?;
    // The fst crate trusts its bytes, and what is small costs little.
    file.verify_at_opening(bytes_max)?;
    Ok(file)
}

/// Damage as an error that names the file and the section.
fn damaged(file: &SectionTable, kind: SectionKind) -> impl Fn(Damage) -> SegmentError {
    move |damage| damage.at(file.name(), kind.name())
}

fn open_info(file: &SectionTable, meta: &SegmentMeta) -> Result<Info, SegmentError> {
    let info = Info::decode(&file.required(SectionKind::Info)?);
    info.filter(|info| info.doc_count == meta.doc_count && (1..=DOCS_MAX).contains(&info.doc_count))
        .ok_or_else(|| damaged(file, SectionKind::Info)(Damage("its counts are not those of the manifest")))
}

fn open_internal_ids(file: &SectionTable, doc_count: u32) -> Result<(OwnedBytes, Monotone), SegmentError> {
    let bytes = file.required(SectionKind::InternalIds)?;
    let shape = Monotone::open(&bytes)
        .filter(|ids| ids.len() == doc_count as usize)
        .ok_or_else(|| damaged(file, SectionKind::InternalIds)(Damage("it is cut")))?;
    Ok((bytes, shape))
}

fn open_store(file: &SectionTable, doc_count: u32) -> Result<Store, SegmentError> {
    let (blocks, index) = (file.required(SectionKind::Store)?, file.required(SectionKind::StoreIndex)?);
    let dictionaries = &file.required(SectionKind::StoreDictionaries)?;
    let pieces = file.optional(SectionKind::StorePieces);
    let has_block_sums = file.has_block_sums();
    let sections = StoreSections { blocks, index, dictionaries, pieces: pieces.as_ref(), has_block_sums };
    Store::open(file.name(), sections, doc_count).map_err(damaged(file, SectionKind::StoreIndex))
}

/// The words of a segment, with what leads to their documents and back.
struct Text {
    terms: Terms,
    postings: Postings,
    tokens: TokenColumn,
    neighbours: StoredNeighbours,
}

impl Text {
    fn open(file: &SectionTable, info: &Info) -> Result<Text, SegmentError> {
        let section = |kind| file.required(kind);
        let doc_count = info.doc_count;
        let terms = Terms::open(section(SectionKind::Terms)?).map_err(damaged(file, SectionKind::Terms))?;
        if terms.len() != info.term_count {
            let reason = Damage("the number of terms is not the recorded one");
            return Err(damaged(file, SectionKind::Terms)(reason));
        }
        let postings = Postings::open(
            section(SectionKind::TermInfos)?,
            section(SectionKind::Postings)?,
            &section(SectionKind::FieldSets)?,
            section(SectionKind::PrefixUnions)?,
            doc_count,
            terms.len(),
        )
        .map_err(damaged(file, SectionKind::Postings))?;
        let tokens = TokenColumn::open(
            section(SectionKind::Tokens)?,
            section(SectionKind::TokenOffsets)?,
            section(SectionKind::TokenCodes)?,
            doc_count,
            FIRST_TERM + terms.len(),
        )
        .map_err(damaged(file, SectionKind::Tokens))?;
        let neighbours = StoredNeighbours::open(|kind| file.optional(kind), doc_count)
            .map_err(|(damage, kind)| damaged(file, kind)(damage))?;
        Ok(Text { terms, postings, tokens, neighbours })
    }
}

/// The values of documents. Those of a later file take the place of earlier ones.
#[derive(Default)]
struct Values {
    columns: Columns,
    geo: Option<Geo>,
    shapes: Option<Shapes>,
    vectors: Vec<Vectors>,
}

impl Values {
    fn open(files: &[SectionTable], doc_count: u32, health: &Arc<Health>) -> Result<Values, SegmentError> {
        let mut values = Values::default();
        for file in files {
            for (field, bytes) in file.all(SectionKind::Column) {
                let column = Column::open(bytes, doc_count).map_err(damaged(file, SectionKind::Column))?;
                values.columns.insert(field, column);
            }
            if let Some(bytes) = file.optional(SectionKind::Geo) {
                values.geo = Some(Geo::open(bytes, doc_count).map_err(damaged(file, SectionKind::Geo))?);
            }
            if let Some(bytes) = file.optional(SectionKind::Shapes) {
                values.shapes = Some(Shapes::open(bytes, doc_count).map_err(damaged(file, SectionKind::Shapes))?);
            }
            for (number, bytes) in file.all(SectionKind::Vectors) {
                let added = open_vectors(file, number, bytes, doc_count, health)?;
                values.vectors.retain(|earlier| earlier.name() != added.name());
                values.vectors.push(added);
            }
        }
        Ok(values)
    }
}

/// The vectors with number `number` of a file, with their codes, and what compares both.
fn open_vectors(
    file: &SectionTable,
    number: u16,
    bytes: OwnedBytes,
    doc_count: u32,
    health: &Arc<Health>,
) -> Result<Vectors, SegmentError> {
    let damaged = |kind| damaged(file, kind);
    let of_number = |kind| file.all(kind).find(|(param, _)| *param == number).map(|(_, bytes)| bytes);
    let checked = |kind: SectionKind, sums: SectionKind, bytes: &OwnedBytes| {
        let sums_bytes = of_number(sums).ok_or_else(|| damaged(sums)(Damage("it is missing")))?;
        let blocks = CheckedBlocks::new(bytes.clone(), sums_bytes, Arc::clone(health), file.name(), kind.name());
        blocks.map_err(damaged(sums))
    };
    let mut vectors = Vectors::open(bytes.clone(), doc_count).map_err(damaged(SectionKind::Vectors))?;
    if file.has_block_sums() {
        vectors.add_sums(checked(SectionKind::Vectors, SectionKind::VectorSums, &bytes)?)?;
    }
    if let Some(bytes) = of_number(SectionKind::VectorCodes) {
        let mut codes = VectorCodes::open(bytes.clone(), &vectors).map_err(damaged(SectionKind::VectorCodes))?;
        if file.has_block_sums() {
            codes.add_sums(checked(SectionKind::VectorCodes, SectionKind::VectorCodeSums, &bytes)?)?;
        }
        vectors.add_codes(codes);
    }
    Ok(vectors)
}

/// The sections that hold what clients have sent.
const SOURCES: [SectionKind; 5] = [
    SectionKind::Store,
    SectionKind::StoreIndex,
    SectionKind::StoreDictionaries,
    SectionKind::StorePieces,
    SectionKind::Vectors,
];

/// An open segment. Everything is read from the mapped file; the heap holds a few kilobytes.
#[derive(Debug)]
pub struct SegmentReader {
    meta: SegmentMeta,
    /// The segment file, then the files with added columns.
    files: Vec<SectionTable>,
    internal_ids: OwnedBytes,
    internal_ids_shape: Monotone,
    terms: Terms,
    postings: Postings,
    tokens: TokenColumn,
    neighbours: StoredNeighbours,
    columns: Columns,
    geo: Option<Geo>,
    shapes: Option<Shapes>,
    vectors: Vec<Vectors>,
    store: Store,
    keys: Keys,
    field_lengths: OnceLock<FieldLengths>,
    health: Arc<Health>,
    /// Whether the sections that documents are written anew from were compared.
    compared_sources: OnceLock<Option<Damaged>>,
}

impl SegmentReader {
    /// Maps the files and checks their structure: frames, bounds, counts, and the checksums of the sections that answers
    /// need whole and of all small ones: about a millisecond for ten megabytes of them.
    pub fn open(directory: &dyn Directory, meta: &SegmentMeta) -> Result<SegmentReader, SegmentError> {
        SegmentReader::open_comparing(directory, meta, COMPARED_AT_OPENING_MAX)
    }

    /// As [`SegmentReader::open`], comparing small sections of up to `bytes_max`.
    pub(crate) fn open_comparing(
        directory: &dyn Directory,
        meta: &SegmentMeta,
        bytes_max: u64,
    ) -> Result<SegmentReader, SegmentError> {
        let file = open_file(directory, &meta.file, bytes_max)?;
        let info = open_info(&file, meta)?;
        let doc_count = info.doc_count;
        let (internal_ids, internal_ids_shape) = open_internal_ids(&file, doc_count)?;
        let Text { terms, postings, tokens, neighbours } = Text::open(&file, &info)?;
        let store = open_store(&file, doc_count)?;
        let keys = Keys::open(file.required(SectionKind::Keys)?, file.required(SectionKind::KeyFilter)?, doc_count)
            .map_err(damaged(&file, SectionKind::Keys))?;
        let mut files = vec![file];
        for column_file in &meta.column_files {
            files.push(open_file(directory, &column_file.file, bytes_max)?);
        }
        let health = Arc::<Health>::default();
        let Values { columns, geo, shapes, vectors } = Values::open(&files, doc_count, &health)?;
        Ok(SegmentReader {
            meta: meta.clone(),
            files,
            internal_ids,
            internal_ids_shape,
            terms,
            postings,
            tokens,
            neighbours,
            columns,
            geo,
            shapes,
            vectors,
            store,
            keys,
            field_lengths: OnceLock::new(),
            health,
            compared_sources: OnceLock::new(),
        })
    }

    /// What the manifest says.
    pub fn meta(&self) -> &SegmentMeta {
        &self.meta
    }

    /// Documents of neighbouring frequent words.
    pub(crate) fn neighbours(&self) -> &StoredNeighbours {
        &self.neighbours
    }

    /// Enters the files into the tables of the process, where they have at most so many bytes together; else nothing.
    pub(crate) fn populate(&self, bytes_max: usize) {
        let files = || self.files.iter().map(SectionTable::bytes);
        if files().map(|bytes| bytes.len()).sum::<usize>() <= bytes_max {
            files().for_each(OwnedBytes::populate);
        }
    }

    /// How long the fields of all documents are together, deleted ones included. Reads the token counts of every
    /// document the first time (some 30 nanoseconds each), and keeps the sums.
    pub fn field_lengths(&self) -> &FieldLengths {
        self.field_lengths.get_or_init(|| FieldLengths::of(&self.tokens, 0..self.doc_count()))
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
        self.internal_ids_shape.get(&self.internal_ids, doc as usize)
    }

    /// The document with this internal id.
    pub fn doc_of_internal_id(&self, id: InternalId) -> Option<DocId> {
        let doc = self.first_doc_from(id);
        (doc < self.doc_count() && self.internal_id(doc) == id).then_some(doc)
    }

    /// The first document whose internal id is not below `id`; the document count when there is none.
    pub fn first_doc_from(&self, id: InternalId) -> DocId {
        self.internal_ids_shape.partition_point(&self.internal_ids, |found| found < id) as DocId
    }

    /// The term dictionary.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Documents by term.
    pub fn postings(&self) -> &Postings {
        &self.postings
    }

    /// Terms by document.
    pub fn tokens(&self) -> &TokenColumn {
        &self.tokens
    }

    /// Values by field.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The geo column, when the segment was written with one.
    pub fn geo(&self) -> Option<&Geo> {
        self.geo.as_ref()
    }

    /// The shapes, when the segment was written with them.
    pub fn shapes(&self) -> Option<&Shapes> {
        self.shapes.as_ref()
    }

    /// The vectors of every embedder that has any, also of some that the settings do not know any more.
    pub fn vectors(&self) -> &[Vectors] {
        &self.vectors
    }

    /// The vectors of an embedder. Without them no document has any.
    pub fn vectors_of(&self, embedder: &str) -> Option<&Vectors> {
        self.vectors.iter().find(|vectors| vectors.name() == embedder)
    }

    /// The documents.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Documents by primary key.
    pub fn keys(&self) -> &Keys {
        &self.keys
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

    /// Marks the segment for what a comparison has found, if its sections can give wrong answers: documents of blocks with
    /// checksums, and bytes between sections, can not.
    pub fn mark(&self, found: &SegmentError) {
        let Some(damaged) = Damaged::of(found) else { return };
        let has_block_sums = || self.files.iter().any(|file| file.name() == damaged.file && file.has_block_sums());
        let is_harmless =
            damaged.section == WHOLE_FILE || (damaged.section == SectionKind::Store.name() && has_block_sums());
        if !is_harmless {
            self.health.mark(damaged);
        }
    }

    /// What is known of the damage of this segment.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Compares the checksums of what documents are written anew from, their JSON and their vectors: what is written from
    /// damaged bytes would pass for sound. Blocks with checksums of their own are left to who reads them. Cost: one look at
    /// each byte of the others, the first time; the result is kept.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`]; the segment is marked as damaged then.
    pub fn check_sources(&self) -> Result<(), SegmentError> {
        let damaged = self.compared_sources.get_or_init(|| {
            let without_sums = || self.files.iter().filter(|file| !file.has_block_sums());
            let compared = |kind| without_sums().try_for_each(|file| file.verify_kind(kind));
            let damaged = Damaged::of(&SOURCES.into_iter().try_for_each(compared).err()?)?;
            self.health.mark(damaged.clone());
            Some(damaged)
        });
        damaged.as_ref().map_or(Ok(()), |damaged| Err(damaged.into()))
    }

    /// Compares what shows a document, its block of the store and `with_vectors` its vectors, with their checksums. What has
    /// no checksums of its own is compared as a whole, once. Cost: a look at the compressed block.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`], or what contradicts the format.
    pub fn check_document(&self, doc: DocId, with_vectors: bool) -> Result<(), SegmentError> {
        if self.files.iter().any(|file| !file.has_block_sums()) {
            self.check_sources()?;
        }
        self.store.check(doc)?;
        if with_vectors {
            self.vectors.iter().try_for_each(|vectors| vectors.get(doc).map(drop))?;
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
        self.terms.validate().map_err(at(SectionKind::Terms))?;
        self.postings.validate().map_err(at(SectionKind::Postings))?;
        self.tokens.validate().map_err(at(SectionKind::Tokens))?;
        let neighbours = self.neighbours.validate(FIRST_TERM + self.terms.len());
        neighbours.map_err(|(damage, section)| at(section)(damage))?;
        agree_with_tokens(self).map_err(|(damage, section)| damage.at(name, section.name()))?;
        unions_agree_with_postings(self).map_err(at(SectionKind::PrefixUnions))?;
        self.columns.validate().map_err(at(SectionKind::Column))?;
        if let Some(geo) = &self.geo {
            geo.validate().map_err(at(SectionKind::Geo))?;
        }
        if let Some(shapes) = &self.shapes {
            shapes.validate().map_err(at(SectionKind::Shapes))?;
        }
        for vectors in &self.vectors {
            vectors.validate().map_err(at(SectionKind::Vectors))?;
            let codes = vectors.codes().map_or(Ok(()), |codes| codes.validate(vectors));
            codes.map_err(at(SectionKind::VectorCodes))?;
        }
        self.store.validate()?;
        self.keys.validate(self.doc_count()).map_err(at(SectionKind::Keys))
    }

    /// Bytes of the section that holds the documents.
    pub fn store_bytes(&self) -> u64 {
        self.files.iter().map(bytes_of_store).sum()
    }

    /// Kind and length in bytes of each section; a kind may come several times.
    pub fn bytes_by_kind(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.files.iter().flat_map(SectionTable::list).map(|(kind, _, bytes)| (kind.name(), bytes))
    }

    /// Name and length in bytes of each section, for `inspect`.
    pub fn sections(&self) -> Vec<(String, u64)> {
        let all = self.files.iter().flat_map(SectionTable::list);
        all.map(|(kind, param, bytes)| match kind {
            SectionKind::Column => (format!("{} of field {param}", kind.name()), bytes),
            _ => (kind.name().to_owned(), bytes),
        })
        .collect()
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
