//! Which tasks of an index share a batch. Pure: the scheduler offers tasks in order until one does not fit.
//!
//! Batching is an optimisation: carrying out the tasks of a batch one after another, inside one commit, gives what
//! carrying them out in batches of their own would have given.

use std::fmt;
use std::num::NonZeroUsize;

use lamina_base::options::ByteSize;
use lamina_base::plural::counted;
use lamina_data::tasks::content::{Content, Upsert};
use lamina_data::tasks::kind::Kind;
use lamina_data::tasks::store::Queued;

/// State of the index when the batch starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexFacts {
    /// True if there is an index of that name.
    pub(super) exists: bool,
    /// The field that ids are read from; `None` while no document has been there.
    pub(super) primary_key: Option<String>,
}

/// Limits on the size of a batch. The first task always fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Most tasks.
    pub tasks: Option<NonZeroUsize>,
    /// Most bytes of documents.
    pub bytes: u64,
    /// Most bytes of documents that are held in memory.
    pub inline_bytes: u64,
    /// True if the queue deletes its oldest tasks when it holds very many.
    pub cleans_up: bool,
    /// Nothing is carried out: another server writes, or may do so.
    pub is_held: bool,
}

/// Reason why a batch holds no more tasks; shown to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Nothing else is enqueued.
    QueueExhausted,
    /// Nothing else is enqueued for the index.
    IndexExhausted { index_uid: String },
    /// A type that never shares.
    Alone { uid: u32, kind: Kind },
    /// A type that only shares with its own.
    OwnKind { kind: Kind },
    /// The next task is about several indexes and must not be overtaken.
    BeforeShared { uid: u32, kind: Kind },
    /// Enough tasks.
    TaskLimit { limit: usize },
    /// Enough bytes.
    ByteLimit { limit: u64, total: u64 },
    /// The next task names another primary key than the index has.
    KeyOfIndex { uid: u32, named: String, current: String },
    /// The next task names another primary key than an earlier one.
    KeyOfBatch { uid: u32, named: String, current: String },
    /// The next task names a primary key where earlier ones have it inferred.
    KeyInference { uid: u32, named: String },
    /// The next task may create the index, earlier ones may not.
    CreationRights { uid: u32 },
    /// The last task deletes the index.
    IndexDeletion { uid: u32 },
    /// Documents, then settings.
    SettingsAfterDocuments { uid: u32 },
    /// Additions, then a deletion by filter.
    FilterAfterDocuments { uid: u32 },
    /// Settings, then documents.
    DocumentsAfterSettings { uid: u32 },
    /// Changes of rules, then the removal of all.
    RulesCleared { uid: u32 },
    /// The server ended unexpectedly, maybe because of a task: each is carried out alone.
    AfterCrash { uid: u32 },
    /// A larger batch was refused because of one document.
    AfterRefusal { count: usize },
    /// The next task asks embedders first, or waits for one that does.
    Asking { uid: u32 },
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::QueueExhausted => f.write_str("batched all enqueued tasks"),
            Strategy::IndexExhausted { index_uid } => write!(f, "batched all enqueued tasks for index `{index_uid}`"),
            Strategy::Alone { uid, kind } => write!(
                f,
                "created batch containing only task with id {uid} of type `{kind}` that cannot be batched with any \
                 other task."
            ),
            Strategy::OwnKind { kind } => write!(
                f,
                "stopped after the last task of type `{kind}` because they cannot be batched with tasks of any other \
                 type."
            ),
            Strategy::BeforeShared { uid, kind } => write!(
                f,
                "stopped before task with id {uid} of type `{kind}` that cannot be batched with any other task."
            ),
            Strategy::TaskLimit { limit } => write!(f, "batched up to configured batch limit of {limit} tasks"),
            Strategy::ByteLimit { limit, total } => write!(
                f,
                "batched up to configured batch size limit of {} with a total of {}",
                ByteSize::new(*limit),
                ByteSize::new(*total)
            ),
            Strategy::AfterCrash { uid } => write!(
                f,
                "created batch containing only task with id {uid} because the server ended unexpectedly and the task may \
                 be the reason"
            ),
            Strategy::AfterRefusal { count } => write!(
                f,
                "batched at most {} because a larger batch was refused because of one of its documents",
                counted(*count, "task")
            ),
            stopped => stopped.fmt_stopped(f),
        }
    }
}

