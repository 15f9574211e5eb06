//! Snapshots in an object store.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::byte_size::ByteSize;
use super::clouds::CloudOptions;

/// Options of snapshots that go to object storage instead of a folder.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Snapshots in object storage")]
pub struct ObjectStorageOptions {
    /// Address of an S3-compatible store, without the bucket. Snapshots go there instead of to `--snapshot-dir`.
    #[arg(long, value_name = "URL")]
    pub s3_bucket_url: Option<String>,

    /// Region of the bucket, for signing requests.
    #[arg(long, value_name = "NAME")]
    pub s3_bucket_region: Option<String>,

    /// Bucket for snapshots.
    #[arg(long, value_name = "NAME")]
    pub s3_bucket_name: Option<String>,

    /// Key prefix of snapshots.
    #[arg(long, value_name = "TEXT")]
    pub s3_snapshot_prefix: Option<String>,

    /// Access key of the store.
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub s3_access_key: Option<String>,

    /// Secret key of the store.
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    pub s3_secret_key: Option<String>,

    /// Session token of the store, for temporary keys.
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    pub s3_session_token: Option<String>,

    /// Role to assume for each snapshot, instead of an access key and a secret key.
    #[arg(long, value_name = "ARN", conflicts_with_all = ["s3_access_key", "s3_secret_key", "s3_session_token"])]
    pub experimental_s3_role_arn: Option<String>,

    /// File with the token for assuming the role; it is read again before the credentials expire.
    #[arg(long, value_name = "FILE")]
    pub experimental_s3_web_identity_token_file: Option<PathBuf>,

    /// Address of the security token service. By default that of AWS in the region of the bucket.
    #[arg(long, value_name = "URL")]
    pub s3_sts_url: Option<String>,

    /// Number of parts of a snapshot to upload in parallel; each is in memory.
    #[arg(long, default_value = "10", value_name = "COUNT", value_parser = super::count::<NonZeroUsize>)]
    pub experimental_s3_max_in_flight_parts: NonZeroUsize,

    /// Compression level of snapshots, from 0 (none) to 9; their largest files are already compressed.
    #[arg(long, default_value = "0", value_name = "LEVEL", value_parser = compression_level)]
    pub experimental_s3_compression_level: u32,

    /// No effect; accepted for compatibility with Meilisearch. Every attempt is signed anew.
    #[arg(long, hide = true, default_value = "28800", value_name = "SECONDS", value_parser = super::count::<NonZeroU64>)]
    pub experimental_s3_signature_duration_seconds: NonZeroU64,

    /// Maximum size of a part of a snapshot. Parts are smaller if the parallel ones would not fit into an eighth of
    /// the indexing memory.
    #[arg(long, default_value = "375 MiB", value_name = "SIZE")]
    pub experimental_s3_multipart_part_size: ByteSize,

    /// Stores of other kinds, for replicas.
    #[command(flatten)]
    pub clouds: CloudOptions,
}

fn compression_level(text: &str) -> Result<u32, String> {
    super::within(text, 0..=9)
}

type Given = (&'static str, bool);

/// The options that only make sense together.
impl ObjectStorageOptions {
    /// An option that is set, and one that it needs and that is not.
    pub fn incomplete(&self) -> Option<(&'static str, &'static str)> {
        let mut parts: Vec<Given> = vec![
            ("--s3-bucket-url", self.s3_bucket_url.is_some()),
            ("--s3-bucket-region", self.s3_bucket_region.is_some()),
            ("--s3-bucket-name", self.s3_bucket_name.is_some()),
        ];
        let role: [Given; 2] = [
            ("--experimental-s3-role-arn", self.experimental_s3_role_arn.is_some()),
            ("--experimental-s3-web-identity-token-file", self.experimental_s3_web_identity_token_file.is_some()),
        ];
        let (sts, has_sts) = ("--s3-sts-url", self.s3_sts_url.is_some());
        let (token, has_token) = ("--s3-session-token", self.s3_session_token.is_some());
        let (access_key, has_access_key) = ("--s3-access-key", self.s3_access_key.is_some());
        if role.iter().any(|(_, is_set)| *is_set) || has_sts {
            parts.extend(role);
        } else {
            parts.extend([(access_key, has_access_key), ("--s3-secret-key", self.s3_secret_key.is_some())]);
        }
        let others = [(sts, has_sts), (token, has_token)];
        let (first_set, _) = parts.iter().chain(&others).find(|(_, is_set)| *is_set)?;
        let (missing, _) = parts.iter().find(|(_, is_set)| !is_set)?;
        Some((*first_set, *missing))
    }
}
