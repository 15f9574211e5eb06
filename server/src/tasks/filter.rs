//! Which tasks a request is about.

use super::kind::{Kind, Status};
use crate::timestamp::Timestamp;

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

/// An open interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Strictly later than this.
    pub after: Option<Timestamp>,
    /// Strictly earlier than this.
    pub before: Option<Timestamp>,
}

impl Bounds {
    /// Whether there is no bound.
    pub fn is_open(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// Whether `time` lies between.
    pub fn admits(&self, time: Timestamp) -> bool {
        self.after.is_none_or(|after| time > after) && self.before.is_none_or(|before| time < before)
    }
}
