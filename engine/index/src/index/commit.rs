//! From one snapshot to the next: what is written, in which order.
//!
//! 1. New segment and tombstone files are written and synced, under names no manifest knows yet.
//! 2. The new manifest is written under a temporary name, synced, renamed, and the folder is synced. This is the
//!    commit: before the rename a restart finds the old manifest, after it the new one, and both sets of files exist.
//! 3. The old manifest is removed or kept, see [`super::generations`]; files that no manifest names go with their last reader.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use lamina_segment::segment::FileMeta;
use lamina_segment::storage::Directory;
use lamina_text::id::SegmentId;

use super::error::IndexError;
use super::files::FileGuard;
use super::manifest::{Body, DeletedMeta, Manifest, SegmentEntry, manifest_name, write_beside};
use super::settings::STORED_VERSION;
use super::snapshot::Snapshot;
use super::tombstones::{TombstoneFile, Tombstones};

/// Makes `snapshot` the durable state. Its segment files must be synced already. `inline_tombstones_max`: see
/// [`IndexOptions::inline_tombstones_max`](super::IndexOptions::inline_tombstones_max).
pub(super) fn persist(
    directory: &Arc<dyn Directory>,
    snapshot: &Snapshot,
    inline_tombstones_max: usize,
) -> Result<(), IndexError> {
    for segment in &snapshot.segments {
        if let Some(deleted) = &segment.deleted
            && deleted.file().is_none()
            && deleted.serialized_bytes() > inline_tombstones_max
        {
            write_tombstones(directory, segment.id(), snapshot.generation, deleted)?;
        }
    }
    let manifest = manifest_of(snapshot);
    let name = manifest_name(snapshot.generation);
    if let Err(error) = directory.atomic_write(&name, &manifest.to_bytes()) {
        // The rename may have happened. Taking it back keeps the promise that a failed commit changes nothing; should
        // that fail as well, the manifest names files that are about to go, so recovery passes over it.
        let _ = directory.delete(&name);
        return Err(error.into());
    }
    Ok(())
}

impl Snapshot {
    /// Makes `folder` (existing, empty, on the same file system) a complete index with the content of this snapshot:
    /// files are linked, only the manifest is written. Does not stop writers.
    ///
    /// # Errors
    /// What the file system says, or that a segment is damaged: the copy would look whole.
    pub fn link_to(&self, directory: &dyn Directory, folder: &Path) -> Result<(), IndexError> {
        self.check_whole()?;
        for guard in guards(self) {
            directory.hard_link_to(guard.name(), &folder.join(guard.name()))?;
        }
        write_beside(folder, &manifest_of(self).to_bytes(), self.generation)?;
        // Only Unix lets a folder be opened and synced.
        if cfg!(unix) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

/// Returns the guards of all files, those of damaged segments too: the manifest goes on naming them.
pub(super) fn guards(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<FileGuard>> {
    let sound = snapshot.segments.iter().flat_map(|segment| {
        let tombstones = segment.deleted.as_ref().and_then(|deleted| deleted.file());
        segment.files.iter().chain(tombstones.map(|file| &file.guard))
    });
    sound.chain(snapshot.damaged.iter().flat_map(|segment| &*segment.files))
}

pub(super) fn manifest_of(snapshot: &Snapshot) -> Manifest {
    let mut inline_tombstones = Vec::new();
    let sound = snapshot.segments.iter().map(|segment| {
        let deleted = segment.deleted.as_ref().map(|deleted| match deleted.file() {
            Some(file) => DeletedMeta::File(file.meta.clone()),
            None => {
                let bytes = deleted.to_bytes();
                let length = bytes.len() as u64;
                inline_tombstones.push(bytes);
                DeletedMeta::Inline { bytes: length }
            }
        });
        SegmentEntry { meta: segment.reader.meta().clone(), deleted }
    });
    let mut segments: Vec<SegmentEntry> = sound.collect();
    for segment in &*snapshot.damaged {
        segments.push(segment.entry.clone());
        inline_tombstones.extend(segment.inline_tombstones.clone());
    }
    Manifest {
        body: Body {
            generation: snapshot.generation,
            contents: snapshot.contents,
            committed_at: snapshot.committed_at_nanos,
            name: snapshot.name.as_deref().map(str::to_owned),
            created_at: snapshot.created_at_nanos,
            updated_at: snapshot.updated_at_nanos,
            primary_key: snapshot.primary_key.as_deref().map(str::to_owned),
            mark: snapshot.mark.as_deref().map(str::to_owned),
            next_internal_id: snapshot.next_internal_id,
            next_segment_id: snapshot.next_segment_id,
            ancestors: snapshot.ancestors.clone(),
            last_batch: snapshot.last_batch,
            outcome_bytes: snapshot.last_outcome.len() as u64,
            settings_version: STORED_VERSION,
            settings: snapshot.settings.clone(),
            fields: snapshot.fields.names().map(str::to_owned).collect(),
            field_distribution: snapshot.field_distribution.clone(),
            segments,
        },
        outcome: snapshot.last_outcome.to_vec(),
        inline_tombstones,
    }
}

fn write_tombstones(
    directory: &Arc<dyn Directory>,
    segment: SegmentId,
    generation: u64,
    tombstones: &Tombstones,
) -> Result<(), IndexError> {
    let bytes = tombstones.to_bytes();
    let name = format!("del-{:016x}-{generation:016x}.lam", segment.0);
    // A file that has the name already is not this one.
    let mut file = directory.create(&name)?;
    if let Err(error) = file.write_all(&bytes).and_then(|()| file.sync()) {
        drop(file);
        // When even this fails, recovery does it later.
        let _ = directory.delete(&name);
        return Err(error.into());
    }
    let meta = FileMeta { name, bytes: bytes.len() as u64, checksum: crc32fast::hash(&bytes) };
    let guard = FileGuard::provisional(directory.clone(), meta.clone());
    tombstones.set_file(TombstoneFile { meta, guard });
    Ok(())
}
