//! The task queue: SQLite's files, the rows in them, and the documents of tasks that wait.
//!
//! SQLite writes even when it only reads: it empties the log when it closes. So a copy is looked at, in a temporary folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lamina_base::plural::counted;
use lamina_data::access::export_keys;
use lamina_data::instance::{DATABASE, LOG, Opened};
use lamina_data::tasks::{
    Check, Content, LogCondition, LogReport, MarkFile, PayloadDamage, PayloadPlace, Store, StoreError, StoredAliases,
    Upsert, check_database, check_inline_payload, check_log, check_payload_file, read_aliases,
};
use lamina_data::webhooks::export_webhooks;
use uuid::Uuid;

use super::Findings;

/// A copy of the queue, removed when it is dropped.
#[derive(Debug)]
pub(super) struct QueueCopy {
    folder: PathBuf,
    /// Result of the check of the log.
    log: LogReport,
}

impl QueueCopy {
    /// Copies the queue of the database in `database`, and puts right in the copy what a start would put right.
    pub(super) fn make(database: &Path) -> io::Result<QueueCopy> {
        let folder = std::env::temp_dir().join(format!("lamina-verify-{}", Uuid::new_v4()));
        fs::create_dir_all(&folder)?;
        let copy = QueueCopy { folder, log: check_log(&database.join(LOG))? };
        for name in [DATABASE, LOG] {
            match fs::copy(database.join(name), copy.folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        copy.log.mend(&copy.folder.join(LOG))?;
        Ok(copy)
    }

    /// The copy as a start would open it: an empty one in the place of one that is damaged.
    pub(super) fn open(&self, database: &Path) -> Result<Opened, StoreError> {
        let path = self.folder.join(DATABASE);
        let is_damaged = path.exists() && matches!(check_database(&path, None)?, Check::Damaged(_));
        let store = Store::open(&if is_damaged { self.folder.join("instead.sqlite") } else { path })?;
        let lock = fs::File::open(database.join("lock"));
        let marks = lock.and_then(|lock| MarkFile::read(&lock)).unwrap_or_default();
        let (tasks, batches) = store.next_uids()?;
        let falls_short = marks.is_some_and(|marks| marks.tasks.next > tasks || marks.batches.next > batches);
        Ok(Opened { store, marks, is_lost: is_damaged || falls_short || self.log.condition == LogCondition::Cut })
    }

    /// Checks everything that SQLite holds.
    pub(super) fn check(&self, database: &Path, findings: &mut Findings) {
        self.check_files(database, findings);
        let opened = match self.open(database) {
            Ok(opened) => opened,
            Err(error) => return findings.damage(DATABASE, &error),
        };
        let store = &opened.store;
        if let (Some(marks), Ok((tasks, _))) = (opened.marks, store.next_uids())
            && marks.tasks.next > tasks
        {
            findings.damage(DATABASE, format!("tasks from {tasks} to {} are lost", marks.tasks.next - 1));
        }
        let mut uploads = Vec::new();
        match store.check_rows(|uid, content| uploads.extend(upload(uid, content))) {
            Ok(rows) => {
                findings.all_right(
                    "task queue",
                    format!(
                        "{}, {} of them waiting, {}",
                        counted(rows.tasks, "task"),
                        rows.waiting,
                        counted(rows.batches, "batch")
                    ),
                );
                rows.damaged.iter().for_each(|damage| findings.damage("task queue", damage));
            }
            Err(error) => findings.damage("task queue", error),
        }
        check_payloads(database, store, &uploads, findings);
        match store.connect().and_then(export_keys) {
            Ok(keys) => findings.all_right("API keys", keys.len()),
            Err(error) => findings.damage("API keys", error),
        }
        match store.connect().and_then(|connection| read_aliases(connection.connection())) {
            Ok(StoredAliases { aliases, damaged }) => {
                findings.all_right("aliases", aliases.len());
                damaged.iter().for_each(|damage| findings.damage("aliases", damage));
            }
            Err(error) => findings.damage("aliases", error),
        }
        match store.connect().map_err(Into::into).and_then(export_webhooks) {
            Ok(webhooks) => findings.all_right("webhooks", webhooks.count()),
            Err(error) => findings.damage("webhooks", error.message),
        }
    }

    fn check_files(&self, database: &Path, findings: &mut Findings) {
        let LogReport { frames, transactions: count, lost_frames, lost_transactions, repairs, .. } = &self.log;
        for (position, bytes) in repairs {
            findings.damage(
                LOG,
                format!("{} from {position} on, whose correct values are known", counted(bytes.len(), "wrong byte")),
            );
        }
        let transactions = |count| counted(count, "transaction");
        let sound = format!("{} in {}", transactions(*count), counted(*frames, "frame"));
        match self.log.condition {
            LogCondition::Empty => {}
            LogCondition::Sound => findings.all_right(LOG, sound),
            LogCondition::Torn => {
                findings.all_right(LOG, format!("{sound}; the last transaction was cut short by a crash"));
            }
            LogCondition::Cut => findings.damage(
                LOG,
                format!(
                    "after {}, cannot read {} with at least {}",
                    transactions(*count),
                    counted(*lost_frames, "frame"),
                    transactions(*lost_transactions)
                ),
            ),
        }
        let bytes = fs::metadata(database.join(DATABASE)).map_or(0, |metadata| metadata.len());
        if bytes == 0 {
            return findings.damage(DATABASE, "it is missing or empty");
        }
        match check_database(&self.folder.join(DATABASE), None) {
            Ok(Check::Damaged(reason)) => findings.damage(DATABASE, reason),
            Ok(_) => findings.all_right(DATABASE, counted(bytes, "byte")),
            Err(error) => findings.damage(DATABASE, error),
        }
    }
}

impl Drop for QueueCopy {
    fn drop(&mut self) {
        // What cannot be removed lies in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn upload(uid: u32, content: Content) -> Option<(u32, Upsert)> {
    match content {
        Content::Upsert(upsert) => Some((uid, upsert)),
        _ => None,
    }
}

fn check_payloads(database: &Path, store: &Store, uploads: &[(u32, Upsert)], findings: &mut Findings) {
    let mut checked = 0;
    for (uid, upsert) in uploads {
        let found = match &upsert.payload {
            PayloadPlace::File(name) => check_payload_file(upsert, &database.join("payloads").join(name)),
            PayloadPlace::Inline => match store.inline_payload(*uid) {
                Ok(Some(documents)) => check_inline_payload(upsert, &documents),
                Ok(None) => Err(PayloadDamage::Missing),
                Err(error) => Err(PayloadDamage::Io(io::Error::other(error))),
            },
        };
        match found {
            Ok(()) => checked += 1,
            Err(damage) => {
                let place = match &upsert.payload {
                    PayloadPlace::File(name) => format!("payloads/{}", name.as_str()),
                    PayloadPlace::Inline => DATABASE.to_owned(),
                };
                findings.damage(&place, format!("the documents of task {uid}: {damage}"));
            }
        }
    }
    findings.all_right("payloads", format!("the documents of {}", counted(checked, "waiting task")));
}
