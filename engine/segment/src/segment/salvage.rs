//! What can still be read of a damaged segment, section by section. Nothing is trusted that a checksum does not confirm,
//! but for the documents themselves: a block that cannot be read takes no other one with it.

use lamina_text::id::{DocId, FIRST_TERM, FieldId, InternalId};

use super::format::{SectionKind, SectionTable};
use super::info::Info;
use super::store::{StoreSections, walked_index};
use super::{
    FileMeta, Keys, Layer, Patches, SegmentError, SegmentMeta, Store, Terms, TextFields, TokenColumn, Vectors,
};
use crate::bits::monotone::Monotone;
use crate::storage::{Directory, OwnedBytes};
use std::sync::Arc;

/// A segment with damage. Cost of opening it: a look at every byte.
#[derive(Debug)]
pub struct Salvage {
    doc_count: u32,
    damage: Vec<SegmentError>,
    store: Option<Store>,
    is_store_sound: bool,
    internal_ids: Option<Vec<InternalId>>,
    keys: Option<Vec<Box<str>>>,
    text: Option<(Terms, TokenColumn)>,
    vectors: Vec<Vectors>,
    lost_embedders: Vec<String>,
}

impl Salvage {
    /// Opens what `meta` names, as far as it is there.
    ///
    /// # Errors
    /// The frame of the segment file is damaged, so that no section can be found; or the disk fails.
    pub fn open(directory: &dyn Directory, meta: &SegmentMeta) -> Result<Salvage, SegmentError> {
        let file = SectionTable::open(directory, &meta.file)?;
        let mut damage = Vec::new();
        let mut files = vec![file];
        for column_file in &meta.column_files {
            match SectionTable::open(directory, &column_file.file) {
                Ok(file) => files.push(file),
                Err(error) => damage.push(error),
            }
        }
        for file in &files {
            damage.extend(SectionKind::ALL.into_iter().filter_map(|kind| file.verify_kind(kind).err()));
        }
        let file = &files[0];
        let doc_count = meta.doc_count;
        let patches = sound_patches(&files, doc_count);
        let (vectors, mut lost_embedders) = sound_vectors(&files, doc_count);
        for named in meta.column_files.iter().flat_map(|file| &file.embedders) {
            if !vectors.iter().any(|vectors| vectors.name() == named) && !lost_embedders.contains(named) {
                lost_embedders.push(named.clone());
            }
        }
        Ok(Salvage {
            doc_count,
            store: open_store(file, doc_count).map(|store| match &patches {
                Some(patches) => store.with_patches(patches),
                None => store,
            }),
            is_store_sound: STORE_SECTIONS.into_iter().all(|kind| is_sound(file, kind, None))
                && patches.as_ref().map_or(0, |patches| patches.layer_count()) == meta.patch_files().count(),
            internal_ids: sound_internal_ids(file, doc_count),
            keys: sound_keys(file, doc_count),
            text: sound_text(file, doc_count),
            vectors,
            lost_embedders,
            damage,
        })
    }

    /// Returns the damage found: files that cannot be opened, and sections whose checksum differs.
    pub fn damage(&self) -> &[SegmentError] {
        &self.damage
    }

    /// Number of documents, deleted ones included.
    pub fn doc_count(&self) -> u32 {
        self.doc_count
    }

    /// Reports whether the checksums of all sections from which documents are read are correct.
    pub fn is_store_sound(&self) -> bool {
        self.is_store_sound
    }

    /// Replaces `json` by a document as it is stored. `false` when it cannot be read.
    pub fn document(&self, doc: DocId, json: &mut Vec<u8>) -> bool {
        json.clear();
        let is_read = self.store.as_ref().is_some_and(|store| store.get(doc, json).is_ok());
        is_read && (self.is_store_sound || is_object(json))
    }

    /// The internal ids of all documents.
    pub fn internal_ids(&self) -> Option<&[InternalId]> {
        self.internal_ids.as_deref()
    }

