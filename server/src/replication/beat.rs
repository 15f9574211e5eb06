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
const BEATS: u32 = 4;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Beat {
    beat: u64,
}

fn beat_key(epoch: u64) -> String {
    format!("beat/{epoch:020}")
}

/// Between two signs of life, and between two looks at them.
pub(super) fn beat_interval(takeover_after: Duration) -> Duration {
    takeover_after / BEATS
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
    /// Of the publisher of `root`.
    pub(super) fn of(root: &Root) -> Pulse {
        Pulse { epoch: root.epoch, nonce: root.nonce, seen: root.number, beat: 0 }
    }

    /// Says that the publisher lives, and looks whether it still is the one.
    ///
    /// # Errors
    /// [`Setback::TakenOver`], or what the store says.
    pub(super) async fn beat<S: Objects>(&mut self, store: &S) -> Result<(), Setback> {
        self.beat += 1;
        let text = serde_json::to_vec(&Beat { beat: self.beat }).expect("a number is JSON");
        store.put(&beat_key(self.epoch), &text).await?;
        if let Some(root) = newest_root(store, self.seen).await? {
            if root.nonce != self.nonce {
                return Err(Setback::TakenOver);
            }
            self.seen = root.number;
        }
        Ok(())
    }
}

/// What a standby has seen of the publisher.
#[derive(Debug)]
pub(super) struct Watch {
    /// The newest root and the last beat.
    seen: Option<(u64, u64)>,
    since: Instant,
}

impl Watch {
    pub(super) fn new(now: Instant) -> Watch {
        Watch { seen: None, since: now }
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
        let beat = match store.read(&beat_key(root.epoch)).await {
            // One that cannot be read is another one.
            Ok(bytes) => serde_json::from_slice::<Beat>(&bytes).map_or(u64::MAX, |beat| beat.beat),
            Err(ObjectError::Missing(_)) => 0,
            Err(error) => return Err(error),
        };
        let seen = Some((root.number, beat));
        if self.seen != seen {
            (self.seen, self.since) = (seen, now);
        }
        Ok(now.duration_since(self.since) >= patience)
    }
}
