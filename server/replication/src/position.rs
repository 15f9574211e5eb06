//! How far the journal is covered by a root.

use lamina_data::tasks::UidSet;
use serde::{Deserialize, Serialize};

/// Part of the journal that a root covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Position {
    /// All tasks of records before this one are covered.
    pub(super) from: u64,
    /// Tasks from this uid on are not.
    pub(super) next_task: u32,
    /// Tasks below that are not either.
    pub(super) waiting: UidSet,
    /// Numbers of fences, ascending.
    pub(super) fences: Vec<u64>,
}

impl Position {
    /// Reports whether the root contains the effects of a task.
    pub(super) fn covers(&self, uid: u32) -> bool {
        uid < self.next_task && !self.waiting.contains(uid)
    }
}
