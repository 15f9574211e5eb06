//! The scrubber: compares the files of indexes with their checksums in the background, at a bounded rate: those of open indexes
//! soon after they are opened, then those of closed ones, and all of them again and again. What it finds is logged, stands in
//! `/stats` and the metrics, and ends wrong answers.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lamina_base::options::Scrubbing;
use lamina_base::stored_names::FolderName;
use lamina_base::timestamp::Timestamp;
use lamina_data::instance::Instance;
use lamina_engine::index::Snapshot;
use lamina_engine::segment::{Damaged, SegmentError};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Between two looks for segments that are due.
const PAUSE: Duration = Duration::from_millis(500);
/// Between two looks whether to stop.
const NAP: Duration = Duration::from_millis(20);
/// Closed indexes that are compared between two looks at the open ones.
const CLOSED_AT_ONCE: usize = 64;
/// Findings that are remembered; one segment has far fewer sections.
const FINDINGS_MAX: usize = 1000;

/// Progress and findings of the scrubber since the start. Shared by reference.
#[derive(Debug, Default)]
pub(crate) struct Scrubber {
    compared_bytes: AtomicU64,
    due_bytes: AtomicU64,
    state: Mutex<ScrubState>,
    is_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct ScrubState {
    /// Time at which nothing was due most recently.
    finished: Option<Timestamp>,
    findings: Vec<Finding>,
}

/// A section that differs from its checksum.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The index.
    pub uid: String,
    /// The file and the section.
    pub damaged: Damaged,
    /// Time at which the damage was found.
    pub found: Timestamp,
}

