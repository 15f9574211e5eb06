//! An index that follows the commits of another process: what a manifest names, and the step to a manifest that came from
//! outside.

use std::fs::File;
use std::path::Path;

use hashbrown::{HashMap, HashSet};

use super::commit::{guards, manifest_of};
use super::error::IndexError;
use super::handle::Index;
use super::history::History;
use super::kept::Kept;
use super::manifest::{Manifest, kept_generation, manifest_generation, manifest_name, write_beside};
use super::recovery::open_reusing;
use super::shared::Shared;
use super::snapshot::Snapshot;

/// A file of an index, as its manifest has it. The name is a plain one: no path can be made of it that leaves a folder.
pub use lamina_segment::segment::FileMeta as NamedFile;

/// Commit that a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestContents {
    /// See [`Snapshot::generation`].
    pub generation: u64,
    /// The files that make the index, besides the manifest.
    pub files: Vec<NamedFile>,
}

impl ManifestContents {
    /// Reads a manifest from anywhere. Cost: parsing some kilobytes of JSON.
    ///
    /// # Errors
    /// [`IndexError::CorruptManifest`], also for a file name that no index has; [`IndexError::ManifestTooNew`].
    pub fn read(manifest: &[u8]) -> Result<ManifestContents, IndexError> {
        let manifest = Manifest::from_bytes(RECEIVED, manifest)?;
        Ok(ManifestContents { generation: manifest.body.generation, files: manifest.files().cloned().collect() })
    }
}

/// Name of a received manifest in errors.
const RECEIVED: &str = "the received manifest";

impl Snapshot {
    /// The manifest of this state: all that another process needs besides the files that it names.
    ///
    /// # Errors
    /// [`IndexError::DamagedSegment`]: what is damaged is not passed on.
    pub fn to_manifest(&self) -> Result<Vec<u8>, IndexError> {
        self.check_whole()?;
        Ok(manifest_of(self).to_bytes())
    }

    /// The files that make this state, besides the manifest. They stay where they are for as long as the snapshot is held.
    ///
    /// # Errors
    /// The errors of [`Snapshot::to_manifest`].
    pub fn named_files(&self) -> Result<Vec<NamedFile>, IndexError> {
        self.check_whole()?;
        let manifest = manifest_of(self);
        Ok(manifest.files().cloned().collect())
    }

    /// Reports whether this snapshot has a file of this name, including files of damaged segments and of tombstones.
    pub fn names_file(&self, name: &str) -> bool {
        manifest_of(self).files().any(|file| file.name == name)
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

/// Makes `folder`, which holds the files that the manifest names, an index. Durable when this returns. Does nothing where it is that index
/// already.
///
/// # Errors
/// [`IndexError::AlreadyExists`] where a manifest of any other state is there: which of them is the index is not for chance to say. What is
/// wrong with the manifest, or what the file system says.
pub fn place_manifest(folder: &Path, manifest: &[u8]) -> Result<(), IndexError> {
    let generation = Manifest::from_bytes(RECEIVED, manifest)?.body.generation;
    let mut is_placed = false;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let is_manifest = |name: &str| manifest_generation(name).or_else(|| kept_generation(name)).is_some();
        if !name.to_str().is_some_and(is_manifest) {
            continue;
        }
        if name != *manifest_name(generation) || std::fs::read(path)? != manifest {
            return Err(IndexError::AlreadyExists);
        }
        is_placed = true;
    }
    if !is_placed {
        write_beside(folder, manifest, generation)?;
    }
    Ok(File::open(folder)?.sync_all()?)
}

/// Way in which an index can reach a snapshot of another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The folder has this state already.
    Here,
    /// The state goes on from that of the index, whose folder can hold it. All files that it names, but those that are in use there
    /// already, are to be put into the folder, in the place of what may have their names; then [`Index::follow`].
    On {
        /// The files in use.
        in_use: Vec<NamedFile>,
    },
    /// The state does not go on from that of the index, or names a file whose name another one has that is in use: it is of another
    /// history, and needs a folder of its own.
    Apart,
}

impl Way {
    /// By what numbers say of the state that is here and of the one that comes. `is_same`: they are the same. `is_published`: the one
    /// that is here is a published state.
    pub fn by_history(here: &History, incoming: &History, is_same: bool, is_published: bool) -> Way {
        match is_same {
            true => Way::Here,
            false if incoming.goes_on_from(here, is_published) => Way::On { in_use: Vec::new() },
            false => Way::Apart,
        }
    }