    /// The primary key of a document.
    pub fn key(&self, doc: DocId) -> Option<&str> {
        self.keys.as_ref()?.get(doc as usize).map(|key| &**key)
    }

    /// Terms and the token column, where both are sound.
    pub fn text(&self) -> Option<(&Terms, &TokenColumn)> {
        self.text.as_ref().map(|(terms, tokens)| (terms, tokens))
    }

    /// The vectors of embedders whose sections are sound.
    pub fn vectors(&self) -> &[Vectors] {
        &self.vectors
    }

    /// Embedders whose vectors are damaged; one whose name cannot be read any more is an empty text.
    pub fn lost_embedders(&self) -> &[String] {
        &self.lost_embedders
    }
}

/// Reports whether this is the text of a JSON object and nothing else.
fn is_object(json: &[u8]) -> bool {
    json.first() == Some(&b'{') && serde_json::from_slice::<&serde_json::value::RawValue>(json).is_ok()
}

const STORE_SECTIONS: [SectionKind; 4] =
    [SectionKind::Store, SectionKind::StoreIndex, SectionKind::StoreDictionaries, SectionKind::StorePieces];

/// Without a sound index the blocks are walked; without dictionaries those blocks are read that use none.
fn open_store(file: &SectionTable, doc_count: u32) -> Option<Store> {
    let blocks = file.optional(SectionKind::Store)?;
    let none = OwnedBytes::from(vec![0]);
    let dictionaries = file.optional(SectionKind::StoreDictionaries);
    let pieces = file.optional(SectionKind::StorePieces);
    let open = |dictionaries: &OwnedBytes, pieces: Option<&OwnedBytes>| {
        let index = sound(file, SectionKind::StoreIndex);
        let index = index.unwrap_or_else(|| walked_index(&blocks, dictionaries, doc_count));
        let sections = StoreSections { blocks: blocks.clone(), index, dictionaries, pieces };
        Store::open(file.name(), sections, doc_count).ok()
    };
    let whole = dictionaries.and_then(|dictionaries| open(&dictionaries, pieces.as_ref()));
    whole.or_else(|| open(&none, None))
}

/// Reports whether the checksums of all sections of a kind, or only of the one with `param`, are correct.
fn is_sound(file: &SectionTable, kind: SectionKind, param: Option<u16>) -> bool {
    let kinds: Vec<(SectionKind, u16)> = file.list().map(|(kind, param, _)| (kind, param)).collect();
    let is_asked = |number: usize| {
        kinds.get(number).is_some_and(|(found, of)| *found == kind && param.is_none_or(|param| param == *of))
    };
    file.by_place().into_iter().filter(|(number, _)| is_asked(*number)).all(|(number, place)| {
        let bytes = file.bytes().get(place).unwrap_or_default();
        file.compare_section(number, crc32fast::hash(bytes)).is_ok()
    })
}

fn sound(file: &SectionTable, kind: SectionKind) -> Option<OwnedBytes> {
    file.optional(kind).filter(|_| is_sound(file, kind, None))
}

fn sound_internal_ids(file: &SectionTable, doc_count: u32) -> Option<Vec<InternalId>> {
    let section = sound(file, SectionKind::InternalIds)?;
    let ids = Monotone::open(&section).filter(|ids| ids.len() == doc_count as usize)?;
    let ids: Vec<InternalId> = (0..doc_count as usize).map(|doc| ids.get(&section, doc)).collect();
    ids.is_sorted_by(|one, other| one < other).then_some(ids)
}

fn sound_keys(file: &SectionTable, doc_count: u32) -> Option<Vec<Box<str>>> {
    // The filter is derived from the keys.
    let are_sound = [SectionKind::Keys, SectionKind::NumberKeys].into_iter().all(|kind| is_sound(file, kind, None));
    let keys = Keys::open(file, doc_count).ok().filter(|_| are_sound)?;
    let mut of_docs: Vec<Box<str>> = vec![Box::default(); doc_count as usize];
    keys.for_each(|key, doc| {
        if let Some(of_doc) = of_docs.get_mut(doc as usize) {
            *of_doc = String::from_utf8_lossy(key).into();
        }
    });
    Some(of_docs)
}

