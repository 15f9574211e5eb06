//! The batch that is being processed: the part of the queue's state that is never stored.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use lamina_base::cancellation::unless_cancelled;
use lamina_base::timestamp::Timestamp;
use lamina_engine::index::embedding::Watched;
use lamina_engine::index::{Index, Progress};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::content::Content;
use super::kind::Status;
use super::steps::Steps;
use super::task::Task;

/// Bytes of an index, by the parts of its segments.
pub(crate) type PartBytes = BTreeMap<&'static str, u64>;

/// A batch from its start until its outcome is stored.
#[derive(Debug)]
pub struct LiveBatch {
    /// Uid of the batch.
    pub uid: u32,
    /// Time at which the batch started.
    pub started_at: Timestamp,
    /// Reason why the batch stopped growing.
    pub strategy: String,
    /// Uids of the tasks, ascending.
    pub tasks: Vec<u32>,
    /// The index it works on.
    pub index_uid: Option<String>,
    /// Merged details of its tasks while they wait.
    pub details: Map<String, Value>,
    /// Counts for `GET /batches`, see the store.
    pub stats: Value,
    /// Written by the engine.
    pub progress: Arc<Progress>,
    /// Written by what asks for vectors of its documents, where that is not for it alone.
    pub asks: Mutex<Option<Arc<Progress>>>,
    /// Written by work that is not the engine's.
    pub steps: Steps,
    /// Sizes of the parts of its index when the batch began to write to it.
    pub bytes_before: OnceLock<PartBytes>,
    /// Set to make the engine give up: nothing is written then.
    pub cancelled: AtomicBool,
}

impl LiveBatch {
    /// Returns a batch that no task waits for: for callers without a queue, such as tests.
    pub fn bare(uid: u32, tasks: &[u32]) -> LiveBatch {
        LiveBatch {
            uid,
            started_at: Timestamp::now(),
            strategy: "test".to_owned(),
            tasks: tasks.to_vec(),
            index_uid: None,
            details: Map::new(),
            stats: serde_json::json!({}),
            progress: Arc::default(),
            asks: Mutex::default(),
            steps: Steps::default(),
            bytes_before: OnceLock::new(),
            cancelled: AtomicBool::new(false),
        }
    }

    /// Returns how far the work is that is done for it.
    pub fn current(&self) -> Arc<Progress> {
        self.asks.lock().clone().unwrap_or_else(|| Arc::clone(&self.progress))
    }

    /// Returns what became of the requests for vectors of its documents; `None` when there were none.
    pub fn embedder_requests(&self) -> Option<Value> {
        let Watched { requests, failed, last_error, .. } = self.current().embedding().seen();
        let mut shown = json!({ "total": requests, "failed": failed });
        if let Some(error) = last_error {
            shown["lastError"] = error.into();
        }
        (requests > 0).then_some(shown)
    }

    /// To be called before the first write to its index.
    pub fn note_bytes_before(&self, index: &Index) {
        self.bytes_before.get_or_init(|| index.snapshot().section_bytes());
    }

    /// Reports whether the task belongs to the batch.
    pub fn holds(&self, uid: u32) -> bool {
        self.tasks.binary_search(&uid).is_ok()
    }

    /// Asks the engine to give up if the work of a new task is to cancel one of these. A commit that is under way ends
    /// normally.
    pub fn cancel_if_named(&self, content: &Content) {
        if let Content::CancelTasks { tasks, .. } = content
            && self.tasks.iter().any(|&uid| tasks.contains(uid))
        {
            self.cancel();
        }
    }

    /// Shows a stored task as it is now. A task that the store knows as final is left alone: the batch is just over.
    pub(crate) fn overlay(&self, task: &mut Task) {
        if task.status == Status::Enqueued && self.holds(task.uid) {
            task.status = Status::Processing;
            task.batch_uid = Some(self.uid);
            task.started_at = Some(self.started_at);
        }
    }

    /// Reports whether the batch was canceled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Blocks until `work` is done, or the batch is canceled: then there is nothing. Not for threads of the
    /// runtime.
    pub fn wait_for<T>(&self, runtime: &tokio::runtime::Handle, work: impl Future<Output = T>) -> Option<T> {
        runtime.block_on(unless_cancelled(&self.cancelled, work))
    }

    /// Asks the engine to give up. A commit that is under way ends normally.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}
