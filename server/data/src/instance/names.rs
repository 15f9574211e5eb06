//! Which folder is which index, at a start.
//!
//! SQLite says it as long as it is sound. What it does not name is, by this order:
//! 1. a folder that was being made or removed when a crash came, which SQLite says as well: removed;
//! 2. where tasks were lost, or SQLite is empty: an index whose name was lost with them, which its manifest says;
//! 3. anything else: put aside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use lamina_base::plural::counted;
use lamina_base::stored_names::FolderName;
use lamina_engine::index::{IndexError, ManifestSummary, read_summary};
use lamina_protocol::wire::identifier::check_index_uid;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::error::{InstanceError, io_error};
use super::opening::Opened;
use super::quarantine::put_aside;
use crate::tasks::{FinishedBatch, Store};

/// Uids that are passed over after a loss when nothing says how many were given.
const PASSED_OVER: u32 = 10_000;

/// A folder and what its manifest says.
type Summaries = BTreeMap<String, Result<ManifestSummary, IndexError>>;

/// Actions of a start on the folders of indexes.
#[derive(Debug)]
pub struct Plan {
    /// Names and folders that come back.
    pub rebuilt: Vec<(String, FolderName)>,
    /// Files and folders that are no index, and why.
    pub aside: Vec<(String, String)>,
    /// Folders that are named, or were being made or removed.
    named: Vec<(String, FolderName)>,
    interrupted: Vec<FolderName>,
    /// True if anything was lost.
    pub(crate) was_lost: bool,
    is_empty: bool,
    summaries: Summaries,
}

impl Plan {
    /// Changes nothing.
    ///
    /// # Errors
    /// What is there does not fit together, and what to do about it.
    pub fn make(folder: &Path, opened: &Opened) -> Result<Plan, InstanceError> {
        let store = &opened.store;
        let named = store.indexes()?;
        let (next_task, next_batch) = store.next_uids()?;
        let is_empty = next_task == 0 && next_batch == 0 && named.is_empty();
        let mut unnamed = entries(&folder.join("indexes"))?;
        for (_, of_index) in &named {
            unnamed.remove(of_index.as_str());
        }
        let was_lost = opened.is_lost || (is_empty && !unnamed.is_empty());
        // The end of what was being done may be among what was lost.
        let interrupted = if was_lost { Vec::new() } else { store.folder_intents()? };
        for of_index in &interrupted {
            unnamed.remove(of_index.as_str());
        }
        let summaries = summaries(
            folder,
            named.iter().map(|(_, of_index)| of_index.as_str()).chain(unnamed.iter().map(String::as_str)),
        );
        if !is_empty {
            refuse_older_copy(folder, store, &summaries, next_task, next_batch)?;
        }
        let rebuilt = if was_lost { rebuilt(folder, &named, &unnamed, &summaries, is_empty)? } else { Vec::new() };
        unnamed.retain(|of_index| !rebuilt.iter().any(|(_, rebuilt)| rebuilt.as_str() == of_index));
        let says = |of_index: &String| match summaries.get(of_index) {
            Some(Ok(ManifestSummary { name: Some(name), .. })) => format!("it says that it is `{name}`"),
            Some(Ok(_)) => "it does not say which index it is".to_owned(),
            Some(Err(error)) => error.to_string(),
            None => "it is not a folder".to_owned(),
        };
        let aside = unnamed.iter().map(|of_index| (of_index.clone(), says(of_index))).collect();
        Ok(Plan { rebuilt, aside, named, interrupted, was_lost, is_empty, summaries })
    }

    /// Makes the names in the store those of the folders.
    fn carry_out(&self, folder: &Path, opened: &Opened) -> Result<(), InstanceError> {
        remove_interrupted(folder, &self.named, &self.interrupted);
        opened.store.forget_intents(&self.interrupted)?;
        for (of_index, reason) in &self.aside {
            let aside = put_aside(folder, &folder.join("indexes").join(of_index))?;
            tracing::error!("no index is in {:?} ({reason}): moved to {aside:?}", Path::new("indexes").join(of_index));
        }
        if self.was_lost {
            write_down(opened, &self.rebuilt, &self.summaries, self.is_empty)?;
        }
        Ok(())
    }
}

