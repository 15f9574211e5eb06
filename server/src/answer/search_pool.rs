//! Where searches run: a thread pool behind a bounded queue, so that overload is refused instead of growing.
//!
//! Requests that wait are served and refused at random: with first-come-first-served, all of them would wait until
//! their clients have given up.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use lamina_base::error::{ApiError, ApiResult, Code, panic_text};
use lamina_base::options::{Options, core_count};
use lamina_engine::text::Tokenizer;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

/// The pool and its queue.
#[derive(Debug)]
pub(crate) struct SearchPool {
    threads: rayon::ThreadPool,
    slots: std::sync::Arc<Slots>,
    /// Turns of requests of many searches: one thread is left to others, where there are several.
    long: Semaphore,
}

/// Load of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Searches that run.
    pub running: usize,
    /// Searches that wait.
    pub waiting: usize,
    /// Most that may wait.
    pub waiting_max: usize,
}

#[derive(Debug)]
struct Slots {
    state: Mutex<WaitingLine>,
    running_max: usize,
    waiting_max: usize,
    patience: Duration,
}

#[derive(Debug)]
struct WaitingLine {
    running: usize,
    waiting: Vec<Waiting>,
    random: RandomState,
    draws: u64,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    turn: oneshot::Sender<Turn>,
}

#[derive(Debug)]
enum Turn {
    Run(Slot),
    Refused,
}

/// The right to run; given on when dropped.
#[derive(Debug)]
struct Slot(std::sync::Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.hand_on();
    }
}

impl SearchPool {
    /// A pool with one thread for each core.
    pub(crate) fn new(options: &Options) -> SearchPool {
        let cores = core_count();
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(cores)
            .thread_name(|index| format!("search-{index}"))
            // The first search need not wait for the tables of the text analysis.
            .start_handler(|_| drop(Tokenizer::default()))
            .build()
            .expect("the process may start threads");
        let slots = Slots::new(
            cores.saturating_mul(options.searching.experimental_nb_searches_per_core.get()),
            options.searching.experimental_search_queue_size,
            options.searching.experimental_drop_search_after,
        );
        let long = Semaphore::new(cores.saturating_sub(1).max(1));
        SearchPool { threads, slots: std::sync::Arc::new(slots), long }
    }

    /// Returns the load of the pool.
    pub(crate) fn load(&self) -> Load {
        let state = self.slots.state.lock();
        Load { running: state.running, waiting: state.waiting.len(), waiting_max: self.slots.waiting_max }
    }

    /// Waits for the turn of a request of many searches, which ends when what is given here is dropped.
    ///
    /// # Errors
    /// `too_many_search_requests`
    pub(crate) async fn long_turn(&self) -> ApiResult<SemaphorePermit<'_>> {
        let turn = tokio::time::timeout(self.slots.patience, self.long.acquire());
        turn.await.ok().and_then(Result::ok).ok_or_else(|| self.slots.too_many())
    }

    /// Runs `search` when its turn comes. Inside, rayon uses this pool.
    ///
    /// # Errors
    /// `too_many_search_requests`; `internal` when it panics.
    pub(crate) async fn run<T: Send + 'static>(&self, search: impl FnOnce() -> T + Send + 'static) -> ApiResult<T> {
        let slot = self.slots.acquire().await?;
        let (sender, receiver) = oneshot::channel();
        self.threads.spawn(move || {
            if sender.is_closed() {
                return;
            }
            let result = catch_unwind(AssertUnwindSafe(search));
            // The slot ends with the work, even when the client is gone.
            drop(slot);
            let _ = sender.send(result);
        });
        match receiver.await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => {
                let text = panic_text(&*panic);
                tracing::error!(panic = text, "a search panicked");
                Err(ApiError::internal(format!("An unexpected crash occurred when processing the search: {text}")))
            }
            Err(_) => Err(ApiError::internal("The search was dropped.")),
        }
    }
}

impl Slots {
    fn new(running_max: usize, waiting_max: usize, patience: Duration) -> Slots {
        let state = WaitingLine { running: 0, waiting: Vec::new(), random: RandomState::new(), draws: 0 };
        Slots { state: Mutex::new(state), running_max, waiting_max, patience }
    }

