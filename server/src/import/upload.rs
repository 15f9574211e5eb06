//! The import itself: reads on one thread, keeps a few requests in flight, follows the tasks to their end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::HumanCount;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::again::Again;
use super::client::{Client, Sent, TaskFailure, TaskState};
use super::deliver::{Delivery, deliver};
use super::failures::Failures;
use super::place::Place;
use super::progress::Progress;
use super::source::Source;
use super::split::{Batch, Limits, split};
use super::{Args, ImportError};
use crate::client::ClientError;
use crate::console;

const POLL_FIRST: Duration = Duration::from_millis(20);
const POLL_MAX: Duration = Duration::from_millis(500);
/// Tasks asked for in one call: keeps the address short.
const POLL_TASKS_MAX: usize = 200;

/// What became of the import.
#[derive(Default)]
pub(super) struct Summary {
    failures: Failures,
    /// Why it ended before its input did, where no failure says that.
    error: Option<ImportError>,
    /// Where it ended before its input did.
    cut_short: Option<String>,
}

impl Summary {
    pub(super) fn is_success(&self) -> bool {
        self.failures.is_empty() && self.error.is_none() && self.cut_short.is_none()
    }

    /// What went wrong, line by line.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.failures.lines();
        lines.extend(self.error.iter().map(ImportError::to_string));
        lines.extend(self.cut_short.clone());
        lines
    }
}

/// The share of the input that one request carries.
#[derive(Clone)]
pub(super) struct Part {
    /// Number of its file among the inputs.
    pub(super) input: usize,
    pub(super) place: Place,
    /// Bytes of the input, as they are on the disk.
    pub(super) bytes: u64,
}

impl Part {
    /// The share of `batch`, which holds some of its documents.
    pub(super) fn of(&self, batch: &Batch) -> Part {
        let bytes = self.bytes * batch.place.document_count / self.place.document_count.max(1);
        Part { input: self.input, place: batch.place.clone(), bytes }
    }
}

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

