//! Whether the process before ended itself: what distinguishes a crash from a kill from outside.
//!
//! A process that aborts (a stack overflow, no memory for an allocation, a failed assertion of the allocator) writes a byte into a
//! file of the database folder on its way out. The kernel's killing for lack of memory leaves no such byte; its counter says
//! that it was at work. A process that was killed by anything else leaves neither.
//!
//! The handler runs in the middle of anything: it makes one system call and nothing else.

use std::ffi::c_int;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

/// The file, empty while all is well.
pub const FILE: &str = "crashed";

/// The open file; -1 before there is one.
static MARK: AtomicI32 = AtomicI32::new(-1);

/// Reports whether the previous process that had the database in `folder` open aborted. From now on, an abort of
/// this process is recorded as well.
///
/// # Errors
/// Fails if the file cannot be written, or if the system rejects the signal handler.
#[expect(unsafe_code, reason = "handlers of signals are set through the C library")]
pub fn watch(folder: &Path) -> io::Result<bool> {
    let path = folder.join(FILE);
    let has_aborted = fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 0);
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
    // Open for as long as the process lives: the handler has no other way to it.
    MARK.store(file.into_raw_fd(), Ordering::Release);
    // SAFETY: an action is plain numbers, for which all zeros are valid: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_abort as extern "C" fn(c_int) as usize;
    // On the stack for signals, where a thread has one: its own may be full.
    action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
    // SAFETY: `action` lives as long as the call, which copies it; the handler has the type of a handler without `SA_SIGINFO`, and
    // does only what a handler may.
    let result = unsafe { libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut()) };
    if result == 0 { Ok(has_aborted) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "the descriptor is a number that outlives everything")]
extern "C" fn on_abort(_signal: c_int) {
    let mark = MARK.load(Ordering::Acquire);
    if mark >= 0 {
        // SAFETY: the descriptor was taken from a file that nothing closes.
        let file = unsafe { BorrowedFd::borrow_raw(mark) };
        // Nothing is left to be done when it fails.
        let _ = rustix::io::write(file, b"aborted\n");
    }
    // Another process may have sent the signal: it ends the process all the same. By now it does what it does by default.
    // SAFETY: a handler may raise signals; this one waits until the handler returns.
    unsafe { libc::raise(libc::SIGABRT) };
}

/// Returns the number of processes that the kernel of this machine has killed for lack of memory. Returns `None`
/// where the kernel does not report it.
pub fn kills_for_memory() -> Option<u64> {
    let counters = fs::read_to_string("/proc/vmstat").ok()?;
    let counter = counters.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
    counter.trim().parse().ok()
}
