//! The handle of an open index.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::error::{IndexError, OperationError};
use super::operation::{CommitNote, Operation, Outcome};
use super::options::IndexOptions;
use super::progress::Progress;
use super::snapshot::Snapshot;
use super::status::{IndexReport, MergeStatus};
use crate::storage::Directory;

/// An open index. Shared by reference: every method takes `&self`.
#[derive(Debug)]
pub struct Index {}

impl Index {
    /// Creates an empty index in `folder`, which is created when it does not exist.
    ///
    /// # Errors
    /// [`IndexError::AlreadyExists`] when there is one, [`IndexError::Locked`] when another process uses the folder.
    pub fn create(_folder: &Path, _options: IndexOptions) -> Result<Index, IndexError> {
        unimplemented!("index")
    }

    /// Opens the index in `folder`: tens of milliseconds, whatever its size.
    ///
    /// # Errors
    /// [`IndexError::NotFound`], [`IndexError::Locked`], or what is wrong with its files.
    pub fn open(_folder: &Path, _options: IndexOptions) -> Result<Index, IndexError> {
        unimplemented!("index")
    }

    /// As [`Index::create`], without a lock: for tests and other kinds of storage.
    pub fn create_in(_directory: Arc<dyn Directory>, _options: IndexOptions) -> Result<Index, IndexError> {
        unimplemented!("index")
    }

    /// As [`Index::open`], without a lock.
    pub fn open_in(_directory: Arc<dyn Directory>, _options: IndexOptions) -> Result<Index, IndexError> {
        unimplemented!("index")
    }

    /// The current state. Costs a reference count.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        unimplemented!("index")
    }

    /// Applies `operations` one after another and commits once. The result holds one entry per operation: an entry
    /// that failed had no effect, the others are applied. Calls wait for each other; readers see either nothing or
    /// everything of the batch.
    ///
    /// # Errors
    /// Nothing is changed then, also after `cancelled` was set.
    pub fn apply(
        &self,
        _operations: &[Operation],
        _note: CommitNote,
        _progress: &Progress,
        _cancelled: &AtomicBool,
    ) -> Result<Vec<Result<Outcome, OperationError>>, IndexError> {
        unimplemented!("index")
    }

    /// Merges everything into one segment without deleted documents. Readers and writers go on meanwhile.
    ///
    /// # Errors
    /// As a merge; the index stays as it was.
    pub fn compact(&self, _cancelled: &AtomicBool) -> Result<(), IndexError> {
        unimplemented!("index")
    }

    /// What the background merge is doing.
    pub fn merge_status(&self) -> MergeStatus {
        unimplemented!("index")
    }

    /// The segments and their sizes.
    pub fn report(&self) -> IndexReport {
        unimplemented!("index")
    }

    /// Re-reads every byte of every file and checks it.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<(), IndexError> {
        unimplemented!("index")
    }
}
