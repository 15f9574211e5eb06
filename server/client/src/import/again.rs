//! Documents of tasks that failed by a single document: sent again in parts, until only that document is left.
//!
//! Batches are forgotten once they are accepted, so files are read again for it, when everything else was sent. Of standard
//! input, which can't be, the last batches are kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamina_base::backoff::TASK;
use tokio::sync::mpsc;

use super::client::{Client, Sent, TaskFailure};
use super::deliver::Faults;
use super::ledger::Ledger;
use super::part::Part;
use super::source::Source;
use super::split::{Batch, Limits, split};
use super::{Args, ImportError};

/// Bytes of accepted batches of standard input that are kept, in batches.
const KEPT_BATCHES: usize = 4;
/// Each takes some tasks to be found; beyond, parts are not cut further.
const FAULTS_MAX: usize = 1000;

/// Batches to send again.
#[derive(Default)]
pub(super) struct Again {
    failed: Vec<Failed>,
    /// By task: batches of standard input whose tasks are not over.
    kept: BTreeMap<u64, Batch>,
    kept_bytes_max: usize,
    is_standard_input: Vec<bool>,
}

struct Failed {
    part: Part,
    batch: Option<Batch>,
    reason: String,
}

impl Again {
    pub(super) fn new(args: &Args) -> Again {
        Again {
            kept_bytes_max: args.batch_bytes.saturating_mul(KEPT_BATCHES),
            is_standard_input: args.files.iter().map(|path| path.as_os_str() == "-").collect(),
            ..Again::default()
        }
    }

    /// `batch` was accepted as a task.
    pub(super) fn keep(&mut self, task: u64, input: usize, batch: Batch) {
        if !self.is_standard_input.get(input).is_some_and(|is| *is) {
            return;
        }
        self.kept.insert(task, batch);
        while self.kept.len() > 1
            && self.kept.values().map(|batch| batch.body.len()).sum::<usize>() > self.kept_bytes_max
        {
            self.kept.pop_first();
        }
    }

    /// The task is over.
    pub(super) fn forget(&mut self, task: u64) {
        self.kept.remove(&task);
    }

    /// The task failed by one of its documents.
    pub(super) fn add(&mut self, task: u64, part: Part, reason: String) {
        self.failed.push(Failed { part, batch: self.kept.remove(&task), reason });
    }

    /// Sends everything again, and waits for it.
    pub(super) async fn run(self, ledger: &mut Ledger, client: &Client, args: &Args) {
        let mut faults = Faults::default();
        let mut by_input: BTreeMap<usize, Vec<Failed>> = BTreeMap::new();
        for failed in self.failed {
            by_input.entry(failed.part.input).or_default().push(failed);
        }
        for (input, mut failed) in by_input {
            failed.sort_by_key(|failed| failed.part.place.first_document);
            let mut batches = match self.is_standard_input[input] {
                true => None,
                false => Some(read_again(args, args.files[input].clone(), &failed)),
            };
            for Failed { part, batch, reason } in failed {
                let batch = match &mut batches {
                    Some(batches) => batches.recv().await.flatten(),
                    None => batch,
                };
                match batch.filter(|_| ledger.waits && faults.count() < FAULTS_MAX) {
                    Some(batch) => isolate(ledger, client, &part, batch, reason, &mut faults).await,
                    None => ledger.failed(&part, reason),
                }
            }
        }
    }
}

/// Sends the halves of `batch`, whose task failed for `reason`, down to single documents.
async fn isolate(ledger: &mut Ledger, client: &Client, part: &Part, batch: Batch, reason: String, faults: &mut Faults) {
    let mut open: Vec<(Batch, String)> = Vec::new();
    let cut = |open: &mut Vec<(Batch, String)>, batch: Batch, reason: String, faults: &mut Faults| {
        let goes_on = !faults.is_hopeless() && faults.count() < FAULTS_MAX;
        match batch.halves().filter(|_| goes_on) {
            Some((first, second)) => {
                open.extend([(second, reason.clone()), (first, reason)]);
                None
            }
            None => {
                faults.fault();
                Some((batch, reason))
            }
        }
    };
    let mut at_fault = cut(&mut open, batch, reason, faults);
    loop {
        if let Some((batch, reason)) = at_fault.take() {
            ledger.failed(&part.of(&batch), reason);
        }
        let Some((batch, before)) = open.pop() else { return };
        if !ledger.waits {
            at_fault = Some((batch, before));
            continue;
        }
        match outcome(client, &batch).await {
            Ok(None) => {
                faults.right();
                ledger.searchable(&part.of(&batch));
            }
            Ok(Some(failure)) if failure.is_of_a_document => {
                at_fault = cut(&mut open, batch, failure.reason, faults);
            }
            Ok(Some(failure)) => at_fault = Some((batch, failure.reason)),
            Err(error) => {
                at_fault = Some((batch, error.to_string()));
                ledger.waits = false;
                ledger.stopped(Some(error));
            }
        }
    }
}

/// Sends `batch` and waits for its task; why it did not succeed.
async fn outcome(client: &Client, batch: &Batch) -> Result<Option<TaskFailure>, ImportError> {
    let task_uid = match client.send(batch).await? {
        Sent::Accepted { task_uid } => task_uid,
        Sent::Rejected { message } => return Ok(Some(TaskFailure { reason: message, is_of_a_document: true })),
    };
    let mut pauses = TASK;
    loop {
        tokio::time::sleep(pauses.next_pause()).await;
        match client.tasks(&[task_uid]).await?.pop() {
            Some(task) if task.is_open() => {}
            Some(task) => return Ok(task.failure()),
            None => return Ok(Some(TaskFailure::of_lost(task_uid))),
        }
    }
}

/// Reads a file again, on a thread of its own: for each of `failed`, which ascend, its documents as they were sent, or
/// `None` where the file has changed. Batches are cut at the same places.
fn read_again(args: &Args, path: PathBuf, failed: &[Failed]) -> mpsc::Receiver<Option<Batch>> {
    let wanted: Vec<(u64, u64)> =
        failed.iter().map(|failed| (failed.part.place.first_document, failed.part.place.document_count)).collect();
    let (sender, batches) = mpsc::channel(1);
    let args = args.clone();
    tokio::task::spawn_blocking(move || {
        // What cannot be read again is missing then.
        let _ = send_wanted(&args, &path, &wanted, &sender);
    });
    batches
}

fn send_wanted(
    args: &Args,
    path: &Path,
    wanted: &[(u64, u64)],
    batches: &mpsc::Sender<Option<Batch>>,
) -> Result<(), ImportError> {
    let source = Source::open(path, args, Arc::default())?;
    let mut wanted = wanted.iter().copied().peekable();
    split(source, Limits::new(args.batch_bytes), |batch| {
        while let Some(&(first, count)) = wanted.peek() {
            if first > batch.place.last_document() {
                return true;
            }
            wanted.next();
            if batches.blocking_send(batch.documents_of_file(first, count)).is_err() {
                return false;
            }
        }
        false
    })
}
