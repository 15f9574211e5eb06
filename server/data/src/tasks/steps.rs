//! Where a batch stands that works outside of one index: a dump, a snapshot, an export.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Steps inside each other, written by the thread that takes them and read by any thread.
#[derive(Debug, Default)]
pub struct Steps {
    state: Mutex<StepTimes>,
    /// Units of the innermost step that are done: counted without a lock, since there may be one for each document.
    done: AtomicU64,
}

#[derive(Debug, Default)]
struct StepTimes {
    /// Outermost first; `finished` of the last one is in `done`.
    open: Vec<Step>,
    /// The outermost step under way.
    entered: Option<(&'static str, Instant)>,
    /// Durations of the earlier outermost steps.
    spent: Vec<(&'static str, Duration)>,
}

/// A step under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the step.
    pub name: String,
    /// Units that are done.
    pub finished: u64,
    /// All units; 0 when unknown.
    pub total: u64,
}

impl Steps {
    /// Begins an outermost step, the one after `finished` of `total`; the one before it ends.
    pub fn enter(&self, name: &'static str, finished: u64, total: u64) {
        let mut state = self.state.lock();
        state.close();
        state.entered = Some((name, Instant::now()));
        state.open = vec![Step { name: name.to_owned(), finished, total }];
        self.done.store(finished, Ordering::Relaxed);
    }

    /// Begins a step inside of `depth` others, none of its `total` units done; those that were as deep or deeper end.
    /// The unit of the step around it is the whole of this one.
    pub fn enter_inner(&self, depth: usize, name: impl Into<String>, total: u64) {
        let mut state = self.state.lock();
        self.write_back(&mut state);
        state.open.truncate(depth);
        state.open.push(Step { name: name.into(), finished: 0, total });
        self.done.store(0, Ordering::Relaxed);
    }

    /// Ends what is deeper than `depth`; one more unit of the step there is done.
    pub fn leave_inner(&self, depth: usize) {
        let mut state = self.state.lock();
        self.write_back(&mut state);
        state.open.truncate(depth);
        self.done.store(state.open.last().map_or(0, |step| step.finished) + 1, Ordering::Relaxed);
    }

    /// One more unit of the innermost step is done.
    pub fn advance(&self) {
        self.advance_by(1);
    }

    /// More units of the innermost step are done.
    pub fn advance_by(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    /// The steps under way, outermost first.
    pub fn open(&self) -> Vec<Step> {
        let mut open = self.state.lock().open.clone();
        if let Some(last) = open.last_mut() {
            last.finished = self.done.load(Ordering::Relaxed);
        }
        open
    }

    /// The outermost steps and the time each took, the last one as long as it has lasted.
    pub fn trace(&self) -> Vec<(&'static str, Duration)> {
        let state = self.state.lock();
        let current = state.entered.map(|(name, since)| (name, since.elapsed()));
        state.spent.iter().copied().chain(current).collect()
    }

    fn write_back(&self, state: &mut StepTimes) {
        if let Some(last) = state.open.last_mut() {
            last.finished = self.done.load(Ordering::Relaxed);
        }
    }
}

impl StepTimes {
    fn close(&mut self) {
        if let Some((name, since)) = self.entered.take() {
            self.spent.push((name, since.elapsed()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(steps: &Steps) -> Vec<(String, u64, u64)> {
        steps.open().into_iter().map(|step| (step.name, step.finished, step.total)).collect()
    }

    fn step(name: &str, finished: u64, total: u64) -> (String, u64, u64) {
        (name.to_owned(), finished, total)
    }

    #[test]
    fn steps_are_inside_each_other() {
        let steps = Steps::default();
        assert_eq!(shown(&steps), []);
        steps.enter("keys", 0, 2);
        assert_eq!(shown(&steps), [step("keys", 0, 2)]);
        steps.enter("indexes", 1, 2);
        steps.enter_inner(1, "index", 2);
        steps.enter_inner(2, "films", 10);
        steps.advance();
        steps.advance();
        assert_eq!(shown(&steps), [step("indexes", 1, 2), step("index", 0, 2), step("films", 2, 10)]);
        steps.leave_inner(2);
        assert_eq!(shown(&steps), [step("indexes", 1, 2), step("index", 1, 2)]);
        steps.enter_inner(2, "books", 5);
        assert_eq!(shown(&steps), [step("indexes", 1, 2), step("index", 1, 2), step("books", 0, 5)]);
    }

    #[test]
    fn the_time_of_the_outermost_steps_is_known() {
        let steps = Steps::default();
        steps.enter("a", 0, 2);
        // The time that the step takes.
        std::thread::sleep(Duration::from_millis(2));
        steps.enter("b", 1, 2);
        let trace = steps.trace();
        assert_eq!(trace.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "b"]);
        assert!(trace[0].1 >= Duration::from_millis(2));
    }
}
