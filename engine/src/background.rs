//! Threads that nobody waits for.

#[cfg(target_os = "linux")]
use std::io;

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

/// Lets the calling thread work only where no other thread wants the processor from now on. Unlike a thread that stays
/// behind, it gives way the moment another one wakes up instead of at the end of its slice, which may be 3 ms away; where
/// nothing rests, its work is never done.
pub(crate) fn work_at_rest() {
    #[cfg(target_os = "linux")]
    if let Err(error) = be_idle() {
        tracing::debug!(%error, "a background thread keeps its priority");
        stay_behind();
    }
}

/// Gives the calling thread the scheduling policy `SCHED_IDLE`.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "no crate of the workspace has this system call; musl's function of its name does nothing"
)]
fn be_idle() -> io::Result<()> {
    let parameters = [0_i32];
    // SAFETY: the kernel reads one integer, the priority, from the pointer, which stays valid during the call, and
    // changes nothing but how it schedules the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, parameters.as_ptr()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The scheduling policy of the calling thread, as the kernel tells it.
    fn policy() -> String {
        let told = std::fs::read_to_string("/proc/thread-self/stat").expect("the kernel tells of threads");
        let (_, fields) = told.rsplit_once(')').expect("the name is in brackets");
        // The 41st field; the third one comes after the name.
        fields.split_whitespace().nth(41 - 3).expect("there are so many").to_owned()
    }

    #[test]
    fn a_thread_works_at_rest() {
        let before = policy();
        let idle = std::thread::spawn(|| {
            work_at_rest();
            policy()
        });
        assert_eq!(idle.join().expect("it does not panic"), libc::SCHED_IDLE.to_string());
        assert_eq!(policy(), before, "only the thread that asked");
    }
}
