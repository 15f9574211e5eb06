//! Payloads on their way in: the first batch of a load is worth waiting for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::content::Content;
use super::store::Queued;

/// A batch of fewer bytes would be carried out while it waits, and one of more has segments enough to itself.
const BATCH_BYTES: std::ops::Range<u64> = 32 << 20..128 << 20;
/// A client that goes on begins to send the next payload within this time of the answer to the one before.
const UNTIL_BEGUN: Duration = Duration::from_millis(30);
/// Payloads that have begun to arrive are waited for so long.
const UNTIL_ARRIVED: Duration = Duration::from_millis(200);

/// Number of payloads that are being received.
#[derive(Debug, Default)]
pub struct Uploads {
    count: AtomicUsize,
}

impl Uploads {
    pub(super) fn begin(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn end(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

/// The batch that the scheduler would begin with, and since when it could.
#[derive(Debug, Default)]
pub struct Patience {
    since: Option<(u32, Instant)>,
}

impl Patience {
    /// Reports whether to look again in a moment, because a load has only begun and its next payload would join the
    /// batch. One batch of both is written as fewer segments, and every segment costs each query.
    pub fn expects_more(&mut self, tasks: &[Queued], uploads: &Uploads) -> bool {
        let Some(first) = tasks.first() else { return false };
        let bytes = |task: &Queued| match &task.content {
            Content::Upsert(upsert) => upsert.payload_bytes,
            _ => 0,
        };
        if !BATCH_BYTES.contains(&tasks.iter().map(bytes).fold(0, u64::saturating_add)) {
            return false;
        }
        let waited = match self.since {
            Some((uid, since)) if uid == first.uid => since.elapsed(),
            _ => {
                self.since = Some((first.uid, Instant::now()));
                Duration::ZERO
            }
        };
        waited < if uploads.is_empty() { UNTIL_BEGUN } else { UNTIL_ARRIVED }
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::{Method, PayloadPlace, Upsert};
    use super::*;

    fn task(uid: u32, payload_bytes: u64) -> Queued {
        let content = Content::Upsert(Upsert {
            method: Method::Replace,
            primary_key: None,
            skip_creation: false,
            may_create_index: true,
            received: 1,
            payload: PayloadPlace::Inline,
            payload_bytes,
            payload_checksum: 0,
            mark: None,
        });
        Queued { uid, index_uid: Some("films".to_owned()), content }
    }

    #[test]
    fn only_a_batch_of_some_size_waits_and_not_for_long() {
        let (mut patience, uploads) = (Patience::default(), Uploads::default());
        for bytes in [0, BATCH_BYTES.start - 1, BATCH_BYTES.end] {
            assert!(!patience.expects_more(&[task(1, bytes)], &uploads), "{bytes}");
        }
        assert!(!patience.expects_more(&[], &uploads));
        let more_than_can_be = [task(1, u64::MAX), task(2, BATCH_BYTES.start + 1)];
        assert!(!patience.expects_more(&more_than_can_be, &uploads));
        let large = || [task(2, BATCH_BYTES.start - 1), task(3, 1)];
        assert!(patience.expects_more(&large(), &uploads));
        // Nothing begins within the time for it.
        std::thread::sleep(UNTIL_BEGUN);
        assert!(!patience.expects_more(&large(), &uploads), "nothing comes");
        uploads.count.store(1, Ordering::Release);
        assert!(patience.expects_more(&large(), &uploads), "something is on its way");
        // Nothing arrives within the time for it.
        std::thread::sleep(UNTIL_ARRIVED);
        assert!(!patience.expects_more(&large(), &uploads), "it takes too long");
        assert!(patience.expects_more(&[task(4, BATCH_BYTES.start)], &uploads), "another batch");
    }
}
