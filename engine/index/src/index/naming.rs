//! What the caller calls an index: kept in the manifest, so that a folder says by itself what it is when whatever led to it
//! is lost. The engine reads nothing into it.

use std::path::Path;
use std::sync::Arc;

use lamina_segment::storage::MappedDirectory;

use super::error::IndexError;
use super::handle::Index;
use super::manifest::Manifest;
use super::recovery::newest_manifest;
use super::snapshot::Snapshot;

/// Contents of the newest manifest of a folder, without its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestSummary {
    /// `None` if the caller has not named it.
    pub name: Option<String>,
    pub primary_key: Option<String>,
    /// The last applied batch; `None` before the first one.
    pub last_batch: Option<u64>,
    /// Outcome of that batch, which its caller asked to store.
    pub outcome: Vec<u8>,
}

impl Index {
    /// Keeps `name` in the manifest: durable when this returns. Writes nothing when it is there already.
    ///
    /// # Errors
    /// The name stays as it was then.
    pub fn set_name(&self, name: &str) -> Result<(), IndexError> {
        let writer = self.shared().lock_writer();
        let current = self.snapshot();
        if current.name.as_deref() == Some(name) {
            return Ok(());
        }
        let mut renamed = Snapshot::clone(&current);
        renamed.generation = self.shared().next_generation(&current);
        renamed.name = Some(Arc::from(name));
        writer.publish(renamed)
    }
}

/// Reads the newest manifest of the index in `folder`, which may be open elsewhere. Changes nothing. Costs a list of the
/// folder, one small file, and a look at the length of each file that it names; where files are missing, the manifest still
/// gives the name.
///
/// # Errors
/// [`IndexError::NotFound`] without any manifest; otherwise what is wrong with the newest one.
pub fn read_summary(folder: &Path) -> Result<ManifestSummary, IndexError> {
    if !folder.is_dir() {
        // Opening the directory would create it.
        return Err(IndexError::NotFound);
    }
    let Manifest { body, outcome, .. } = newest_manifest(&MappedDirectory::open(folder)?)?;
    Ok(ManifestSummary { name: body.name, primary_key: body.primary_key, last_batch: body.last_batch, outcome })
}

#[cfg(test)]
mod tests {
    use super::super::{CommitNote, IndexOptions, Operation, Progress};
    use super::*;
    use std::fs;
    use std::sync::atomic::AtomicBool;

    fn named(folder: &Path) -> Index {
        Index::create_named(folder, "films", 4, IndexOptions::default()).expect("a new index")
    }

    #[test]
    fn a_folder_says_what_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        assert!(matches!(read_summary(&path), Err(IndexError::NotFound)));
        assert!(!path.exists(), "looking makes nothing");
        let index = named(&path);
        let first = read_summary(&path).expect("a manifest");
        assert_eq!((first.name.as_deref(), first.last_batch, first.outcome.len()), (Some("films"), Some(4), 0));
        index.set_name("books").expect("room for a manifest");
        let operation = Operation::SetPrimaryKey(Some("id".to_owned()));
        let note = CommitNote::new(7, |_| b"note".to_vec());
        index.apply(&[operation], note, &Progress::new(), &AtomicBool::new(false)).expect("applied");
        let later = read_summary(&path).expect("a manifest");
        assert_eq!(later.name.as_deref(), Some("books"));
        assert_eq!((later.last_batch, later.primary_key.as_deref()), (Some(7), Some("id")));
        assert_eq!(later.outcome, b"note");
        drop(index);
        let again = Index::open(&path, IndexOptions::default()).expect("an index");
        assert_eq!(again.snapshot().name.as_deref(), Some("books"));
        let generation = again.snapshot().generation;
        again.set_name("books").expect("nothing to do");
        assert_eq!(again.snapshot().generation, generation, "what is there already is not written again");
    }

    #[test]
    fn a_damaged_manifest_says_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        let index = named(&path);
        index.set_name("films of 1920").expect("room for a manifest");
        drop(index);
        let mut files = fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path());
        let manifest = files.find(|path| path.to_string_lossy().contains("manifest-")).expect("one");
        let mut bytes = fs::read(&manifest).expect("a file");
        bytes[40] ^= 1;
        fs::write(&manifest, bytes).expect("written");
        assert!(matches!(read_summary(&path), Err(IndexError::CorruptManifest { .. })));
    }
}
