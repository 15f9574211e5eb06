//! Writing a damaged segment anew.

use std::sync::Arc;

use hashbrown::HashSet;
use lamina_segment::document::{FieldMap, document_id};
use lamina_segment::segment::{Salvage, SegmentReader, SegmentWriter, SegmentWriterOptions, StoreDictionary};
use lamina_segment::storage::Directory;
use lamina_text::id::{DocId, InternalId, SegmentId};
use lamina_text::text::{TEXT_RULES, Tokenizer};

use super::super::damaged::{Damage, DamagedSegment};
use super::super::error::IndexError;
use super::super::files::FileGuard;
use super::super::manifest::DeletedMeta;
use super::super::recovery::read_tombstone_file;
use super::super::settings::Settings;
use super::super::snapshot::{SegmentView, Snapshot};
use super::super::tombstones::Tombstones;
use super::super::transaction::{DocumentContext, DocumentWriter, Extraction, text_fields};
use super::RepairOptions;
use super::report::{LostVectors, SegmentRepair};
use super::words::Words;
use crate::runtime::Runtime;

/// New segments.
#[derive(Debug, Default)]
pub(super) struct Rebuilt {
    pub(super) segments: Vec<SegmentView>,
}

/// Writes the segments of one index.
pub(super) struct Rebuild<'a> {
    directory: &'a Arc<dyn Directory>,
    snapshot: &'a mut Snapshot,
    next_segment_id: &'a mut u64,
    options: RepairOptions<'a>,
    fields: FieldMap,
    /// True if the field ids in damaged segments are those of the manifest.
    knows_fields: bool,
    tokenizer: Tokenizer,
    store_dictionary: StoreDictionary,
    /// Primary keys of the documents that were rewritten.
    keys: HashSet<Box<str>>,
    /// Internal ids of live documents, which define their order. Documents whose order is lost get free ids.
    used_ids: HashSet<InternalId>,
}

/// Readable parts of a damaged segment.
struct Source<'a> {
    salvage: &'a Salvage,
    damaged: &'a DamagedSegment,
    live: &'a [DocId],
    /// Internal id of each live document.
    ids: &'a [InternalId],
}

/// Compares documents whose texts may be damaged with the words that were indexed of them.
struct Comparison<'a> {
    salvage: &'a Salvage,
    reading: DocumentContext<'a>,
    documents: DocumentWriter<'a>,
    words: Words,
    /// True if the words can be compared.
    is_possible: bool,
}

impl<'a> Comparison<'a> {
    fn new(source: &Source<'a>, reading: DocumentContext<'a>, knows_fields: bool) -> Comparison<'a> {
        Comparison {
            salvage: source.salvage,
            reading,
            documents: DocumentWriter::new(reading, Extraction::Everything),
            words: Words::default(),
            // Without a manifest no one knows whose words these are, and by other rules there were others.
            is_possible: knows_fields && source.damaged.entry.meta.text_rules == TEXT_RULES,
        }
    }

    /// Reports whether `json` is the original document, as far as this can be checked.
    fn is_proven(&mut self, doc: DocId, json: &[u8], repair: &mut SegmentRepair) -> bool {
        if self.salvage.is_store_sound() {
            return true;
        }
        self.words.clear();
        let read = self.documents.visit(&mut self.words, json, usize::MAX).is_ok();
        match self.salvage.text().filter(|_| self.is_possible) {
            Some((terms, tokens)) => {
                read && self.words.are_those_of(doc, terms, tokens, self.reading.settings, self.reading.fields)
            }
            None => {
                repair.uncompared += u64::from(read);
                read
            }
        }
    }
}

