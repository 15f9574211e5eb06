//! States before the present one that are kept for a while, to be read and to be restored.
//!
//! A commit makes a generation, and so does a merge; what readers find changes with commits only, and a state is known by
//! the number of the commit that made it, its *contents*. While states are kept, a commit gives the manifest before it
//! another name (`kept-<generation>.lam`) in the place of removing it, and the files that only it names stay. A merge takes
//! the place of the generation that it rewrites. A state is kept until it has been replaced for as long as the caller says;
//! then its manifest goes, and after it the files that no other manifest names.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lamina_segment::segment::COMPARED_AT_OPENING_MAX;
use lamina_segment::storage::Directory;
use parking_lot::Mutex;

use super::commit::guards;
use super::error::IndexError;
use super::files::FileGuard;
use super::manifest::{Manifest, kept_generation, kept_name, manifest_generation, manifest_name};
use super::options::IndexOptions;
use super::recovery::{newest_of, open, read_manifest, remove_leftovers, segment_of, tombstones_of};
use super::snapshot::{Snapshot, now_nanos};
use crate::runtime::Runtime;

/// With more commits than this in the time for which states are kept, those are given up that lie closest together.
const KEPT_MAX: usize = 1000;
/// States before the present one that stay open for the next request.
pub(super) const OPENED_MAX: usize = 4;

/// Reference to a retained generation or the current snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The one with this number: that of its commit. Merges have numbers that name no state.
    Generation(u64),
    /// The newest that was there at this time.
    Time(SystemTime),
}

/// Description of a generation that is available without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationReport {
    /// Number of the state.
    pub generation: u64,
    pub committed_at: SystemTime,
    /// Live documents; 0 where it is damaged.
    pub document_count: u64,
    /// The last batch that was applied then.
    pub batch: Option<u64>,
    /// Reason for which it cannot be read, if there is one.
    pub damage: Option<String>,
    pub is_current: bool,
}

/// The states that an index keeps beside the present one.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Oldest first.
    pub(super) entries: Mutex<Vec<Arc<KeptGeneration>>>,
    /// The one that was used last is the last.
    pub(super) opened: Mutex<Vec<(u64, Arc<Snapshot>)>>,
}

#[derive(Debug)]
pub(super) struct KeptGeneration {
    pub(super) generation: u64,
    pub(super) contents: u64,
    /// Nanoseconds since 1970.
    committed_at: u64,
    document_count: u64,
    batch: Option<u64>,
    pub(super) files: Vec<Arc<FileGuard>>,
    damage: Option<String>,
    /// True if the manifest is unreadable, so that the files it names are unknown.
    pub(super) is_unreadable: bool,
}

impl KeptGeneration {
    pub(super) fn of_snapshot(snapshot: &Snapshot) -> KeptGeneration {
        KeptGeneration {
            generation: snapshot.generation,
            contents: snapshot.contents,
            committed_at: snapshot.committed_at_nanos,
            document_count: snapshot.document_count(),
            batch: snapshot.last_batch,
            files: guards(snapshot).cloned().collect(),
            damage: None,
            is_unreadable: false,
        }
    }

    fn of_manifest(directory: &Arc<dyn Directory>, manifest: &Manifest, damage: Option<String>) -> KeptGeneration {
        let body = &manifest.body;
        let all: u64 = body.segments.iter().map(|entry| u64::from(entry.meta.doc_count)).sum();
        let deleted = deleted_count(directory, manifest);
        KeptGeneration {
            generation: body.generation,
            contents: body.contents,
            committed_at: body.committed_at,
            document_count: all.saturating_sub(deleted),
            batch: body.last_batch,
            files: manifest.files().map(|file| FileGuard::kept(directory.clone(), file.clone())).collect(),
            damage,
            is_unreadable: false,
        }
    }

    fn unreadable(generation: u64, damage: String) -> KeptGeneration {
        KeptGeneration {
            generation,
            contents: generation,
            committed_at: 0,
            document_count: 0,
            batch: None,
            files: Vec::new(),
            damage: Some(damage),
            is_unreadable: true,
        }
    }

    pub(super) fn report(&self) -> GenerationReport {
        GenerationReport {
            generation: self.contents,
            committed_at: time(self.committed_at),
            document_count: if self.damage.is_some() { 0 } else { self.document_count },
            batch: self.batch,
            damage: self.damage.clone(),
            is_current: false,
        }
    }
}

/// Place of a generation that was found.
pub(super) enum Place {
    Current,
    Kept(Arc<KeptGeneration>),
}

