//! Opens the sections of the files of a segment.

use std::sync::Arc;

use lamina_text::id::FIRST_TERM;

use crate::bits::monotone::Monotone;
use crate::segment::checked_blocks::CheckedBlocks;
use crate::segment::error::Damage;
use crate::segment::format::{DOCS_MAX, SectionKind, SectionTable};
use crate::segment::health::Health;
use crate::segment::info::Info;
use crate::segment::store::StoreSections;
use crate::segment::vectors::Vectors;
use crate::segment::word_pairs::StoredWordPairs;
use crate::segment::{
    Column, Columns, FileMeta, Geo, Layer, Patches, Postings, SegmentError, SegmentMeta, Shapes, Store, Terms,
    TokenColumn, VectorCodes,
};
use crate::storage::{Directory, OwnedBytes};

pub(super) fn open_file(
    directory: &dyn Directory,
    meta: &FileMeta,
    bytes_max: u64,
) -> Result<SectionTable, SegmentError> {
    let file = SectionTable::open(directory, meta)?;
    // The fst crate trusts its bytes, and what is small costs little.
    file.verify_at_opening(bytes_max)?;
    Ok(file)
}

/// Damage as an error that names the file and the section.
pub(super) fn damaged(file: &SectionTable, kind: SectionKind) -> impl Fn(Damage) -> SegmentError {
    move |damage| damage.at(file.name(), kind.name())
}

pub(super) fn open_info(file: &SectionTable, meta: &SegmentMeta) -> Result<Info, SegmentError> {
    let info = Info::decode(&file.required(SectionKind::Info)?);
    info.filter(|info| info.doc_count == meta.doc_count && (1..=DOCS_MAX).contains(&info.doc_count))
        .ok_or_else(|| damaged(file, SectionKind::Info)(Damage("its counts are not those of the manifest")))
}

pub(super) fn open_internal_ids(file: &SectionTable, doc_count: u32) -> Result<(OwnedBytes, Monotone), SegmentError> {
    let bytes = file.required(SectionKind::InternalIds)?;
    let shape = Monotone::open(&bytes)
        .filter(|ids| ids.len() == doc_count as usize)
        .ok_or_else(|| damaged(file, SectionKind::InternalIds)(Damage("it is cut")))?;
    Ok((bytes, shape))
}

pub(super) fn open_store(file: &SectionTable, doc_count: u32) -> Result<Store, SegmentError> {
    let (blocks, index) = (file.required(SectionKind::Store)?, file.required(SectionKind::StoreIndex)?);
    let dictionaries = &file.required(SectionKind::StoreDictionaries)?;
    let pieces = file.optional(SectionKind::StorePieces);
    let sections = StoreSections { blocks, index, dictionaries, pieces: pieces.as_ref() };
    Store::open(file.name(), sections, doc_count).map_err(damaged(file, SectionKind::StoreIndex))
}

/// The words of a segment, with what leads to their documents and back.
pub(super) struct Text {
    pub(super) terms: Terms,
    pub(super) postings: Postings,
    pub(super) tokens: TokenColumn,
    pub(super) word_pairs: StoredWordPairs,
}

impl Text {
    pub(super) fn open(file: &SectionTable, info: &Info) -> Result<Text, SegmentError> {
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
        let word_pairs = StoredWordPairs::open(|kind| file.optional(kind), doc_count)
            .map_err(|(damage, kind)| damaged(file, kind)(damage))?;
        Ok(Text { terms, postings, tokens, word_pairs })
    }
}

/// The values of documents. Those of a later file take the place of earlier ones.
pub(super) struct Values {
    pub(super) columns: Columns,
    pub(super) geo: Option<Geo>,
    pub(super) shapes: Option<Shapes>,
    pub(super) vectors: Vec<Vectors>,
    pub(super) patches: Option<Patches>,
}

impl Values {
    pub(super) fn open(
        files: &[Arc<SectionTable>],
        doc_count: u32,
        health: &Arc<Health>,
    ) -> Result<Values, SegmentError> {
        let columns = Columns::of(doc_count);
        let mut values = Values { columns, geo: None, shapes: None, vectors: Vec::new(), patches: None };
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
            if let Some(bytes) = file.optional(SectionKind::Patches) {
                let layer = Layer::read(bytes, doc_count).map_err(damaged(file, SectionKind::Patches))?;
                values.patches.get_or_insert_default().push(layer);
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
    vectors.add_sums(checked(SectionKind::Vectors, SectionKind::VectorSums, &bytes)?)?;
    if let Some(bytes) = of_number(SectionKind::VectorCodes) {
        let mut codes = VectorCodes::open(bytes.clone(), &vectors).map_err(damaged(SectionKind::VectorCodes))?;
        codes.add_sums(checked(SectionKind::VectorCodes, SectionKind::VectorCodeSums, &bytes)?)?;
        vectors.add_codes(codes);
    }
    Ok(vectors)
}
