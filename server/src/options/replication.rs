//! Replicas: what a server publishes, or follows.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// Where state is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// `file:///folder`: on this machine, or shared.
    Folder(PathBuf),
    /// `s3://bucket/prefix`; the other options of the bucket are those of snapshots.
    Bucket {
        /// Of the bucket.
        name: String,
        /// What all keys begin with: empty, or it ends with a slash.
        prefix: String,
    },
}

impl FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<StoreAddress, String> {
        let refused = || format!("`{text}` is no store: expected `s3://BUCKET/PREFIX` or `file:///FOLDER`");
        if let Some(path) = text.strip_prefix("file://") {
            let path = PathBuf::from(path);
            return if path.is_absolute() { Ok(StoreAddress::Folder(path)) } else { Err(refused()) };
        }
        let rest = text.strip_prefix("s3://").ok_or_else(refused)?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(refused());
        }
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(StoreAddress::Bucket { name: name.to_owned(), prefix })
    }
}

/// Where a write is safe before it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// On the disk of this server. What it has not published is lost when another one takes over.
    #[default]
    Local,
    /// In the store as well: whichever server takes over carries it out.
    Store,
}

/// One server writes and publishes; any number follow it and answer reads.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Replicas")]
pub struct Replication {
    /// Publish every commit to this store for replicas: `s3://BUCKET/PREFIX` (with the options of the bucket below) or
    /// `file:///FOLDER`. One server at a time: when another one takes over, this one takes no writes any more.
    #[arg(long, value_name = "STORE")]
    pub publish: Option<StoreAddress>,

    /// Be a replica: answer reads from what a server publishes to this store. Needs the master key of that server.
    #[arg(long, value_name = "STORE", conflicts_with = "publish")]
    pub follow: Option<StoreAddress>,

    /// Write where no other server does: at the start if nothing is published, later when the writer is gone. All servers of a
    /// group can be started with the same options, `--follow STORE --standby`.
    #[arg(long)]
    pub standby: bool,

    /// When this server writes: how long it may show no sign of life before a standby takes over, in seconds (or `30s`).
    /// 10 seconds with `--standby`; without it, no server takes over by itself unless this is given.
    #[arg(long, value_name = "SECONDS", value_parser = super::interval::time)]
    pub takeover_after: Option<Duration>,

    /// When this server writes: whether a write is acknowledged when it is on the disk of this server (`local`), or when it is in
    /// the store as well (`store`): then a takeover loses nothing that was acknowledged. Needs `--publish` or `--standby`.
    #[arg(long, value_enum, default_value = "local", value_name = "WHERE")]
    pub durability: Durability,

    /// With `--durability store`: a write that the store has not taken within this time is refused, in seconds (or `30s`).
    #[arg(long, default_value = "10s", value_name = "SECONDS", value_parser = super::interval::time)]
    pub durability_timeout: Duration,

    /// Least time between two publications, in seconds (or `5s`, `1m`); what is committed meanwhile goes together.
    #[arg(long, default_value = "1s", value_name = "SECONDS", value_parser = super::interval::time)]
    pub publish_interval: Duration,

    /// Address under which clients reach this server: replicas of one that publishes send writes there, errors link there.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// As a replica, pass writes and whatever else only the writer does on to it, and its answers back, instead of answering 307. Its
    /// address (`--public-url`) must be one that this server may reach (`--experimental-allowed-ip-networks`).
    #[arg(long)]
    pub forward_writes: bool,

    /// `/health` of a replica answers 503 when it is so far behind, in seconds (or `30s`, `5m`). By default never.
    #[arg(long, value_name = "SECONDS", value_parser = super::interval::time)]
    pub max_lag: Option<Duration>,
}

/// Of a standby that does not say how long.
const TAKEOVER_AFTER: Duration = Duration::from_secs(10);

impl Replication {
    /// Whether writes are acknowledged when they are in the store.
    pub fn is_to_be_in_store(&self) -> bool {
        self.durability == Durability::Store
    }

    /// Whether this server may be one that writes and publishes.
    pub fn may_write(&self) -> bool {
        self.publish.is_some() || self.standby
    }

    /// How long this server may show no sign of life when it writes.
    pub fn takeover_after(&self) -> Option<Duration> {
        self.takeover_after.or_else(|| self.standby.then_some(TAKEOVER_AFTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let bucket = |name: &str, prefix: &str| StoreAddress::Bucket { name: name.into(), prefix: prefix.into() };
        assert_eq!("s3://b/a/c/".parse(), Ok(bucket("b", "a/c/")));
        assert_eq!("s3://b".parse(), Ok(bucket("b", "")));
        assert_eq!("file:///srv/store".parse(), Ok(StoreAddress::Folder("/srv/store".into())));
        for bad in ["", "s3://", "s3:///x", "file://relative", "/srv/store", "gs://b/p", "http://b/p"] {
            assert!(bad.parse::<StoreAddress>().unwrap_err().contains("expected `s3://BUCKET/PREFIX`"), "{bad}");
        }
    }
}
