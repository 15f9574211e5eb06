//! What indexing may use.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args};
use lamina_engine::index::document_bytes_max;

use super::byte_size::ByteSize;
use super::core_count;
use super::memory::usable_memory_bytes;

/// With less, segments are so small, and what does not depend on their size is so large a part, that the limit is passed.
const MEMORY_BYTES_MIN: u64 = 128 << 20;
/// Small payloads of a batch take at most one part in this many of the memory.
const INLINE_DIVISOR: u64 = 8;
/// A merge takes at most one part in this many.
const MERGE_DIVISOR: u64 = 8;

/// Divisor of the indexing memory: everything else that a server holds takes at most one part in this many. This
/// covers caches of searches, and freed memory that has not been given back yet.
const BESIDES_DIVISOR: u64 = 8;

/// Memory, threads, sizes of batches.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Indexing")]
pub struct Indexing {
    /// Maximum memory for indexing, at least 128 MiB. By default two thirds of the memory that the process may use,
    /// container limits included. A document may have a sixteenth of it.
    #[arg(long, value_name = "SIZE")]
    max_indexing_memory: Option<ByteSize>,

    /// Maximum number of threads for indexing. `unlimited` or 0 means all cores (the default). Searches have priority.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "COUNT")]
    max_indexing_threads: IndexingThreads,

    /// Index with a quarter of the memory; slower, for small machines.
    #[arg(long, action = ArgAction::SetTrue)]
    experimental_reduce_indexing_memory_usage: bool,

    /// Maximum number of tasks in one batch. Unlimited by default.
    #[arg(long, value_name = "COUNT", value_parser = super::count::<NonZeroUsize>)]
    pub experimental_max_number_of_batched_tasks: Option<NonZeroUsize>,

    /// Maximum number of idle indexes that stay open. Beyond it, the least recently used one is closed, and reopened
    /// when needed. By default as many as the memory maps of the process allow, at most 1000.
    #[arg(long, value_name = "COUNT", value_parser = super::count::<NonZeroUsize>)]
    pub max_open_indexes: Option<NonZeroUsize>,

    /// Maximum time in seconds (or `2m`) that a write of documents may wait in the queue. A write that would wait
    /// longer gets status 503 with `Retry-After`. 0: no limit.
    #[arg(long, default_value = "1h", value_name = "SECONDS", value_parser = super::interval::time_or_none)]
    max_queue_delay: Duration,

    /// Maximum size of the documents in one batch. By default half of the indexing memory, at most 10 GiB.
    #[arg(long, value_name = "SIZE")]
    experimental_limit_batched_tasks_total_size: Option<ByteSize>,
}

impl Indexing {
    /// Returns the maximum time that a write of documents may wait, if it is limited.
    pub fn queue_delay_max(&self) -> Option<Duration> {
        Some(self.max_queue_delay).filter(|limit| !limit.is_zero())
    }

    /// Memory for indexing, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let bytes = self.max_indexing_memory.map_or_else(|| usable_memory_bytes() / 3 * 2, ByteSize::bytes);
        if self.experimental_reduce_indexing_memory_usage { bytes / 4 } else { bytes }
    }

    /// Reports whether the options give indexing less memory than it needs.
    pub fn memory_is_short(&self) -> bool {
        self.memory_bytes() < MEMORY_BYTES_MIN
    }

    /// Most bytes of payloads that a batch holds in memory: small ones, which are stored in the queue; others are files.
    pub fn inline_bytes_max(&self) -> u64 {
        const MOST: u64 = 256 << 20;
        (self.memory_bytes() / INLINE_DIVISOR).min(MOST)
    }

    /// Heap of one merge, in bytes. Two may run beside a batch.
    pub fn merge_heap_bytes_max(&self) -> u64 {
        self.memory_bytes() / MERGE_DIVISOR
    }

    /// Heap of one batch, in bytes: what payloads, merges and the server itself leave.
    pub fn batch_heap_bytes_max(&self) -> u64 {
        const BESIDES_MOST: u64 = 32 << 20;
        let besides = (self.memory_bytes() / BESIDES_DIVISOR).min(BESIDES_MOST);
        self.memory_bytes() - self.inline_bytes_max() - 2 * self.merge_heap_bytes_max() - besides
    }

    /// Longest document, in bytes of JSON.
    pub fn document_bytes_max(&self) -> usize {
        document_bytes_max(usize::try_from(self.batch_heap_bytes_max()).unwrap_or(usize::MAX))
    }

    /// Threads for indexing, at least 1.
    pub fn threads(&self) -> usize {
        self.max_indexing_threads.0.map_or_else(core_count, NonZeroUsize::get)
    }

    /// Most bytes of documents in one batch.
    pub fn batch_bytes_max(&self) -> u64 {
        const MOST: u64 = 10 << 30;
        self.experimental_limit_batched_tasks_total_size
            .map_or_else(|| (self.memory_bytes() / 2).min(MOST), ByteSize::bytes)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexingThreads(Option<NonZeroUsize>);

impl FromStr for IndexingThreads {
    type Err = String;

    fn from_str(text: &str) -> Result<IndexingThreads, String> {
        match text.trim() {
            "" => Ok(IndexingThreads(None)),
            text if text.eq_ignore_ascii_case("unlimited") => Ok(IndexingThreads(None)),
            text => {
                let count = super::count_or_none(text).map_err(|reason| format!("{reason}, or `unlimited`"))?;
                Ok(IndexingThreads(NonZeroUsize::new(count)))
            }
        }
    }
}
