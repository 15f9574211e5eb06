//! Options of other servers of the protocol for what this one does not do: whoever relies on them should be told at the
//! start, not find out later.

use clap::Args;

/// Each of them ends the start with an error.
#[derive(Clone, Debug, Args)]
pub(super) struct Unavailable {
    #[arg(long, hide = true)]
    experimental_s3_role_arn: Option<String>,
    #[arg(long, hide = true)]
    experimental_s3_web_identity_token_file: Option<String>,
    #[arg(long, hide = true, hide_env_values = true)]
    experimental_personalization_api_key: Option<String>,
}

impl Unavailable {
    /// The first one that is set, with what it stands for.
    pub(super) fn first_set(&self) -> Option<(&'static str, &'static str)> {
        let s3 = "temporary credentials for object storage";
        let all = [
            ("--experimental-s3-role-arn", &self.experimental_s3_role_arn, s3),
            ("--experimental-s3-web-identity-token-file", &self.experimental_s3_web_identity_token_file, s3),
            (
                "--experimental-personalization-api-key",
                &self.experimental_personalization_api_key,
                "searches that another service reorders",
            ),
        ];
        all.into_iter().find(|(_, value, _)| value.is_some()).map(|(option, _, what)| (option, what))
    }
}
