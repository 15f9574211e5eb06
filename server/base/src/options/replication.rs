//! Replicas: what a server publishes, or follows.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// Address of the store where state is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// `file:///folder`: on this machine, or shared.
    Folder(PathBuf),
    /// `s3://bucket/prefix`, whose other options are those of snapshots; `gs://bucket/prefix`; `az://container/prefix`.
    Bucket {
        /// Protocol of the store.
        kind: BucketKind,
        /// Name of the bucket.
        name: String,
        /// Prefix of all keys: empty, or it ends with a slash.
        prefix: String,
    },
}

/// Place for indexes that `lamina build` makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuiltPlace {
    /// On this machine.
    Folder(PathBuf),
    /// In a store, as it was given.
    Store(StoreAddress, String),
}

impl FromStr for BuiltPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<BuiltPlace, String> {
        match text.contains("://") {
            true => Ok(BuiltPlace::Store(text.parse()?, text.trim_end_matches('/').to_owned())),
            false => Ok(BuiltPlace::Folder(text.into())),
        }
    }
}

/// Protocol of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketKind {
    /// S3, by whomever it is offered.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

impl FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<StoreAddress, String> {
        let refused = || {
            let known = "`s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or `file:///FOLDER`";
            format!("`{text}` is not a store: expected {known}")
        };
        if let Some(path) = text.strip_prefix("file://") {
            let path = PathBuf::from(path);
            return if path.is_absolute() { Ok(StoreAddress::Folder(path)) } else { Err(refused()) };
        }
        let kinds = [("s3://", BucketKind::S3), ("gs://", BucketKind::Google), ("az://", BucketKind::Azure)];
        let found = kinds.into_iter().find_map(|(scheme, kind)| Some((kind, text.strip_prefix(scheme)?)));
        let (kind, rest) = found.ok_or_else(refused)?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(refused());
        }
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(StoreAddress::Bucket { kind, name: name.to_owned(), prefix })
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Without slashes that say nothing.
            StoreAddress::Folder(path) => write!(f, "file://{}", path.components().collect::<PathBuf>().display()),
            StoreAddress::Bucket { kind, name, prefix } => {
                let scheme = match kind {
                    BucketKind::S3 => "s3",
                    BucketKind::Google => "gs",
                    BucketKind::Azure => "az",
                };
                write!(f, "{scheme}://{name}/{}", prefix.trim_end_matches('/'))
            }
        }
    }
}

/// Place where a write must be durable before it is acknowledged.
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
    /// Publish every commit to this store for replicas: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`
    /// (with the options of the store below) or `file:///FOLDER`. Only one server publishes: after another one takes over, this
    /// one accepts no more writes.
    #[arg(long, value_name = "STORE")]
    pub publish: Option<StoreAddress>,

    /// Be a replica: answer reads from the data that a server publishes to this store. Needs the master key of that
    /// server.
    #[arg(long, value_name = "STORE", conflicts_with = "publish")]
    pub follow: Option<StoreAddress>,

    /// Become the writer if there is none: at startup if nothing is published, later if the writer is gone. All
    /// servers of a group can have the same options, `--follow STORE --standby`.
    #[arg(long)]
    pub standby: bool,

    /// Time for which the heartbeats of the writer may be missing before a standby takes over, in seconds (or `30s`). 10 seconds
    /// with `--standby`. Without `--standby`, only this option makes an automatic takeover possible.
    #[arg(long, value_name = "SECONDS", value_parser = super::interval::time)]
    pub takeover_after: Option<Duration>,

    /// As the writer: acknowledge a write when it is on the local disk (`local`), or only when it is also in the
    /// store (`store`), so that a takeover loses no acknowledged write. Needs `--publish` or `--standby`.
    #[arg(long, value_enum, default_value = "local", value_name = "WHERE")]
    pub durability: Durability,

    /// With `--durability store`: timeout of the store, in seconds (or `30s`); a write is refused after it.
    #[arg(long, default_value = "10s", value_name = "SECONDS", value_parser = super::interval::time)]
    pub durability_timeout: Duration,

    /// Minimum time between two publications, in seconds (or `5s`, `1m`); commits in between are published together.
    #[arg(long, default_value = "1s", value_name = "SECONDS", value_parser = super::interval::time)]
    pub publish_interval: Duration,

    /// Public address of this server: replicas redirect writes there, and error links point there.
    #[arg(long, value_name = "URL", value_parser = super::service::address_or_nothing)]
    pub public_url: Option<String>,

    /// As a replica, forward writes and other requests for the writer to it, instead of answering 307. This server
    /// must be allowed to reach the writer's `--public-url` (`--experimental-allowed-ip-networks`).
    #[arg(long)]
    pub forward_writes: bool,

    /// Lag at which `/health` of a replica answers 503, in seconds (or `30s`, `5m`). By default never.
    #[arg(long, value_name = "SECONDS", value_parser = super::interval::time)]
    pub max_lag: Option<Duration>,
}

/// Default takeover time of a standby.
const TAKEOVER_AFTER: Duration = Duration::from_secs(10);

impl Replication {
    /// Reports whether writes are acknowledged only when they are in the store.
    pub fn is_to_be_in_store(&self) -> bool {
        self.durability == Durability::Store
    }

    /// Reports whether this server may be a writer that publishes.
    pub fn may_write(&self) -> bool {
        self.publish.is_some() || self.standby
    }

    /// Returns the time without heartbeats after which another server takes over from this writer.
    pub fn takeover_after(&self) -> Option<Duration> {
        self.takeover_after.or_else(|| self.standby.then_some(TAKEOVER_AFTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let bucket =
            |kind, name: &str, prefix: &str| StoreAddress::Bucket { kind, name: name.into(), prefix: prefix.into() };
        assert_eq!("s3://b/a/c/".parse(), Ok(bucket(BucketKind::S3, "b", "a/c/")));
        assert_eq!("s3://b".parse(), Ok(bucket(BucketKind::S3, "b", "")));
        assert_eq!("gs://b/p".parse(), Ok(bucket(BucketKind::Google, "b", "p/")));
        assert_eq!("az://b/p/q".parse(), Ok(bucket(BucketKind::Azure, "b", "p/q/")));
        assert_eq!("file:///srv/store".parse(), Ok(StoreAddress::Folder("/srv/store".into())));
        for bad in ["", "s3://", "s3:///x", "file://relative", "/srv/store", "gs:///p", "azure://b/p", "http://b/p"] {
            assert!(bad.parse::<StoreAddress>().unwrap_err().contains("expected `s3://BUCKET/PREFIX`"), "{bad}");
        }
    }
}