impl Kept {
    /// The states that a folder with the files `names` holds beside `current`, whose manifest is `current_name`.
    ///
    /// # Errors
    /// What may be over in a moment. What is damaged is kept as such.
    pub(super) fn found(
        directory: &Arc<dyn Directory>,
        names: &[String],
        current_name: &str,
        current: &Snapshot,
        keep: Duration,
    ) -> Result<Kept, IndexError> {
        if keep.is_zero() {
            return Ok(Kept::default());
        }
        let mut entries = Vec::new();
        for name in names {
            // A crash between a commit and what follows it leaves the manifest before under its first name.
            let under_first_name = manifest_generation(name).filter(|before| *before < current.generation);
            let found = match (kept_generation(name), under_first_name) {
                (Some(generation), _) => read_kept(directory, name, generation)?,
                (None, Some(_)) if name != current_name => match interrupted(directory, name, current)? {
                    Some(entry) => entry,
                    None => continue,
                },
                _ => continue,
            };
            if let Some(damage) = &found.damage {
                tracing::error!(generation = found.contents, damage, "a kept state is damaged");
            }
            entries.push(Arc::new(found));
        }
        entries.sort_unstable_by_key(|entry: &Arc<KeptGeneration>| entry.generation);
        let kept = Kept { entries: Mutex::new(entries), opened: Mutex::default() };
        let given_up = kept.give_up(keep, current);
        remove_manifests(directory, &given_up);
        Ok(kept)
    }

    /// Reports whether a retained generation has or may have a file of this name. A generation with an unreadable
    /// manifest may have any file.
    pub(super) fn needs(&self, name: &str) -> bool {
        let entries = self.entries.lock();
        let generation = kept_generation(name).or_else(|| manifest_generation(name));
        if let Some(generation) = generation {
            return entries.iter().any(|entry| entry.generation == generation);
        }
        let may_be_named = name.starts_with("seg-") || name.starts_with("del-");
        let is_named = |entry: &Arc<KeptGeneration>| entry.files.iter().any(|guard| guard.name() == name);
        may_be_named && entries.iter().any(|entry| entry.is_unreadable || is_named(entry))
    }

    /// After the commit of `new`: keeps `old`, if readers found something else in it, and gives up what was kept for long
    /// enough. What no manifest names any more goes with its last reader.
    pub(super) fn retire(&self, directory: &Arc<dyn Directory>, keep: Duration, old: &Snapshot, new: &Snapshot) {
        for guard in guards(new) {
            guard.keep();
        }
        let is_kept = !keep.is_zero() && old.contents != new.contents && {
            let renamed = directory.rename(&manifest_name(old.generation), &kept_name(old.generation));
            renamed.inspect_err(|error| tracing::warn!(%error, "cannot keep an earlier state")).is_ok()
        };
        if is_kept {
            self.entries.lock().push(Arc::new(KeptGeneration::of_snapshot(old)));
        } else if old.generation != new.generation {
            let name = manifest_name(old.generation);
            if let Err(error) = directory.delete(&name) {
                tracing::warn!(file = name, %error, "could not remove the previous manifest");
            }
        }
        let given_up = self.give_up(keep, new);
        remove_manifests(directory, &given_up);
        let mut unneeded: Vec<&Arc<FileGuard>> = guards(old).collect();
        unneeded.extend(given_up.iter().flat_map(|entry| &entry.files));
        let current: HashSet<&str> = guards(new).map(|guard| guard.name()).collect();
        unneeded.retain(|guard| !current.contains(guard.name()));
        if unneeded.is_empty() {
            return;
        }
        let entries = self.entries.lock();
        let named: HashSet<&str> = entries.iter().flat_map(|entry| &entry.files).map(|guard| guard.name()).collect();
        for guard in unneeded.into_iter().filter(|guard| !named.contains(guard.name())) {
            guard.condemn();
        }
    }

    /// Takes out what need not be kept beside `current` any more.
    fn give_up(&self, keep: Duration, current: &Snapshot) -> Vec<Arc<KeptGeneration>> {
        let mut entries = self.entries.lock();
        if entries.is_empty() {
            return Vec::new();
        }
        let now = now_nanos();
        let mut given_up = Vec::new();
        let replaced_at = |entries: &[Arc<KeptGeneration>], position: usize| {
            // One that cannot be read does not say when it was made.
            let next = entries[position + 1..].iter().find(|next| !next.is_unreadable);
            next.map_or(current.committed_at_nanos, |next| next.committed_at)
        };
        let keep_nanos = u64::try_from(keep.as_nanos()).unwrap_or(u64::MAX);
        let is_over = |entries: &[Arc<KeptGeneration>]| {
            !entries.is_empty() && now.saturating_sub(replaced_at(entries, 0)) >= keep_nanos
        };
        while is_over(&entries) {
            given_up.push(entries.remove(0));
        }
        while entries.len() > KEPT_MAX {
            let gap =
                |position: &usize| replaced_at(&entries, *position).saturating_sub(entries[position - 1].committed_at);
            let closest = (1..entries.len()).min_by_key(gap).expect("there are many");
            given_up.push(entries.remove(closest));
        }
        if !given_up.is_empty() {
            self.opened.lock().retain(|(generation, _)| !given_up.iter().any(|gone| gone.generation == *generation));
        }
        given_up
    }

