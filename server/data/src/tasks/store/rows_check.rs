//! Reading every row, as `lamina verify` does: what cannot be read is said, and the next one is read.

use rusqlite::Connection;

use super::{Store, StoreError, listing, rows};
use crate::tasks::content::Content;
use crate::tasks::kind::Status;

/// Findings in the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowReport {
    /// Tasks that can be read.
    pub tasks: u64,
    /// Number of the tasks that wait.
    pub waiting: u64,
    /// Batches that can be read.
    pub batches: u64,
    /// Faults of the other rows.
    pub damaged: Vec<String>,
}

impl Store {
    /// Reads all tasks and batches. `see` gets the work of those that wait.
    ///
    /// # Errors
    /// When the tables cannot be read at all.
    pub fn check_rows(&self, mut see: impl FnMut(u32, Content)) -> Result<RowReport, StoreError> {
        self.read(|connection| {
            let mut report = RowReport::default();
            check_tasks(connection, &mut report, &mut see)?;
            let mut statement = connection.prepare(&listing::all_batches())?;
            let mut batches = statement.query([])?;
            loop {
                match batches.next() {
                    Ok(None) => break,
                    Ok(Some(row)) => match listing::batch(row) {
                        Ok(_) => report.batches += 1,
                        Err(error) => report.damaged.push(format!("a batch: {error}")),
                    },
                    // The page is damaged, and where the next one is stood in it.
                    Err(error) => {
                        report.damaged.push(format!("batches: {error}"));
                        break;
                    }
                }
            }
            Ok(report)
        })
    }
}

fn check_tasks(
    connection: &Connection,
    report: &mut RowReport,
    see: &mut impl FnMut(u32, Content),
) -> Result<(), StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {}, content FROM tasks", rows::TASK_COLUMNS))?;
    let content_column = statement.column_count() - 1;
    let mut tasks = statement.query([])?;
    loop {
        let row = match tasks.next() {
            Ok(None) => return Ok(()),
            Ok(Some(row)) => row,
            Err(error) => {
                report.damaged.push(format!("tasks: {error}"));
                return Ok(());
            }
        };
        let read = rows::task(row).map_err(StoreError::from).and_then(|task| {
            let content: Option<String> = row.get(content_column)?;
            let content = content.map(|text| rows::content(task.uid, &text)).transpose()?;
            let waits = matches!(task.status, Status::Enqueued | Status::Processing);
            if content.is_none() && waits {
                return Err(StoreError::WithoutWork(task.uid));
            }
            Ok((task.uid, content.filter(|_| waits)))
        });
        match read {
            Ok((uid, content)) => {
                report.tasks += 1;
                if let Some(content) = content {
                    report.waiting += 1;
                    see(uid, content);
                }
            }
            Err(error) => {
                let uid: i64 = row.get(0).unwrap_or(-1);
                report.damaged.push(format!("task {uid}: {error}"));
            }
        }
    }
}
