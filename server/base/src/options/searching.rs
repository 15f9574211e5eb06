//! How many searches at once.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;

use super::{ByteSize, interval, usable_memory_bytes};

/// By default an answer may take one part in this many of what the process may use.
const ANSWER_DIVISOR: u64 = 8;
/// And a request one part in this many.
const REQUEST_DIVISOR: u64 = 16;
/// With less not even answers of usual size can be made.
const MEMORY_BYTES_MIN: u64 = 1 << 20;

/// The queue of searches.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct Searching {
    /// Maximum number of searches that wait for a free slot; beyond it, a random one is refused. 0: none may wait.
    #[arg(long, default_value = "1000", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_search_queue_size: usize,

    /// Number of parallel searches per core.
    #[arg(long, default_value = "4", value_name = "COUNT", value_parser = super::count::<NonZeroUsize>)]
    pub experimental_nb_searches_per_core: NonZeroUsize,

    /// Time in seconds (or `2m`) after which a waiting search is refused.
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = interval::time)]
    pub experimental_drop_search_after: Duration,

    /// Memory for cached responses to repeated searches; 0 turns the cache off.
    #[arg(long, default_value = "16 MiB", value_name = "SIZE")]
    pub answer_cache_size: ByteSize,

    /// Maximum memory for building and sending one response, at least 1 MiB; a response needs about twice its length.
    /// All responses together may use twice as much. By default an eighth of the memory that the process may use, container
    /// limits included.
    #[arg(long, value_name = "SIZE")]
    max_answer_memory: Option<ByteSize>,

    /// Maximum memory for one request body, at least 1 MiB: its bytes, and its JSON values at about 150 bytes each.
    /// All requests together may use twice as much. For added documents see `--max-indexing-memory`. By default a sixteenth of the
    /// memory that the process may use, container limits included.
    #[arg(long, value_name = "SIZE")]
    max_request_memory: Option<ByteSize>,
}

impl Searching {
    /// Memory of one answer, in bytes.
    pub fn answer_memory_bytes(&self) -> u64 {
        share(self.max_answer_memory, ANSWER_DIVISOR)
    }

    /// Memory of one request, in bytes.
    pub fn request_memory_bytes(&self) -> u64 {
        share(self.max_request_memory, REQUEST_DIVISOR)
    }
}

fn share(size: Option<ByteSize>, divisor: u64) -> u64 {
    size.map_or_else(|| usable_memory_bytes() / divisor, ByteSize::bytes).max(MEMORY_BYTES_MIN)
}
