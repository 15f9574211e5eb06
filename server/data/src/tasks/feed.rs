//! What happens to tasks and batches, for those who listen while it does. Nothing waits for a listener: one that is too slow is shown
//! how things are now.

use std::collections::VecDeque;
use std::sync::Arc;

use lamina_base::timestamp::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use super::live::LiveBatch;
use super::task::Task;

/// Listeners at the same time.
const LISTENERS_MAX: usize = 64;
/// Events that wait for a listener.
const WAITING_MAX: usize = 256;
/// Recent events for listeners who come back.
const RECENT_MAX: usize = 10_000;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum TaskEvent {
    /// A task was registered.
    Registered(Arc<Task>),
    /// A batch began.
    Begun(Arc<LiveBatch>),
    /// A batch ended, or goes on in the background.
    Ended(u32),
}

/// Part of an event that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedEvent {
    /// The task that was registered.
    Registered(u32),
    /// The batch that began.
    Begun(u32),
    /// The batch that ended.
    Ended(u32),
}

/// Position of an event in the whole life of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Start time of the server, in nanoseconds since 1970.
    pub start: i64,
    /// Counted from its start.
    pub number: u64,
    /// Time of the event, in nanoseconds since 1970.
    pub at: i64,
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}-{:x}-{:x}", self.start, self.number, self.at)
    }
}

impl Mark {
    /// The mark that a listener remembers.
    pub fn parse(text: &str) -> Option<Mark> {
        let mut parts = text.splitn(3, '-');
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let signed = |number: u64| i64::try_from(number).ok();
        Some(Mark { start: signed(number()?)?, number: number()?, at: signed(number()?)? })
    }
}

/// Events that a listener missed.
#[derive(Debug, PartialEq, Eq)]
pub enum Missed {
    /// Everything that happened in between, in order.
    All(Vec<(Mark, RecordedEvent)>),
    /// The feed remembers nothing older: what changed from this instant on.
    Since(Timestamp),
}

/// Lets listeners know what happens.
#[derive(Debug)]
pub struct Feed {
    start: i64,
    sender: broadcast::Sender<(Mark, TaskEvent)>,
    recent: Mutex<VecDeque<(Mark, RecordedEvent)>>,
    places: Arc<Semaphore>,
}

/// Listener of the feed.
#[derive(Debug)]
pub struct Follower {
    /// Receiver of the events.
    pub events: broadcast::Receiver<(Mark, TaskEvent)>,
    /// The last event before it began to listen.
    pub since: Mark,
    _place: OwnedSemaphorePermit,
}

impl Default for Feed {
    fn default() -> Feed {
        Feed {
            start: Timestamp::now().nanos(),
            sender: broadcast::Sender::new(WAITING_MAX),
            recent: Mutex::default(),
            places: Arc::new(Semaphore::new(LISTENERS_MAX)),
        }
    }
}

impl Feed {
    /// Lets listeners know, in the order of the calls.
    pub fn note(&self, event: TaskEvent) {
        let kept = match &event {
            TaskEvent::Registered(task) => RecordedEvent::Registered(task.uid),
            TaskEvent::Begun(live) => RecordedEvent::Begun(live.uid),
            TaskEvent::Ended(batch) => RecordedEvent::Ended(*batch),
        };
        let mut recent = self.recent.lock();
        let number = recent.back().map_or(0, |(mark, _)| mark.number + 1);
        let mark = Mark { start: self.start, number, at: Timestamp::now().nanos() };
        if recent.len() == RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back((mark, kept));
        // Without listeners it goes nowhere.
        let _ = self.sender.send((mark, event));
    }

    /// Begins to listen; `None` when there are as many listeners as may be.
    pub fn listen(&self) -> Option<Follower> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let recent = self.recent.lock();
        let events = self.sender.subscribe();
        let nothing = Mark { start: self.start, number: 0, at: Timestamp::now().nanos() };
        let since = recent.back().map_or(nothing, |(mark, _)| *mark);
        Some(Follower { events, since, _place: place })
    }

    /// Returns the events after `mark`, up to `until`.
    pub fn missed(&self, mark: Mark, until: Mark) -> Missed {
        let recent = self.recent.lock();
        let is_whole = recent.front().is_none_or(|(first, _)| first.number <= mark.number + 1);
        if mark.start != self.start || !is_whole {
            return Missed::Since(Timestamp::from_nanos(mark.at));
        }
        let missed = recent.iter().filter(|(at, _)| at.number > mark.number && at.number <= until.number);
        Missed::All(missed.copied().collect())
    }

    /// Ends all listening: the server stops.
    pub fn close(&self) {
        self.places.close();
    }

    /// Reports whether the server is stopping.
    pub fn is_closed(&self) -> bool {
        self.places.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_remembered_for_a_while() {
        let feed = Feed::default();
        let listener = feed.listen().unwrap();
        for batch in 0..5 {
            feed.note(TaskEvent::Ended(batch));
        }
        let marks: Vec<Mark> = feed.recent.lock().iter().map(|(mark, _)| *mark).collect();
        assert_eq!(Mark::parse(&marks[1].to_string()), Some(marks[1]));
        let expected = vec![(marks[2], RecordedEvent::Ended(2)), (marks[3], RecordedEvent::Ended(3))];
        assert_eq!(feed.missed(marks[1], marks[3]), Missed::All(expected));
        assert_eq!(feed.missed(marks[4], marks[4]), Missed::All(Vec::new()));
        let before = Mark { start: 1, ..marks[0] };
        assert_eq!(feed.missed(before, marks[4]), Missed::Since(Timestamp::from_nanos(before.at)));
        for batch in 0..RECENT_MAX as u32 {
            feed.note(TaskEvent::Ended(batch));
        }
        assert!(matches!(feed.missed(marks[1], marks[4]), Missed::Since(_)));
        drop(listener);
        for bad in ["", "1-2", "x-1-2", "1-2-3-4", "-1-2-3", "ffffffffffffffff-1-1"] {
            assert_eq!(Mark::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn there_are_only_so_many_listeners() {
        let feed = Feed::default();
        let listeners: Vec<Follower> = (0..LISTENERS_MAX).filter_map(|_| feed.listen()).collect();
        assert_eq!((listeners.len(), feed.listen().is_none()), (LISTENERS_MAX, true));
        drop(listeners);
        assert!(feed.listen().is_some());
        feed.close();
        assert!(feed.listen().is_none());
        assert!(feed.is_closed());
    }
}
