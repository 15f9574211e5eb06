//! What a thread in the background does so that searches feel little of it.

/// Lets the other threads of the process go before the calling one from now on: what it does is done sometime, but searches
/// would feel it.
pub(crate) fn stay_behind() {
    /// Increment of the `nice` value. Searches get some nine tenths of a processor that both want.
    #[cfg(target_os = "linux")]
    const STEPS: i32 = 10;
    // On Linux the priority of a process without a number is that of the calling thread.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, STEPS) {
        tracing::debug!(%error, "a background thread keeps its priority");
    }
}

/// Lets threads that wait for the processor go first, those of searches: whatever its priority, a thread keeps its
/// processor until the next tick of the clock otherwise, 4 ms, when another wakes up on it. Cost: 0.3 us when none waits.
pub(crate) fn let_others_go() {
    std::thread::yield_now();
}
