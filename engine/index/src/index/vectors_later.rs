//! Vectors that are made while the index is read and written: embedders are asked without any lock, and only to publish what they
//! made does it wait for the writer.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use lamina_segment::segment::StoreDictionary;

use super::embedding::{EmbedFailure, Embedded};
use super::error::{IndexError, OperationError};
use super::handle::{Index, unless_cancelled};
use super::progress::{Phase, Progress};
use super::settings::SettingsPatch;
use super::snapshot::now_nanos;
use super::transaction::{Asks, Transaction, asks_embedders};

/// After so many rounds in which segments were merged before their vectors were there, the writer waits for those that are known.
const ROUNDS_MAX: usize = 8;
/// Divisor of the memory of a batch: one part in this many is for vectors that are made outside the writer lock.
const MEMORY_DIVISOR: usize = 8;

impl Index {
    /// Makes the vectors that documents wait for, and commits those that could be made. The last batch stays the last. Writers go on
    /// meanwhile: what they write waits for the next call.
    ///
    /// # Errors
    /// What has nothing to do with embedders, also that it was `cancelled`; what was made until then may be committed. Texts that got
    /// no vectors are listed in the result.
    pub fn embed_waiting(&self, progress: &Progress, cancelled: &AtomicBool) -> Result<Embedded, IndexError> {
        let mut made = 0;
        for round in 0.. {
            let (embedded, has_lost) = self.embed_once(progress, cancelled, round >= ROUNDS_MAX)?;
            made += embedded.made;
            if !has_lost {
                progress.enter(Phase::Finished, 0);
                return Ok(Embedded { made, ..embedded });
            }
            // They were made in vain, and are remembered.
            made -= embedded.made;
        }
        unreachable!("a round that holds the writer up loses nothing")
    }

    /// One round, and whether segments have to be looked at again.
    fn embed_once(
        &self,
        progress: &Progress,
        cancelled: &AtomicBool,
        holds_writer_up: bool,
    ) -> Result<(Embedded, bool), IndexError> {
        let shared = self.shared();
        let held = holds_writer_up.then(|| shared.lock_writer());
        let base = shared.snapshot();
        if !base.waits_for_vectors() {
            return Ok((Embedded::default(), false));
        }
        let store_dictionary = StoreDictionary::of_largest(base.segments.iter().map(|view| &*view.reader));
        let asks = if holds_writer_up { Asks::Never } else { Asks::Patiently };
        let mut resources = shared.resources(&store_dictionary, progress, cancelled, asks);
        resources.memory_bytes /= MEMORY_DIVISOR;
        let mut transaction = Transaction::new(resources, &base, shared.tokenizer_for(&base.settings));
        let embedded = unless_cancelled(cancelled, transaction.embed_waiting())?;
        if embedded.made == 0 {
            return Ok((embedded, false));
        }
        let writer = held.unwrap_or_else(|| shared.lock_writer());
        let completed = transaction.complete(&shared.snapshot(), now_nanos());
        if completed.taken > 0 {
            progress.enter(Phase::Committing, 0);
            writer.publish(completed.snapshot)?;
            shared.options.embedders.committed();
        }
        drop(writer);
        self.wake_merges();
        Ok((embedded, completed.lost > 0))
    }

    /// Asks embedders for the vectors that a change of settings needs, so that [`Index::apply_and_embed_later`] finds them known.
    /// The index stays as it is, and is read and written meanwhile. Returns why embedders cannot be reached that need not be asked yet.
    ///
    /// # Errors
    /// Why the change would fail: embedders that cannot be used, texts that get no vectors, or that it was `cancelled`.
    pub fn prepare(
        &self,
        patch: &SettingsPatch,
        progress: &Progress,
        cancelled: &AtomicBool,
    ) -> Result<Result<BTreeMap<String, EmbedFailure>, OperationError>, IndexError> {
        let shared = self.shared();
        let base = shared.snapshot();
        let store_dictionary = StoreDictionary::of_largest(base.segments.iter().map(|view| &*view.reader));
        let mut resources = shared.resources(&store_dictionary, progress, cancelled, Asks::Briefly);
        resources.memory_bytes /= MEMORY_DIVISOR;
        let transaction = Transaction::new(resources, &base, shared.tokenizer_for(&base.settings));
        unless_cancelled(cancelled, transaction.prepare(patch))
    }

    /// Returns whether a change of settings may have to ask embedders. Costs as much as merging the settings.
    pub fn needs_embedders(&self, patch: &SettingsPatch) -> bool {
        let old = self.snapshot().settings.clone();
        old.patched(patch).is_ok_and(|new| asks_embedders(&old, &new))
    }
}
