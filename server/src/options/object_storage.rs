//! Snapshots in an object store.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::byte_size::ByteSize;

/// Where snapshots go instead of a folder.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Snapshots in object storage")]
pub struct ObjectStorageOptions {
    /// Address of an S3-compatible store, without the bucket: snapshots go there instead of into `--snapshot-dir`.
    #[arg(long, value_name = "URL")]
    pub s3_bucket_url: Option<String>,

    /// Region that requests are signed for.
    #[arg(long, value_name = "NAME")]
    pub s3_bucket_region: Option<String>,

    /// Bucket that snapshots are put into.
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

    /// Session token of the store, for keys that end.
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    pub s3_session_token: Option<String>,

    /// Role to take for each snapshot, in the place of an access key and a secret key.
    #[arg(long, value_name = "ARN", conflicts_with_all = ["s3_access_key", "s3_secret_key", "s3_session_token"])]
    pub experimental_s3_role_arn: Option<String>,

    /// File with the token that the role is taken with; it is read again whenever its keys are about to end.
    #[arg(long, value_name = "FILE")]
    pub experimental_s3_web_identity_token_file: Option<PathBuf>,

    /// Address of the service that gives out the keys of roles. By default that of AWS for the region of the bucket.
    #[arg(long, value_name = "URL")]
    pub s3_sts_url: Option<String>,

    /// Parts of a snapshot that are sent at the same time; each is in memory.
    #[arg(long, default_value = "10", value_name = "COUNT", value_parser = super::count::<NonZeroUsize>)]
    pub experimental_s3_max_in_flight_parts: NonZeroUsize,

    /// How hard snapshots are compressed, from 0 (not at all) to 9; their largest files are compressed already.
    #[arg(long, default_value = "0", value_name = "LEVEL", value_parser = compression_level)]
    pub experimental_s3_compression_level: u32,

    /// Accepted for the sake of other servers of the protocol: here every attempt is signed anew.
    #[arg(long, default_value = "28800", value_name = "SECONDS", value_parser = super::count::<NonZeroU64>)]
    pub experimental_s3_signature_duration_seconds: NonZeroU64,

    /// Largest part of a snapshot. Smaller ones are sent where so many parts would not fit an eighth of the indexing memory.
    #[arg(long, default_value = "375 MiB", value_name = "SIZE")]
    pub experimental_s3_multipart_part_size: ByteSize,
}

fn compression_level(text: &str) -> Result<u32, String> {
    super::within(text, 0..=9)
}

type Given = (&'static str, bool);

/// The options that only make sense together.
impl ObjectStorageOptions {
    /// An option that is set, and one that it needs and that is not.
    pub(crate) fn incomplete(&self) -> Option<(&'static str, &'static str)> {
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
