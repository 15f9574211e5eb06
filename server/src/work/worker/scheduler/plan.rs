//! What the scheduler carries out next.

use std::sync::Arc;

use lamina_data::tasks::content::Content;
use lamina_data::tasks::kind::Kind;
use lamina_data::tasks::store::{Queued, StoreError};
use lamina_protocol::wire::settings::merged;

use super::super::batch::{Growing, IndexFacts, Offer, Strategy};
use super::Worker;
use super::background::NamesInUse;

/// Types that are carried out before tasks about documents and settings, the most urgent one first.
const BEFORE_OTHERS: [Kind; 4] = [Kind::IndexCompaction, Kind::Export, Kind::SnapshotCreation, Kind::DumpCreation];

/// A batch to be carried out.
pub(super) struct Plan {
    pub(super) tasks: Vec<Queued>,
    pub(super) strategy: String,
    /// True for a change of settings that has to call embedders before it is carried out.
    pub(super) asks: bool,
}

impl Plan {
    pub(super) fn new(tasks: Vec<Queued>, strategy: &Strategy) -> Plan {
        Plan { tasks, strategy: strategy.to_string(), asks: false }
    }
}

impl Worker {
    /// Plans the next batch, if there is one.
    pub(super) fn plan(&mut self) -> Result<Option<Plan>, StoreError> {
        if self.limits.is_held {
            return Ok(None);
        }
        let queue = Arc::clone(&self.queue);
        let store = queue.store();
        let may_begin = |task: &Queued| !self.background.holds_until_published(task, &self.instance);
        if let Some(cancelation) = store.enqueued_of_kind(Kind::TaskCancelation)?.into_iter().rfind(may_begin) {
            let strategy = Strategy::Alone { uid: cancelation.uid, kind: Kind::TaskCancelation };
            return Ok(Some(Plan::new(vec![cancelation], &strategy)));
        }
        for kind in [Kind::UpgradeDatabase, Kind::TaskDeletion] {
            let tasks = store.enqueued_of_kind(kind)?;
            if !tasks.is_empty() {
                return Ok(Some(Plan::new(tasks, &Strategy::OwnKind { kind })));
            }
        }
        let mut first = store.enqueued_among(&BEFORE_OTHERS)?;
        first.retain(may_begin);
        if let Some(kind) = first.first().map(|task| task.content.kind()) {
            if kind == Kind::SnapshotCreation {
                first.retain(|task| task.content.kind() == kind);
                return Ok(Some(Plan::new(first, &Strategy::OwnKind { kind })));
            }
            first.truncate(1);
            let strategy = Strategy::Alone { uid: first[0].uid, kind };
            return Ok(Some(Plan::new(first, &strategy)));
        }
        let first = if self.background.holds_any() {
            let mut held = NamesInUse::default();
            store.first_enqueued(|task| self.may_begin(task, &mut held))?
        } else {
            store.oldest_enqueued()?
        };
        match first {
            Some(first) => self.grow(first).map(|plan| Some(self.asking_alone(self.within_refusal(plan)))),
            None => Ok(None),
        }
    }

    /// The tasks before the first one that has to ask embedders, or that one alone.
    fn asking_alone(&self, mut plan: Plan) -> Plan {
        let Some(place) = plan.tasks.iter().position(|task| self.has_to_ask(task)) else { return plan };
        let Queued { uid, content, .. } = &plan.tasks[place];
        let strategy = match place {
            0 => Strategy::Alone { uid: *uid, kind: content.kind() },
            _ => Strategy::Asking { uid: *uid },
        };
        plan.strategy = strategy.to_string();
        plan.asks = place == 0;
        plan.tasks.truncate(place.max(1));
        plan
    }

    /// Returns whether a task needs vectors before it can be carried out, and has not asked for them.
    fn has_to_ask(&self, task: &Queued) -> bool {
        let Content::Settings { patch, may_create_index } = &task.content else { return false };
        if (patch.embedders.is_unset() && patch.searchable_attributes.is_unset())
            || self.background.prepared.contains_key(&task.uid)
        {
            return false;
        }
        let uid = task.index_uid.as_deref().unwrap_or_default();
        let index = match self.instance.contains(uid) {
            true => self.instance.index(uid),
            false if *may_create_index => self.instance.scratch_index(),
            false => return false,
        };
        // What is wrong with the change, or with the index, is said when it is carried out.
        index.is_ok_and(|index| merged(&index.snapshot().settings, patch).is_ok() && index.needs_embedders(patch))
    }

    /// The batch that `first` starts.
    fn grow(&self, first: Queued) -> Result<Plan, StoreError> {
        let Some(index_uid) = first.index_uid.clone() else {
            let strategy = Strategy::Alone { uid: first.uid, kind: first.content.kind() };
            return Ok(Plan::new(vec![first], &strategy));
        };
        let facts = self.facts(&index_uid);
        let mut batch = match Growing::start(&first, &facts, self.limits) {
            Ok(batch) => batch,
            Err(strategy) => return Ok(Plan::new(vec![first], &strategy)),
        };
        let store = self.queue.store();
        let barrier = self.barrier(&index_uid)?;
        let (mut tasks, mut strategy) = (vec![first], None);
        store.walk_index_queue(&index_uid, tasks[0].uid + 1, |task| {
            if let Some((uid, kind)) = barrier
                && uid < task.uid
            {
                strategy = Some(Strategy::BeforeShared { uid, kind });
                return false;
            }
            if self.background.holds(&task, &self.instance) {
                strategy = Some(Strategy::Asking { uid: task.uid });
                return false;
            }
            match batch.offer(&task) {
                Offer::Joined => tasks.push(task),
                Offer::JoinedLast(reason) => {
                    tasks.push(task);
                    strategy = Some(reason);
                }
                Offer::Stopped(reason) => strategy = Some(reason),
            }
            strategy.is_none()
        })?;
        let strategy = match strategy {
            Some(strategy) => strategy,
            None if store.has_others_enqueued(&index_uid)? => Strategy::IndexExhausted { index_uid },
            None => Strategy::QueueExhausted,
        };
        Ok(Plan::new(tasks, &strategy))
    }

    fn facts(&self, index_uid: &str) -> IndexFacts {
        let snapshot = self.instance.state(index_uid).ok();
        let primary_key = snapshot.and_then(|snapshot| snapshot.primary_key.as_deref().map(str::to_owned));
        IndexFacts { exists: self.instance.contains(index_uid), primary_key }
    }

    /// The first enqueued task of another queue that also touches this index.
    fn barrier(&self, index_uid: &str) -> Result<Option<(u32, Kind)>, StoreError> {
        let store = self.queue.store();
        let mut first: Option<(u32, Kind)> = None;
        for kind in [Kind::IndexSwap, Kind::IndexUpdate, Kind::AliasUpdate, Kind::IndexClone] {
            let involved = store.enqueued_of_kind(kind)?.into_iter().find(|task| task.content.involves(index_uid));
            if let Some(task) = involved
                && first.is_none_or(|(uid, _)| task.uid < uid)
            {
                first = Some((task.uid, kind));
            }
        }
        Ok(first)
    }
}