    /// Returns the way to a state with the files `incoming`: apart, if the folder of the index cannot hold them beside those that the present state and
    /// kept ones have. `may_be_used`: whether a file that has a name may belong to a state that cannot be read.
    pub fn beside<'a>(
        self,
        used: impl Iterator<Item = &'a NamedFile>,
        incoming: impl Iterator<Item = &'a NamedFile>,
        may_be_used: impl Fn(&str) -> bool,
    ) -> Way {
        if !matches!(self, Way::On { .. }) {
            return self;
        }
        let mut by_name: HashMap<&str, HashSet<&NamedFile>> = HashMap::new();
        for file in used {
            by_name.entry(&file.name).or_default().insert(file);
        }
        let mut in_use = Vec::new();
        for file in incoming {
            match by_name.get(file.name.as_str()) {
                Some(same) if same.len() == 1 && same.contains(file) => in_use.push(file.clone()),
                None if !may_be_used(&file.name) => {}
                _ => return Way::Apart,
            }
        }
        Way::On { in_use }
    }
}

impl Index {
    /// Determines how the index can reach the snapshot of a manifest that another process has written. `is_published`:
    /// the snapshot of the index is known to be one that was published. Nothing changes.
    ///
    /// # Errors
    /// An invalid manifest, or a damaged segment of the index.
    pub fn way_to(&self, manifest: &[u8], is_published: bool) -> Result<Way, IndexError> {
        let shared = self.shared();
        let _writer = shared.lock_writer();
        way(shared, &Manifest::from_bytes(RECEIVED, manifest)?, manifest, is_published)
    }

    /// Becomes the state of a manifest that another process has written, to which the [way](Way) is [`Way::On`] or [`Way::Here`]. Durable
    /// first, then visible; readers go on with what they have. Segments that both states have stay open with their caches.
    ///
    /// For an index that nothing else writes: background merges are off, nothing is applied.
    ///
    /// # Errors
    /// [`IndexError::OtherHistory`] where the way is another one; what is wrong with the manifest or its files. Nothing has changed then.
    pub fn follow(&self, manifest: &[u8], is_published: bool) -> Result<(), IndexError> {
        let shared = self.shared();
        let writer = shared.lock_writer();
        let (old, bytes, directory) = (shared.snapshot(), manifest, &shared.directory);
        let manifest = Manifest::from_bytes(RECEIVED, bytes)?;
        let name = manifest_name(manifest.body.generation);
        match way(shared, &manifest, bytes, is_published)? {
            Way::Here if has_manifest(shared, &name, bytes) => return Ok(()),
            Way::Apart => return Err(IndexError::OtherHistory),
            // The same state may come from a program that says more, or less, of what will be.
            Way::Here | Way::On { .. } => {}
        }
        for file in manifest.files() {
            let found = directory.len(&file.name)?;
            if found != file.bytes {
                return Err(IndexError::WrongFileLength { file: file.name.clone(), expected: file.bytes, found });
            }
        }
        let snapshot = open_reusing(directory, manifest, &shared.options, &old)?;
        snapshot.check_whole()?;
        directory.atomic_write(&name, bytes)?;
        writer.replace(snapshot);
        Ok(())
    }
}

fn has_manifest(shared: &Shared, name: &str, bytes: &[u8]) -> bool {
    shared.directory.open_read(name).is_ok_and(|have| *have == *bytes)
}

/// With the lock of the writer.
fn way(shared: &Shared, incoming: &Manifest, bytes: &[u8], is_published: bool) -> Result<Way, IndexError> {
    let here = shared.snapshot();
    here.check_whole()?;
    let body = &incoming.body;
    let history =
        History { generation: body.generation, created_at: body.created_at, ancestors: body.ancestors.clone() };
    let is_equal = || {
        let mut own = manifest_of(&here);
        own.body.next_segment_id = body.next_segment_id;
        own.body.ancestors.clone_from(&body.ancestors);
        own == *incoming
    };
    let is_same = body.generation == here.generation
        && (has_manifest(shared, &manifest_name(body.generation), bytes) || is_equal());
    let Kept { entries, .. } = &shared.kept;
    let entries = entries.lock();
    // What a state names that cannot be read is not known.
    let is_unknown = entries.iter().any(|entry| entry.is_unreadable);
    let used = guards(&here).chain(entries.iter().flat_map(|entry| &entry.files)).map(|guard| guard.meta());
    let way = Way::by_history(&here.history(), &history, is_same, is_published);
    Ok(way.beside(used, incoming.files(), |name| is_unknown && shared.directory.len(name).is_ok()))
}

#[cfg(test)]
mod tests;
