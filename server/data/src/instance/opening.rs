//! Opening the task store: what SQLite would pass over in silence is found, mended where its bytes are known, kept aside where
//! they are not, and said.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lamina_base::plural::counted;

use super::error::{InstanceError, io_error};
use super::quarantine::{copy_aside, put_aside};
use crate::access::{export_keys, import_keys};
use crate::tasks::{
    Check, Durable, LogCondition, LogReport, MarkFile, Marks, Store, StoreError, check_database, check_log,
    open_to_read, read_aliases,
};
use crate::webhooks::{export_webhooks, import_webhooks};

/// The database of the tasks, and the other files that SQLite makes for it.
pub const DATABASE: &str = "tasks.sqlite";
pub const LOG: &str = "tasks.sqlite-wal";
const SHARED_MEMORY: &str = "tasks.sqlite-shm";

/// Maximum time that a start spends on the check of the store. `lamina verify` has no such limit.
const CHECK_PATIENCE: Duration = Duration::from_secs(2);

/// An open store, and whether something of it is lost.
#[derive(Debug)]
pub struct Opened {
    pub store: Store,
    /// Progress of the uids, if the folder records it.
    pub marks: Option<Marks>,
    /// Tasks, names or keys that were there are not there any more.
    pub is_lost: bool,
}

/// Opens the store of the database in `folder`, whose `lock` is held.
pub(super) fn open_store(folder: &Path, lock: &File) -> Result<Opened, InstanceError> {
    let marks = MarkFile::read(lock).map_err(io_error(&folder.join("lock")))?;
    let mut is_lost = mend_log(folder, marks)?;
    let (store, is_replaced) = open_checked(folder)?;
    is_lost |= is_replaced;
    let (tasks, batches) = store.next_uids()?;
    if let Some(marks) = marks
        && (marks.tasks.next > tasks || marks.batches.next > batches)
    {
        tracing::error!(
            "{:?} has lost acknowledged transactions: at least {} and the outcomes of {}. Restore the \
             SQLite files of this folder if you have them",
            folder.join(DATABASE),
            counted(marks.tasks.next.saturating_sub(tasks), "task"),
            counted(marks.batches.next.saturating_sub(batches), "batch")
        );
        is_lost = true;
    }
    Ok(Opened { store, marks, is_lost })
}

/// Checks the log, and puts right what can be; whether acknowledged transactions are lost.
fn mend_log(folder: &Path, marks: Option<Marks>) -> Result<bool, InstanceError> {
    let (database, log) = (folder.join(DATABASE), folder.join(LOG));
    let report = check_log(&log).map_err(io_error(&log))?;
    let holds_database = fs::metadata(&database).is_ok_and(|metadata| metadata.len() > 0);
    if !holds_database && report.frames > 0 {
        // SQLite would remove it: it belongs to a database that is gone.
        let aside = put_aside(folder, &log)?;
        tracing::error!(
            "{database:?} is missing, but its log has {}, kept in {aside:?}",
            counted(report.transactions, "transaction")
        );
        return Ok(true);
    }
    let is_short = !report.is_damaged() && holds_database && falls_short(&database, marks);
    if report.is_damaged() || is_short {
        let aside = keep_copies(folder, [&database, &log])?;
        say(&log, &report, &aside);
    } else if report.condition == LogCondition::Torn {
        tracing::info!(frames = report.lost_frames, "a crash truncated the last transaction of the log");
    }
    report.mend(&log).map_err(io_error(&log))?;
    Ok(report.condition == LogCondition::Cut)
}

