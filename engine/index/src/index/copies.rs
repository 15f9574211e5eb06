//! Copies of an index: one that is another index, and one that takes its place.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use lamina_segment::storage::{Directory, MappedDirectory};

use super::error::IndexError;
use super::handle::Index;
use super::history::{start_from, start_of_copy};
use super::manifest::{manifest_name, write_beside};
use super::recovery::newest_manifest;
use super::snapshot::{Snapshot, now_nanos};

impl Index {
    /// Makes `folder` (existing, empty, on the same file system) an index of its own with the present content of this one: called `name`,
    /// made now by `batch`, with numbers of its own. Files are linked, only the manifest is written. Does not stop writers.
    ///
    /// # Errors
    /// The errors of [`Snapshot::link_to`].
    pub fn clone_to(&self, folder: &Path, name: &str, batch: u64) -> Result<(), IndexError> {
        let (now, start) = (now_nanos(), start_from(self.shared().options.first_number.get()));
        let clone = Snapshot {
            name: Some(Arc::from(name)),
            generation: start,
            contents: start,
            ancestors: Arc::default(),
            created_at_nanos: now,
            updated_at_nanos: now,
            committed_at_nanos: now,
            last_batch: Some(batch),
            last_outcome: Arc::new([]),
            ..Snapshot::clone(&self.snapshot())
        };
        clone.link_to(self.directory(), folder)
    }
}

/// Lets the index in `folder`, which no process has open, give no number from now on that the one gives, or gave, of which it is a copy. The
/// present state keeps its number. Durable when this returns. Cost: a manifest is written.
///
/// # Errors
/// A newest manifest that cannot be read, or the refusal of the file system.
pub fn leave_numbers_to_original(folder: &Path) -> Result<(), IndexError> {
    let directory = MappedDirectory::open(folder)?;
    let mut manifest = newest_manifest(&directory)?;
    let before = manifest.body.generation;
    let Some(generation) = start_of_copy(before) else { return Ok(()) };
    manifest.body.generation = generation;
    write_beside(folder, &manifest.to_bytes(), generation)?;
    directory.delete(&manifest_name(before))?;
    // Only Unix lets a folder be opened and synced.
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