    async fn acquire(self: &std::sync::Arc<Self>) -> ApiResult<Slot> {
        let turn = {
            let mut state = self.state.lock();
            if state.running < self.running_max {
                state.running += 1;
                return Ok(Slot(std::sync::Arc::clone(self)));
            }
            if self.waiting_max == 0 {
                return Err(self.too_many());
            }
            let (turn, receiver) = oneshot::channel();
            state.waiting.push(Waiting { since: Instant::now(), turn });
            if state.waiting.len() > self.waiting_max {
                let unlucky = state.draw();
                let _ = unlucky.turn.send(Turn::Refused);
            }
            receiver
        };
        match turn.await {
            Ok(Turn::Run(slot)) => Ok(slot),
            Ok(Turn::Refused) | Err(_) => Err(self.too_many()),
        }
    }

    /// Gives the slot of a finished search to one that waits, or back.
    fn hand_on(self: &std::sync::Arc<Self>) {
        let mut state = self.state.lock();
        while !state.waiting.is_empty() {
            let next = state.draw();
            if next.since.elapsed() > self.patience {
                let _ = next.turn.send(Turn::Refused);
                continue;
            }
            if next.turn.is_closed() {
                continue;
            }
            // Sent without the lock: when the client goes away at this instant, the slot drops and comes back here.
            drop(state);
            let _ = next.turn.send(Turn::Run(Slot(std::sync::Arc::clone(self))));
            return;
        }
        state.running -= 1;
    }

    fn too_many(&self) -> ApiError {
        ApiError::new(
            Code::TooManySearchRequests,
            format!("Too many search requests running at the same time: {}. Retry after 10s.", self.waiting_max),
        )
    }
}

impl WaitingLine {
    /// Takes a random one out of a queue that is not empty.
    fn draw(&mut self) -> Waiting {
        self.draws += 1;
        let random = self.random.hash_one(self.draws);
        let index = (random % self.waiting.len() as u64) as usize;
        self.waiting.swap_remove(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn is_ready<T>(future: &mut std::pin::Pin<Box<impl Future<Output = T>>>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn a_full_queue_refuses_one_of_those_who_wait() {
        let slots = Arc::new(Slots::new(1, 1, Duration::from_secs(60)));
        let running = is_ready(&mut Box::pin(slots.acquire())).expect("there is a free slot").unwrap();
        let mut first = Box::pin(slots.acquire());
        assert!(is_ready(&mut first).is_none());
        let mut second = Box::pin(slots.acquire());
        // The second one fills the queue when it is polled, and the lot may then fall on the first.
        let (refused, mut left) = match (is_ready(&mut second), is_ready(&mut first)) {
            (Some(result), None) => (result, first),
            (None, Some(result)) => (result, second),
            (one, other) => panic!("exactly one is refused: {one:?} {other:?}"),
        };
        let error = refused.unwrap_err();
        assert_eq!((error.status(), error.retry_after_seconds()), (503, Some(10)));
        assert_eq!(error.message, "Too many search requests running at the same time: 1. Retry after 10s.");
        drop(running);
        assert!(is_ready(&mut left).is_some_and(|turn| turn.is_ok()), "the other one gets the free slot");
    }

    #[test]
    fn a_slot_goes_to_those_who_still_wait() {
        let slots = Arc::new(Slots::new(1, 10, Duration::from_secs(60)));
        let running = is_ready(&mut Box::pin(slots.acquire())).unwrap().unwrap();
        let mut gone = Box::pin(slots.acquire());
        assert!(is_ready(&mut gone).is_none());
        let mut stays = Box::pin(slots.acquire());
        assert!(is_ready(&mut stays).is_none());
        drop(gone);
        drop(running);
        let slot = is_ready(&mut stays).expect("it is its turn").unwrap();
        drop(slot);
        assert_eq!(slots.state.lock().running, 0);
    }

    #[test]
    fn without_a_queue_all_but_the_running_are_refused() {
        let slots = Arc::new(Slots::new(1, 0, Duration::from_secs(60)));
        let _running = is_ready(&mut Box::pin(slots.acquire())).unwrap().unwrap();
        assert!(is_ready(&mut Box::pin(slots.acquire())).unwrap().is_err());
    }

    #[test]
    fn patience_ends() {
        let slots = Arc::new(Slots::new(1, 10, Duration::ZERO));
        let running = is_ready(&mut Box::pin(slots.acquire())).unwrap().unwrap();
        let mut late = Box::pin(slots.acquire());
        assert!(is_ready(&mut late).is_none());
        // The time of its patience, which is none.
        std::thread::sleep(Duration::from_millis(2));
        drop(running);
        assert!(is_ready(&mut late).unwrap().is_err());
        assert_eq!(slots.state.lock().running, 0);
    }
}
