//! Signs of life: what a writer says between its publications, and how a standby judges its silence.
//!
//! ```text
//! beat/<epoch, 20 digits>   replaced by the server of that epoch, and by no other
//! ```
//!
//! Nothing is safe by them: they only say who may try to take over, and creating the next root decides.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::chain::{Setback, newest_root};
use super::root::Root;
use super::store::{ObjectError, Objects};

/// Signs of life in the time after which another server takes over.
const HEARTBEATS_PER_TAKEOVER: u32 = 4;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Heartbeat {
    beat: u64,
}

fn heartbeat_key(epoch: u64) -> String {
    format!("beat/{epoch:020}")
}

/// Between two signs of life, and between two looks at them.
pub(super) fn heartbeat_interval(takeover_after: Duration) -> Duration {
    takeover_after / HEARTBEATS_PER_TAKEOVER
}

/// The signs of life of a publisher.
#[derive(Debug)]
pub(super) struct Pulse {
    epoch: u64,
    nonce: Uuid,
    /// The newest root of its own that it knows of.
    seen: u64,
    beat: u64,
}

impl Pulse {
    /// Creates the heartbeat of the publisher of `root`.
    pub(super) fn of(root: &Root) -> Pulse {
        Pulse { epoch: root.epoch, nonce: root.nonce, seen: root.number, beat: 0 }
    }

    /// Says that the publisher lives, and looks whether it still is the one.
    ///
    /// # Errors
    /// [`Setback::TakenOver`], or what the store says.
    pub(super) async fn send<S: Objects>(&mut self, store: &S) -> Result<(), Setback> {
        self.beat += 1;
        let text = serde_json::to_vec(&Heartbeat { beat: self.beat }).expect("a number is JSON");
        store.put(&heartbeat_key(self.epoch), &text).await?;
        if let Some(root) = newest_root(store, self.seen).await? {
            if root.nonce != self.nonce {
                return Err(Setback::TakenOver);
            }
            self.seen = root.number;
        }
        Ok(())
    }
}

/// Last signs of life that a standby has seen of the publisher.
#[derive(Debug)]
pub(super) struct Watch {
    /// The newest root and the last beat.
    seen: Option<(u64, u64)>,
    since: Instant,
    /// True if the store has not responded since the last look.
    was_blind: bool,
}

impl Watch {
    pub(super) fn new(now: Instant) -> Watch {
        Watch { seen: None, since: now, was_blind: false }
    }

    /// The store did not answer. The publisher may not have reached it either: it has time for two more signs of life.
    pub(super) fn could_not_look(&mut self) {
        self.was_blind = true;
    }

    /// Looks for a sign of life of the publisher of `root`, the newest one. Whether there was none for as long as it has said.
    /// `now` is the time before the look.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn is_silent<S: Objects>(
        &mut self,
        store: &S,
        root: &Root,
        now: Instant,
    ) -> Result<bool, ObjectError> {
        let Some(patience) = root.takeover_after() else { return Ok(false) };
        let beat = match store.read(&heartbeat_key(root.epoch)).await {
            // One that cannot be read is another one.
            Ok(bytes) => serde_json::from_slice::<Heartbeat>(&bytes).map_or(u64::MAX, |beat| beat.beat),
            Err(ObjectError::Missing(_)) => 0,
            Err(error) => {
                self.could_not_look();
                return Err(error);
            }
        };
        let seen = Some((root.number, beat));
        if self.seen != seen {
            (self.seen, self.since) = (seen, now);
        }
        // A clock that went back.
        self.since = self.since.min(now);
        if std::mem::take(&mut self.was_blind)
            && let Some(since) = now.checked_sub(patience / 2)
        {
            self.since = self.since.max(since);
        }
        Ok(now.duration_since(self.since) >= patience)
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::{MemoryObjects, blocking};
    use super::*;

    #[test]
    fn silence_counts_while_the_store_answers() {
        let root = Root { number: 1, takeover_after_ms: Some(10_000), ..Root::none() };
        let (store, start) = (MemoryObjects::default(), Instant::now());
        let (mut pulse, mut watch) = (Pulse::of(&root), Watch::new(start));
        let mut is_silent = |seconds: u64| {
            let now = start + Duration::from_secs(seconds);
            let silent = blocking(watch.is_silent(&store, &root, now));
            silent.ok()
        };
        blocking(pulse.send(&store)).unwrap();
        assert_eq!([0, 9].map(&mut is_silent), [Some(false); 2]);
        assert_eq!(is_silent(10), Some(true));
        blocking(pulse.send(&store)).unwrap();
        assert_eq!([11, 20].map(&mut is_silent), [Some(false); 2]);
        // Nothing was seen for a minute, for nothing could be: not even that the publisher lives.
        store.is_away.set(true);
        assert_eq!([25, 70].map(&mut is_silent), [None; 2]);
        store.is_away.set(false);
        assert_eq!([75, 79].map(&mut is_silent), [Some(false); 2]);
        assert_eq!(is_silent(80), Some(true));
        blocking(pulse.send(&store)).unwrap();
        assert_eq!([81, 90].map(&mut is_silent), [Some(false); 2]);
        // The clock goes back: it counts from there.
        assert_eq!([40, 49, 50].map(&mut is_silent), [Some(false), Some(false), Some(true)]);
    }
}
