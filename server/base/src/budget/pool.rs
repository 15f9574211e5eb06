//! A number of bytes that many share.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::memory;

/// Divisor of the pool: one part in this many is reserved for small leases, so that large leases do not starve
/// them.
const SMALL_ONLY: usize = 4;
/// Up to this much is little.
const SMALL_BYTES: usize = 256 << 10;
/// Size from which dropping a lease also returns free memory to the system. The allocator would keep that memory
/// for a while, and others may need it at once.
const LARGE_BYTES: usize = 2 << 20;
/// Maximum time that a large lease waits for others to give back memory.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes that are taken and given back. Shared by reference.
#[derive(Debug)]
pub struct Pool {
    one_max: usize,
    all_max: usize,
    used: Mutex<usize>,
    freed: Notify,
}

impl Pool {
    /// One may have `one_max` bytes, and all together twice as much.
    pub fn new(one_max: usize) -> Pool {
        Pool { one_max, all_max: one_max.saturating_mul(2), used: Mutex::new(0), freed: Notify::new() }
    }

    /// Returns the maximum number of bytes of one lease.
    pub fn one_max(&self) -> usize {
        self.one_max
    }

    /// Returns the number of bytes that are leased now.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        *self.used.lock()
    }

    /// A lease of nothing, to grow.
    pub fn lease(self: &Arc<Self>) -> Lease {
        Lease { pool: Arc::clone(self), bytes: 0 }
    }

    /// Takes `more` for one that has `has` already. Answers whether there was enough.
    fn take(&self, has: usize, more: usize) -> bool {
        let is_small = has.saturating_add(more) <= SMALL_BYTES;
        let limit = if is_small { self.all_max } else { self.all_max - self.all_max / SMALL_ONLY };
        let mut used = self.used.lock();
        match used.checked_add(more).filter(|sum| *sum <= limit) {
            Some(sum) => {
                *used = sum;
                true
            }
            None => false,
        }
    }

    fn give(&self, bytes: usize) {
        if bytes > 0 {
            *self.used.lock() -= bytes;
            self.freed.notify_waiters();
        }
    }
}

/// Bytes of a pool, given back when dropped.
#[derive(Debug)]
pub struct Lease {
    pool: Arc<Pool>,
    bytes: usize,
}

impl Lease {
    /// Another one of the same pool, of nothing.
    pub(super) fn empty(&self) -> Lease {
        self.pool.lease()
    }

    /// Returns the number of leased bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Has `bytes` from now on, if there are so many.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let is_there = more == 0 || self.pool.take(self.bytes, more);
        if is_there {
            self.bytes += more;
        }
        is_there
    }

    /// Grows like [`Lease::grow`], but waits some seconds for others to give back memory.
    pub async fn grow_patiently(&mut self, bytes: usize) -> bool {
        self.grow_within(bytes, PATIENCE).await
    }

    async fn grow_within(&mut self, bytes: usize, patience: Duration) -> bool {
        let pool = Arc::clone(&self.pool);
        let deadline = Instant::now() + patience;
        loop {
            // Before the look, so that what is given back right after it is not missed.
            let mut freed = std::pin::pin!(pool.freed.notified());
            freed.as_mut().enable();
            if self.grow(bytes) {
                return true;
            }
            if tokio::time::timeout_at(deadline, freed).await.is_err() {
                return false;
            }
        }
    }

    /// Has only `bytes` from now on.
    pub fn shrink(&mut self, bytes: usize) {
        let rest = self.bytes.saturating_sub(bytes);
        self.bytes -= rest;
        self.pool.give(rest);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.give(self.bytes);
        if self.bytes >= LARGE_BYTES {
            memory::give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn large_ones_leave_room_for_small_ones() {
        let pool = Arc::new(Pool::new(8 * MIB));
        let (mut one, mut other, mut small) = (pool.lease(), pool.lease(), pool.lease());
        assert!(one.grow(8 * MIB));
        assert!(other.grow(4 * MIB));
        assert!(!other.grow(5 * MIB));
        assert!(small.grow(SMALL_BYTES));
        assert!(!small.grow(SMALL_BYTES + 1));
        assert_eq!(pool.used(), 12 * MIB + SMALL_BYTES);
        one.shrink(MIB);
        assert!(other.grow(8 * MIB));
        drop((one, other, small));
        assert_eq!(pool.used(), 0);
    }

    #[tokio::test]
    async fn one_waits_for_another_but_not_for_ever() {
        let pool = Arc::new(Pool::new(MIB));
        let mut all = pool.lease();
        assert!(all.grow(MIB));
        assert!(!pool.lease().grow(MIB));
        let mut late = pool.lease();
        let freed = async {
            // The other one waits meanwhile.
            tokio::time::sleep(Duration::from_millis(20)).await;
            drop(all);
        };
        let (is_there, ()) = futures_util::future::join(late.grow_patiently(MIB), freed).await;
        assert!(is_there);
        assert!(!pool.lease().grow_within(MIB, Duration::from_millis(20)).await);
    }
}
