//! Threads that nobody waits for.

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
