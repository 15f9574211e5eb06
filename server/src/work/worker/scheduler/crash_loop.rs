//! A task that kills the process must not do so at every start.
//!
//! While all goes well nothing is written down before a batch begins. A process that finds that the one before died (killed,
//! out of memory, crashed) carries out the first tasks that it finds one by one, and writes down each before. If it dies,
//! too, the next one knows which task it was: that task fails, with a reason, and the others go on.
//!
//! How many deaths it takes, and what does not count as one, is in decision 0038.

use std::collections::HashSet;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use lamina_base::crash_mark::kills_for_memory;
use lamina_base::error::{ApiError, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::store::{Attempt, Died, FinishedBatch, FinishedTask, Queued, StoreError, TaskResult};

use super::super::batch::Strategy;
use super::{Plan, TaskQueue, Worker};

/// So many tasks are carried out alone after a death. If the one that kills comes later, their batch dies as a whole, and
/// then all of its tasks are carried out alone.
const ALONE_AT_FIRST: usize = 16;
/// A process that dies later than this after the begin of a task died of it, as far as can be known.
const LONG: Duration = Duration::from_secs(1);
/// So many crashes that were written down, each after a death that was not, are enough in any case.
const CRASHES_MAX: u32 = 2;
/// So many deaths are enough without a sign that the process ended itself: it may be killed from outside, and a fault
/// that leaves no sign ends all the same.
const DEATHS_MAX: u32 = 8;

/// State of the crash-loop guard after a death.
#[derive(Debug)]
pub(super) struct CrashLoopGuard {
    /// Tasks from this uid on came later.
    until: u32,
    alone_left: usize,
    /// Tasks of a batch that was being carried out during the second death.
    suspects: HashSet<u32>,
    /// Attempt at that batch, as long as it may be the reason for the next death, too.
    attempt: Option<Attempt>,
}

impl CrashLoopGuard {
    /// `None` when the process before ended by itself.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub(super) fn begin(queue: &TaskQueue) -> Result<Option<CrashLoopGuard>, StoreError> {
        let store = queue.store();
        let Some(Died { attempt }) = store.process_begins(&boot())? else { return Ok(None) };
        let suspects: HashSet<u32> = attempt.iter().flat_map(|attempt| &attempt.tasks).copied().collect();
        tracing::warn!(
            suspects = suspects.len(),
            crashed = queue.has_aborted_before(),
            "the server was killed or crashed: interrupted work is repeated step by step"
        );
        let until = store.uid_range()?.map_or(0, |(_, last)| last.saturating_add(1));
        let aborted = queue.has_aborted_before();
        let attempt = attempt.map(|attempt| {
            let is_crash = aborted || may_have_lacked_memory(&attempt);
            Attempt {
                deaths: attempt.deaths.saturating_add(1),
                crashes: attempt.crashes.saturating_add(u32::from(is_crash)),
                is_long: attempt.is_long && is_crash,
                ..attempt
            }
        });
        Ok(Some(CrashLoopGuard { until, alone_left: ALONE_AT_FIRST, suspects, attempt }))
    }

    /// Sets the state after many tasks have been executed alone.
    #[cfg(test)]
    pub(super) fn separates_only_suspects(&mut self) {
        self.alone_left = 0;
    }

    /// Reports whether the first task of a batch must be executed alone.
    fn separates(&mut self, tasks: &[Queued]) -> bool {
        if tasks.len() < 2 {
            return false;
        }
        if tasks.iter().any(|task| self.suspects.contains(&task.uid)) {
            return true;
        }
        let is_alone = self.alone_left > 0;
        self.alone_left = self.alone_left.saturating_sub(1);
        is_alone
    }

    /// Returns the record to write before a batch.
    fn attempt(&self, tasks: &[Queued]) -> Attempt {
        let tasks: Vec<u32> = tasks.iter().map(|task| task.uid).collect();
        let same = self.attempt.as_ref().filter(|before| before.tasks == tasks);
        let (deaths, crashes) = same.map_or((0, 0), |before| (before.deaths, before.crashes));
        Attempt { tasks, deaths, crashes, is_long: false, kills_for_memory: kills_for_memory() }
    }
}

