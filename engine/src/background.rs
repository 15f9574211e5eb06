//! Threads that stay behind searches: nobody waits for them, or not as impatiently.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Lets the other threads of the process go before the calling one from now on: what it does is done sometime, but searches
/// would feel it.
pub(crate) fn stay_behind() {
    /// As a step of `nice`; searches get some nine tenths of a processor that both want.
    #[cfg(target_os = "linux")]
    const STEPS: i32 = 10;
    // On Linux the priority of a process without a number is that of the calling thread.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, STEPS) {
        tracing::debug!(%error, "a background thread keeps its priority");
    }
}

/// Small writes that are being applied, and when the last one was.
struct SmallWrites {
    running: AtomicUsize,
    ended: Mutex<Option<Instant>>,
}

static SMALL_WRITES: SmallWrites = SmallWrites { running: AtomicUsize::new(0), ended: Mutex::new(None) };

/// A small write that is being applied: somebody waits to see it.
#[derive(Debug)]
pub(crate) struct SmallWrite(());

impl SmallWrite {
    pub(crate) fn begin() -> SmallWrite {
        SMALL_WRITES.running.fetch_add(1, Ordering::Relaxed);
        SmallWrite(())
    }
}

impl Drop for SmallWrite {
    fn drop(&mut self) {
        *SMALL_WRITES.ended.lock() = Some(Instant::now());
        SMALL_WRITES.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SmallWrites {
    /// Whether one is being applied, or the next is likely to be on its way.
    fn go_on(&self) -> bool {
        /// What is left of a small write after it was applied: to record it, and to answer.
        const REST: Duration = Duration::from_millis(3);
        self.running.load(Ordering::Relaxed) > 0 || self.ended.lock().is_some_and(|ended| ended.elapsed() < REST)
    }
}

/// Lets threads that wait for the processor go first, those of searches: whatever its priority, a thread keeps its
/// processor until the next tick of the clock otherwise, 4 ms, when another wakes up on it. Cost: 0.3 us when nobody waits.
pub(crate) fn let_others_go() {
    std::thread::yield_now();
}

/// Lets threads that wait for the processor go first, and waits while small writes are going on, for 20 ms at most: for
/// what can as well be done later, in steps of less than a millisecond.
pub(crate) fn give_way() {
    const STEP: Duration = Duration::from_millis(1);
    const STEPS_MAX: usize = 20;
    let_others_go();
    (0..STEPS_MAX).take_while(|_| SMALL_WRITES.go_on()).for_each(|_| std::thread::sleep(STEP));
}
