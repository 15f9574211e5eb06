//! Carrying out a batch: what it does to the indexes, and what to write down about it.

mod aliases;
mod clones;
mod compaction;
mod documents;
mod dumps;
mod editions;
mod embedding;
mod exports;
mod indexes;
mod record;
mod restorations;
mod rules;
mod snapshots;

use std::sync::Arc;

use lamina_base::error::ApiError;
use lamina_base::outbound::Outbound;
use lamina_base::stored_names::FolderName;
use lamina_data::instance::Instance;
use lamina_data::tasks::content::Content;
use lamina_data::tasks::live::LiveBatch;
use lamina_data::tasks::store::{FinishedBatch, FinishedTask, IndexChange, Queued, Store, TaskResult};
use lamina_data::tasks::task::StoredError;
use lamina_engine::index::Index;
use serde_json::{Map, Value};

use crate::work::backup::BackupPlaces;

pub(super) use embedding::{in_vain, make_vectors, report, report_unreached, wait_for_vectors};
use record::Record;

/// A batch that was carried out; its tasks may have failed.
#[derive(Debug)]
pub(super) struct Done {
    /// To be stored.
    pub(super) batch: FinishedBatch,
    /// Indexes that it created, by folder.
    pub(super) created: Vec<(FolderName, Arc<Index>)>,
    /// The engine refused all of it because of something that one of its tasks brought.
    pub(super) is_refused_for_one: bool,
}

impl From<FinishedBatch> for Done {
    fn from(batch: FinishedBatch) -> Done {
        Done { batch, created: Vec::new(), is_refused_for_one: false }
    }
}

impl Done {
    /// The failure of a task that may be over in a moment, if there is one. Nothing was committed then: such a failure fails
    /// the batch as a whole.
    pub(super) fn momentary_failure(&self) -> Option<&StoredError> {
        self.batch.tasks.iter().find_map(|task| match &task.result {
            TaskResult::Failed(error) if error.is_momentary() => Some(error),
            _ => None,
        })
    }
}

/// Resources of a batch.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) instance: &'a Instance,
    pub(super) store: &'a Store,
    pub(super) places: &'a BackupPlaces,
    pub(super) outbound: &'a Outbound,
    pub(super) live: &'a LiveBatch,
}

/// Carries out the tasks of a batch. `None` when it was canceled: nothing has changed then.
pub(super) fn run(context: Context<'_>, tasks: &[Queued]) -> Option<Done> {
    let first = tasks.first()?;
    let uid = first.index_uid.as_deref().unwrap_or_default();
    match &first.content {
        Content::CreateIndex { primary_key } => indexes::create(context, uid, first.uid, primary_key.as_deref()),
        Content::UpdateIndex { primary_key, new_uid } => {
            indexes::update(context, uid, first.uid, primary_key.as_deref(), new_uid.as_deref())
        }
        Content::Edit(edit) => editions::run(context, uid, first.uid, edit),
        Content::CreateSnapshot => snapshots::create(context, tasks),
        Content::UpgradeDatabase { .. } => Some(indexes::check_all(context, tasks)),
        Content::CreateDump { skip_damaged } => dumps::create(context, first.uid, *skip_damaged),
        Content::Export(asked) => exports::run(context, first.uid, asked),
        Content::CompactIndex => compaction::compact(context, uid, first.uid),
        Content::SwapIndexes { swaps } => Some(indexes::swap(context, first.uid, swaps)),
        Content::CloneIndex { new_uid } => Some(clones::clone(context, uid, first.uid, new_uid)),
        Content::AttachIndex { folder } => clones::attach(context, uid, first.uid, folder),
        Content::RestoreIndex { at } => Some(restorations::restore(context, uid, first.uid, at)),
        Content::UpdateAliases { moves } => Some(aliases::change(context, first.uid, moves)),
        Content::CancelTasks { tasks, .. } => Some(cancel(context, first.uid, tasks.clone())),
        Content::DeleteTasks { .. } => Some(delete(context, tasks)),
        Content::UpdateRule { .. } | Content::ClearRules => rules::change(context, tasks),
        Content::Upsert(_)
        | Content::DeleteIds { .. }
        | Content::DeleteByFilter { .. }
        | Content::DeleteExpired
        | Content::Clear { .. }
        | Content::Settings { .. }
        | Content::DeleteIndex => match tasks.last() {
            Some(Queued { content: Content::DeleteIndex, .. }) => Some(indexes::delete(context, uid, tasks)),
            _ => documents::run(context, uid, tasks),
        },
    }
}

fn cancel(context: Context<'_>, uid: u32, tasks: lamina_data::tasks::UidSet) -> Done {
    let mut batch = Record::new(context.live).finish(&[succeeded(uid, None)], &[]);
    batch.canceled = Some((uid, tasks));
    Done::from(batch)
}

fn delete(context: Context<'_>, deletions: &[Queued]) -> Done {
    let tasks: Vec<FinishedTask> = deletions.iter().map(|task| succeeded(task.uid, None)).collect();
    let mut batch = Record::new(context.live).finish(&tasks, &[]);
    batch.deleted = deletions
        .iter()
        .filter_map(|task| match &task.content {
            Content::DeleteTasks { tasks, .. } => Some((task.uid, tasks.clone())),
            _ => None,
        })
        .collect();
    Done::from(batch)
}

impl Context<'_> {
    /// A batch that only changes what the store knows.
    fn stored_only(&self, tasks: &[FinishedTask], changes: &[IndexChange]) -> Done {
        Done::from(Record::new(self.live).finish(tasks, changes))
    }

    fn is_cancelled(&self) -> bool {
        self.live.is_cancelled()
    }
}

fn succeeded(uid: u32, count: Option<u64>) -> FinishedTask {
    FinishedTask { uid, result: TaskResult::Succeeded(count) }
}

fn reported(uid: u32, report: Map<String, Value>) -> FinishedTask {
    FinishedTask { uid, result: TaskResult::Reported(report) }
}

fn failed(uid: u32, error: &ApiError) -> FinishedTask {
    FinishedTask { uid, result: TaskResult::Failed(error.into()) }
}
