//! The queue remembers a million tasks; beyond that it deletes its oldest finished ones by a task like any other.

use lamina_data::tasks::content::Content;
use lamina_data::tasks::new_task::NewTask;
use lamina_data::tasks::store::{Store, StoreError};

/// Conditions for the deletion of old tasks, and the number deleted at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retention {
    /// Tasks stored before any is deleted.
    kept_max: u64,
    /// Tasks deleted at once.
    deleted_max: u32,
    /// Uids given between two looks at the store.
    look_every: u32,
    /// No look before this uid is reached.
    next_look: u32,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { kept_max: 1_000_000, deleted_max: 100_000, look_every: 1_000, next_look: 0 }
    }
}

impl Retention {
    /// The deletion that is due, if any. Costs a lookup nearly always.
    pub(super) fn due(&mut self, store: &Store) -> Result<Option<NewTask>, StoreError> {
        let Some((first, last)) = store.uid_range()? else { return Ok(None) };
        if last < self.next_look || u64::from(last - first) + 1 < self.kept_max {
            return Ok(None);
        }
        self.next_look = last.saturating_add(self.look_every);
        if store.task_count()? < self.kept_max {
            return Ok(None);
        }
        let Some((tasks, newest)) = store.oldest_finished(self.deleted_max)? else { return Ok(None) };
        // The deletion is a task too: for one other task it would change nothing.
        if tasks.len() < 2 {
            return Ok(None);
        }
        let filter = format!("?beforeEnqueuedAt={newest}&statuses=succeeded,failed,canceled");
        Ok(Some(NewTask::global(Content::DeleteTasks { filter, tasks })))
    }

    #[cfg(test)]
    pub(super) fn for_tests(kept_max: u64, deleted_max: u32) -> Retention {
        Retention { kept_max, deleted_max, look_every: 1, next_look: 0 }
    }
}
