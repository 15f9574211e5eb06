//! The state of an index between two commits, as readers see it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use lamina_segment::bits::DocSet;
use lamina_segment::document::FieldMapSnapshot;
use lamina_segment::segment::{FieldLengths, SegmentMeta, SegmentReader};
use lamina_text::id::{DocId, InternalId, SegmentId};

use super::damaged::{Damage, DamagedSegment};
use super::error::IndexError;
use super::files::FileGuard;
use super::manifest::{DeletedMeta, SegmentEntry};
use super::settings::{ResolvedSettings, Settings};
use super::tombstones::Tombstones;
use crate::caches::{CachedSegment, SegmentCaches};
use crate::runtime::Runtime;

/// One segment of a snapshot.
#[derive(Clone, Debug)]
pub struct SegmentView {
    pub reader: Arc<SegmentReader>,
    /// Caches of recent query results for the segment.
    pub caches: Arc<SegmentCaches>,
    /// `None` when nothing is deleted.
    pub deleted: Option<Arc<Tombstones>>,
    /// One for each file, shared by all snapshots with the segment.
    pub(super) files: Arc<[Arc<FileGuard>]>,
}

/// Address of a document in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentAddress {
    /// Position in [`Snapshot::segments`].
    pub segment: u32,
    pub doc: DocId,
}

/// An immutable view of an index; cheap to hold, and its files stay until the last holder lets go.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub segments: Vec<SegmentView>,
    /// Segments that the manifest names and that cannot be used.
    pub(super) damaged: Arc<[DamagedSegment]>,
    pub settings: Arc<Settings>,
    /// Data derived from the settings, once a search has requested it. All snapshots with these settings share it.
    pub(super) resolved: Arc<OnceLock<ResolvedSettings>>,
    /// All fields ever seen.
    pub fields: Arc<FieldMapSnapshot>,
    pub primary_key: Option<Arc<str>>,
    /// Mark that the writer of the documents stores with them, such as a position in their source. It is removed when
    /// another writer writes documents.
    pub mark: Option<Arc<str>>,
    /// Counts commits and merges, from the [first number](super::first_number) of the writer on; two snapshots of an index with the same generation are the same.
    pub generation: u64,
    /// Generation of the last commit that changed what readers find; those since are merges of the same.
    pub(super) contents: u64,
    pub(super) committed_at_nanos: u64,
    /// Name that the caller gave the index, see [`Index::set_name`](super::Index::set_name).
    pub name: Option<Arc<str>>,
    /// Documents holding each top-level field; fields without documents are left out.
    pub field_distribution: Arc<BTreeMap<String, u64>>,
    pub(super) created_at_nanos: u64,
    pub(super) updated_at_nanos: u64,
    pub(super) next_internal_id: InternalId,
    /// Lower bound, at the time of the commit, of the next segment id: no segment of any earlier snapshot has this id
    /// or a higher one.
    pub(super) next_segment_id: u64,
    /// See [`History::ancestors`](super::History::ancestors).
    pub(super) ancestors: Arc<[u64]>,
    pub(super) last_batch: Option<u64>,
    pub(super) last_outcome: Arc<[u8]>,
}

impl SegmentView {
    /// A segment that was just opened. `runtime`: of the index.
    pub(super) fn new(
        reader: SegmentReader,
        deleted: Option<Arc<Tombstones>>,
        files: Arc<[Arc<FileGuard>]>,
        runtime: &Arc<Runtime>,
    ) -> SegmentView {
        let caches = Arc::new(SegmentCaches::new(reader.doc_count(), Arc::clone(runtime)));
        SegmentView { reader: Arc::new(reader), caches, deleted, files }
    }

