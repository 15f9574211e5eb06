//! When memory that is free goes back to the system, and how much a thread holds.
//!
//! The allocator keeps what is freed for a second. Then the next thread that frees a page gives back all of it: some 300
//! calls after a bulk load, for which a search would wait 10 to 28 ms. So a thread of its own does it as soon as the work
//! that needed the memory is done.
//!
//! Where little memory may be used, the allocator keeps nothing that is free: threads would hold tens of megabytes each of
//! them for a while, which is more than the work in progress.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

thread_local! {
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// An allocator that remembers for each thread how many bytes it has asked for and not freed yet. What another thread frees
/// counts for that thread. Costs an addition for each call.
#[derive(Debug)]
pub struct Counting<A>(pub A);

fn count(bytes: usize, sign: i64) {
    // A block is never larger than half of the addresses.
    HELD_BYTES.set(HELD_BYTES.get().wrapping_add(sign.wrapping_mul(bytes as i64)));
}

#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
// SAFETY: every call goes to `A` as it came; counting allocates nothing and cannot panic.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, 1);
        count(layout.size(), -1);
        // SAFETY: as the caller promises.
        unsafe { self.0.realloc(block, layout, size) }
    }
}

/// Bytes that this thread has asked for and not freed. Only differences say something, and only where [`Counting`] is the
/// allocator: else it is always 0.
pub(crate) fn held_by_thread() -> i64 {
    HELD_BYTES.get()
}

/// With less than this, what is free goes back at once. Bulk loads take 2 to 20 percent more time then, facets of all documents a
/// third, and the heap of a server
/// that receives documents of 4 MB from twenty clients is half as large (decision 0041).
const LITTLE_MEMORY_BYTES: u64 = 1 << 30;

/// Sets how long the allocator keeps what is free. `usable_bytes`: what the process may use. Before memory is used.
#[expect(unsafe_code, reason = "the one way to set an option of the allocator, which is written in C")]
pub(crate) fn adapt_to(usable_bytes: u64) {
    /// Its number in the allocator's list of options; the bindings lack a name for it.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    if usable_bytes < LITTLE_MEMORY_BYTES {
        // SAFETY: sets a number of the allocator that it reads whenever it likes; any thread may call it at any time, and no other
        // one is running yet that could set the same.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
    }
}

/// What else is freed until then, when frequent words are looked up for instance, goes along with the rest. Shorter than
/// what the allocator waits.
const SECOND_TIME: Duration = Duration::from_millis(500);

static IS_GIVEN_BACK: AtomicBool = AtomicBool::new(false);

/// Gives back what is free, on a thread of its own: for what a bulk load or a merge has left. Cost: some tens of milliseconds
/// of a thread.
pub(crate) fn give_back() {
    // What was freed meanwhile goes the second time.
    if IS_GIVEN_BACK.swap(true, Ordering::AcqRel) {
        return;
    }
    let work = || {
        collect();
        std::thread::sleep(SECOND_TIME);
        IS_GIVEN_BACK.store(false, Ordering::Release);
        collect();
    };
    if let Err(error) = std::thread::Builder::new().name("memory".to_owned()).spawn(work) {
        tracing::debug!(%error, "memory is given back later");
        IS_GIVEN_BACK.store(false, Ordering::Release);
    }
}

#[expect(unsafe_code, reason = "the one way to call the allocator, which is written in C")]
fn collect() {
    // SAFETY: any thread may call the function at any time. It takes no pointer, and frees nothing that is in use. Where
    // another allocator is in charge it has nothing to do.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Instant;

    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

    const KIB: usize = 1 << 10;

    /// In KiB.
    fn heap() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("the system reports it");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux reports the heap");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    #[test]
    fn a_thread_knows_what_it_holds() {
        let before = held_by_thread();
        let mut block: Vec<u8> = Vec::with_capacity(1_000_000);
        assert_eq!(held_by_thread() - before, 1_000_000);
        block.push(1);
        block.shrink_to(3_000);
        assert_eq!(held_by_thread() - before, 3_000);
        std::thread::scope(|scope| scope.spawn(|| drop(vec![0_u8; 5_000])).join()).expect("it ends");
        drop(block);
        // What starting a thread leaves behind is small.
        assert!((held_by_thread() - before).abs() < 1_000, "{}", held_by_thread() - before);
    }

    #[test]
    fn what_is_free_goes_back_before_another_thread_has_to_do_it() {
        const MIB: usize = 256;
        let blocks: Vec<Vec<u8>> = (0..MIB * 16).map(|_| vec![1; 64 * KIB]).collect();
        let full = heap();
        assert!(full > MIB * KIB, "{full} KiB");
        let begun = Instant::now();
        drop(blocks);
        give_back();
        // The allocator alone would not do it before a second has gone by.
        while heap() > full - MIB * KIB * 3 / 4 {
            assert!(begun.elapsed() < Duration::from_millis(900), "{} of {full} KiB are left", heap());
            std::thread::sleep(Duration::from_millis(10));
        }
        adapt_to(256 << 20);
        let blocks: Vec<Vec<u8>> = (0..MIB * 16).map(|_| vec![1; 64 * KIB]).collect();
        let full = heap();
        drop(blocks);
        assert!(
            heap() < full - MIB * KIB * 3 / 4,
            "with little memory nothing is kept: {} of {full} KiB are left",
            heap()
        );
    }
}
