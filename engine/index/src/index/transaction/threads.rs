//! Work on several threads.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lamina_segment::segment::TwoThreads;

use super::super::error::IndexError;

/// Runs `work(0)`, …, `work(count - 1)` at once and returns the results in order. A count of one stays on this thread:
/// a single document costs no thread.
///
/// # Errors
/// The error of the first thread that failed, in order.
pub(super) fn on_threads<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, IndexError> + Sync,
) -> Result<Vec<T>, IndexError> {
    if count <= 1 {
        return Ok(vec![work(0)?]);
    }
    std::thread::scope(|scope| {
        let work = &work;
        let mut threads = Vec::with_capacity(count - 1);
        for index in 1..count {
            let thread = std::thread::Builder::new().name(format!("indexing-{index}"));
            threads.push(thread.spawn_scoped(scope, move || work(index))?);
        }
        let mut results = vec![work(0)];
        for thread in threads {
            // A panic of a worker is a panic of the whole call.
            results.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results.into_iter().collect()
    })
}

/// The thread of the caller, and one that is made for the work.
#[derive(Debug)]
pub(super) struct OneMore;

impl TwoThreads for OneMore {
    fn run<A: Send, B>(&self, beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> io::Result<(A, B)> {
        std::thread::scope(|scope| {
            let beside = std::thread::Builder::new().name("finishing".to_owned()).spawn_scoped(scope, beside)?;
            let here = here();
            Ok((beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), here))
        })
    }
}

/// # Errors
/// [`IndexError::Cancelled`] once the flag is set.
pub(super) fn check(cancelled: &AtomicBool) -> Result<(), IndexError> {
    if cancelled.load(Ordering::Relaxed) { Err(IndexError::Cancelled) } else { Ok(()) }
}