impl<'a> Rebuild<'a> {
    pub(super) fn new(
        directory: &'a Arc<dyn Directory>,
        snapshot: &'a mut Snapshot,
        next_segment_id: &'a mut u64,
        options: RepairOptions<'a>,
    ) -> Result<Rebuild<'a>, IndexError> {
        let store_dictionary = StoreDictionary::of_largest(snapshot.segments.iter().map(|view| &*view.reader));
        let fields = FieldMap::from(snapshot.fields.clone());
        let knows_fields = !snapshot.fields.is_empty();
        let tokenizer = snapshot.settings.tokenizer();
        Ok(Rebuild {
            directory,
            snapshot,
            next_segment_id,
            options,
            fields,
            knows_fields,
            tokenizer,
            store_dictionary,
            keys: HashSet::new(),
            used_ids: HashSet::new(),
        })
    }

    /// To be called behind the last segment.
    pub(super) fn finish(self) {
        self.snapshot.fields = self.fields.snapshot();
    }

    /// Reads a segment and writes what can be read, unless nothing is to be changed.
    pub(super) fn segment(
        &mut self,
        damaged: &DamagedSegment,
        rebuilt: &mut Rebuilt,
    ) -> Result<SegmentRepair, IndexError> {
        let meta = &damaged.entry.meta;
        let mut repair = SegmentRepair { id: meta.id, file: meta.file.name.clone(), ..SegmentRepair::default() };
        let salvage = match Salvage::open(&**self.directory, meta) {
            Ok(salvage) => salvage,
            Err(error) => {
                let error = IndexError::Segment(error);
                if Damage::of(&error).is_none() {
                    return Err(error);
                }
                repair.damage.push(error.to_string());
                repair.lost_without_id = damaged.live_count().into();
                return Ok(repair);
            }
        };
        repair.damage.extend(salvage.damage().iter().map(ToString::to_string));
        let deleted = match self.tombstones(damaged) {
            Ok(deleted) => deleted,
            Err(error @ IndexError::CorruptTombstones { .. }) => {
                repair.damage.push(error.to_string());
                repair.tombstones_lost = true;
                None
            }
            Err(error) => return Err(error),
        };
        if repair.damage.is_empty() {
            repair.damage.push(damaged.damage().reason.clone());
        }
        let live: Vec<DocId> = (0..salvage.doc_count())
            .filter(|&doc| deleted.as_ref().is_none_or(|deleted| !deleted.contains(doc)))
            .collect();
        let ids = self.internal_ids(&salvage, damaged, &live, &mut repair);
        self.write(&Source { salvage: &salvage, damaged, live: &live, ids: &ids }, &mut repair, rebuilt)?;
        Ok(repair)
    }

    fn tombstones(&self, damaged: &DamagedSegment) -> Result<Option<Tombstones>, IndexError> {
        let doc_count = damaged.entry.meta.doc_count;
        match (&damaged.entry.deleted, &damaged.inline_tombstones) {
            (None, _) => Ok(None),
            (Some(DeletedMeta::File(file)), _) => read_tombstone_file(&**self.directory, file, doc_count).map(Some),
            (Some(DeletedMeta::Inline { .. }), inline) => {
                let read = inline.as_deref().and_then(|bytes| Tombstones::from_bytes(bytes, doc_count));
                let unreadable = || IndexError::CorruptTombstones { file: damaged.entry.meta.file.name.clone() };
                read.map(Some).ok_or_else(unreadable)
            }
        }
    }

    /// The internal id of each live document, ascending. Where they are damaged, documents get the free ones between the first
    /// and the last of the segment: when none is missing, these are the ones they had.
    fn internal_ids(
        &mut self,
        salvage: &Salvage,
        damaged: &DamagedSegment,
        live: &[DocId],
        repair: &mut SegmentRepair,
    ) -> Vec<InternalId> {
        if let Some(ids) = salvage.internal_ids() {
            return live.iter().map(|&doc| ids[doc as usize]).collect();
        }
        let meta = &damaged.entry.meta;
        let span = meta.last_internal_id - meta.first_internal_id + 1;
        if span == u64::from(meta.doc_count) {
            return live.iter().map(|&doc| meta.first_internal_id + u64::from(doc)).collect();
        }
        repair.order_lost = true;
        let sound = self.snapshot.segments.iter();
        let taken: HashSet<InternalId> = sound
            .flat_map(|view| {
                let docs = (0..view.reader.doc_count()).filter(|&doc| view.is_live(doc));
                docs.map(|doc| view.reader.internal_id(doc))
            })
            .chain(self.used_ids.iter().copied())
            .collect();
        let free = (meta.first_internal_id..=meta.last_internal_id).filter(|id| !taken.contains(id));
        let beyond = self.snapshot.next_internal_id.max(meta.last_internal_id + 1)..;
        free.chain(beyond).take(live.len()).collect()
    }

    fn write(
        &mut self,
        source: &Source<'_>,
        repair: &mut SegmentRepair,
        rebuilt: &mut Rebuilt,
    ) -> Result<(), IndexError> {
        let settings = self.snapshot.settings.clone();
        let primary_key = self.snapshot.primary_key.clone().unwrap_or_default();
        let fields = std::mem::replace(&mut self.fields, FieldMap::from_names::<&str>([])?);
        let tokenizer = self.tokenizer.clone();
        let reading =
            DocumentContext { settings: &settings, fields: &fields, tokenizer: &tokenizer, primary_key: &primary_key };
        let mut documents = DocumentWriter::new(reading, Extraction::Everything);
        let mut comparison = Comparison::new(source, reading, self.knows_fields);
        let (mut writer, mut json, mut kept_ids) = (None, Vec::new(), Vec::new());
        for (&doc, &id) in source.live.iter().zip(source.ids) {
            let key = self.readable(source.salvage, doc, &mut json, &primary_key);
            let Some(key) = key.filter(|_| comparison.is_proven(doc, &json, repair)) else {
                match source.salvage.key(doc) {
                    Some(key) => repair.lost_ids.push(key.to_owned()),
                    None => repair.lost_without_id += 1,
                }
                continue;
            };
            if !self.keeps(id, &key, repair) {
                continue;
            }
            if !source.salvage.lost_embedders().is_empty() {
                kept_ids.push(key.clone());
            }
            if self.options.aside.is_none() {
                continue;
            }
            let open = writer.get_or_insert_with(|| self.new_segment(&settings));
            documents.write(open, id, &key, &json, usize::MAX)?;
            let new = open.doc_count() - 1;
            for vectors in source.salvage.vectors() {
                open.vectors(vectors.name(), vectors.shape()).copy(new, vectors.get(doc)?, vectors.shape());
            }
            if open.memory_bytes() >= self.options.memory_bytes {
                rebuilt.segments.extend(writer.take().map(|writer| self.finish_segment(writer)).transpose()?);
            }
        }
        rebuilt.segments.extend(writer.take().map(|writer| self.finish_segment(writer)).transpose()?);
        self.fields = fields;
        for embedder in source.salvage.lost_embedders() {
            let made_again = settings.embedder(embedder).is_some_and(|embedder| !embedder.user_provided);
            repair.lost_vectors.push(LostVectors { embedder: embedder.clone(), made_again, ids: kept_ids.clone() });
        }
        Ok(())
    }

    /// Reports whether a document is kept. Of several documents with the same key the first is kept.
    fn keeps(&mut self, id: InternalId, key: &str, repair: &mut SegmentRepair) -> bool {
        if self.snapshot.find(key).is_some() || !self.keys.insert(key.into()) {
            repair.superseded += 1;
            return false;
        }
        repair.kept += 1;
        (self.options.progress)(1);
        self.used_ids.insert(id);
        self.snapshot.next_internal_id = self.snapshot.next_internal_id.max(id + 1);
        true
    }

    fn new_segment(&self, settings: &Settings) -> SegmentWriter {
        SegmentWriter::new(SegmentWriterOptions {
            text_fields: text_fields(settings),
            store_dictionary: self.store_dictionary.clone(),
            ..SegmentWriterOptions::default()
        })
    }

    /// The key of a document that can be read and has the key that it had.
    fn readable(&self, salvage: &Salvage, doc: DocId, json: &mut Vec<u8>, primary_key: &str) -> Option<String> {
        if !salvage.document(doc, json) {
            return None;
        }
        // Also what no walk over a document would notice.
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(json).ok()?;
        let id = document_id(json, primary_key).ok()?;
        let is_expected = salvage.key(doc).is_none_or(|key| key == id.as_str());
        is_expected.then(|| id.into_string())
    }

    fn finish_segment(&mut self, writer: SegmentWriter) -> Result<SegmentView, IndexError> {
        let id = *self.next_segment_id;
        *self.next_segment_id += 1;
        let meta = writer.finish(&**self.directory, SegmentId(id))?;
        let files = FileGuard::of_new_segment(self.directory, &meta);
        let reader = SegmentReader::open(&**self.directory, &meta)?;
        reader.verify()?;
        Ok(SegmentView::new(reader, None, files, &Runtime::new()))
    }
}
