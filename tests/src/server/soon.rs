//! Waiting for what must come: until it is there, and not for as long as it usually takes.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Deadline that only a server that hangs can reach, on however busy a machine.
pub(super) const SOON: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(5);

/// Tries until it works.
#[track_caller]
pub(crate) fn soon<T>(attempt: impl FnMut() -> Option<T>) -> T {
    within(SOON, attempt).expect("it comes to that")
}

/// Tries until it works, or the time is over.
pub(crate) fn within<T>(time: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let found = attempt();
        if found.is_some() || start.elapsed() > time {
            return found;
        }
        // Between attempts.
        std::thread::sleep(PAUSE);
    }
}

/// Waits until it is so.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    soon(|| is_so().then_some(()));
}

/// Looks until the state is the wanted one, and returns it.
#[track_caller]
pub(crate) fn soon_as<T: Debug>(mut look: impl FnMut() -> T, is_wanted: impl Fn(&T) -> bool) -> T {
    let mut last = None;
    let wanted = within(SOON, || {
        let state = look();
        if is_wanted(&state) {
            return Some(state);
        }
        last = Some(state);
        None
    });
    match wanted {
        Some(state) => state,
        None => panic!("it stays {last:?}"),
    }
}
