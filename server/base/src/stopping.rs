//! The time that a server takes to stop: bounded, whatever runs.
//!
//! Everything that runs long looks at a flag and ends early. Should something not, the process ends all the same: only
//! commits count, a commit is one rename, and what was acknowledged is carried out at the next start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum time for the running batch to finish. After that it is aborted, and the next start repeats it.
const BATCH_GRACE: Duration = Duration::from_secs(5);
/// Maximum time to notify webhooks of finished tasks, and to send figures to collectors.
const DELIVERY_GRACE: Duration = Duration::from_secs(2);
/// Maximum time for connections to finish their requests.
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
        let stage = Mutex::new("running requests");
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

    /// Sets the stage that the server waits for from now on.
    pub fn enter(&self, stage: &'static str) {
        *self.stage.lock() = stage;
    }

    /// Returns the maximum time for connections to finish their requests, out of `limit` for everything.
    pub fn drain_time(limit: Duration) -> Duration {
        DRAIN_TIME.min(limit / 2)
    }

    /// Returns the remaining time of the running batch, counted from the signal.
    pub fn batch_grace(&self) -> Duration {
        BATCH_GRACE.min(self.limit / 4).saturating_sub(self.since.elapsed())
    }

    /// Returns the maximum time to deliver news of finished tasks.
    pub fn delivery_grace(&self) -> Duration {
        DELIVERY_GRACE.min(self.limit / 10)
    }
}
