//! Reading states before the present one, and making one the present one again.

use std::sync::Arc;

use super::error::IndexError;
use super::handle::Index;
use super::kept::{At, GenerationReport, KeptGeneration, OPENED_MAX, Place, open_kept};
use super::operation::{CommitNote, Outcome};
use super::snapshot::{Snapshot, now_nanos};

impl Index {
    /// The states that can be read, the present one first.
    pub fn generations(&self) -> Vec<GenerationReport> {
        let current = self.snapshot();
        let first = GenerationReport { is_current: true, ..KeptGeneration::of_snapshot(&current).report() };
        let entries = self.shared().kept.entries.lock();
        let before = entries.iter().rev().filter(|entry| entry.contents < current.contents);
        std::iter::once(first).chain(before.map(|entry| entry.report())).collect()
    }

    /// A state as it was, with its settings. Cost, unless it was used lately: that of opening an index.
    ///
    /// # Errors
    /// [`IndexError::GenerationNotFound`], [`IndexError::DamagedGeneration`]
    pub fn generation(&self, at: At) -> Result<Arc<Snapshot>, IndexError> {
        let shared = self.shared();
        let current = self.snapshot();
        let entry = match shared.kept.find(at, &current)? {
            Place::Current => return Ok(current),
            Place::Kept(entry) => entry,
        };
        let mut opened = shared.kept.opened.lock();
        if let Some(position) = opened.iter().position(|(generation, _)| *generation == entry.generation) {
            let used = opened.remove(position);
            opened.push(used);
            return Ok(Arc::clone(&opened[opened.len() - 1].1));
        }
        let snapshot = Arc::new(open_kept(&shared.directory, &entry, &shared.options.runtime)?);
        if opened.len() >= OPENED_MAX {
            opened.remove(0);
        }
        opened.push((entry.generation, Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// Makes a state the present one again, with its settings, in one commit, which can be undone in the same way. Answers
    /// its number. The outcome of `note` gets [`Outcome::Restored`].
    ///
    /// # Errors
    /// The errors of [`Index::generation`]; nothing has changed then.
    pub fn restore(&self, at: At, note: CommitNote) -> Result<u64, IndexError> {
        let shared = self.shared();
        let writer = shared.lock_writer();
        let base = self.snapshot();
        // A merge under way is thrown away when it ends, because it knows the readers of its sources, and these are new: documents
        // that it left out may be alive again.
        let state = match shared.kept.find(at, &base)? {
            Place::Current => Snapshot::clone(&base),
            Place::Kept(entry) => open_kept(&shared.directory, &entry, &shared.options.runtime)?,
        };
        let restored = state.contents;
        let is_changed = restored != base.contents;
        let now = now_nanos();
        let generation = shared.next_generation(&base);
        let snapshot = Snapshot {
            generation,
            contents: if is_changed { generation } else { base.contents },
            committed_at_nanos: if is_changed { now.max(base.committed_at_nanos) } else { base.committed_at_nanos },
            updated_at_nanos: if is_changed { now.max(base.updated_at_nanos) } else { base.updated_at_nanos },
            created_at_nanos: base.created_at_nanos,
            name: base.name.clone(),
            next_internal_id: base.next_internal_id.max(state.next_internal_id),
            last_batch: Some(note.batch),
            last_outcome: (note.outcome)(&[Ok(Outcome::Restored { generation: restored })]).into(),
            ..state
        };
        writer.publish(snapshot)?;
        drop(writer);
        self.wake_merges();
        Ok(restored)
    }
}