/// Reports whether the kernel has killed a process for lack of memory since the attempt began, as far as it is
/// known. That process may have been this server.
fn may_have_lacked_memory(attempt: &Attempt) -> bool {
    match (attempt.kills_for_memory, kills_for_memory()) {
        (Some(before), Some(now)) => before != now,
        _ => true,
    }
}

/// Another value after each start of the machine; empty where the system has none.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn reason(is_written: bool) -> ApiError {
    let done = if is_written {
        "Its documents are written, but not all of them have vectors."
    } else {
        "Nothing of it was applied."
    };
    ApiError::new(
        Code::Internal,
        format!(
            "The server ended more than once while it processed this task: it was killed, crashed, or ran out of memory. \
             {done} Look at the logs of that time, give the server more memory or split the task, and send it again."
        ),
    )
}

impl Worker {
    /// Fails the task that was being carried out alone when the process died again, unless it was done.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub(super) fn fail_guilty(&mut self) -> Result<(), StoreError> {
        let Some(attempt) = self.crash_loop.as_ref().and_then(|guard| guard.attempt.as_ref()) else { return Ok(()) };
        let is_enough = attempt.is_long || attempt.crashes >= CRASHES_MAX || attempt.deaths >= DEATHS_MAX;
        let batch = match attempt.tasks[..] {
            [uid] if is_enough && self.queue.store().queued(uid)?.is_some() => undone(self.next_batch, uid),
            _ => return Ok(()),
        };
        tracing::error!(tasks = ?attempt.tasks, "tasks have failed: the server ended more than once while it processed them");
        let files = self.queue.store().finish(&batch)?;
        self.remove(&[], files.iter());
        self.next_batch = self.next_batch.max(batch.uid + 1);
        self.queue.batch_ended(batch.uid);
        Ok(())
    }

    /// Carries out a batch. After a death, less of it at once, and written down before.
    pub(super) fn process_guarded(&mut self, mut plan: Plan) {
        let Some(attempt) = self.prepare(&mut plan) else { return self.process(plan) };
        let queue = std::sync::Arc::clone(&self.queue);
        std::thread::scope(|scope| {
            let (done, is_done) = channel::<()>();
            scope.spawn(move || {
                if is_done.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                    note(&queue, Some(&Attempt { is_long: true, ..attempt }));
                }
            });
            self.process(plan);
            drop(done);
        });
        note(&self.queue, None);
    }

    /// Records the attempt of a batch under observation, and returns it. This may reduce the batch.
    pub(super) fn prepare(&mut self, plan: &mut Plan) -> Option<Attempt> {
        let guard = self.crash_loop.as_mut()?;
        if plan.tasks.iter().all(|task| task.uid >= guard.until) {
            return None;
        }
        if guard.separates(&plan.tasks) {
            plan.tasks.truncate(1);
            plan.strategy = Strategy::AfterCrash { uid: plan.tasks[0].uid }.to_string();
        }
        let attempt = guard.attempt(&plan.tasks);
        note(&self.queue, Some(&attempt));
        Some(attempt)
    }
}

/// A store that cannot be written will not take the end of the batch either; then nothing is known of it.
pub(super) fn note(queue: &TaskQueue, attempt: Option<&Attempt>) {
    if let Err(error) = queue.store().process_attempts(attempt) {
        tracing::error!(%error, "cannot record which batch begins");
    }
}

fn undone(batch: u32, task: u32) -> FinishedBatch {
    let failed = FinishedTask { uid: task, result: TaskResult::Failed((&reason(false)).into()) };
    FinishedBatch::now(batch, Timestamp::now(), Strategy::AfterCrash { uid: task }.to_string(), vec![failed])
}

/// The documents of the batch were written before; it died while it made their vectors.
pub(super) fn after_writing(mut batch: FinishedBatch) -> FinishedBatch {
    batch.embeds = None;
    batch.finished_at = Timestamp::now().nanos();
    for task in &mut batch.tasks {
        let (count, report) = match &mut task.result {
            TaskResult::Succeeded(count) => (*count, serde_json::Map::new()),
            TaskResult::Reported(report) => (None, std::mem::take(report)),
            TaskResult::Unembedded { .. } | TaskResult::Failed(_) => continue,
        };
        task.result = TaskResult::Unembedded { count, report, error: Some((&reason(true)).into()) };
    }
    batch
}
