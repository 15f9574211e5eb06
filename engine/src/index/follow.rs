//! An index that follows the commits of another process: what a manifest names, and the step to a manifest that came from
//! outside.

use std::fs::File;
use std::path::Path;

use super::commit::manifest_of;
use super::error::IndexError;
use super::handle::Index;
use super::manifest::{Manifest, kept_generation, manifest_generation, manifest_name, write_beside};
use super::recovery::{Recovered, open_reusing};
use super::snapshot::Snapshot;
use crate::segment::FileMeta;

/// A file of an index, as its manifest has it. The name is a plain one: no path can be made of it that leaves a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32 of the whole file.
    pub checksum: u32,
}

/// What a manifest says of the commit that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestContents {
    /// See [`Snapshot::generation`].
    pub generation: u64,
    /// The files that make the index, besides the manifest.
    pub files: Vec<NamedFile>,
}

impl From<&FileMeta> for NamedFile {
    fn from(file: &FileMeta) -> NamedFile {
        NamedFile { name: file.name.clone(), bytes: file.bytes, checksum: file.checksum }
    }
}

impl ManifestContents {
    /// Reads a manifest from anywhere. Cost: parsing some kilobytes of JSON.
    ///
    /// # Errors
    /// [`IndexError::CorruptManifest`], also for a file name that no index has; [`IndexError::ManifestTooNew`].
    pub fn read(manifest: &[u8]) -> Result<ManifestContents, IndexError> {
        let manifest = Manifest::from_bytes(RECEIVED, manifest)?;
        Ok(ManifestContents {
            generation: manifest.body.generation,
            files: manifest.files().map(NamedFile::from).collect(),
        })
    }
}

/// What errors call a manifest that came from outside.
const RECEIVED: &str = "the received manifest";

impl Snapshot {
    /// The manifest of this state: all that another process needs besides the files that it names.
    ///
    /// # Errors
    /// [`IndexError::DamagedSegment`]: what is damaged is not passed on.
    pub fn to_manifest(&self) -> Result<Vec<u8>, IndexError> {
        self.check_whole()?;
        let next_segment_id = self.segments.iter().map(|segment| segment.id().0 + 1).max().unwrap_or(0);
        Ok(manifest_of(self, next_segment_id).to_bytes())
    }

    /// The files that make this state, besides the manifest. They stay where they are for as long as the snapshot is held.
    ///
    /// # Errors
    /// As [`Snapshot::to_manifest`].
    pub fn named_files(&self) -> Result<Vec<NamedFile>, IndexError> {
        self.check_whole()?;
        let manifest = manifest_of(self, 0);
        Ok(manifest.files().map(NamedFile::from).collect())
    }

    /// Whether this state has a file of this name, of a damaged segment or of tombstones as well.
    pub fn names_file(&self, name: &str) -> bool {
        manifest_of(self, 0).files().any(|file| file.name == name)
    }
}

/// The generation of the index in `folder`, by the names of its manifests: reads no file.
pub fn newest_generation(folder: &Path) -> Option<u64> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries.filter_map(|entry| manifest_generation(entry.ok()?.file_name().to_str()?)).max()
}

/// Number of states before the present one that the index in `folder` keeps, as far as the names in it say.
pub fn kept_state_count(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.filter_map(|entry| kept_generation(entry.ok()?.file_name().to_str()?)).count()
}

/// Makes `folder`, which holds the files that the manifest names, an index. Durable when this returns.
///
/// # Errors
/// What is wrong with the manifest, or what the file system says.
pub fn place_manifest(folder: &Path, manifest: &[u8]) -> Result<(), IndexError> {
    write_beside(folder, &Manifest::from_bytes(RECEIVED, manifest)?)?;
    Ok(File::open(folder)?.sync_all()?)
}

/// What came of [`Index::follow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The index has this state already.
    Unchanged,
    /// It has it now.
    Advanced,
    /// It has another state of this generation, a later one, or another file of the same name: it is of another history.
    /// Nothing has changed; the state needs a folder of its own.
    Diverged,
}

impl Index {
    /// Becomes the state of a manifest that another process has written; the files that it names are in the folder. Durable
    /// first, then visible; readers go on with what they have. Segments that both states have stay open with their caches.
    ///
    /// For an index that nothing else writes: background merges are off, nothing is applied.
    ///
    /// # Errors
    /// What is wrong with the manifest or its files. Nothing has changed then.
    pub fn follow(&self, manifest: &[u8]) -> Result<Followed, IndexError> {
        let shared = self.shared();
        let writer = shared.lock_writer();
        let (old, bytes, directory) = (shared.snapshot(), manifest, &shared.directory);
        let manifest = Manifest::from_bytes(RECEIVED, bytes)?;
        let name = manifest_name(manifest.body.generation);
        if manifest.body.generation <= old.generation {
            // A server that has published the state itself has written it with more: how far the ids of segments have got.
            let is_own = || old.to_manifest().is_ok_and(|have| *have == *bytes);
            let is_same = directory.open_read(&name).is_ok_and(|have| *have == *bytes) || is_own();
            return Ok(if is_same { Followed::Unchanged } else { Followed::Diverged });
        }
        let have = old.named_files()?;
        let is_other = |file: &NamedFile| have.iter().any(|have| have.name == file.name && have != file);
        if manifest.files().map(NamedFile::from).any(|file| is_other(&file)) {
            return Ok(Followed::Diverged);
        }
        for file in manifest.files() {
            let found = directory.len(&file.name)?;
            if found != file.bytes {
                return Err(IndexError::WrongFileLength { file: file.name.clone(), expected: file.bytes, found });
            }
        }
        let Recovered { snapshot, .. } = open_reusing(directory, manifest, &shared.options, &old)?;
        snapshot.check_whole()?;
        directory.atomic_write(&name, bytes)?;
        writer.replace(snapshot);
        Ok(Followed::Advanced)
    }
}

#[cfg(test)]
mod tests;
