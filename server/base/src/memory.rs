//! When memory that is free goes back to the system, and how much a thread holds.
//!
//! The allocator keeps what is freed for a second or longer, for the next one who asks. Two things give it back earlier:
//!
//! * [`give_back`], as soon as the work is done that needed much memory: on a thread of its own, because some 300 calls after a
//!   bulk load would let a search wait 10 to 28 ms.
//! * [`Counting`], while work goes on: a thread that frees memory looks now and then at how much of the heap is free, and where
//!   that has grown by more than a sixteenth of the usable memory, it gives it back. So searches, which need the same few
//!   megabytes again and again, keep theirs, and twenty clients that send documents of 4 MB cannot fill the memory with what
//!   is free (decision 0041).

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

thread_local! {
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
    /// Part of `HELD_BYTES` that is included in `in_use_bytes`.
    static PUBLISHED_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// An allocator that remembers for each thread how many bytes it has asked for and not freed yet, and bounds what is free once
/// [`bound_free_memory`] was called. What another thread frees counts for that thread. Costs an addition and a
/// comparison for each call.
#[derive(Debug)]
pub struct Counting<A>(pub A);

#[inline]
fn count(bytes: usize, sign: i64) {
    // A block is never larger than half of the addresses.
    let held = HELD_BYTES.get().wrapping_add(sign.wrapping_mul(bytes as i64));
    HELD_BYTES.set(held);
    let change = held.wrapping_sub(PUBLISHED_BYTES.get());
    if change.unsigned_abs() >= STEP_BYTES {
        PUBLISHED_BYTES.set(held);
        publish(change);
    }
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
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(block, layout) }
        // The block is free when the heap is looked at.
        count(layout.size(), -1);
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
pub fn held_by_thread() -> i64 {
    HELD_BYTES.get()
}

/// Change of the bytes held by a thread after which the thread publishes it.
const STEP_BYTES: u64 = 64 << 10;
/// The share of the usable memory by which what is free may grow before it goes back.
const FREE_SHARE: u64 = 16;

/// Memory statistics of the process.
struct FreeMemory {
    /// No bound before [`bound_free_memory`].
    growth_bytes_max: AtomicI64,
    /// Bytes held by all threads, without the latest unpublished change of each thread. The unpublished change of a
    /// thread that ends remains as an error. Therefore only differences between nearby moments are meaningful.
    in_use_bytes: AtomicI64,
    /// Bytes freed since the heap was last measured.
    freed_bytes: AtomicI64,
    /// The least that was free since memory was last given back, counted with what this allocator knows nothing of; then, half
    /// of the growth less than was left.
    least_bytes: AtomicI64,
    /// True while a thread gives back free memory.
    is_collecting: AtomicBool,
}

static FREE: FreeMemory = FreeMemory {
    growth_bytes_max: AtomicI64::new(i64::MAX),
    in_use_bytes: AtomicI64::new(0),
    freed_bytes: AtomicI64::new(0),
    least_bytes: AtomicI64::new(i64::MAX),
    is_collecting: AtomicBool::new(false),
};

/// From now on what is free grows by at most a sixteenth of `usable_bytes`, and half as much again before it is noticed, from
/// what the allocator cannot give back. Needs the allocator [`Counting`], and Linux to report the heap.
pub fn bound_free_memory(usable_bytes: u64) {
    let growth = i64::try_from(usable_bytes / FREE_SHARE).unwrap_or(i64::MAX);
    FREE.growth_bytes_max.store(growth, Ordering::Relaxed);
}

/// Gives back what is free if that is too much. Reads one number from the system each time that half of what it may grow by
/// was freed.
#[cold]
fn publish(change: i64) {
    let in_use = FREE.in_use_bytes.fetch_add(change, Ordering::Relaxed).wrapping_add(change);
    if change >= 0 {
        return;
    }
    let growth_max = FREE.growth_bytes_max.load(Ordering::Relaxed);
    if FREE.freed_bytes.fetch_sub(change, Ordering::Relaxed).saturating_sub(change) < growth_max / 2 {
        return;
    }
    if FREE.is_collecting.load(Ordering::Relaxed) {
        // The next step looks again.
        return;
    }
    FREE.freed_bytes.store(0, Ordering::Relaxed);
    let Some(heap) = heap_bytes() else { return };
    let free = heap.saturating_sub(in_use);
    let least = FREE.least_bytes.fetch_min(free, Ordering::Relaxed).min(free);
    if free.saturating_sub(least) > growth_max {
        collect();
    }
}

/// Memory of the process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// In RAM: also pages of mapped files, which the system takes back when others need the room.
    pub all_bytes: i64,
    /// Part of `all_bytes` that no file backs.
    pub heap_bytes: i64,
}

fn heap_bytes() -> Option<i64> {
    resident().map(|resident| resident.heap_bytes)
}

