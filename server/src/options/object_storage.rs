//! Snapshots in an object store.

use std::num::{NonZeroU64, NonZeroUsize};

use clap::Args;

use super::byte_size::ByteSize;

/// Where snapshots go instead of a folder.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Snapshots in object storage")]
pub struct ObjectStorageOptions {
    /// Address of an S3-compatible store, without the bucket: snapshots go there instead of into `--snapshot-dir`.
    #[arg(long, value_name = "URL")]
    pub s3_bucket_url: Option<String>,

    /// Region of the bucket.
    #[arg(long, value_name = "NAME")]
    pub s3_bucket_region: Option<String>,

    /// Name of the bucket.
    #[arg(long, value_name = "NAME")]
    pub s3_bucket_name: Option<String>,

    /// First part of the keys of snapshots.
    #[arg(long, value_name = "TEXT")]
    pub s3_snapshot_prefix: Option<String>,

    /// Access key of the store.
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub s3_access_key: Option<String>,

    /// Secret key of the store.
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub s3_secret_key: Option<String>,

    /// Parts of a snapshot that are sent at the same time; each is in memory.
    #[arg(long, default_value = "10", value_name = "COUNT")]
    pub experimental_s3_max_in_flight_parts: NonZeroUsize,

    /// How hard snapshots are compressed, from 0 (not at all) to 9; their largest files are compressed already.
    #[arg(long, default_value = "0", value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=9))]
    pub experimental_s3_compression_level: u32,

    /// Accepted for the sake of other servers of the protocol: here every attempt is signed anew.
    #[arg(long, default_value = "28800", value_name = "SECONDS")]
    pub experimental_s3_signature_duration_seconds: NonZeroU64,

    /// Largest part of a snapshot. Smaller ones are sent where so many parts would not fit an eighth of the indexing memory.
    #[arg(long, default_value = "375 MiB", value_name = "SIZE")]
    pub experimental_s3_multipart_part_size: ByteSize,
}

/// The options that only make sense together.
impl ObjectStorageOptions {
    /// Name of each that belongs to the others, and whether it is set.
    pub(super) fn parts(&self) -> [(&'static str, bool); 5] {
        [
            ("--s3-bucket-url", self.s3_bucket_url.is_some()),
            ("--s3-bucket-region", self.s3_bucket_region.is_some()),
            ("--s3-bucket-name", self.s3_bucket_name.is_some()),
            ("--s3-access-key", self.s3_access_key.is_some()),
            ("--s3-secret-key", self.s3_secret_key.is_some()),
        ]
    }
}
