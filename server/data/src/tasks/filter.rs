//! Which tasks a request is about.

use lamina_protocol::wire::tasks::{Bounds, TaskSelection};

use super::kind::{Kind, Status};

/// Values of one list are alternatives, lists and bounds must all hold. `None` is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Tasks with these uids.
    pub uids: Option<Vec<u32>>,
    /// Tasks of these batches.
    pub batch_uids: Option<Vec<u32>>,
    /// Tasks of these indexes; tasks that are not about one index never match.
    pub index_uids: Option<Vec<String>>,
    /// Tasks of indexes that match one of these uids or patterns with a final `*`: what the caller may see.
    pub visible: Option<Vec<String>>,
    /// Tasks of these types.
    pub kinds: Option<Vec<Kind>>,
    /// Tasks in these states.
    pub statuses: Option<Vec<Status>>,
    /// Tasks that these cancelations ended.
    pub canceled_by: Option<Vec<u32>>,
    /// Registered between.
    pub enqueued: Bounds,
    /// Started between.
    pub started: Bounds,
    /// Finished between.
    pub finished: Bounds,
}

impl From<TaskSelection> for TaskFilter {
    fn from(asked: TaskSelection) -> TaskFilter {
        let TaskSelection { uids, batch_uids, index_uids, kinds, statuses, canceled_by, enqueued, started, finished } =
            asked;
        TaskFilter {
            uids,
            batch_uids,
            index_uids,
            visible: None,
            kinds,
            statuses,
            canceled_by,
            enqueued,
            started,
            finished,
        }
    }
}
