//! A batch that is refused because of one document is carried out in smaller ones, until only the task that brought the document
//! fails. Nothing of a refused batch was committed.

use lamina_data::tasks::store::Queued;

use super::super::batch::Strategy;
use super::{Plan, Worker};

/// Limit on the number of tasks of an index in a batch, after a batch of it was refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedTogether {
    index_uid: Option<String>,
    /// Tasks from this uid on came later.
    until: u32,
    count_max: usize,
}

impl RefusedTogether {
    /// After a batch of `tasks` was refused: half as many. `None` where a task was alone: it is the one to blame.
    fn after(tasks: &[Queued]) -> Option<RefusedTogether> {
        let [first, .., last] = tasks else { return None };
        Some(RefusedTogether {
            index_uid: first.index_uid.clone(),
            until: last.uid.saturating_add(1),
            count_max: tasks.len() / 2,
        })
    }

    fn concerns(&self, tasks: &[Queued]) -> bool {
        tasks.first().is_some_and(|task| task.index_uid == self.index_uid && task.uid < self.until)
    }
}

impl Worker {
    /// Reports whether the tasks must be executed again, in smaller batches.
    pub(super) fn is_refused_together(&mut self, tasks: &[Queued]) -> bool {
        let Some(refused) = RefusedTogether::after(tasks) else { return false };
        let count = tasks.len();
        tracing::info!(tasks = count, "one document made a batch fail: its tasks are carried out in smaller batches");
        let until =
            self.refused_together.take().filter(|before| before.concerns(tasks)).map_or(0, |before| before.until);
        self.refused_together = Some(RefusedTogether { until: refused.until.max(until), ..refused });
        true
    }

    /// The batch, or the first tasks of it if others of its index were refused together.
    pub(super) fn within_refusal(&self, mut plan: Plan) -> Plan {
        if let Some(refused) = self.refused_together.as_ref().filter(|refused| refused.concerns(&plan.tasks))
            && plan.tasks.len() > refused.count_max
        {
            plan.tasks.truncate(refused.count_max);
            plan.strategy = Strategy::AfterRefusal { count: refused.count_max }.to_string();
        }
        plan
    }

    /// Notes that these tasks were not refused together: twice as many may go together next.
    pub(super) fn note_accepted(&mut self, tasks: &[Queued]) {
        if let Some(refused) = self.refused_together.as_mut().filter(|refused| refused.concerns(tasks)) {
            refused.count_max = refused.count_max.saturating_mul(2);
        }
    }
}