    /// The segment as queries look at it.
    pub fn cached(&self) -> CachedSegment<'_> {
        CachedSegment { reader: &self.reader, caches: &self.caches }
    }

    /// Number of documents that are not deleted.
    pub(crate) fn live_count(&self) -> u32 {
        self.reader.doc_count() - self.deleted_count()
    }

    pub fn deleted_count(&self) -> u32 {
        self.deleted.as_ref().map_or(0, |deleted| deleted.len())
    }

    pub fn is_live(&self, doc: DocId) -> bool {
        self.deleted.as_ref().is_none_or(|deleted| !deleted.contains(doc))
    }

    /// The deleted documents; `None` when there are none.
    pub fn deleted_set(&self) -> Option<&DocSet> {
        self.deleted.as_deref().map(Tombstones::as_set)
    }

    /// The documents that are not deleted, as a new set.
    pub fn live_set(&self) -> DocSet {
        let doc_count = self.reader.doc_count();
        match self.deleted_set() {
            None => DocSet::full(doc_count),
            Some(deleted) => deleted.complement(doc_count),
        }
    }

    /// Returns the total length of each field over the live documents. Cheap, except for the first call after a segment
    /// or its tombstones were written.
    pub fn field_lengths(&self) -> FieldLengths {
        let mut lengths = self.reader.field_lengths().clone();
        if let Some(deleted) = &self.deleted {
            lengths.subtract(deleted.field_lengths(&self.reader));
        }
        lengths
    }

    pub fn id(&self) -> SegmentId {
        SegmentId(self.reader.meta().id)
    }

    /// The segment, once damage was found in it while it was open.
    pub(super) fn set_aside(&self, damage: Damage) -> DamagedSegment {
        let file = self.deleted.as_ref().and_then(|deleted| deleted.file());
        let inline = self.deleted.as_ref().filter(|deleted| deleted.file().is_none()).map(|dead| dead.to_bytes());
        let deleted = match (file, &inline) {
            (Some(file), _) => Some(DeletedMeta::File(file.meta.clone())),
            (None, Some(bytes)) => Some(DeletedMeta::Inline { bytes: bytes.len() as u64 }),
            (None, None) => None,
        };
        let entry = SegmentEntry { meta: self.reader.meta().clone(), deleted };
        let files = self.files.iter().chain(file.map(|file| &file.guard)).cloned().collect();
        DamagedSegment::new(entry, inline, files, damage)
    }

    /// The live document with this primary key.
    pub fn find(&self, key: &str) -> Option<DocId> {
        self.reader.keys().get(key.as_bytes()).filter(|&doc| self.is_live(doc))
    }
}

impl Snapshot {
    /// Returns the data derived from the settings alone. Cost of the first call for these settings: tokenizing all
    /// synonyms.
    pub fn resolved_settings(&self) -> &ResolvedSettings {
        self.resolved.get_or_init(|| ResolvedSettings::new(&self.settings))
    }

    /// Number of live documents, those in damaged segments included.
    pub fn document_count(&self) -> u64 {
        let damaged: u64 = self.damaged.iter().map(|segment| u64::from(segment.live_count())).sum();
        self.readable_count() + damaged
    }

