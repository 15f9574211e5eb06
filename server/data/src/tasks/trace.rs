//! How the last batches spent their time: for statistics, kept in memory.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::content::Content;
use super::live::LiveBatch;
use super::store::{FinishedBatch, Queued, TaskResult, step_name};

/// Batches that are remembered.
const KEPT: usize = 5;

/// Durations of the steps of a finished batch.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Uid as in `/batches`.
    pub batch_uid: u32,
    /// The index that it worked on.
    pub index_uid: Option<String>,
    /// Steps of the batch, by their public names.
    pub steps: Vec<(&'static str, Duration)>,
    /// From its start to its end.
    pub duration: Duration,
    /// Documents that additions brought; `None` without additions.
    pub indexed_documents: Option<u64>,
}

impl Trace {
    pub fn of(live: &LiveBatch, tasks: &[Queued], done: &FinishedBatch) -> Trace {
        let is_addition = |uid| tasks.iter().any(|task| task.uid == uid && matches!(task.content, Content::Upsert(_)));
        let additions = done.tasks.iter().filter(|task| is_addition(task.uid));
        let counts: Vec<u64> = additions
            .map(|task| match task.result {
                TaskResult::Succeeded(Some(count)) | TaskResult::Unembedded { count: Some(count), .. } => count,
                _ => 0,
            })
            .collect();
        let steps = times(live);
        Trace {
            batch_uid: live.uid,
            index_uid: live.index_uid.clone(),
            duration: steps.iter().map(|(_, time)| *time).sum(),
            steps,
            indexed_documents: (!counts.is_empty()).then(|| counts.iter().sum()),
        }
    }

    /// Returns the steps as `GET /batches` shows them.
    pub fn show(&self) -> Map<String, Value> {
        shown(&self.steps)
    }
}

/// The steps of a batch so far, as `GET /batches` shows them.
pub fn show_so_far(live: &LiveBatch) -> Map<String, Value> {
    shown(&times(live))
}

fn times(live: &LiveBatch) -> Vec<(&'static str, Duration)> {
    let own = live.steps.trace();
    if own.is_empty() {
        live.progress.trace().into_iter().map(|(phase, time)| (step_name(phase), time)).collect()
    } else {
        own
    }
}

fn shown(steps: &[(&'static str, Duration)]) -> Map<String, Value> {
    let shown = |(name, time): &(&str, Duration)| (format!("processing tasks > {name}"), format!("{time:.2?}").into());
    steps.iter().map(shown).collect()
}

/// The last traces, oldest first. Shared by reference.
#[derive(Debug, Default)]
pub struct RecentTraces(Mutex<VecDeque<Trace>>);

impl RecentTraces {
    pub fn add(&self, trace: Trace) {
        let mut traces = self.0.lock();
        while traces.len() >= KEPT {
            traces.pop_front();
        }
        traces.push_back(trace);
    }

    /// A copy of them.
    pub fn get(&self) -> Vec<Trace> {
        self.0.lock().iter().cloned().collect()
    }
}
