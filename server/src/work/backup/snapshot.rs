//! Snapshots: the database folder as it is now, made of links in milliseconds, without stopping writers or readers.
//!
//! ```text
//! <snapshot-dir>/
//!   <database>-20240203-040506078.snapshot/   a complete database folder
//!   <database>.snapshot                       link to the newest one
//! ```
//!
//! Segments are write-once, so a link is as good as a copy: it costs no space until the database drops the file. What
//! changes in place (SQLite files, small files) is copied. A folder gets its name when it is complete and durable.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lamina_base::options::EventsInBackups;
use lamina_base::timestamp::stamp;
use lamina_data::instance::{Instance, is_in_snapshots};
use lamina_data::tasks::{LiveBatch, Store, copy_database};
use time::OffsetDateTime;

use super::copy::{copy_durably, link_or_copy, sync_folder};
use super::{BackupError, BackupPlaces};

const SUFFIX: &str = ".snapshot";
const UNFINISHED: &str = ".unfinished-snapshot";

/// Makes a snapshot of what the database holds now. `finish` gets the copy of the task store before the snapshot is
/// published, to record in it what the original will record later.
///
/// # Errors
/// Nothing is left behind but, after a crash, a folder that the next snapshot removes.
pub(crate) fn create(
    instance: &Instance,
    places: &BackupPlaces,
    live: &LiveBatch,
    finish: impl FnOnce(&Store) -> Result<(), BackupError>,
) -> Result<String, BackupError> {
    let folder = &places.snapshots;
    fs::create_dir_all(folder).map_err(BackupError::io(folder))?;
    let unfinished = folder.join(format!("{}{UNFINISHED}", places.database_name));
    remove_if_there(&unfinished)?;
    fs::create_dir(&unfinished).map_err(BackupError::io(&unfinished))?;
    let steps = if places.remote.is_some() { 4 } else { 3 };
    let filled = fill(instance, &unfinished, live, steps, finish).and_then(|()| match places.events {
        EventsInBackups::None => Ok(()),
        _ => instance.events().link_to(&unfinished).map_err(BackupError::Api),
    });
    let made = filled.and_then(|()| match &places.remote {
        None => publish(places, &unfinished).map(|path| path.display().to_string()),
        Some(remote) => {
            live.steps.enter("sending the snapshot", 3, steps);
            let key = remote.send(&unfinished, live)?;
            remove_if_there(&unfinished)?;
            Ok(key)
        }
    });
    if made.is_err()
        && let Err(error) = remove_if_there(&unfinished)
    {
        tracing::warn!(%error, "cannot remove an unfinished snapshot");
    }
    made
}

fn fill(
    instance: &Instance,
    target: &Path,
    live: &LiveBatch,
    steps: u64,
    finish: impl FnOnce(&Store) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    live.steps.enter("copying the task queue", 0, steps);
    copy_top(instance.folder(), target)?;
    // The store first: the payloads of all tasks in the copy exist, since none is removed while a batch is under way.
    let store = Store::open(&target.join("tasks.sqlite"))?;
    live.steps.enter("linking the documents of waiting tasks", 1, steps);
    let payloads = target.join("payloads");
    fs::create_dir(&payloads).map_err(BackupError::io(&payloads))?;
    for file in store.payload_files()? {
        let source = instance.payload_folder().join(&file);
        link_or_copy(&source, &payloads.join(&file)).map_err(BackupError::io(&source))?;
    }
    sync_folder(&payloads).map_err(BackupError::io(&payloads))?;
    live.steps.enter("linking the indexes", 2, steps);
    link_indexes(instance, &target.join("indexes"), live)?;
    finish(&store)?;
    // The last connection takes the write-ahead log with it.
    drop(store);
    sync_folder(target).map_err(BackupError::io(target))
}

/// The files at the top: databases by their own means, the others as they are. All of them are small but the tasks.
fn copy_top(source: &Path, target: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(source).map_err(BackupError::io(source))? {
        let entry = entry.map_err(BackupError::io(source))?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let is_file = entry.file_type().map_err(BackupError::io(&from))?.is_file();
        let extension = from.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension {
            _ if !is_file || !is_in_snapshots(&entry.file_name().to_string_lossy()) => {}
            "sqlite" => copy_database(&from, &to)?,
            "sqlite-wal" | "sqlite-shm" | "tmp" => {}
            _ => copy_durably(&from, &to).map_err(BackupError::io(&from))?,
        }
    }
    Ok(())
}

