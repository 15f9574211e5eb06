//! The time that a server takes to stop: bounded, whatever runs.
//!
//! Everything that runs long looks at a flag and ends early. Should something not, the process ends all the same: only
//! commits count, a commit is one rename, and what was acknowledged is carried out at the next start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long the batch under way may take to finish; it is given up after that and carried out again at the next start.
const BATCH_GRACE: Duration = Duration::from_secs(5);
/// How long webhooks may take to be notified of what finished, and collectors of figures.
const DELIVERY_GRACE: Duration = Duration::from_secs(2);
/// How long connections may take to finish their requests.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// A server that stops: since a signal, for a limited time.
#[derive(Debug)]
pub struct Stopping {
    since: Instant,
    limit: Duration,
    stage: Mutex<&'static str>,
}

impl Stopping {
    /// Begins to stop. The process ends with `status` when `limit` is over, unless it has ended by itself before; the log
    /// then holds the stage and what `running` names.
    pub fn begin(limit: Duration, status: u8, running: impl FnOnce() -> String + Send + 'static) -> Arc<Self> {
        let stage = Mutex::new("requests under way");
        let stopping = Arc::new(Stopping { since: Instant::now(), limit, stage });
        let watched = Arc::clone(&stopping);
        let watch = move || {
            std::thread::sleep(watched.limit);
            tracing::error!(
                "stopping took longer than --shutdown-timeout ({:?}): exiting while waiting for {}{}. The next start carries \
                 out everything that was acknowledged.",
                watched.limit,
                watched.stage.lock(),
                running()
            );
            std::process::exit(status.into());
        };
        if let Err(error) = std::thread::Builder::new().name("stop".to_owned()).spawn(watch) {
            tracing::warn!(%error, "cannot watch the time of stopping");
        }
        stopping
    }

    /// What is waited for from now on.
    pub fn enter(&self, stage: &'static str) {
        *self.stage.lock() = stage;
    }

    /// How long connections may take to finish their requests, of `limit` for everything.
    pub fn drain_time(limit: Duration) -> Duration {
        DRAIN_TIME.min(limit / 2)
    }

    /// What is left of the time of the batch under way, which runs since the signal.
    pub fn batch_grace(&self) -> Duration {
        BATCH_GRACE.min(self.limit / 4).saturating_sub(self.since.elapsed())
    }

    /// How long news of what finished may take.
    pub fn delivery_grace(&self) -> Duration {
        DELIVERY_GRACE.min(self.limit / 10)
    }
}
