//! Options of other servers of the protocol for what this one does not do: whoever relies on them should be told at the
//! start, not find out later.

use clap::Args;

/// Each of them ends the start with an error.
#[derive(Clone, Debug, Args)]
pub(super) struct Unavailable {
    #[arg(long, hide = true)]
    s3_bucket_url: Option<String>,
    #[arg(long, hide = true)]
    s3_bucket_region: Option<String>,
    #[arg(long, hide = true)]
    s3_bucket_name: Option<String>,
    #[arg(long, hide = true)]
    s3_snapshot_prefix: Option<String>,
    #[arg(long, hide = true, hide_env_values = true)]
    s3_access_key: Option<String>,
    #[arg(long, hide = true, hide_env_values = true)]
    s3_secret_key: Option<String>,
    #[arg(long, hide = true)]
    experimental_s3_role_arn: Option<String>,
    #[arg(long, hide = true)]
    experimental_s3_web_identity_token_file: Option<String>,
    #[arg(long, hide = true)]
    experimental_s3_max_in_flight_parts: Option<String>,
    #[arg(long, hide = true)]
    experimental_s3_compression_level: Option<String>,
    #[arg(long, hide = true)]
    experimental_s3_signature_duration_seconds: Option<String>,
    #[arg(long, hide = true)]
    experimental_s3_multipart_part_size: Option<String>,
    #[arg(long, hide = true, hide_env_values = true)]
    experimental_personalization_api_key: Option<String>,
}

impl Unavailable {
    /// The first one that is set, with what it stands for.
    pub(super) fn first_set(&self) -> Option<(&'static str, &'static str)> {
        let s3 = "snapshots in object storage";
        let all = [
            ("--s3-bucket-url", &self.s3_bucket_url, s3),
            ("--s3-bucket-region", &self.s3_bucket_region, s3),
            ("--s3-bucket-name", &self.s3_bucket_name, s3),
            ("--s3-snapshot-prefix", &self.s3_snapshot_prefix, s3),
            ("--s3-access-key", &self.s3_access_key, s3),
            ("--s3-secret-key", &self.s3_secret_key, s3),
            ("--experimental-s3-role-arn", &self.experimental_s3_role_arn, s3),
            ("--experimental-s3-web-identity-token-file", &self.experimental_s3_web_identity_token_file, s3),
            ("--experimental-s3-max-in-flight-parts", &self.experimental_s3_max_in_flight_parts, s3),
            ("--experimental-s3-compression-level", &self.experimental_s3_compression_level, s3),
            ("--experimental-s3-signature-duration-seconds", &self.experimental_s3_signature_duration_seconds, s3),
            ("--experimental-s3-multipart-part-size", &self.experimental_s3_multipart_part_size, s3),
            (
                "--experimental-personalization-api-key",
                &self.experimental_personalization_api_key,
                "searches that another service reorders",
            ),
        ];
        all.into_iter().find(|(_, value, _)| value.is_some()).map(|(option, _, what)| (option, what))
    }
}
