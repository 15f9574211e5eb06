//! The import itself: reads on one thread, keeps a few requests in flight, follows the tasks to their end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::HumanCount;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::client::{Client, Sent, TaskState};
use super::progress::Progress;
use super::source::Source;
use super::split::{Batch, split};
use super::{Args, ImportError};

const POLL_FIRST: Duration = Duration::from_millis(20);
const POLL_MAX: Duration = Duration::from_millis(500);
/// Tasks asked for in one call: keeps the address short.
const POLL_TASKS_MAX: usize = 200;
const FAILURES_SHOWN_MAX: usize = 20;

/// What became of the import.
pub(super) struct Summary {
    pub(super) failures: Vec<Failure>,
}

/// One request that did not become searchable.
pub(super) struct Failure {
    part: Part,
    reason: String,
}

/// The share of the input that one request carries.
#[derive(Clone, Copy)]
struct Part {
    /// Number of its first document in the input, from 1.
    first_document: u64,
    document_count: u64,
    /// Bytes of the input, as they are on the disk.
    bytes: u64,
}

impl Summary {
    pub(super) fn print_failures(&self) {
        for Failure { part, reason } in self.failures.iter().take(FAILURES_SHOWN_MAX) {
            let last = part.first_document + part.document_count - 1;
            eprintln!("lamina import: documents {} to {last} failed: {reason}", part.first_document);
        }
        let hidden = self.failures.len().saturating_sub(FAILURES_SHOWN_MAX);
        if hidden > 0 {
            eprintln!("lamina import: and {hidden} more requests failed");
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Summary, ImportError> {
    if !args.csv_delimiter.is_ascii() {
        return Err(ImportError::Delimiter(args.csv_delimiter));
    }
    let client = Client::new(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(ImportError::Runtime)?;
    let result = runtime.block_on(Import::new(args, client).run(args));
    // The reading thread may be waiting for standard input: nobody waits for it after an error.
    runtime.shutdown_background();
    result
}

struct Import {
    client: Client,
    progress: Progress,
    uploads: JoinSet<(Part, Result<Sent, ImportError>)>,
    pending: BTreeMap<u64, Part>,
    summary: Summary,
    accepted_documents: u64,
    searchable_documents: u64,
}

impl Import {
    fn new(args: &Args, client: Client) -> Import {
        // Unknown as soon as one input is not a plain file.
        let size = |path: &std::path::PathBuf| std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len());
        let total_bytes = args.files.iter().map(size).sum::<Option<u64>>();
        Import {
            client,
            progress: Progress::new(total_bytes, args.quiet),
            uploads: JoinSet::new(),
            pending: BTreeMap::new(),
            summary: Summary { failures: Vec::new() },
            accepted_documents: 0,
            searchable_documents: 0,
        }
    }

    async fn run(mut self, args: &Args) -> Result<Summary, ImportError> {
        // Room for one batch: with the one being cut and those in flight, that bounds the memory.
        let (sender, mut batches) = mpsc::channel(1);
        let reading = args.clone();
        tokio::task::spawn_blocking(move || read(&reading, &sender));

        let mut input_open = true;
        let mut poll_every = POLL_FIRST;
        while input_open || !self.uploads.is_empty() || (!args.no_wait && !self.pending.is_empty()) {
            let room = self.uploads.len() < usize::from(args.in_flight);
            tokio::select! {
                batch = batches.recv(), if input_open && room => match batch {
                    Some(batch) => {
                        let (part, batch) = batch?;
                        self.upload(part, batch);
                    }
                    None => input_open = false,
                },
                Some(sent) = self.uploads.join_next() => {
                    let (part, sent) = sent.expect("an upload neither panics nor is cancelled");
                    self.uploaded(part, sent?);
                    poll_every = POLL_FIRST;
                }
                () = tokio::time::sleep(poll_every), if !args.no_wait && !self.pending.is_empty() => {
                    poll_every = if self.poll().await? { POLL_FIRST } else { (poll_every * 3 / 2).min(POLL_MAX) };
                }
            }
        }
        self.progress.finish();
        if !args.quiet {
            self.print_summary(args);
        }
        Ok(self.summary)
    }

    fn upload(&mut self, part: Part, batch: Batch) {
        let client = self.client.clone();
        self.uploads.spawn(async move { (part, client.send(&batch).await) });
    }

    fn uploaded(&mut self, part: Part, sent: Sent) {
        match sent {
            Sent::Accepted { task_uid } => {
                self.accepted_documents += part.document_count;
                self.progress.sent(part.document_count);
                self.pending.insert(task_uid, part);
            }
            Sent::Rejected { message } => self.failed(part, message),
        }
    }

    /// Looks at the oldest tasks; true when one of them ended.
    async fn poll(&mut self) -> Result<bool, ImportError> {
        let uids: Vec<u64> = self.pending.keys().copied().take(POLL_TASKS_MAX).collect();
        let mut states: BTreeMap<u64, TaskState> =
            self.client.tasks(&uids).await?.into_iter().map(|task| (task.uid, task)).collect();
        let before = self.pending.len();
        for uid in uids {
            let failure = match states.remove(&uid) {
                Some(task) if task.is_open() => continue,
                Some(task) => task.failure(),
                None => Some(format!("task {uid} was deleted before its outcome could be read")),
            };
            let Some(part) = self.pending.remove(&uid) else { continue };
            match failure {
                Some(reason) => self.failed(part, reason),
                None => {
                    self.searchable_documents += part.document_count;
                    self.progress.done(part.document_count, part.bytes);
                }
            }
        }
        Ok(self.pending.len() < before)
    }

    fn failed(&mut self, part: Part, reason: String) {
        self.progress.done(0, part.bytes);
        self.summary.failures.push(Failure { part, reason });
    }

    fn print_summary(&self, args: &Args) {
        let (verb, documents) =
            if args.no_wait { ("sent", self.accepted_documents) } else { ("imported", self.searchable_documents) };
        let seconds = self.progress.elapsed().as_secs_f64();
        let rate = HumanCount((documents as f64 / seconds.max(0.001)) as u64);
        let index = &args.index;
        println!("{} documents {verb} into `{index}` in {seconds:.1} s ({rate}/s)", HumanCount(documents));
    }
}

type Batches = mpsc::Sender<Result<(Part, Batch), ImportError>>;

/// Reads all inputs, on a thread of its own; ends early when nobody listens any more.
fn read(args: &Args, batches: &Batches) {
    let read_bytes = Arc::new(AtomicU64::new(0));
    let mut document_count = 0;
    let mut accounted_bytes = 0;
    let mut paths: VecDeque<_> = args.files.iter().collect();
    while let Some(path) = paths.pop_front() {
        let result = Source::open(path, args.format, read_bytes.clone()).and_then(|source| {
            split(source, args.batch_bytes, |batch| {
                let seen = read_bytes.load(Ordering::Relaxed);
                let part = Part {
                    first_document: document_count + 1,
                    document_count: batch.document_count,
                    bytes: seen - accounted_bytes,
                };
                accounted_bytes = seen;
                document_count += batch.document_count;
                batches.blocking_send(Ok((part, batch))).is_ok()
            })
        });
        if let Err(error) = result {
            // Nobody listening is fine: then the import has already failed.
            let _ = batches.blocking_send(Err(error));
            return;
        }
    }
}
