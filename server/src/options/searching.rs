//! How many searches at once.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;

use super::{ByteSize, interval};

/// The queue of searches.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct Searching {
    /// Searches that may wait for a free slot; one more makes a random one be refused. 0: none may wait.
    #[arg(long, default_value = "1000", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_search_queue_size: usize,

    /// Searches that run at the same time, for each core.
    #[arg(long, default_value = "4", value_name = "COUNT", value_parser = super::count::<NonZeroUsize>)]
    pub experimental_nb_searches_per_core: NonZeroUsize,

    /// Seconds (or `2m`) after which a search that still waits is refused.
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = interval::time)]
    pub experimental_drop_search_after: Duration,

    /// Memory for answers that are kept until their index changes, for whoever asks the same again; 0 keeps none.
    #[arg(long, default_value = "16 MiB", value_name = "SIZE")]
    pub answer_cache_size: ByteSize,
}
