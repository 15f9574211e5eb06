//! Threads in the background that all indexes of a process share, and what these give way to.

mod priority;
mod small_writes;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use self::small_writes::SmallWrites;

pub(crate) use priority::{let_others_go, stay_behind};
pub(crate) use small_writes::SmallWrite;

/// Urgency of a background job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Searches are slower until it is done.
    Soon,
    /// Searches that run meanwhile go before it.
    Sometime,
}

/// Resources that all indexes of a process share; see [`IndexOptions::runtime`](crate::index::IndexOptions::runtime).
/// It starts one thread for each urgency at the first such job.
#[derive(Debug, Default)]
pub struct Runtime {
    small_writes: SmallWrites,
    soon: Lane,
    sometime: Lane,
}

/// A thread that takes one job after the other: the other processors are for searches. A pool of one thread: what a job
/// does in parallel stays on it.
#[derive(Debug, Default)]
struct Lane(OnceLock<Option<ThreadPool>>);

impl Runtime {
    /// A runtime without threads yet.
    pub fn new() -> Arc<Runtime> {
        Arc::default()
    }

    /// Runs a job in the background, after those before it. Answers whether it will run: not where the system has no thread
    /// for it.
    pub fn spawn(&self, urgency: Urgency, job: impl FnOnce() + Send + 'static) -> bool {
        let pool = match urgency {
            Urgency::Soon => self.soon.pool("soon", || ()),
            Urgency::Sometime => self.sometime.pool("sometime", stay_behind),
        };
        pool.map(|pool| pool.spawn(job)).is_some()
    }

    /// Notes a small write until the guard is dropped.
    pub(crate) fn begin_small_write(&self) -> SmallWrite<'_> {
        self.small_writes.begin()
    }

    /// Lets threads that wait for the processor go first, and waits while small writes are going on, for 20 ms at most: for
    /// what can as well be done later, in steps of less than a millisecond.
    pub fn give_way(&self) {
        const STEP: Duration = Duration::from_millis(1);
        const STEPS_MAX: usize = 20;
        let_others_go();
        (0..STEPS_MAX).take_while(|_| self.small_writes.go_on()).for_each(|_| std::thread::sleep(STEP));
    }
}

impl Lane {
    fn pool(&self, name: &'static str, start: fn()) -> Option<&ThreadPool> {
        let build = || {
            let builder = ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| name.to_owned());
            let pool = builder.start_handler(move |_| start()).build();
            pool.inspect_err(|error| tracing::warn!(%error, "cannot start a background thread: searches stay slower"))
                .ok()
        };
        self.0.get_or_init(build).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn jobs_of_one_urgency_run_one_after_the_other() {
        let runtime = Runtime::new();
        let (sender, receiver) = mpsc::channel();
        for urgency in [Urgency::Soon, Urgency::Sometime] {
            for number in 0..20 {
                let sender = sender.clone();
                let job = move || sender.send((urgency, number, std::thread::current().id())).expect("it is read");
                assert!(runtime.spawn(urgency, job));
            }
        }
        drop(sender);
        let done: Vec<_> = receiver.iter().collect();
        let of = |urgency| done.iter().filter(move |job| job.0 == urgency);
        for urgency in [Urgency::Soon, Urgency::Sometime] {
            let threads: Vec<_> = of(urgency).map(|job| job.2).collect();
            assert_eq!(threads.len(), 20, "{urgency:?}");
            assert!(threads.iter().all(|thread| *thread == threads[0]), "{urgency:?}");
        }
        assert_ne!(of(Urgency::Soon).next().map(|job| job.2), of(Urgency::Sometime).next().map(|job| job.2));
    }

    #[test]
    fn the_last_owner_may_be_a_job() {
        let (sender, receiver) = mpsc::channel();
        let runtime = Runtime::new();
        let held = Arc::clone(&runtime);
        runtime.spawn(Urgency::Sometime, move || {
            while Arc::strong_count(&held) > 1 {
                std::thread::yield_now();
            }
            drop(held);
            sender.send(()).expect("it is waited for");
        });
        drop(runtime);
        receiver.recv_timeout(Duration::from_secs(60)).expect("the job ends");
    }
}