fn sound_text(file: &SectionTable, doc_count: u32) -> Option<(Terms, TokenColumn)> {
    let terms = Terms::open(sound(file, SectionKind::Terms)?).ok()?;
    let tokens = TokenColumn::open(
        sound(file, SectionKind::Tokens)?,
        sound(file, SectionKind::TokenOffsets)?,
        sound(file, SectionKind::TokenCodes)?,
        doc_count,
        FIRST_TERM + terms.len(),
    );
    Some((terms, tokens.ok()?))
}

/// Returns the values that documents received since the segment was written, as far as they can be read.
fn sound_patches(files: &[SectionTable], doc_count: u32) -> Option<Arc<Patches>> {
    let sound = files.iter().filter_map(|file| sound(file, SectionKind::Patches));
    let mut patches = Patches::default();
    sound.filter_map(|bytes| Layer::read(bytes, doc_count).ok()).for_each(|layer| patches.push(layer));
    (patches.layer_count() > 0).then(|| Arc::new(patches))
}

/// Returns the last vector section of each embedder, and the names of the embedders whose last section is damaged.
fn sound_vectors(files: &[SectionTable], doc_count: u32) -> (Vec<Vectors>, Vec<String>) {
    let (mut found, mut lost): (Vec<Vectors>, Vec<String>) = (Vec::new(), Vec::new());
    for file in files {
        for (number, bytes) in file.all(SectionKind::Vectors) {
            let opened = Vectors::open(bytes, doc_count).ok();
            let is_sound = is_sound(file, SectionKind::Vectors, Some(number));
            let name = opened.as_ref().map_or("", Vectors::name).to_owned();
            found.retain(|earlier| earlier.name() != name);
            lost.retain(|earlier| *earlier != name);
            match opened.filter(|_| is_sound) {
                Some(vectors) => found.push(vectors),
                None => lost.push(name),
            }
        }
    }
    (found, lost)
}

/// Restores the metadata of a segment from its files, for an index whose manifest is lost. `files`: the segment file,
/// then those with added columns, in order.
///
/// # Errors
/// The frame of the first file or its counts are damaged.
pub fn meta_of_files(
    directory: &dyn Directory,
    id: u64,
    files: &[String],
) -> Result<Option<SegmentMeta>, SegmentError> {
    let Some((first, added)) = files.split_first() else { return Ok(None) };
    let meta = |name: &String| -> Result<FileMeta, SegmentError> {
        let bytes = directory.open_read(name).map_err(|source| SegmentError::Io { file: name.clone(), source })?;
        Ok(FileMeta { name: name.clone(), bytes: bytes.len() as u64, checksum: crc32fast::hash(&bytes) })
    };
    let file = meta(first)?;
    let table = SectionTable::open(directory, &file)?;
    let Some(info) = sound(&table, SectionKind::Info).and_then(|section| Info::decode(&section)) else {
        return Ok(None);
    };
    let ids = sound_internal_ids(&table, info.doc_count).unwrap_or_default();
    let mut column_files = Vec::new();
    for name in added {
        let file = meta(name)?;
        let patches =
            SectionTable::open(directory, &file).is_ok_and(|table| table.optional(SectionKind::Patches).is_some());
        column_files.push(super::ColumnFileMeta { patches, ..super::ColumnFileMeta::of(file) });
    }
    let column_fields: Vec<FieldId> = table.all(SectionKind::Column).map(|(field, _)| field).collect();
    Ok(Some(SegmentMeta {
        id,
        file,
        doc_count: info.doc_count,
        first_internal_id: ids.first().copied().unwrap_or(0),
        last_internal_id: ids.last().copied().unwrap_or(0),
        raw_bytes: info.raw_bytes,
        term_count: info.term_count,
        token_count: info.token_count,
        text_fields: TextFields::All,
        text_rules: 0,
        column_fields,
        geo: false,
        shapes: false,
        column_files,
    }))
}