pub(super) struct Import {
    pub(super) client: Client,
    progress: Progress,
    uploads: JoinSet<Delivery>,
    pending: BTreeMap<u64, Part>,
    /// What is sent again in smaller parts, as a document made its task fail.
    again: Again,
    summary: Summary,
    /// Whether there may be more to send, and whether tasks are waited for. Both end with an error, at different ones.
    reads: bool,
    pub(super) waits: bool,
    /// The last that was sent.
    last: Option<Place>,
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
            again: Again::new(args),
            summary: Summary::default(),
            reads: true,
            waits: !args.no_wait,
            last: None,
            accepted_documents: 0,
            searchable_documents: 0,
        }
    }

    /// Whatever goes wrong, what is in flight is followed to its end.
    async fn run(mut self, args: &Args) -> Summary {
        // Room for one batch: with the one being cut and those in flight, that bounds the memory.
        let (sender, mut batches) = mpsc::channel(1);
        let reading = args.clone();
        tokio::task::spawn_blocking(move || read(&reading, &sender));

        let mut poll_every = POLL_FIRST;
        while self.reads || !self.uploads.is_empty() || (self.waits && !self.pending.is_empty()) {
            let room = self.uploads.len() < usize::from(args.in_flight);
            tokio::select! {
                batch = batches.recv(), if self.reads && room => match batch {
                    Some(Ok((part, batch))) => self.upload(part, batch),
                    Some(Err(error)) => self.stopped(Some(error)),
                    None => self.reads = false,
                },
                Some(sent) = self.uploads.join_next() => {
                    self.uploaded(sent.expect("an upload neither panics nor is cancelled"));
                    poll_every = POLL_FIRST;
                }
                () = tokio::time::sleep(poll_every), if self.waits && !self.pending.is_empty() => {
                    poll_every = if self.poll().await { POLL_FIRST } else { (poll_every * 3 / 2).min(POLL_MAX) };
                }
            }
            if !self.reads {
                batches.close();
            }
        }
        let again = std::mem::take(&mut self.again);
        again.run(&mut self, args).await;
        if !args.no_wait {
            for (uid, part) in std::mem::take(&mut self.pending) {
                self.failed(&part, format!("task {uid} has them, and what became of it is not known"));
            }
        }
        self.progress.finish();
        if !args.quiet
            && let Err(error) = self.print_summary(args)
        {
            self.summary.error.get_or_insert(ImportError::Print(error));
        }
        self.summary
    }

    fn upload(&mut self, part: Part, batch: Batch) {
        let client = self.client.clone();
        self.last = Some(part.place.clone());
        self.uploads.spawn(async move { deliver(&client, part, batch).await });
    }

    fn uploaded(&mut self, delivery: Delivery) {
        for (part, batch, sent) in delivery.sent {
            match sent {
                Sent::Accepted { task_uid } => {
                    self.accepted_documents += part.place.document_count;
                    self.progress.sent(part.place.document_count);
                    self.again.keep(task_uid, part.input, batch);
                    self.pending.insert(task_uid, part);
                }
                Sent::Rejected { message } => self.failed(&part, message),
            }
        }
        let Some((parts, error)) = delivery.stopped else { return };
        parts.iter().for_each(|part| self.failed(part, error.to_string()));
        // The server cannot say what became of the tasks, and it was tried for long enough.
        self.waits &= !matches!(error, ImportError::Unreachable { .. } | ImportError::Server(_));
        self.stopped(None);
    }

    /// Nothing more is sent. The first reason is kept: others tend to follow from it.
    pub(super) fn stopped(&mut self, error: Option<ImportError>) {
        if std::mem::take(&mut self.reads) {
            self.summary.cut_short = Some(match &self.last {
                None => "nothing was sent".to_owned(),
                Some(place) => format!("nothing after document {} of {} was sent", place.last_document(), place.file),
            });
        }
        self.summary.error = self.summary.error.take().or(error);
    }

    /// Looks at the oldest tasks; true when one of them ended.
    async fn poll(&mut self) -> bool {
        let uids: Vec<u64> = self.pending.keys().copied().take(POLL_TASKS_MAX).collect();
        let mut states: BTreeMap<u64, TaskState> = match self.client.tasks(&uids).await {
            Ok(tasks) => tasks.into_iter().map(|task| (task.uid, task)).collect(),
            Err(error) => {
                self.waits = false;
                self.stopped(Some(error));
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
                Some(failure) => self.failed(&part, failure.reason),
                None => self.searchable(&part),
            }
            self.again.forget(uid);
        }
        self.pending.len() < before
    }

    pub(super) fn searchable(&mut self, part: &Part) {
        self.searchable_documents += part.place.document_count;
        self.progress.done(part.place.document_count, part.bytes);
    }

    pub(super) fn failed(&mut self, part: &Part, reason: String) {
        self.progress.done(0, part.bytes);
        self.summary.failures.add(part.input, part.place.clone(), reason);
    }

    fn print_summary(&self, args: &Args) -> std::io::Result<()> {
        let (verb, documents) =
            if args.no_wait { ("sent", self.accepted_documents) } else { ("imported", self.searchable_documents) };
        let noun = if documents == 1 { "document" } else { "documents" };
        let seconds = self.progress.elapsed().as_secs_f64();
        // Of what went wrong the errors speak, and a rate would be one of failures.
        if !self.summary.is_success() {
            let line = format!("{} {noun} {verb} into `{}`\n", HumanCount(documents), args.index);
            return if documents == 0 { Ok(()) } else { console::print(&line) };
        }
        let rate = HumanCount((documents as f64 / seconds.max(0.001)) as u64);
        let (documents, index) = (HumanCount(documents), &args.index);
        console::print(&format!("{documents} {noun} {verb} into `{index}` in {seconds:.1} s ({rate}/s)\n"))
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