impl Strategy {
    /// Formats the reason for a batch that ended before a task that does not fit the earlier ones.
    fn fmt_stopped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::KeyOfIndex { uid, named, current } => write!(
                f,
                "stopped batching before task with id {uid} because its primary key `{named}` is different from the \
                 primary key of the index `{current}`"
            ),
            Strategy::KeyOfBatch { uid, named, current } => write!(
                f,
                "stopped batching before task with id {uid} because its primary key `{named}` is different from the \
                 primary key of the batch `{current}`"
            ),
            Strategy::KeyInference { uid, named } => write!(
                f,
                "stopped batching before task with id {uid} because it is setting the `{named}` primary key and it \
                 would interfere with primary key guessing of the batch"
            ),
            Strategy::CreationRights { uid } => write!(
                f,
                "stopped batching before task with id {uid} because its index creation rules differ from the ones \
                 from the batch"
            ),
            Strategy::IndexDeletion { uid } => {
                write!(f, "stopped after task with id {uid} because it deletes the index")
            }
            Strategy::RulesCleared { uid } => {
                write!(f, "stopped after task with id {uid} because it removes all dynamic search rules")
            }
            Strategy::SettingsAfterDocuments { uid } => write!(
                f,
                "stopped before task with id {uid} because it is a settings change which cannot be batched with \
                 document operations"
            ),
            Strategy::FilterAfterDocuments { uid } => write!(
                f,
                "stopped before task with id {uid} because it is a deletion by filter which cannot be batched with \
                 document operations"
            ),
            Strategy::DocumentsAfterSettings { uid } => write!(
                f,
                "stopped before task with id {uid} because it is a document operation which cannot be batched with \
                 settings changes"
            ),
            Strategy::Asking { uid } => write!(
                f,
                "stopped before task with id {uid} because it waits for vectors that a change of settings needs"
            ),
            other => unreachable!("{other:?} is said elsewhere"),
        }
    }
}

/// Content of a batch so far: the rows of the table of growth rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Additions, perhaps with deletions.
    Upserts,
    /// Deletions by id only.
    Ids,
    /// Deletions by filter, perhaps also by id.
    Filters,
    /// A deletion of everything came.
    Cleared,
    /// Changes of settings only.
    Settings,
    /// Changes of settings and deletions of everything.
    SettingsCleared,
    /// Changes of dynamic search rules.
    Rules,
}

/// A batch that grows.
#[derive(Debug)]
pub(super) struct Growing<'a> {
    facts: &'a IndexFacts,
    limits: Limits,
    shape: Shape,
    /// Primary key named by a member.
    named_key: Option<String>,
    /// A member relies on inference.
    infers_key: bool,
    /// True if members may create the index; `None` if no member could.
    may_create: Option<bool>,
    count: usize,
    bytes: u64,
    inline_bytes: u64,
}

/// Answer to an offered task: it joined or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// The task is a member; offer the next one.
    Joined,
    /// The task is a member, and the last one.
    JoinedLast(Strategy),
    /// The task is not a member: the batch is complete without it.
    Stopped(Strategy),
}

