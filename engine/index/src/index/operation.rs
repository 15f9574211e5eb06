//! What can be done to an index, and what came of it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_segment::bits::DocSet;

use super::error::OperationError;
use super::settings::SettingsPatch;
use super::snapshot::Snapshot;

/// One step of a batch. Operations take effect as if applied one after another.
#[derive(Debug)]
#[non_exhaustive]
pub enum Operation {
    Upsert(Upsert),
    /// Changes numbers and truth values of single top-level fields of documents that are there. Lines of
    /// `{"id": "1", "increment": {"views": 1}, "set": {"inStock": true}}`. The outcome is [`Outcome::Upserted`].
    UpdateValues(Payload),
    /// Ids as text; unknown ones are ignored.
    DeleteIds(Vec<String>),
    DeleteMatching(Selector),
    /// Deletes every document; settings and primary key stay.
    Clear,
    Settings(Box<SettingsPatch>),
    /// Allowed while there are no documents, or when it changes nothing.
    SetPrimaryKey(Option<String>),
    /// An operation on documents that knows the mark of the index, see [`Snapshot::mark`].
    Marked(Marking, Box<Operation>),
}

/// Change to the mark of an index when documents are written. Without a marking, the mark is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marking {
    /// The mark stays, whatever it is.
    Keep,
    /// The mark becomes `to`. The operation fails if the mark is neither `from` nor `to`: with `to` it is a repetition. Without a
    /// `from`, any mark will do.
    Move { from: Option<Arc<str>>, to: Arc<str> },
}

impl Upsert {
    /// Returns an upsert whose documents replace those with the same ids. The primary key is that of the index, or is found in the
    /// first document.
    pub fn replacing(payload: Payload) -> Upsert {
        Upsert { payload, method: WriteMethod::Replace, primary_key: None, skip_creation: false }
    }
}

impl Operation {
    /// Returns what it does, and the marking that it has.
    pub(super) fn parts(&self) -> (Option<&Marking>, &Operation) {
        match self {
            Operation::Marked(marking, operation) => (Some(marking), operation),
            operation => (None, operation),
        }
    }
}

impl Marking {
    /// The mark after the operation.
    ///
    /// # Errors
    /// The mark is not the expected one.
    pub(super) fn moved(&self, present: Option<&Arc<str>>) -> Result<Option<Arc<str>>, OperationError> {
        let (from, to) = match self {
            Marking::Keep => return Ok(present.cloned()),
            Marking::Move { from, to } => (from, to),
        };
        match from {
            Some(from) if present != Some(from) && present != Some(to) => {
                Err(OperationError::Mark { expected: from.to_string(), present: present.map(ToString::to_string) })
            }
            _ => Ok(Some(to.clone())),
        }
    }
}

/// Documents to add or change.
#[derive(Clone, Debug)]
pub struct Upsert {
    pub payload: Payload,
    pub method: WriteMethod,
    /// The primary key named by the request.
    pub primary_key: Option<String>,
    /// Ignore documents whose id is not in the index yet.
    pub skip_creation: bool,
}

/// Documents as normalised ndjson: one JSON object per line, as
/// [`normalize_payload`](lamina_segment::document::normalize_payload) writes it. Files are mapped, never copied to the heap,
/// and must not change during the call.
#[derive(Clone, Debug)]
pub enum Payload {
    File(PathBuf),
    Bytes(Arc<[u8]>),
}

/// Treatment of a document whose id exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMethod {
    /// The new document takes its place.
    Replace,
    /// Top-level fields are overwritten by those of the new document.
    Update,
}

/// One set per segment.
type Selected = Result<Vec<DocSet>, Box<dyn std::error::Error + Send + Sync>>;
type SelectFn = dyn Fn(&Snapshot, &AtomicBool) -> Selected + Send + Sync;

/// Chooses documents of a snapshot that holds the effect of all earlier operations: one set per segment, in order.
/// Sets may hold deleted documents; they are ignored.
pub struct Selector(Box<SelectFn>);

impl Selector {
    /// `select` gives up soon after the flag that it gets is set; nothing is deleted then.
    pub fn new(select: impl Fn(&Snapshot, &AtomicBool) -> Selected + Send + Sync + 'static) -> Selector {
        Selector(Box::new(select))
    }

    pub(super) fn select(&self, snapshot: &Snapshot, cancelled: &AtomicBool) -> Result<Vec<DocSet>, OperationError> {
        (self.0)(snapshot, cancelled).map_err(OperationError::Selection)
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Selector")
    }
}

/// Result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    Upserted {
        /// Documents in the payload.
        received: u64,
        /// Distinct ids in the payload, also of documents skipped by `skip_creation`.
        indexed: u64,
    },
    /// Answer to [`Operation::DeleteIds`], [`Operation::DeleteMatching`] and [`Operation::Clear`].
    Deleted {
        deleted: u64,
    },
    SettingsChanged,
    PrimaryKeySet,
    /// Answer to [`Index::restore`](super::Index::restore).
    Restored {
        /// The number of the state that is the present one again.
        generation: u64,
    },
}

type OutcomeFn = dyn FnOnce(&[Result<Outcome, OperationError>]) -> Vec<u8> + Send;

/// Record of a batch in the manifest, by which the caller knows after a crash whether the batch was applied.
pub struct CommitNote {
    pub(super) batch: u64,
    pub(super) outcome: Box<OutcomeFn>,
}

impl CommitNote {
    /// `outcome` turns the results into bytes that [`Snapshot::last_outcome`] gives back, opaque to the engine.
    pub fn new(
        batch: u64,
        outcome: impl FnOnce(&[Result<Outcome, OperationError>]) -> Vec<u8> + Send + 'static,
    ) -> CommitNote {
        CommitNote { batch, outcome: Box::new(outcome) }
    }
}

impl fmt::Debug for CommitNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CommitNote").field("batch", &self.batch).finish_non_exhaustive()
    }
}