/// Reports whether the database holds less than was acknowledged. Changes nothing.
fn falls_short(database: &Path, marks: Option<Marks>) -> bool {
    let Some(marks) = marks else { return false };
    let read = || -> Result<(u32, u32), StoreError> {
        let sql = "SELECT coalesce(max(uid) + 1, 0) FROM ";
        let connection = open_to_read(database)?;
        let next = |table: &str| connection.query_row(&format!("{sql}{table}"), [], |row| row.get::<_, u32>(0));
        let passed_over = |kind: &str| {
            let sql = "SELECT coalesce(max(next), 0) FROM uids_passed_over WHERE kind = ?1";
            connection.query_row(sql, [kind], |row| row.get(0)).unwrap_or(0)
        };
        Ok((next("tasks")?.max(passed_over("tasks")), next("batches")?.max(passed_over("batches"))))
    };
    // What cannot be read at all is found out when the store is opened.
    read().is_ok_and(|(tasks, batches)| marks.tasks.next > tasks || marks.batches.next > batches)
}

fn say(log: &Path, report: &LogReport, aside: &[PathBuf]) {
    if !report.repairs.is_empty() {
        tracing::error!(
            "{log:?} was damaged in {} places, which were repaired from its checksums: nothing is lost. The damaged \
             file is kept in {aside:?}",
            report.repairs.len()
        );
    }
    if report.condition == LogCondition::Cut {
        tracing::error!(
            "{log:?} is damaged after transaction {}: lost at least {} in {} (tasks, their outcomes, \
             changes of aliases, search rules, API keys and webhooks). The damaged file is kept in {aside:?}",
            report.transactions,
            counted(report.lost_transactions, "transaction"),
            counted(report.lost_frames, "frame")
        );
    }
}

fn keep_copies<const N: usize>(folder: &Path, files: [&PathBuf; N]) -> Result<Vec<PathBuf>, InstanceError> {
    files.into_iter().filter(|file| file.exists()).map(|file| copy_aside(folder, file)).collect()
}

/// Opens the store, or an empty one in the place of one that is damaged; whether it was.
fn open_checked(folder: &Path) -> Result<(Store, bool), InstanceError> {
    let database = folder.join(DATABASE);
    let exists = fs::metadata(&database).is_ok_and(|metadata| metadata.len() > 0);
    let reason = match if exists { check_database(&database, Some(CHECK_PATIENCE))? } else { Check::Sound } {
        Check::Sound => return Ok((Store::open(&database)?, false)),
        Check::Unfinished => {
            tracing::info!("the task store is too large to be checked at startup: run `lamina verify`");
            return Ok((Store::open(&database)?, false));
        }
        Check::Damaged(reason) => reason,
    };
    // Small tables that have nothing to do with the damage are read as they are.
    let keys = open_to_read(&database).and_then(Durable::new).and_then(export_keys);
    let webhooks = open_to_read(&database).and_then(Durable::new).map_err(Into::into).and_then(export_webhooks);
    let aliases = open_to_read(&database).and_then(|connection| read_aliases(&connection));
    let mut aside = Vec::new();
    for name in [DATABASE, LOG] {
        let path = folder.join(name);
        if path.exists() {
            aside.push(put_aside(folder, &path)?);
        }
    }
    let shared_memory = folder.join(SHARED_MEMORY);
    if shared_memory.exists() {
        // Made anew from the log at each start.
        fs::remove_file(&shared_memory).map_err(io_error(&shared_memory))?;
    }
    tracing::error!("{database:?} is damaged ({reason}): it was moved to {aside:?}, and its tasks are lost");
    let store = Store::open(&database)?;
    match keys {
        Ok(keys) => import_keys(store.connect()?, &keys)?,
        Err(error) => tracing::error!(%error, "the API keys in it cannot be read: the default ones are created again"),
    }
    let webhooks = webhooks.and_then(|webhooks| import_webhooks(store.connect()?, webhooks));
    if let Err(error) = webhooks {
        tracing::error!(error = error.message, "the webhooks in it cannot be read");
    }
    match aliases {
        Ok(stored) => store.import_aliases(&stored.aliases)?,
        Err(error) => tracing::error!(%error, "the aliases in it cannot be read"),
    }
    Ok((store, true))
}
