//! Commits what people did, on a thread of its own.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lamina_base::error::Code;
use lamina_data::events::{COMMIT_INTERVAL, identity};
use lamina_data::instance::Instance;

/// Interval at which expired documents are removed.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(60);

/// Commits what arrives, until the end of the store.
///
/// # Errors
/// There is no thread.
pub(super) fn commit_events(instance: &Arc<Instance>) -> io::Result<JoinHandle<()>> {
    let instance = Arc::clone(instance);
    std::thread::Builder::new().name("events".to_owned()).spawn(move || commit_until_stopped(&instance))
}

fn commit_until_stopped(instance: &Instance) {
    let events = instance.events();
    let (mut removed_at, mut swept) = (Instant::now(), None);
    let mut begun = Instant::now();
    loop {
        let stops = events.wait(begun + COMMIT_INTERVAL);
        begun = Instant::now();
        let mut done = events.flush();
        if !stops && done.is_ok() && removed_at.elapsed() >= REMOVAL_INTERVAL {
            removed_at = Instant::now();
            done = events.remove_expired();
        }
        let changes = instance.name_changes();
        if !stops && done.is_ok() && swept != Some(changes) {
            done = events.sweep(&instance.name_keys(), || identities(instance));
            swept = Some(changes);
        }
        if let Err(error) = done {
            tracing::error!(error = %error.message, "cannot write events: they wait for another try");
            if !stops {
                // A buffer that is half full would have it tried again at once.
                std::thread::sleep(COMMIT_INTERVAL);
            }
        }
        if stops {
            return;
        }
    }
}

/// The identities of all indexes; none where one of them cannot be read: then it is not known which one it is.
fn identities(instance: &Instance) -> Option<HashSet<String>> {
    let mut identities = HashSet::new();
    for uid in instance.uids() {
        match instance.summary(&uid) {
            Ok(summary) => drop(identities.insert(identity(summary.created_at))),
            Err(error) if error.code == Code::IndexNotFound => {}
            Err(_) => return None,
        }
    }
    Some(identities)
}