    pub(super) fn find(&self, at: At, current: &Snapshot) -> Result<Place, IndexError> {
        let entries = self.entries.lock();
        let is_current = match at {
            At::Generation(number) => number == current.contents,
            At::Time(at) => current.committed_at() <= at,
        };
        if is_current {
            return Ok(Place::Current);
        }
        let is_meant = |entry: &&Arc<KeptGeneration>| match at {
            At::Generation(number) => number == entry.contents,
            At::Time(at) => !entry.is_unreadable && time(entry.committed_at) <= at,
        };
        let found = entries.iter().rev().find(is_meant).ok_or_else(|| IndexError::GenerationNotFound {
            oldest: entries.first().map_or(current.contents, |entry| entry.contents),
        })?;
        match &found.damage {
            Some(reason) => Err(IndexError::DamagedGeneration { generation: found.contents, reason: reason.clone() }),
            None => Ok(Place::Kept(Arc::clone(found))),
        }
    }
}

/// Contents that were recovered from a directory.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) snapshot: Snapshot,
    pub(super) kept: Kept,
    pub(super) next_segment_id: u64,
}

/// Documents that a manifest says are deleted, as far as that can be read.
fn deleted_count(directory: &Arc<dyn Directory>, manifest: &Manifest) -> u64 {
    let mut inline = manifest.inline_tombstones.iter();
    let mut of = |entry| tombstones_of(&**directory, entry, &mut inline).ok().flatten().map_or(0, |dead| dead.len());
    manifest.body.segments.iter().map(|entry| u64::from(of(entry))).sum()
}

/// Reads the newest whole manifest, opens its segments, and removes the leftovers of crashes. States before it stay for
/// `keep` from when they were replaced.
///
/// Two manifests are there only when a crash fell between the commit of the newer one and the removal of the older one, or
/// when a commit failed and could not be taken back. Such a commit has removed its new segments, so a newest manifest that
/// names files that are not there gives way to the one before. Without one before, the newest that can be read is the
/// index, and what it names in vain are damaged segments. A newest manifest whose bytes are not those that were written
/// may be an acknowledged commit: the index is damaged, and only a repair goes back to the one before.
///
/// # Errors
/// [`IndexError::NotFound`] without any manifest; otherwise what is wrong with the newest one. Nothing is removed then.
pub(super) fn recover(directory: &Arc<dyn Directory>, options: &IndexOptions) -> Result<Recovered, IndexError> {
    let names = directory.list()?;
    let (name, manifest) = newest_of(&**directory, &names)?;
    let snapshot = open(directory, manifest, &options.runtime, options.compared_at_opening_max)?;
    // A crash may have left segments of a commit that no manifest knows: their names are not given again.
    let highest = names.iter().filter_map(|name| segment_of(name)).max();
    let next_segment_id = snapshot.next_segment_id.max(highest.map_or(0, |id| id.saturating_add(1)));
    let kept = Kept::found(directory, &names, name, &snapshot, options.keep)?;
    remove_leftovers(&**directory, &names, name, &snapshot, &|name| kept.needs(name));
    Ok(Recovered { snapshot, kept, next_segment_id })
}

/// A state under its name, damaged or not.
fn read_kept(directory: &Arc<dyn Directory>, name: &str, generation: u64) -> Result<KeptGeneration, IndexError> {
    match read_manifest(&**directory, name) {
        Ok(manifest) => Ok(KeptGeneration::of_manifest(directory, &manifest, None)),
        Err(error) if error.is_momentary() => Err(error),
        Err(error) => {
            let bytes = directory.open_read(name)?;
            Ok(match Manifest::from_bytes(name, &bytes) {
                Ok(manifest) => KeptGeneration::of_manifest(directory, &manifest, Some(error.to_string())),
                Err(_) => KeptGeneration::unreadable(generation, error.to_string()),
            })
        }
    }
}

/// The state before a commit that a crash left without what follows it; `None` where it is not to be kept.
fn interrupted(
    directory: &Arc<dyn Directory>,
    name: &str,
    current: &Snapshot,
) -> Result<Option<KeptGeneration>, IndexError> {
    let manifest = match read_manifest(&**directory, name) {
        Ok(manifest) if manifest.body.contents != current.contents => manifest,
        Err(error) if error.is_momentary() => return Err(error),
        _ => return Ok(None),
    };
    directory.rename(name, &kept_name(manifest.body.generation))?;
    Ok(Some(KeptGeneration::of_manifest(directory, &manifest, None)))
}

fn remove_manifests(directory: &Arc<dyn Directory>, given_up: &[Arc<KeptGeneration>]) {
    for entry in given_up {
        let name = kept_name(entry.generation);
        if let Err(error) = directory.delete(&name) {
            // The next start removes it.
            tracing::warn!(file = name, %error, "could not remove the manifest of a state");
        }
    }
}

/// Opens a state anew, sharing nothing with others.
pub(super) fn open_kept(
    directory: &Arc<dyn Directory>,
    entry: &KeptGeneration,
    runtime: &Arc<Runtime>,
) -> Result<Snapshot, IndexError> {
    let damaged = |reason: String| IndexError::DamagedGeneration { generation: entry.contents, reason };
    let opened = read_manifest(&**directory, &kept_name(entry.generation))
        .and_then(|manifest| open(directory, manifest, runtime, COMPARED_AT_OPENING_MAX))
        .and_then(|snapshot| snapshot.check_whole().map(|()| snapshot));
    opened.map_err(|error| if error.is_momentary() { error } else { damaged(error.to_string()) })
}

fn time(nanos: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)
}
