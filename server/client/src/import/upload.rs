//! The import itself: reads on one thread, keeps a few requests in flight, follows the tasks to their end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lamina_base::backoff::TASK;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::again::Again;
use super::client::{Client, Sent, TaskFailure, TaskState};
use super::deliver::{Delivery, deliver};
use super::ledger::{Ledger, Summary};
use super::part::Part;
use super::progress::Progress;
use super::source::Source;
use super::split::{Batch, Limits, split};
use super::{Args, ImportError};
use crate::client::ClientError;

/// Tasks asked for in one call: keeps the address short.
const POLL_TASKS_MAX: usize = 200;

pub(super) fn run(args: &Args) -> Result<Summary, ImportError> {
    let client = Client::new(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(ClientError::Runtime)?;
    let summary = runtime.block_on(Import::new(args, client).run(args));
    // The reading thread may be waiting for standard input: it is not waited for after an error.
    runtime.shutdown_background();
    Ok(summary)
}

struct Import {
    client: Client,
    ledger: Ledger,
    uploads: JoinSet<Delivery>,
    pending: BTreeMap<u64, Part>,
    /// Batches to send again in smaller parts, because a document made their task fail.
    again: Again,
}

impl Import {
    fn new(args: &Args, client: Client) -> Import {
        // Unknown as soon as one input is not a plain file.
        let size = |path: &std::path::PathBuf| std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len());
        let total_bytes = args.files.iter().map(size).sum::<Option<u64>>();
        Import {
            client,
            ledger: Ledger::new(Progress::new(total_bytes, args.quiet || args.json), !args.no_wait),
            uploads: JoinSet::new(),
            pending: BTreeMap::new(),
            again: Again::new(args),
        }
    }

    /// Whatever goes wrong, what is in flight is followed to its end.
    async fn run(mut self, args: &Args) -> Summary {
        // Room for one batch: with the one being cut and those in flight, that bounds the memory.
        let (sender, mut batches) = mpsc::channel(1);
        let reading = args.clone();
        tokio::task::spawn_blocking(move || read(&reading, &sender));

        let mut pauses = TASK;
        let mut poll_after = pauses.next_pause();
        while self.ledger.reads || !self.uploads.is_empty() || (self.ledger.waits && !self.pending.is_empty()) {
            let room = self.uploads.len() < usize::from(args.in_flight);
            tokio::select! {
                batch = batches.recv(), if self.ledger.reads && room => match batch {
                    Some(Ok((part, batch))) => self.upload(part, batch),
                    Some(Err(error)) => self.ledger.stopped(Some(error)),
                    None => self.ledger.reads = false,
                },
                Some(sent) = self.uploads.join_next() => {
                    self.uploaded(sent.expect("an upload neither panics nor is cancelled"));
                    pauses = TASK;
                    poll_after = pauses.next_pause();
                }
                () = tokio::time::sleep(poll_after), if self.ledger.waits && !self.pending.is_empty() => {
                    if self.poll().await {
                        pauses = TASK;
                    }
                    poll_after = pauses.next_pause();
                }
            }
            if !self.ledger.reads {
                batches.close();
            }
        }
        let again = std::mem::take(&mut self.again);
        again.run(&mut self.ledger, &self.client, args).await;
        if !args.no_wait {
            for (uid, part) in std::mem::take(&mut self.pending) {
                self.ledger.failed(&part, format!("they are in task {uid}, whose outcome is unknown"));
            }
        }
        self.ledger.closed(args)
    }

    fn upload(&mut self, part: Part, batch: Batch) {
        let client = self.client.clone();
        self.ledger.sending(&part);
        self.uploads.spawn(async move { deliver(&client, part, batch).await });
    }

    fn uploaded(&mut self, delivery: Delivery) {
        for (part, batch, sent) in delivery.sent {
            match sent {
                Sent::Accepted { task_uid } => {
                    self.ledger.accepted(&part);
                    self.again.keep(task_uid, part.input, batch);
                    self.pending.insert(task_uid, part);
                }
                Sent::Rejected { message } => self.ledger.failed(&part, message),
            }
        }
        let Some((parts, error)) = delivery.stopped else { return };
        if !self.ledger.has_accepted() && error.is_of_all() {
            return self.ledger.shut_out(error);
        }
        parts.iter().for_each(|part| self.ledger.failed(part, error.to_string()));
        // The server cannot say what became of the tasks, and it was tried for long enough.
        self.ledger.waits &= !matches!(error, ImportError::Unreachable { .. } | ImportError::Server(_));
        self.ledger.stopped(None);
    }

    /// Looks at the oldest tasks; true when one of them ended.
    async fn poll(&mut self) -> bool {
        let uids: Vec<u64> = self.pending.keys().copied().take(POLL_TASKS_MAX).collect();
        let mut states: BTreeMap<u64, TaskState> = match self.client.tasks(&uids).await {
            Ok(tasks) => tasks.into_iter().map(|task| (task.uid, task)).collect(),
            Err(error) => {
                self.ledger.waits = false;
                self.ledger.stopped(Some(error));
                return false;
            }
        };
        let before = self.pending.len();
        for uid in uids {
            let failure = match states.remove(&uid) {
                Some(task) if task.is_open() => continue,
                Some(task) => task.failure(),
                None => Some(TaskFailure::of_lost(uid)),
            };
            let Some(part) = self.pending.remove(&uid) else { continue };
            match failure {
                Some(failure) if failure.is_of_a_document && part.place.document_count > 1 => {
                    self.again.add(uid, part, failure.reason);
                }
                Some(failure) => self.ledger.failed(&part, failure.reason),
                None => self.ledger.searchable(&part),
            }
            self.again.forget(uid);
        }
        self.pending.len() < before
    }
}

type Batches = mpsc::Sender<Result<(Part, Batch), ImportError>>;

/// Reads all inputs, on a thread of its own; ends early when its receiver is gone.
fn read(args: &Args, batches: &Batches) {
    let read_bytes = Arc::new(AtomicU64::new(0));
    let mut accounted_bytes = 0;
    let limits = Limits::new(args.batch_bytes);
    for (input, path) in args.files.iter().enumerate() {
        let result = Source::open(path, args, read_bytes.clone()).and_then(|source| {
            split(source, limits, |batch| {
                let seen = read_bytes.load(Ordering::Relaxed);
                let part = Part { input, place: batch.place.clone(), bytes: seen - accounted_bytes };
                accounted_bytes = seen;
                batches.blocking_send(Ok((part, batch))).is_ok()
            })
        });
        if let Err(error) = result {
            // A receiver that is gone is fine: then the import has already failed.
            let _ = batches.blocking_send(Err(error));
            return;
        }
    }
}
