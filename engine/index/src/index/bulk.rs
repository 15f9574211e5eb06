//! Whether much is being written just now. Large merges stand back meanwhile: they would take processors and disk from
//! the load, and what they merge would soon be merged again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::operation::{Operation, Payload};

/// A batch with this many bytes of documents is a bulk load.
const BULK_BYTES_MIN: u64 = 1 << 20;
/// The next batch of a load comes within this time.
const QUIET_TIME: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct BulkActivity {
    running: AtomicUsize,
    ended: Mutex<Option<Instant>>,
}

/// A bulk load that is running.
#[derive(Debug)]
pub(super) struct BulkGuard<'a> {
    activity: &'a BulkActivity,
}

impl BulkActivity {
    /// Notes the batch if it is a large one, until the guard is dropped.
    pub(super) fn note(&self, operations: &[Operation]) -> Option<BulkGuard<'_>> {
        if payload_bytes(operations) < BULK_BYTES_MIN {
            return None;
        }
        self.running.fetch_add(1, Ordering::Relaxed);
        Some(BulkGuard { activity: self })
    }

    /// Reports whether a bulk load is running, or its next batch may follow soon.
    pub(super) fn is_going_on(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0 || self.ended.lock().is_some_and(|ended| ended.elapsed() < QUIET_TIME)
    }
}

impl Drop for BulkGuard<'_> {
    fn drop(&mut self) {
        *self.activity.ended.lock() = Some(Instant::now());
        self.activity.running.fetch_sub(1, Ordering::Relaxed);
    }
}

fn payload_bytes(operations: &[Operation]) -> u64 {
    let payloads = operations.iter().filter_map(|operation| match operation.parts().1 {
        Operation::Upsert(upsert) => Some(&upsert.payload),
        _ => None,
    });
    payloads
        .map(|payload| match payload {
            // An unreadable file fails the batch soon enough.
            Payload::File(path) => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Payload::Bytes(bytes) => bytes.len() as u64,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Upsert, WriteMethod};

    fn upsert(bytes: usize) -> Operation {
        let payload = Payload::Bytes(vec![b' '; bytes].into());
        Operation::Upsert(Upsert { payload, method: WriteMethod::Replace, primary_key: None, skip_creation: false })
    }

    #[test]
    fn only_many_bytes_are_a_load_and_it_lasts_a_little_longer_than_its_batches() {
        let activity = BulkActivity::default();
        drop(activity.note(&[upsert(100), Operation::Clear]));
        assert!(!activity.is_going_on());
        let half = usize::try_from(BULK_BYTES_MIN / 2).expect("small");
        let guard = activity.note(&[upsert(half), upsert(half)]).expect("a load");
        assert!(activity.is_going_on());
        drop(guard);
        assert!(activity.is_going_on(), "the next batch may be on the way");
        let before = Instant::now().checked_sub(QUIET_TIME).expect("the machine runs longer than that");
        *activity.ended.lock() = Some(before);
        assert!(!activity.is_going_on());
    }
}
