//! What is known of an index without opening its segments: counts and sizes, for lists of many indexes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lamina_segment::segment::{SegmentMeta, store_bytes_of_file};
use lamina_segment::storage::{Directory, MappedDirectory};

use super::damaged::{Damage, DamagedSegment};
use super::document_vectors::VectorCounts;
use super::error::IndexError;
use super::manifest::Manifest;
use super::recovery::{newest_manifest, read_snapshot, tombstones_of};
use super::snapshot::Snapshot;

/// Counts and sizes of an index at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSummary {
    /// Number of the state that the summary describes.
    pub generation: u64,
    pub primary_key: Option<Arc<str>>,
    /// Mark of the index, see [`Snapshot::mark`].
    pub mark: Option<Arc<str>>,
    pub created_at: SystemTime,
    pub updated_at: SystemTime,
    /// Live documents.
    pub document_count: u64,
    pub segment_count: usize,
    /// Bytes of all files of the segments.
    pub disk_bytes: u64,
    /// Bytes of the sections that hold the documents, as they are on the disk.
    pub store_bytes: u64,
    /// Bytes of the JSON of the live documents. Of segments with deleted ones, by their average.
    pub json_bytes: u64,
    /// Documents holding each top-level field.
    pub field_distribution: Arc<BTreeMap<String, u64>>,
    /// Vectors of the embedders of the settings.
    pub vectors: VectorCounts,
    /// Returns what [`Snapshot::waits_for_vectors`] returns.
    pub waits_for_vectors: bool,
    /// Segments that cannot be used, as far as that is known without reading them.
    pub damaged: Vec<DamageSummary>,
}

/// A segment that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamageSummary {
    pub damage: Damage,
    /// Live documents in it, also among those of the index.
    pub document_count: u32,
}

impl IndexSummary {
    /// The summary of an open index. Counts vectors, which reads some bytes of each document that has any.
    pub fn of(snapshot: &Snapshot) -> IndexSummary {
        IndexSummary {
            generation: snapshot.generation,
            primary_key: snapshot.primary_key.clone(),
            mark: snapshot.mark.clone(),
            created_at: snapshot.created_at(),
            updated_at: snapshot.updated_at(),
            document_count: snapshot.document_count(),
            segment_count: snapshot.segments.len(),
            disk_bytes: snapshot.disk_bytes(),
            store_bytes: snapshot.segments.iter().map(|segment| segment.reader.store_bytes()).sum(),
            json_bytes: snapshot
                .segments
                .iter()
                .map(|segment| live_json_bytes(segment.reader.meta(), segment.live_count()))
                .sum(),
            field_distribution: snapshot.field_distribution.clone(),
            vectors: snapshot.vector_counts(),
            waits_for_vectors: snapshot.waits_for_vectors(),
            damaged: snapshot.damaged().iter().map(DamageSummary::of).collect(),
        }
    }

    /// Works like [`Snapshot::check_searchable`].
    ///
    /// # Errors
    /// [`IndexError::DamagedSegment`]
    pub fn check_searchable(&self) -> Result<(), IndexError> {
        let lost: u64 = self.damaged.iter().map(|segment| u64::from(segment.document_count)).sum();
        match self.damaged.first() {
            Some(DamageSummary { damage, .. }) if lost > 0 && 2 * lost >= self.document_count => Err(damage.error()),
            _ => Ok(()),
        }
    }

    /// The summary of the index in `folder`, which is not open: reads the manifest and the section tables of the segments, a
    /// tenth of a millisecond for a small index. Only where there are embedders the segments are opened, to count vectors.
    /// Changes nothing.
    ///
    /// # Errors
    /// [`IndexError::NotFound`], or what is wrong with the files that were read.
    pub fn read(folder: &Path) -> Result<IndexSummary, IndexError> {
        if !folder.is_dir() {
            return Err(IndexError::NotFound);
        }
        let directory: Arc<dyn Directory> = Arc::new(MappedDirectory::open(folder)?);
        let manifest = newest_manifest(&*directory)?;
        if !manifest.body.settings.embedders.is_empty() {
            return Ok(IndexSummary::of(&read_snapshot(&directory, manifest)?));
        }
        match IndexSummary::of_manifest(&*directory, &manifest) {
            // The rest of the index is there.
            Err(error) if Damage::of(&error).is_some() => Ok(IndexSummary::of(&read_snapshot(&directory, manifest)?)),
            summary => summary,
        }
    }