    /// Number of live documents in segments that can be read.
    pub fn readable_count(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.live_count())).sum()
    }

    /// Bytes of the sections of all segments, by kind. Cheap: looks at the tables of the segments only.
    pub fn section_bytes(&self) -> BTreeMap<&'static str, u64> {
        let mut bytes = BTreeMap::new();
        for (kind, length) in self.segments.iter().flat_map(|segment| segment.reader.bytes_by_kind()) {
            *bytes.entry(kind).or_default() += length;
        }
        bytes
    }

    /// The number of the state: the generation of the last commit that changed what readers find.
    pub fn contents(&self) -> u64 {
        self.contents
    }

    /// Returns the time of that commit.
    pub fn committed_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.committed_at_nanos)
    }

    /// Returns the time at which the index was created.
    pub fn created_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.created_at_nanos)
    }

    /// Returns the time at which documents or settings were last written.
    pub fn updated_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.updated_at_nanos)
    }

    /// The last batch that was applied, and what its [`CommitNote`](super::CommitNote) made of the results.
    pub fn last_outcome(&self) -> Option<(u64, &[u8])> {
        self.last_batch.map(|batch| (batch, &*self.last_outcome))
    }

    /// Returns the address of the document with this primary key. Cost: one bloom filter probe per segment and one
    /// lookup.
    pub fn find(&self, key: &str) -> Option<DocumentAddress> {
        // The newest segments are at the end, and recent documents are asked for most.
        self.segments.iter().enumerate().rev().find_map(|(index, segment)| {
            let doc = segment.find(key)?;
            Some(DocumentAddress { segment: u32::try_from(index).expect("few segments"), doc })
        })
    }

    /// The JSON object of a document, one line. Decompresses one block of a few kilobytes.
    ///
    /// # Errors
    /// [`IndexError::Segment`] when the stored bytes are damaged.
    pub fn document(&self, address: DocumentAddress) -> Result<Vec<u8>, IndexError> {
        let mut json = Vec::new();
        self.segments[address.segment as usize].reader.store().get(address.doc, &mut json)?;
        Ok(json)
    }

    /// Works like [`Snapshot::document`] if `may_read` accepts [`Snapshot::document_bytes`]; otherwise returns `None`.
    ///
    /// # Errors
    /// The errors of [`Snapshot::document`].
    pub fn document_if(
        &self,
        address: DocumentAddress,
        may_read: impl FnOnce(usize) -> bool,
    ) -> Result<Option<Vec<u8>>, IndexError> {
        let mut json = Vec::new();
        let store = self.segments[address.segment as usize].reader.store();
        Ok(store.get_if(address.doc, may_read, &mut json)?.then_some(json))
    }

    /// At least as many bytes as the JSON of a document has. It takes two buffers of so many to read it. Reads the head of a
    /// block.
    ///
    /// # Errors
    /// The errors of [`Snapshot::document`].
    pub fn document_bytes(&self, address: DocumentAddress) -> Result<usize, IndexError> {
        Ok(self.segments[address.segment as usize].reader.store().block_bytes_of(address.doc)?)
    }

    /// Compares a document, and `with_vectors` its vectors, with the checksums, and reads neither: for answers that cannot be
    /// taken back once they have begun.
    ///
    /// # Errors
    /// The errors of [`Snapshot::document`].
    pub fn check_document(&self, address: DocumentAddress, with_vectors: bool) -> Result<(), IndexError> {
        Ok(self.segments[address.segment as usize].reader.check_document(address.doc, with_vectors)?)
    }

    /// At least as many bytes as any document has. Reads the heads of all blocks the first time.
    ///
    /// # Errors
    /// The errors of [`Snapshot::document`].
    pub fn document_bytes_max(&self) -> Result<usize, IndexError> {
        let most = self.segments.iter().map(|segment| segment.reader.store().block_bytes_max());
        Ok(most.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(0))
    }

    /// Has documents that will be read brought from memory, all at once.
    pub fn fetch(&self, addresses: impl Iterator<Item = DocumentAddress>) {
        addresses.for_each(|address| self.segments[address.segment as usize].reader.store().fetch(address.doc));
    }

    /// The JSON object of the document with this primary key.
    ///
    /// # Errors
    /// The errors of [`Snapshot::document`].
    pub fn get_document(&self, key: &str) -> Result<Option<Vec<u8>>, IndexError> {
        self.find(key).map(|address| self.document(address)).transpose()
    }

    /// Refuses an index of which a segment is known to be damaged, or became shorter: what it answers could be wrong.
    ///
    /// # Errors
    /// [`IndexError::Segment`], which names the file and the section.
    pub fn check_health(&self) -> Result<(), IndexError> {
        Ok(self.segments.iter().try_for_each(|segment| segment.reader.check_health())?)
    }

    /// Reports whether a segment, damaged ones included, has a file of this name.
    pub fn has_file(&self, name: &str) -> bool {
        let sound = self.segments.iter().map(|segment| segment.reader.meta());
        let mut files = sound.chain(self.damaged.iter().map(DamagedSegment::meta)).flat_map(SegmentMeta::files);
        files.any(|file| file.name == name)
    }

    /// Bytes of all files of the segments.
    pub fn disk_bytes(&self) -> u64 {
        let sound: u64 = self.segments.iter().map(|segment| segment.reader.meta().total_bytes()).sum();
        sound + self.damaged.iter().map(DamagedSegment::disk_bytes).sum::<u64>()
    }

    /// The segments that cannot be used. Their documents are in no answer and no list of the snapshot.
    pub fn damaged(&self) -> &[DamagedSegment] {
        &self.damaged
    }

    /// Reports whether answers lack the documents of damaged segments.
    pub fn is_degraded(&self) -> bool {
        !self.damaged.is_empty()
    }

    /// Refuses an index with damaged segments: for what needs every document.
    ///
    /// # Errors
    /// [`IndexError::DamagedSegment`] names the first one.
    pub fn check_whole(&self) -> Result<(), IndexError> {
        self.damaged.first().map_or(Ok(()), |first| Err(first.error()))
    }

    /// Refuses an index whose damaged segments hold half of the documents or more: what is left would pass for an answer.
    ///
    /// # Errors
    /// [`IndexError::DamagedSegment`] names the first one.
    pub fn check_searchable(&self) -> Result<(), IndexError> {
        let lost: u64 = self.damaged.iter().map(|segment| u64::from(segment.live_count())).sum();
        if lost > 0 && lost >= self.readable_count() { self.check_whole() } else { Ok(()) }
    }
}

/// The present time, in nanoseconds since 1970.
pub(super) fn now_nanos() -> u64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}
