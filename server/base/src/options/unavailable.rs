//! Options of other servers of the protocol for what this one does not do: an operator who relies on them should learn it at the
//! start, not find out later.

use clap::Args;

/// Ends the start with an error when it is set.
#[derive(Clone, Debug, Args)]
pub(super) struct Unavailable {
    #[arg(long, hide = true, hide_env_values = true)]
    experimental_personalization_api_key: Option<String>,
}

impl Unavailable {
    /// The first one that is set, with what it stands for.
    pub(super) fn first_set(&self) -> Option<(&'static str, &'static str)> {
        let personalization = "--experimental-personalization-api-key";
        let is_set = self.experimental_personalization_api_key.is_some();
        is_set.then_some((personalization, "personalized search"))
    }
}
