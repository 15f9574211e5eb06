//! What a publication begins with: a moment of the queue, and the states of the indexes after it.

use std::sync::Arc;

use lamina_base::aliases::Aliases;
use lamina_base::error::Code;
use lamina_base::stored_names::FolderName;
use lamina_engine::index::Snapshot;

use super::super::position::Position;
use super::{Failure, Run};

/// State to publish.
pub(super) struct Now {
    pub(super) generation: Option<u32>,
    pub(super) indexes: Vec<(String, FolderName)>,
    pub(super) aliases: Arc<Aliases>,
    pub(super) journal: Option<Position>,
    /// Batches below have ended, where it matters.
    next_batch: Option<u32>,
}

/// An index, and its state if that has changed, or why that cannot be read.
pub(super) type Changed = (String, FolderName, Result<Option<Arc<Snapshot>>, Failure>);

impl Run {
    /// The names of this moment: tasks whose end is about to be stored may have changed them.
    pub(super) fn now_by_names(&self) -> Result<Now, Failure> {
        let generation = self.published.queue.store().next_batch_uid()?.checked_sub(1);
        let (indexes, aliases) = self.published.instance.folders_and_aliases();
        Ok(Now { generation, indexes, aliases, journal: None, next_batch: None })
    }

    /// The names as ended tasks have left them, and which have ended: others are carried out again by a server that takes over.
    pub(super) fn now_by_tasks(&self) -> Result<Now, Failure> {
        let moment = self.published.queue.store().moment()?;
        // After the moment: a record that is begun in between is not covered.
        let journal = self.ledger.as_ref().map(|ledger| ledger.lock().position(moment.next_task, moment.waiting));
        Ok(Now {
            generation: moment.next_batch.checked_sub(1),
            indexes: moment.indexes,
            aliases: Arc::new(moment.aliases),
            journal,
            next_batch: Some(moment.next_batch),
        })
    }

    /// The states of indexes that have changed. None at all where one of them is ahead of `now`, or not there any more: by more
    /// than the batch under way, which an index remembers, tasks could be carried out twice.
    pub(super) fn states(&self, now: &Now) -> Result<Option<Vec<Changed>>, Failure> {
        let instance = &self.published.instance;
        let mut states = Vec::with_capacity(now.indexes.len());
        for (uid, folder) in &now.indexes {
            let mut state = Ok(None);
            let current = instance.uid_of(folder);
            let generation = current.as_ref().and_then(|current| instance.generation(current));
            let known = self.indexes.get(folder).map(|index| index.manifest.generation);
            if known.is_none() || known != generation {
                let found = match current.as_ref().map(|current| instance.state(current)) {
                    Some(Ok(snapshot)) => Some(snapshot),
                    Some(Err(error)) if error.code != Code::IndexNotFound => {
                        states.push((uid.clone(), folder.clone(), Err(Failure::OfIndex(error.message))));
                        continue;
                    }
                    // Deleted since the list was made.
                    _ => None,
                };
                let is_same = instance.uid_of(folder) == current;
                let is_ahead = found
                    .as_ref()
                    .and_then(|snapshot| snapshot.last_outcome())
                    .is_some_and(|(batch, _)| now.next_batch.is_some_and(|next| batch > u64::from(next)));
                match found {
                    Some(snapshot) if is_same && !is_ahead => state = Ok(Some(snapshot)),
                    _ if now.next_batch.is_some() || !is_same => return Ok(None),
                    _ => continue,
                }
            }
            states.push((uid.clone(), folder.clone(), state));
        }
        Ok(Some(states))
    }
}