impl Scrubber {
    /// Starts the thread, unless its rate is 0.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn start(
        self: &Arc<Self>,
        instance: Arc<Instance>,
        options: &Scrubbing,
    ) -> std::io::Result<Option<JoinHandle<()>>> {
        let (rate, interval) = (options.scrub_rate.bytes(), options.scrub_interval);
        if rate == 0 {
            return Ok(None);
        }
        let scrubber = Arc::clone(self);
        let run = move || scrubber.run(&instance, rate, interval);
        std::thread::Builder::new().name("scrubber".to_owned()).spawn(run).map(Some)
    }

    /// Ends the thread soon.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn run(&self, instance: &Instance, rate: u64, interval: Duration) {
        let mut pace = Pace::new(rate);
        let mut closed = HashMap::new();
        while !self.is_stopped() {
            // A machine that runs for less than the interval has compared nothing as long ago.
            let since = Instant::now().checked_sub(interval);
            let open = instance.open_snapshots();
            // Also what requests have met.
            let damaged = open.iter().filter(|(_, snapshot)| snapshot.check_health().is_err());
            damaged.for_each(|(uid, _)| instance.set_damaged_aside(uid));
            self.forget_what_is_gone(instance, &open);
            let is_due = |(_, snapshot): &(String, Arc<Snapshot>)| snapshot.unscrubbed_bytes(since) > 0;
            let due: Vec<(String, Arc<Snapshot>)> = open.into_iter().filter(is_due).collect();
            if due.is_empty() {
                self.due_bytes.store(0, Ordering::Relaxed);
                if self.compare_closed(instance, since, &mut pace, &mut closed) {
                    continue;
                }
                self.state.lock().finished = Some(Timestamp::now());
                self.nap(PAUSE);
                continue;
            }
            let bytes = due.iter().map(|(_, snapshot)| snapshot.unscrubbed_bytes(since)).sum();
            self.due_bytes.store(bytes, Ordering::Relaxed);
            for (uid, snapshot) in due {
                while let Some(scrubbed) = snapshot.scrub_next(since, &mut |bytes| self.compared(&mut pace, bytes)) {
                    self.report(&uid, &scrubbed.found);
                }
                instance.set_damaged_aside(&uid);
                if self.is_stopped() {
                    return;
                }
            }
        }
    }

    /// Compares some of the closed indexes that were not compared since `since` (`None`: ever); whether there were any.
    /// `compared`: when each was compared last.
    fn compare_closed(
        &self,
        instance: &Instance,
        since: Option<Instant>,
        pace: &mut Pace,
        compared: &mut HashMap<FolderName, Instant>,
    ) -> bool {
        let mut closed = instance.closed_indexes();
        let folders: HashSet<&FolderName> = closed.iter().map(|(_, folder, _)| folder).collect();
        compared.retain(|folder, _| folders.contains(folder));
        let was_compared = |at: Option<&Instant>| at.is_some_and(|at| since.is_none_or(|since| *at >= since));
        closed.retain(|(_, folder, _)| !was_compared(compared.get(folder)));
        let any_due = !closed.is_empty();
        for (uid, folder, path) in closed.into_iter().take(CLOSED_AT_ONCE) {
            self.compare_files(instance, &uid, &path, pace);
            if self.is_stopped() {
                break;
            }
            compared.insert(folder, Instant::now());
        }
        any_due
    }

    /// Compares the index in a folder that is not open.
    fn compare_files(&self, instance: &Instance, uid: &str, folder: &Path, pace: &mut Pace) {
        // What cannot be read says so by itself, and may be about to be written or deleted.
        let Ok(snapshot) = Snapshot::read(folder) else { return };
        let mut found = Vec::new();
        while let Some(scrubbed) = snapshot.scrub_next(None, &mut |bytes| self.compared(pace, bytes)) {
            found.extend(scrubbed.found);
        }
        if found.is_empty() {
            return;
        }
        // Opened and marked before anyone hears of it: what is known to be damaged answers no search, and stays open.
        if let Ok(index) = instance.index(uid) {
            index.snapshot().mark_damage(&found);
        }
        self.report(uid, &found);
    }

    /// Sleeps for as long as the rate asks for; whether to go on.
    fn compared(&self, pace: &mut Pace, bytes: u64) -> bool {
        self.compared_bytes.fetch_add(bytes, Ordering::Relaxed);
        let _ =
            self.due_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |due| Some(due.saturating_sub(bytes)));
        self.nap(pace.behind(bytes));
        !self.is_stopped()
    }

    fn nap(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_stopped() {
            match end.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(NAP)),
                _ => return,
            }
        }
    }

    /// Shows and logs what was found in an index, here or by others.
    pub(crate) fn report(&self, uid: &str, found: &[SegmentError]) {
        for error in found {
            let Some(damaged) = Damaged::of(error) else { continue };
            let (file, section) = (&damaged.file, damaged.section);
            let mut state = self.state.lock();
            if state.findings.iter().any(|known| known.uid == uid && known.damaged == damaged) {
                continue;
            }
            tracing::error!(index = uid, file, section, %error, "found damage: stop the server and run `lamina verify`");
            if state.findings.len() < FINDINGS_MAX {
                state.findings.push(Finding { uid: uid.to_owned(), damaged, found: Timestamp::now() });
            }
        }
    }

    /// Files that no index has any more are no damage.
    fn forget_what_is_gone(&self, instance: &Instance, open: &[(String, Arc<Snapshot>)]) {
        let mut state = self.state.lock();
        if state.findings.is_empty() {
            return;
        }
        state.findings.retain(|finding| {
            let snapshot = open.iter().find(|(uid, _)| *uid == finding.uid);
            // One that is closed keeps its damage.
            snapshot.map_or_else(
                || instance.contains(&finding.uid),
                |(_, snapshot)| snapshot.names_file(&finding.damaged.file),
            )
        });
    }

    /// Returns the findings that still exist.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.state.lock().findings.clone()
    }

    /// Bytes that were compared since the start.
    pub(crate) fn compared_bytes(&self) -> u64 {
        self.compared_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that are still to be compared now.
    pub(crate) fn due_bytes(&self) -> u64 {
        self.due_bytes.load(Ordering::Relaxed)
    }

    /// Returns the state as `/stats` shows it, for the indexes that `admits` accepts.
    pub(crate) fn show(&self, admits: impl Fn(&str) -> bool) -> Value {
        let findings = self.findings().into_iter().filter(|finding| admits(&finding.uid));
        let damages = findings.map(|Finding { uid, damaged, found }| {
            json!({ "indexUid": uid, "file": damaged.file, "section": damaged.section, "foundAt": found })
        });
        json!({
            "comparedBytes": self.compared_bytes(),
            "dueBytes": self.due_bytes(),
            "lastFinishedAt": self.state.lock().finished,
            "damages": damages.collect::<Vec<Value>>(),
        })
    }
}

/// Pauses after each piece that keep to a rate on average.
#[derive(Debug)]
struct Pace {
    bytes_per_second: u64,
    /// Time at which the bytes compared so far are due.
    due: Instant,
}

impl Pace {
    fn new(bytes_per_second: u64) -> Pace {
        Pace { bytes_per_second, due: Instant::now() }
    }

    fn behind(&mut self, bytes: u64) -> Duration {
        let now = Instant::now();
        // Time in which nothing was compared is not made up for.
        self.due = self.due.max(now.checked_sub(PAUSE).unwrap_or(now));
        self.due += Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        self.due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept() {
        let mut pace = Pace::new(1 << 20);
        let waits: Vec<Duration> = (0..4).map(|_| pace.behind(1 << 20)).collect();
        // A second for each megabyte, and there was no pause.
        for (number, wait) in (1..).zip(waits) {
            let expected = Duration::from_secs(number);
            assert!(wait <= expected, "{wait:?}");
            assert!(wait > expected - Duration::from_millis(600), "{wait:?}");
        }
    }
}