    fn of_manifest(directory: &dyn Directory, manifest: &Manifest) -> Result<IndexSummary, IndexError> {
        let (body, mut inline) = (&manifest.body, manifest.inline_tombstones.iter());
        let (mut document_count, mut disk_bytes, mut store_bytes, mut json_bytes) = (0, 0, 0, 0);
        for entry in &body.segments {
            let deleted = tombstones_of(directory, entry, &mut inline)?.map_or(0, |tombstones| tombstones.len());
            let live = entry.meta.doc_count.saturating_sub(deleted);
            document_count += u64::from(live);
            json_bytes += live_json_bytes(&entry.meta, live);
            disk_bytes += entry.meta.total_bytes();
            store_bytes += store_bytes_of_file(directory, &entry.meta.file)?;
        }
        let time = |nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
        Ok(IndexSummary {
            generation: body.generation,
            primary_key: body.primary_key.as_deref().map(Arc::from),
            mark: body.mark.as_deref().map(Arc::from),
            created_at: time(body.created_at),
            updated_at: time(body.updated_at),
            document_count,
            segment_count: body.segments.len(),
            disk_bytes,
            store_bytes,
            json_bytes,
            field_distribution: body.field_distribution.clone(),
            vectors: VectorCounts::default(),
            waits_for_vectors: false,
            damaged: Vec::new(),
        })
    }
}

/// The part of the JSON of a segment's documents that the live ones have.
fn live_json_bytes(meta: &SegmentMeta, live: u32) -> u64 {
    let share = u128::from(meta.raw_bytes) * u128::from(live) / u128::from(meta.doc_count.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

impl DamageSummary {
    fn of(segment: &DamagedSegment) -> DamageSummary {
        DamageSummary { damage: segment.damage().clone(), document_count: segment.live_count() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};

    fn apply(index: &Index, operation: Operation) {
        let note = CommitNote::new(1, |_| Vec::new());
        index.apply(&[operation], note, &Progress::new(), &AtomicBool::new(false)).expect("applied");
    }

    fn upsert(documents: String) -> Operation {
        Operation::Upsert(Upsert {
            payload: Payload::Bytes(documents.into_bytes().into()),
            method: WriteMethod::Replace,
            primary_key: Some("id".to_owned()),
            skip_creation: false,
        })
    }

    #[test]
    fn a_closed_index_is_summed_up_as_the_open_one() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
        let index = Index::create(folder.path(), options).expect("created");
        apply(&index, upsert((0..500).map(|id| format!("{{\"id\":{id},\"title\":\"number {id}\"}}\n")).collect()));
        apply(&index, upsert("{\"id\":1000,\"other\":true}\n".to_owned()));
        apply(&index, Operation::DeleteIds((0..40).map(|id| id.to_string()).collect()));
        let open = IndexSummary::of(&index.snapshot());
        assert_eq!((open.document_count, open.segment_count), (461, 2));
        assert!(open.store_bytes > 0);
        assert!(open.store_bytes < open.disk_bytes);
        assert_eq!(IndexSummary::read(folder.path()).expect("read beside the open index"), open);
        drop(index);
        assert_eq!(IndexSummary::read(folder.path()).expect("read"), open);
    }

    #[test]
    fn what_is_no_index_has_no_summary() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert!(matches!(IndexSummary::read(folder.path()), Err(IndexError::NotFound)));
        assert!(matches!(IndexSummary::read(&folder.path().join("missing")), Err(IndexError::NotFound)));
        assert!(!folder.path().join("missing").exists(), "reading creates nothing");
    }
}
