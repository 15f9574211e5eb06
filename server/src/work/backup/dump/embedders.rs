//! The embedders of a dump. Its documents do not wait for them: what a model or a provider would hold up is left to a task of the
//! server, which answers from the documents meanwhile.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use lamina_engine::index::embedding::EmbeddingError;
use lamina_engine::index::settings::{Setting, SettingsPatch};
use lamina_engine::index::{CommitNote, Index, IndexError, Operation, OperationError, Progress};
use serde_json::{Map, Value};

/// For all embedders of a dump together, until they can be used: models are loaded, providers say how long their vectors are.
pub(super) const EMBEDDERS_TIME: Duration = Duration::from_secs(20);

/// Remaining time that the import waits.
#[derive(Debug)]
pub(super) struct WaitingTime {
    left: Cell<Duration>,
}

impl WaitingTime {
    pub(super) fn new(total: Duration) -> WaitingTime {
        WaitingTime { left: Cell::new(total) }
    }

    /// Does `work`, whose flag is set when the patience has ended.
    fn during<T>(&self, work: impl FnOnce(&AtomicBool) -> T) -> T {
        let (begun, left, has_ended) = (Instant::now(), self.left.get(), AtomicBool::new(false));
        let flag = &has_ended;
        let result = std::thread::scope(|scope| {
            let (working, work_ends) = channel::<()>();
            scope.spawn(move || {
                if work_ends.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    flag.store(true, Ordering::Relaxed);
                }
            });
            let result = work(flag);
            drop(working);
            result
        });
        self.left.set(left.saturating_sub(begun.elapsed()));
        result
    }
}

/// Applies operations to an index that is being imported; vectors that are still to be made are not.
pub(super) fn apply(index: &Index, operations: &[Operation], cancelled: &AtomicBool) -> Result<(), Refusal> {
    // No batch of the queue: the note is empty, which recovery passes over.
    let note = CommitNote::new(0, |_| Vec::new());
    let results = index.apply_and_embed_later(operations, note, &Progress::new(), cancelled)?;
    results.into_iter().find_map(Result::err).map_or(Ok(()), |error| Err(Refusal::Operation(error)))
}

/// Reason why an index cannot be imported.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Operation(OperationError),
}

/// Applies the settings of an index. Returns those that are left to a task: embedders that cannot be used now.
pub(super) fn apply_settings(
    index: &Index,
    mut patch: SettingsPatch,
    patience: &WaitingTime,
) -> Result<Option<SettingsPatch>, Refusal> {
    let apply =
        |patch: &SettingsPatch, flag: &AtomicBool| apply(index, &[Operation::Settings(Box::new(patch.clone()))], flag);
    let is_patient = AtomicBool::new(false);
    if patch.embedders.as_set().is_none_or(BTreeMap::is_empty) {
        return apply(&patch, &is_patient).map(|()| None);
    }
    let prepare = |flag: &AtomicBool| index.prepare(&patch, &Progress::new(), flag).map_err(Refusal::from);
    let reason = match patience.during(|flag| prepare(flag).and_then(|_| apply(&patch, flag))) {
        Err(Refusal::Index(IndexError::Cancelled)) => format!("they do not answer in {EMBEDDERS_TIME:?}"),
        Err(Refusal::Index(IndexError::Embedding(EmbeddingError::Unusable(failure)))) => failure.to_string(),
        other => return other.map(|()| None),
    };
    let embedders = mem::take(&mut patch.embedders);
    apply(&patch, &is_patient)?;
    tracing::warn!(
        reason,
        "cannot use the embedders of an index now: its documents are imported first, and a task sets the embedders later"
    );
    Ok(Some(SettingsPatch { embedders, ..SettingsPatch::default() }))
}

/// Returns a change of settings that makes the vectors for which documents of an index wait. It names all
/// embedders, and changes nothing.
pub(super) fn of_waiting(index: &Index) -> Option<SettingsPatch> {
    let snapshot = index.snapshot();
    let same = |name: &String| (name.clone(), Setting::Set(Value::Object(Map::new())));
    let embedders = snapshot.settings.embedders.keys().map(same).collect();
    snapshot
        .waits_for_vectors()
        .then(|| SettingsPatch { embedders: Setting::Set(embedders), ..SettingsPatch::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_and_is_shared() {
        let patience = WaitingTime::new(Duration::from_millis(20));
        assert_eq!(patience.during(|_| 7), 7);
        let waits = |patience: &WaitingTime| {
            patience.during(|flag| {
                while !flag.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            });
        };
        waits(&patience);
        assert_eq!(patience.left.get(), Duration::ZERO);
        // There is none for another one.
        waits(&patience);
        let patience = WaitingTime::new(Duration::from_secs(3600));
        assert!(!patience.during(|flag| flag.load(Ordering::Relaxed)));
        assert!(patience.left.get() > Duration::from_secs(3000));
    }
}
