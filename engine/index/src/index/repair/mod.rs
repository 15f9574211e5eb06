//! Repair of an index that no process has open: what is sound stays as it is, a damaged segment is written anew from the
//! documents that can be read, and what was damaged is kept aside.
//!
//! Terms, postings, tokens, columns, points, shapes and keys are made of the documents: losing them loses nothing. Of the
//! store each block counts for itself. Internal ids keep the order of insertion, tombstones say what is deleted.

mod manifests;
mod rebuild;
mod report;
mod words;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashSet;
use lamina_segment::storage::{Directory, MappedDirectory};

use super::commit::{guards, persist};
use super::damaged::Damage;
use super::error::IndexError;
use super::lock::IndexLock;
use super::manifest::manifest_generation;
use super::options::INLINE_TOMBSTONES_MAX;
use super::recovery::{is_ours, segment_of};
use super::snapshot::{SegmentView, Snapshot};
use super::transaction::count_fields;

use manifests::{Found, find};
use rebuild::{Rebuild, Rebuilt};
pub use report::{LostVectors, ManifestFound, RepairReport, SegmentRepair};

/// Choices of the person who repairs.
#[derive(Clone, Copy)]
pub struct RepairOptions<'a> {
    /// Folder for damaged files, on the same file system; it is created. `None`: nothing is changed, and the report
    /// describes what a repair would do.
    pub aside: Option<&'a Path>,
    /// Heap that a segment in the making may take, in bytes.
    pub memory_bytes: usize,
    /// Called with the number of documents that are read, some thousand times a second at most.
    pub progress: &'a dyn Fn(u64),
}

/// Examines the index in `folder`, and repairs it unless it is only to be looked at. Cost: a look at every byte, and what it
/// takes to index the documents of damaged segments.
///
/// # Errors
/// The index is in use, no file of it can be made out, or the disk fails. It is as it was then; what was written anew already
/// is removed when the index is opened.
pub fn repair(folder: &Path, options: RepairOptions<'_>) -> Result<RepairReport, IndexError> {
    if !folder.is_dir() {
        return Err(IndexError::NotFound);
    }
    let directory: Arc<dyn Directory> = Arc::new(MappedDirectory::open(folder)?);
    let _lock = IndexLock::acquire(folder)?;
    let Found { mut snapshot, manifest } = find(&directory)?;
    let names = directory.list()?;
    // A newer manifest, which is damaged, may have named others than this one knows of.
    let highest = names.iter().filter_map(|name| segment_of(name)).max();
    let mut next_segment_id = snapshot.next_segment_id.max(highest.map_or(0, |id| id.saturating_add(1)));
    set_unsound_aside(&mut snapshot);
    let mut report = RepairReport { manifest, sound_segments: snapshot.segments.len(), ..RepairReport::default() };
    if snapshot.damaged.is_empty() && report.manifest == ManifestFound::Sound {
        report.document_count = snapshot.document_count();
        return Ok(report);
    }
    let damaged = std::mem::replace(&mut snapshot.damaged, Arc::new([]));
    let mut rebuild = Rebuild::new(&directory, &mut snapshot, &mut next_segment_id, options)?;
    let mut rebuilt = Rebuilt::default();
    for segment in &*damaged {
        report.segments.push(rebuild.segment(segment, &mut rebuilt)?);
    }
    rebuild.finish();
    report.document_count = snapshot.document_count() + report.segments.iter().map(|segment| segment.kept).sum::<u64>();
    let Some(aside) = options.aside else { return Ok(report) };

    snapshot.segments.extend(rebuilt.segments);
    snapshot.segments.retain(|segment| segment.live_count() > 0);
    snapshot.field_distribution = Arc::new(count_fields(&snapshot.segments)?);
    // Damaged manifests may be newer than the one that counts.
    let newest = names.iter().filter_map(|name| manifest_generation(name)).max().unwrap_or(0);
    let generation = newest.max(snapshot.generation) + 1;
    snapshot.ancestors = snapshot.history().ancestors_of(generation);
    snapshot.generation = generation;
    snapshot.contents = snapshot.generation;
    snapshot.next_segment_id = next_segment_id;
    // Documents may be lost: what is there is not what the mark stands for.
    snapshot.mark = None;
    let replaced = replaced_files(names, &snapshot);
    link_aside(folder, aside, &replaced)?;
    persist(&directory, &snapshot, INLINE_TOMBSTONES_MAX)?;
    guards(&snapshot).for_each(|guard| guard.keep());
    // They are kept aside already; what cannot be removed is removed when the index is opened.
    replaced.iter().filter_map(|name| directory.delete(name).err()).for_each(|error| {
        tracing::warn!(%error, "could not remove a damaged file");
    });
    Ok(report)
}

/// Moves segments of which any byte is wrong to the damaged ones.
fn set_unsound_aside(snapshot: &mut Snapshot) {
    let mut damaged = snapshot.damaged.to_vec();
    snapshot.segments.retain(|view: &SegmentView| {
        let damage = view.reader.verify().err().map(IndexError::from);
        let Some(damage) = damage.as_ref().and_then(Damage::of) else { return true };
        damaged.push(view.set_aside(damage));
        false
    });
    snapshot.damaged = damaged.into();
}

/// The files of the index that `snapshot` does not need: those of damaged segments, all manifests, and leftovers that no
/// manifest names, since these would be removed when the index is opened.
fn replaced_files(mut names: Vec<String>, snapshot: &Snapshot) -> Vec<String> {
    let kept: HashSet<&str> = guards(snapshot).map(|guard| guard.name()).collect();
    names.retain(|name| is_ours(name) && !kept.contains(name.as_str()));
    names
}

/// Makes the files durable in the folder `aside` before the index lets go of them.
fn link_aside(folder: &Path, aside: &Path, names: &[String]) -> Result<(), IndexError> {
    fs::create_dir_all(aside)?;
    for name in names {
        fs::hard_link(folder.join(name), aside.join(name))?;
    }
    // Only Unix lets a folder be opened and synced.
    if cfg!(unix) {
        fs::File::open(aside)?.sync_all()?;
    }
    Ok(())
}
