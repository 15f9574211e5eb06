//! How fast and how often files are compared with their checksums.

use std::time::Duration;

use clap::Args;

use super::{ByteSize, interval};

/// Options of the scrubber, which reads stored files again and checks them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Checks of files")]
pub struct Scrubbing {
    /// Bytes a second to compare with their checksums in the background; 0 turns it off.
    #[arg(long, default_value = "64 MiB", value_name = "SIZE")]
    pub scrub_rate: ByteSize,

    /// Time in seconds (or `12h`, `7d`) until compared files are compared again.
    #[arg(long, default_value = "1d", value_name = "SECONDS", value_parser = interval::time)]
    pub scrub_interval: Duration,
}