fn link_indexes(instance: &Instance, target: &Path, live: &LiveBatch) -> Result<(), BackupError> {
    fs::create_dir(target).map_err(BackupError::io(target))?;
    let folders = instance.folders();
    live.steps.enter_inner(1, "index", folders.len() as u64);
    for (uid, folder) in folders {
        if live.is_cancelled() {
            return Err(BackupError::Cancelled);
        }
        let index = instance.index(&uid).map_err(BackupError::Api)?;
        let folder = target.join(folder);
        fs::create_dir(&folder).map_err(BackupError::io(&folder))?;
        let linked = index.snapshot().link_to(index.directory(), &folder);
        linked.map_err(|source| BackupError::Index { uid, source: Box::new(source) })?;
        live.steps.advance();
    }
    sync_folder(target).map_err(BackupError::io(target))
}

/// Gives the snapshot its name, points the link at it and removes the oldest ones.
fn publish(places: &BackupPlaces, unfinished: &Path) -> Result<PathBuf, BackupError> {
    let folder = &places.snapshots;
    let name = format!("{}-{}{SUFFIX}", places.database_name, stamp(OffsetDateTime::now_utc()));
    let path = folder.join(&name);
    fs::rename(unfinished, &path).map_err(BackupError::io(&path))?;
    let newest = folder.join(format!("{}{SUFFIX}", places.database_name));
    let next = folder.join(format!("{}.next-snapshot", places.database_name));
    remove_if_there(&next)?;
    symlink(&name, &next).and_then(|()| fs::rename(&next, &newest)).map_err(BackupError::io(&newest))?;
    sync_folder(folder).map_err(BackupError::io(folder))?;
    for old in existing(places)?.into_iter().rev().skip(places.snapshots_kept) {
        // The snapshot asked for is there: what cannot be removed is tried again next time.
        if let Err(error) = remove_if_there(&old) {
            tracing::warn!(%error, "cannot remove an old snapshot");
        }
    }
    Ok(path)
}

/// The snapshots of this database, the oldest one first.
fn existing(places: &BackupPlaces) -> Result<Vec<PathBuf>, BackupError> {
    let prefix = format!("{}-", places.database_name);
    let is_stamp = |text: &str| text.len() == 18 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let mut found = Vec::new();
    for entry in fs::read_dir(&places.snapshots).map_err(BackupError::io(&places.snapshots))? {
        let entry = entry.map_err(BackupError::io(&places.snapshots))?;
        let name = entry.file_name();
        let stamp = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(SUFFIX));
        if stamp.is_some_and(is_stamp) {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn remove_if_there(path: &Path) -> Result<(), BackupError> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    let removed = if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(BackupError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::backup::Attached;
    use lamina_engine::index::IndexOptions;

    fn places(folder: &Path) -> BackupPlaces {
        BackupPlaces {
            snapshots: folder.join("snapshots"),
            snapshots_kept: 2,
            dumps: folder.join("dumps"),
            events: EventsInBackups::Snapshots,
            attached: Attached::Folder(PathBuf::new()),
            database_name: "data".into(),
            remote: None,
        }
    }

    fn make(instance: &Instance, places: &BackupPlaces) -> PathBuf {
        // Names have milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(2));
        PathBuf::from(create(instance, places, &LiveBatch::bare(0, &[]), |_| Ok(())).unwrap())
    }

    #[test]
    fn the_newest_ones_are_kept_and_the_link_leads_to_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let (instance, _store) = Instance::open(&folder.path().join("data"), IndexOptions::default(), false).unwrap();
        let places = places(folder.path());
        let other = places.snapshots.join("data-other.snapshot");
        fs::create_dir_all(&other).unwrap();
        let made: Vec<PathBuf> = (0..4).map(|_| make(&instance, &places)).collect();
        assert_eq!(existing(&places).unwrap(), made[2..]);
        assert!(other.exists(), "only what is named like a snapshot is removed");
        let newest = places.snapshots.join("data.snapshot");
        assert_eq!(newest.canonicalize().unwrap(), made[3].canonicalize().unwrap());
        assert!(newest.join("VERSION").is_file());
        assert!(newest.join("instance-uid").is_file());
        assert!(!newest.join("lock").exists());
        assert!(!newest.join("tasks.sqlite-wal").exists());
    }

    #[test]
    fn nothing_is_left_of_a_snapshot_that_was_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let (instance, _store) = Instance::open(&folder.path().join("data"), IndexOptions::default(), false).unwrap();
        let places = places(folder.path());
        let refused = create(&instance, &places, &LiveBatch::bare(0, &[]), |_| Err(BackupError::Cancelled));
        assert!(matches!(refused, Err(BackupError::Cancelled)));
        assert_eq!(fs::read_dir(&places.snapshots).unwrap().count(), 0);
        // After a crash there would be an unfinished folder.
        fs::create_dir(places.snapshots.join("data.unfinished-snapshot")).unwrap();
        make(&instance, &places);
        assert_eq!(fs::read_dir(&places.snapshots).unwrap().count(), 2);
    }
}
