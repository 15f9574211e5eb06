//! Where copies of the database go, and which one to start from.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use super::interval::{self, Interval};
use super::replication::{BuiltPlace, StoreAddress};

/// Dumps and snapshots.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Dumps and snapshots")]
pub struct Backups {
    /// Folder of the dumps.
    #[arg(long, default_value = "dumps/", value_name = "FOLDER")]
    pub dump_dir: PathBuf,

    /// Start from this dump of Lamina or of Meilisearch (v1).
    #[arg(long, value_name = "DUMP", conflicts_with = "import_snapshot")]
    pub import_dump: Option<PathBuf>,

    /// Start without the dump if it does not exist.
    #[arg(long, action = ArgAction::SetTrue)]
    pub ignore_missing_dump: bool,

    /// Start with the existing database, if there is one, instead of the dump.
    #[arg(long, action = ArgAction::SetTrue)]
    pub ignore_dump_if_db_exists: bool,

    /// Folder of the indexes that `lamina build` has made, from which they are attached: on the file system of the database. Or the
    /// store that they are in, as in `--publish`: they are fetched from there.
    #[arg(long, default_value = "attach/", value_name = "FOLDER")]
    pub attach_dir: BuiltPlace,

    /// Folder of the snapshots.
    #[arg(long, default_value = "snapshots/", value_name = "FOLDER")]
    pub snapshot_dir: PathBuf,

    /// Store of the snapshots instead of a folder, as in `--publish`: `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or
    /// `s3://BUCKET/PREFIX`.
    #[arg(long, value_name = "STORE", value_parser = bucket)]
    pub snapshot_store: Option<StoreAddress>,

    /// Interval of automatic snapshots, in seconds (or `15m`, `6h`, `1d`); without a value, once a day.
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        num_args = 0..=1,
        default_missing_value = interval::DAILY,
        value_name = "SECONDS"
    )]
    pub schedule_snapshot: Interval,

    /// Number of snapshots to keep in the folder; a new one removes the oldest.
    #[arg(long, default_value = "3", value_name = "COUNT", value_parser = super::count::<NonZeroUsize>)]
    pub snapshots_kept: NonZeroUsize,

    /// Copies of the database that contain events and recorded searches: `snapshots`, `all` (dumps, too) or `none`.
    #[arg(long, default_value = "snapshots", value_name = "COPIES")]
    pub events_in_backups: EventsInBackups,

    /// How long to keep earlier states of an index for searching and restoring, in seconds (or `24h`, `7d`). 0: not
    /// at all.
    #[arg(long, default_value = "0", value_name = "SECONDS", value_parser = interval::time_or_none)]
    pub keep: Duration,

    /// Start from this snapshot.
    #[arg(long, value_name = "SNAPSHOT")]
    pub import_snapshot: Option<PathBuf>,

    /// Start without the snapshot if it does not exist.
    #[arg(long, action = ArgAction::SetTrue)]
    pub ignore_missing_snapshot: bool,

    /// Start with the existing database, if there is one, instead of the snapshot.
    #[arg(long, action = ArgAction::SetTrue)]
    pub ignore_snapshot_if_db_exists: bool,
}

/// Copies of the database that contain events and recorded searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum EventsInBackups {
    /// None of them.
    None,
    /// Only snapshots.
    Snapshots,
    /// Snapshots and dumps.
    All,
}

/// A store that is no folder: for those there is `--snapshot-dir`.
fn bucket(text: &str) -> Result<StoreAddress, String> {
    match text.parse()? {
        StoreAddress::Folder(_) => Err(format!("`{text}` is a folder: use `--snapshot-dir`")),
        bucket => Ok(bucket),
    }
}