/// Makes the names in the store those of the folders in `folder/indexes`, see above. Whether anything was lost.
///
/// # Errors
/// What is there does not fit together, and what to do about it. Nothing has changed then.
/// `is_fetched_again`: nothing of the queue is carried out, for the server follows another one, which has all that is needed.
pub(super) fn settle(folder: &Path, opened: &Opened, is_fetched_again: bool) -> Result<bool, InstanceError> {
    let plan = match Plan::make(folder, opened) {
        Err(error @ InstanceError::OlderQueue { .. }) if is_fetched_again => {
            tracing::error!("{error}. This server follows another one, and fetches what it does not have");
            pass_over_applied(folder, &opened.store)?;
            Plan::make(folder, opened)?
        }
        plan => plan?,
    };
    plan.carry_out(folder, opened)?;
    Ok(plan.was_lost)
}

/// Takes the batches and tasks that indexes have applied for given.
fn pass_over_applied(folder: &Path, store: &Store) -> Result<(), InstanceError> {
    let names = entries(&folder.join("indexes"))?;
    let summaries = summaries(folder, names.iter().map(String::as_str));
    let known = || summaries.values().filter_map(|summary| summary.as_ref().ok());
    let above = |number: u64| u32::try_from(number.saturating_add(1)).unwrap_or(u32::MAX);
    let (next_task, next_batch) = store.next_uids()?;
    let batch = known().filter_map(|summary| summary.last_batch).max().map_or(0, above);
    let task = known().flat_map(tasks_of).max().map_or(0, |task| above(task.into()));
    Ok(store.settle_loss(&[], task.max(next_task), batch.max(next_batch))?)
}

/// Names of files and folders.
fn entries(folder: &Path) -> Result<BTreeSet<String>, InstanceError> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let entry = entry.map_err(io_error(folder))?;
        // A name that is no UTF-8 is none of ours.
        names.extend(entry.file_name().into_string());
    }
    Ok(names)
}

fn summaries<'a>(folder: &Path, folders: impl Iterator<Item = &'a str>) -> Summaries {
    let folders: Vec<&str> = folders.collect();
    let read = |name: &str| {
        let path = folder.join("indexes").join(name);
        path.is_dir().then(|| (name.to_owned(), read_summary(&path)))
    };
    folders.into_par_iter().filter_map(read).collect::<Vec<_>>().into_iter().collect()
}

/// An index that has applied more batches than the queue knows of, by more than the one that a crash explains, has a queue
/// that is older: its tasks would be carried out once more, after others that it does not know.
fn refuse_older_copy(
    folder: &Path,
    store: &Store,
    summaries: &Summaries,
    next_task: u32,
    next_batch: u32,
) -> Result<(), InstanceError> {
    let mut ahead = Vec::new();
    for (of_index, summary) in summaries {
        let Ok(summary) = summary else { continue };
        let Some(batch) = summary.last_batch.filter(|batch| *batch >= u64::from(next_batch)) else { continue };
        let tasks = tasks_of(summary);
        // Filled from a dump: no batch of this queue.
        if batch == 0 && tasks.is_empty() && summary.outcome.is_empty() {
            continue;
        }
        let mut waits = false;
        for task in &tasks {
            waits |= *task < next_task && store.queued(*task)?.is_some();
        }
        let is_explained = batch == u64::from(next_batch) && tasks.iter().all(|task| *task < next_task) && waits;
        ahead.push((of_index, summary, batch, is_explained));
    }
    let unexplained = ahead.iter().find(|(.., is_explained)| !is_explained);
    match unexplained.or(ahead.get(1)) {
        None => Ok(()),
        Some((of_index, summary, batch, _)) => Err(InstanceError::OlderQueue {
            folder: folder.to_owned(),
            index: summary.name.clone().unwrap_or_else(|| (*of_index).clone()),
            applied: *batch,
            known: u64::from(next_batch),
        }),
    }
}

/// The tasks of the last batch that an index remembers.
fn tasks_of(summary: &ManifestSummary) -> Vec<u32> {
    let batch: Option<FinishedBatch> = serde_json::from_slice(&summary.outcome).ok();
    batch.map_or_else(Vec::new, |batch| batch.tasks.iter().map(|task| task.uid).collect())
}