impl<'a> Growing<'a> {
    /// Starts a batch with its first task. `Err`: the task is the whole batch.
    pub(super) fn start(first: &Queued, facts: &'a IndexFacts, limits: Limits) -> Result<Growing<'a>, Strategy> {
        let shape = match &first.content {
            Content::Upsert(_) => Shape::Upserts,
            Content::DeleteIds { .. } => Shape::Ids,
            Content::DeleteByFilter { .. } | Content::DeleteExpired => Shape::Filters,
            Content::Clear { .. } => Shape::Cleared,
            Content::Settings { .. } => Shape::Settings,
            Content::UpdateRule { .. } => Shape::Rules,
            Content::ClearRules => return Err(Strategy::RulesCleared { uid: first.uid }),
            Content::DeleteIndex => return Err(Strategy::IndexDeletion { uid: first.uid }),
            other => return Err(Strategy::Alone { uid: first.uid, kind: other.kind() }),
        };
        let mut batch = Growing {
            facts,
            limits,
            shape,
            named_key: None,
            infers_key: false,
            may_create: None,
            count: 0,
            bytes: 0,
            inline_bytes: 0,
        };
        if let Content::Upsert(upsert) = &first.content
            && let Some(stop) = batch.key_conflict(first.uid, upsert)
        {
            return Err(stop);
        }
        batch.admit(&first.content);
        match limits.tasks {
            Some(limit) if limit.get() == 1 => Err(Strategy::TaskLimit { limit: 1 }),
            _ => Ok(batch),
        }
    }

    /// Offers the next task of the index.
    pub(super) fn offer(&mut self, task: &Queued) -> Offer {
        let next = match self.next_shape(task) {
            Ok(next) => next,
            Err(strategy) => return Offer::Stopped(strategy),
        };
        if let Some(strategy) = self.limit_reached(&task.content) {
            return Offer::Stopped(strategy);
        }
        self.shape = next;
        self.admit(&task.content);
        if matches!(task.content, Content::ClearRules) {
            return Offer::JoinedLast(Strategy::RulesCleared { uid: task.uid });
        }
        if matches!(task.content, Content::DeleteIndex) {
            return Offer::JoinedLast(Strategy::IndexDeletion { uid: task.uid });
        }
        match self.limits.tasks {
            Some(limit) if self.count >= limit.get() => Offer::JoinedLast(Strategy::TaskLimit { limit: limit.get() }),
            _ => Offer::Joined,
        }
    }

    /// The growth rules: what the batch becomes with `task`, or why it does not fit.
    fn next_shape(&self, task: &Queued) -> Result<Shape, Strategy> {
        let uid = task.uid;
        let creates = may_create(&task.content) == Some(true);
        if creates && !self.facts.exists && self.may_create == Some(false) {
            return Err(Strategy::CreationRights { uid });
        }
        match (&task.content, self.shape) {
            // No index is called as the rules are.
            (Content::UpdateRule { .. } | Content::ClearRules, _) => Ok(Shape::Rules),
            (Content::DeleteIndex, shape) => Ok(shape),
            (Content::Clear { .. }, Shape::Settings | Shape::SettingsCleared) => Ok(Shape::SettingsCleared),
            (Content::Clear { .. }, _) => Ok(Shape::Cleared),
            (Content::Settings { .. }, Shape::Settings | Shape::SettingsCleared) => Ok(self.shape),
            (Content::Settings { .. }, _) => Err(Strategy::SettingsAfterDocuments { uid }),
            (
                Content::Upsert(_)
                | Content::DeleteIds { .. }
                | Content::DeleteByFilter { .. }
                | Content::DeleteExpired,
                Shape::Settings,
            ) => Err(Strategy::DocumentsAfterSettings { uid }),
            (Content::Upsert(_), Shape::Cleared | Shape::SettingsCleared) => {
                Err(Strategy::DocumentsAfterSettings { uid })
            }
            (Content::Upsert(upsert), Shape::Ids) if !self.facts.exists && upsert.may_create_index => {
                // The deletions fail for lack of an index; the addition creates it.
                Err(Strategy::CreationRights { uid })
            }
            (Content::Upsert(upsert), Shape::Upserts | Shape::Ids | Shape::Filters) => {
                self.key_conflict(uid, upsert).map_or(Ok(Shape::Upserts), Err)
            }
            (Content::DeleteIds { .. }, shape) => Ok(shape),
            (Content::DeleteByFilter { .. } | Content::DeleteExpired, Shape::Upserts) => {
                Err(Strategy::FilterAfterDocuments { uid })
            }
            (Content::DeleteByFilter { .. } | Content::DeleteExpired, Shape::Ids) => Ok(Shape::Filters),
            (Content::DeleteByFilter { .. } | Content::DeleteExpired, shape) => Ok(shape),
            (other, _) => Err(Strategy::BeforeShared { uid, kind: other.kind() }),
        }
    }

    fn key_conflict(&self, uid: u32, upsert: &Upsert) -> Option<Strategy> {
        let named = upsert.primary_key.clone()?;
        match (&self.facts.primary_key, &self.named_key) {
            (Some(current), _) if *current != named => {
                Some(Strategy::KeyOfIndex { uid, named, current: current.clone() })
            }
            (Some(_), _) => None,
            (None, Some(current)) if *current != named => {
                Some(Strategy::KeyOfBatch { uid, named, current: current.clone() })
            }
            (None, None) if self.infers_key => Some(Strategy::KeyInference { uid, named }),
            (None, _) => None,
        }
    }

    fn limit_reached(&self, content: &Content) -> Option<Strategy> {
        let (bytes, inline) = payload_bytes(content);
        let total = self.bytes.saturating_add(bytes);
        if total > self.limits.bytes {
            return Some(Strategy::ByteLimit { limit: self.limits.bytes, total: self.bytes });
        }
        (self.inline_bytes.saturating_add(inline) > self.limits.inline_bytes)
            .then_some(Strategy::ByteLimit { limit: self.limits.inline_bytes, total: self.inline_bytes })
    }

    fn admit(&mut self, content: &Content) {
        let (bytes, inline) = payload_bytes(content);
        self.count += 1;
        // A task may come from a journal or a copy of a database, and say anything of what its documents have.
        self.bytes = self.bytes.saturating_add(bytes);
        self.inline_bytes = self.inline_bytes.saturating_add(inline);
        if let Some(may_create) = may_create(content) {
            self.may_create = Some(self.may_create.unwrap_or(false) || may_create);
        }
        if let Content::Upsert(upsert) = content {
            match &upsert.primary_key {
                Some(key) => self.named_key = Some(key.clone()),
                None => self.infers_key |= self.named_key.is_none(),
            }
        }
    }
}

fn may_create(content: &Content) -> Option<bool> {
    match content {
        Content::Upsert(upsert) => Some(upsert.may_create_index),
        Content::Settings { may_create_index, .. } => Some(*may_create_index),
        _ => None,
    }
}

/// All bytes of documents, and those held in memory.
fn payload_bytes(content: &Content) -> (u64, u64) {
    match content {
        Content::Upsert(upsert) if content.payload_file().is_none() => (upsert.payload_bytes, upsert.payload_bytes),
        Content::Upsert(upsert) => (upsert.payload_bytes, 0),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests;
