//! Connections that read, a bounded number of them: each holds descriptors, which are not to run out when many ask at once.

use std::ops::Deref;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::StoreError;

/// Connections that are kept open.
const KEPT_MAX: usize = 8;
/// Connections at once. A read takes microseconds, so waiting for one is no delay.
const COUNT_MAX: usize = 32;

/// The connections. Shared by reference.
#[derive(Debug, Default)]
pub(super) struct Readers {
    state: Mutex<Pool>,
    given_back: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    free: Vec<Connection>,
    /// Number of connections in use.
    taken: usize,
}

/// A connection; given back when dropped.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    readers: &'a Readers,
    /// There until it is dropped.
    connection: Option<Connection>,
}

impl Deref for Reader<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.readers.release(self.connection.take());
    }
}

impl Readers {
    /// A connection that is free, or a new one from `open`. Waits while too many are in use, so who has one should not take
    /// another.
    ///
    /// # Errors
    /// The errors of `open`.
    pub(super) fn take(&self, open: impl FnOnce() -> Result<Connection, StoreError>) -> Result<Reader<'_>, StoreError> {
        let mut state = self.state.lock();
        self.given_back.wait_while(&mut state, |state| state.taken >= COUNT_MAX);
        state.taken += 1;
        // From here on the place is given back whatever happens.
        let mut reader = Reader { readers: self, connection: state.free.pop() };
        drop(state);
        if reader.connection.is_none() {
            reader.connection = Some(open()?);
        }
        Ok(reader)
    }

    fn release(&self, connection: Option<Connection>) {
        let mut state = self.state.lock();
        state.taken -= 1;
        // One too many is closed without the lock.
        let too_many = match connection {
            Some(connection) if state.free.len() < KEPT_MAX => {
                state.free.push(connection);
                None
            }
            other => other,
        };
        drop(state);
        self.given_back.notify_one();
        drop(too_many);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn so_many_read_at_once_and_no_more() {
        let (readers, now, most) = (Readers::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let all_read = Barrier::new(COUNT_MAX);
        std::thread::scope(|scope| {
            for _ in 0..3 * COUNT_MAX {
                scope.spawn(|| {
                    let connection = readers.take(|| Ok(Connection::open_in_memory()?)).unwrap();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    all_read.wait();
                    now.fetch_sub(1, Ordering::SeqCst);
                    drop(connection);
                });
            }
        });
        assert_eq!(most.into_inner(), COUNT_MAX);
        assert_eq!(readers.state.lock().free.len(), KEPT_MAX);
    }

    #[test]
    fn a_connection_that_cannot_be_opened_takes_no_place() {
        let readers = Readers::default();
        for _ in 0..2 * COUNT_MAX {
            readers.take(|| Err(StoreError::Full)).unwrap_err();
        }
        readers.take(|| Ok(Connection::open_in_memory()?)).unwrap();
    }
}