/// The indexes among `unnamed` that say their names.
///
/// # Errors
/// Where there is no queue to go by, when one does not.
fn rebuilt(
    folder: &Path,
    named: &[(String, FolderName)],
    unnamed: &BTreeSet<String>,
    summaries: &Summaries,
    is_empty: bool,
) -> Result<Vec<(String, FolderName)>, InstanceError> {
    let (mut names, mut reasons) = (BTreeMap::new(), Vec::new());
    // An index whose folder is there keeps its name.
    let taken =
        |name: &str| named.iter().any(|(uid, of_index)| uid == name && folder.join("indexes").join(of_index).is_dir());
    for of_index in unnamed {
        let mut refuse = |reason: String| reasons.push(format!("indexes/{of_index}: {reason}"));
        match summaries.get(of_index) {
            Some(Ok(ManifestSummary { name: Some(name), .. })) => match check_index_uid(name) {
                Err(reason) => refuse(reason),
                Ok(()) if FolderName::try_from(of_index.clone()).is_err() => {
                    refuse("no index has such a folder".to_owned())
                }
                Ok(()) if taken(name) => refuse(format!("the index `{name}` already exists")),
                Ok(()) => match names.get(name) {
                    Some(other) => refuse(format!("indexes/{other} says as well that it is `{name}`")),
                    None => drop(names.insert(name.clone(), of_index.clone())),
                },
            },
            Some(Ok(_)) => refuse("it was written by a version that keeps no name with an index".to_owned()),
            // Nothing of an index is in it.
            Some(Err(IndexError::NotFound)) | None => {}
            Some(Err(error)) => refuse(error.to_string()),
        }
    }
    if is_empty && !reasons.is_empty() {
        return Err(InstanceError::Unnamed { folder: folder.to_owned(), reasons });
    }
    let folder_of = |(name, of_index): (String, String)| Some((name, FolderName::try_from(of_index).ok()?));
    Ok(names.into_iter().filter_map(folder_of).collect())
}

/// Removes what a crash left half made or half removed, unless it has a name all the same.
fn remove_interrupted(folder: &Path, named: &[(String, FolderName)], interrupted: &[FolderName]) {
    for of_index in interrupted {
        let path = folder.join("indexes").join(of_index);
        if named.iter().any(|(_, named)| named == of_index) || !path.exists() {
            continue;
        }
        match fs::remove_dir_all(&path) {
            Ok(()) => tracing::info!(path = %path.display(), "removed the leftovers of an interrupted batch"),
            Err(error) => tracing::warn!(path = %path.display(), %error, "cannot remove an unneeded file"),
        }
    }
}

/// Stores the names that came back, passes over uids that may have been given, and says all of it.
fn write_down(
    opened: &Opened,
    rebuilt: &[(String, FolderName)],
    summaries: &Summaries,
    is_empty: bool,
) -> Result<(), InstanceError> {
    let (next_task, next_batch) = opened.store.next_uids()?;
    let summaries = || summaries.values().filter_map(|summary| summary.as_ref().ok());
    let applied = summaries().flat_map(tasks_of).max().map_or(0, |task| task.saturating_add(1));
    let batch = summaries().filter_map(|summary| summary.last_batch).max().map_or(0, |batch| batch + 1);
    let batch = u32::try_from(batch).unwrap_or(u32::MAX);
    let (tasks, batches) = match opened.marks {
        Some(marks) => (marks.tasks.bound, marks.batches.bound),
        None => (applied.max(next_task).saturating_add(PASSED_OVER), batch.max(next_batch).saturating_add(PASSED_OVER)),
    };
    let (tasks, batches) = (tasks.max(applied).max(next_task), batches.max(batch).max(next_batch));
    opened.store.settle_loss(rebuilt, tasks, batches)?;
    for (uid, of_index) in rebuilt {
        tracing::error!("recovered the name of the index `{uid}` from its manifest (indexes/{})", of_index.as_str());
    }
    if is_empty {
        tracing::error!(
            "tasks.sqlite was lost: {} recovered, but waiting tasks, the task history, \
             aliases, search rules, API keys and webhooks are lost. To restore it, stop the server first, and use files from the \
             same moment",
            counted(rebuilt.len(), "index name")
        );
    }
    let given = opened.marks.map_or(applied, |marks| marks.tasks.next.max(applied));
    tracing::error!(
        "lost tasks: {} according to the other files, at most {}. Their uids are not reused: the next task has uid \
         {tasks}",
        given.saturating_sub(next_task),
        opened.marks.map_or_else(|| "an unknown number".to_owned(), |_| (tasks - next_task).to_string())
    );
    Ok(())
}