/// Returns the memory of the process, where the system reports it. Allocates nothing. Cost: a system call.
#[cfg(target_os = "linux")]
pub fn resident() -> Option<Resident> {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::OnceLock;

    static STATM: OnceLock<Option<File>> = OnceLock::new();
    let file = STATM.get_or_init(|| File::open("/proc/self/statm").ok()).as_ref()?;
    let mut line = [0; 128];
    let length = file.read_at(&mut line, 0).ok()?;
    let mut pages = std::str::from_utf8(&line[..length]).ok()?.split(' ').skip(1).map(str::parse::<i64>);
    let (resident, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
    let page_bytes = i64::try_from(rustix::param::page_size()).ok()?;
    let all_bytes = resident.saturating_mul(page_bytes);
    Some(Resident { all_bytes, heap_bytes: resident.saturating_sub(of_files).saturating_mul(page_bytes) })
}

#[cfg(not(target_os = "linux"))]
pub fn resident() -> Option<Resident> {
    None
}

/// Delay before free memory is given back a second time. This includes what else was freed in between, for example
/// by lookups of frequent words. Shorter than the delay of the allocator.
const SECOND_TIME: Duration = Duration::from_millis(500);

static IS_GIVEN_BACK: AtomicBool = AtomicBool::new(false);

/// Gives back what is free, on a thread of its own: for what a bulk load or a merge has left. Cost: some tens of milliseconds
/// of a thread.
pub fn give_back() {
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

/// Gives back what is free, unless another thread does.
#[expect(unsafe_code, reason = "the one way to call the allocator, which is written in C")]
fn collect() {
    if FREE.is_collecting.swap(true, Ordering::Acquire) {
        return;
    }
    // SAFETY: any thread may call the function at any time. It takes no pointer, and frees nothing that is in use. Where
    // another allocator is in charge it has nothing to do.
    unsafe { libmimalloc_sys::mi_collect(true) }
    if let Some(heap) = heap_bytes() {
        let left = heap.saturating_sub(FREE.in_use_bytes.load(Ordering::Relaxed));
        // The allocator does nothing while it purges on another thread. So what is left may be too much, and soon is again.
        let growth_max = FREE.growth_bytes_max.load(Ordering::Relaxed);
        FREE.least_bytes.store(left.saturating_sub(growth_max / 2), Ordering::Relaxed);
    }
    FREE.is_collecting.store(false, Ordering::Release);
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;

    /// Returns the number of page faults of this thread that needed no read from disk.
    fn page_faults() -> usize {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("the system reports it");
        let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
        fields.split(' ').nth(7).and_then(|field| field.parse().ok()).expect("a number")
    }

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

    /// Runs two tests in processes of their own, because the heap of a process includes that of all its tests.
    #[test]
    fn the_heap_shrinks() {
        for name in ["what_is_free_goes_back_early", "free_memory_is_bounded_and_what_is_needed_again_is_kept"] {
            let tests = std::env::current_exe().expect("the system knows it");
            let of_heap = ["--exact", &format!("{}::{name}", module_path!().split_once("::").expect("a crate").1)];
            let run = std::process::Command::new(tests).args(of_heap).arg("--ignored").output().expect("it starts");
            let said = String::from_utf8_lossy(&run.stdout);
            assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
            assert!(said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&run.stderr));
        }
    }

    #[test]
    #[ignore = "the_heap_shrinks runs it alone"]
    fn what_is_free_goes_back_early() {
        const COUNT: usize = 256;
        let blocks: Vec<Vec<u8>> = (0..COUNT * 16).map(|_| vec![1; 64 * KIB]).collect();
        let full = heap();
        assert!(full > COUNT * KIB, "{full} KiB");
        let begun = Instant::now();
        drop(blocks);
        give_back();
        // The allocator alone does not do it before a second has gone by.
        while heap() > full - COUNT * KIB * 3 / 4 {
            assert!(begun.elapsed() < Duration::from_millis(900), "{} of {full} KiB are left", heap());
            // The allocator has a thread of its own for it.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    #[ignore = "the_heap_shrinks runs it alone"]
    fn free_memory_is_bounded_and_what_is_needed_again_is_kept() {
        const USABLE_MIB: usize = 256;
        bound_free_memory((USABLE_MIB << 20) as u64);
        let before = heap();
        for _ in 0..4 {
            let blocks: Vec<Vec<u8>> = (0..2 * USABLE_MIB * 16).map(|_| vec![1; 64 * KIB]).collect();
            assert!(heap() > before + USABLE_MIB * KIB);
            drop(blocks);
            // Where another thread is at it, it goes with what is freed next.
            let rest = || heap().saturating_sub(before) / KIB;
            let begun = Instant::now();
            while rest() >= USABLE_MIB {
                assert!(begun.elapsed() < Duration::from_millis(900), "{} MiB are kept", rest());
                drop(vec![1_u8; MIB]);
            }
        }
        let faults = page_faults();
        (0..200).for_each(|_| drop(vec![1_u8; 4 * MIB]));
        let faults = page_faults() - faults;
        assert!(
            faults < 200 * 4 * MIB / 4096 / 4,
            "4 MiB that are needed again and again are kept: {faults} page faults"
        );
    }
}
