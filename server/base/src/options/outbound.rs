//! Requests that the server makes itself.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::{ByteSize, interval};
use crate::outbound::{IpPolicy, parse_url};
use crate::secret::secrets_of_url;

/// Maximum load per minute of an account; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests, each try counted.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens, as far as they can be estimated without the model's vocabulary.
    pub tokens_per_minute: Option<NonZeroU32>,
}

/// Webhooks, embedders, exports, remotes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Outbound requests")]
pub struct OutboundRequests {
    /// Webhook that receives every finished batch, as newline-delimited JSON with one line per task.
    #[arg(long, value_name = "URL", value_parser = webhook_url)]
    pub task_webhook_url: Option<String>,

    /// Value of the `Authorization` header for that webhook.
    #[arg(long, hide_env_values = true, value_name = "VALUE")]
    pub task_webhook_authorization_header: Option<String>,

    /// Send webhooks plain text instead of compressed bodies (`Content-Encoding: gzip`).
    #[arg(long, action = ArgAction::SetTrue)]
    pub task_webhook_plain: bool,

    /// Networks (`10.0.0.0/8,192.168.1.7`) that webhooks, embedders, exports and remotes may reach besides global
    /// addresses; `any` for all.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NETWORKS")]
    pub experimental_allowed_ip_networks: IpPolicy,

    /// Timeout in seconds (or `2m`) for another server's part of a search, all attempts together.
    #[arg(long, default_value = "30", value_name = "SECONDS", value_parser = interval::time)]
    pub experimental_remote_search_timeout_seconds: Duration,

    /// Number of query texts whose vectors are cached; 0 turns the cache off.
    #[arg(long, default_value = "0", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_embedding_cache_entries: usize,

    /// Disk space for cached embeddings of committed documents, so that equal texts are not embedded again.
    /// Embeddings of uncommitted documents are always kept.
    #[arg(long, default_value = "100 MiB", value_name = "SIZE")]
    pub embedding_cache_size: ByteSize,

    /// Maximum number of requests a minute to each account (address and key) of an embedding provider.
    #[arg(long, value_name = "COUNT", value_parser = super::count::<NonZeroU32>)]
    pub embedder_requests_per_minute: Option<NonZeroU32>,

    /// Maximum number of tokens a minute, estimated, to each account (address and key) of an embedding provider.
    #[arg(long, value_name = "COUNT", value_parser = super::count::<NonZeroU32>)]
    pub embedder_tokens_per_minute: Option<NonZeroU32>,
}

impl OutboundRequests {
    /// Returns the credentials of the webhook that the command line names.
    pub(super) fn secrets(&self) -> Vec<String> {
        let in_address = self.task_webhook_url.as_deref().map(secrets_of_url).unwrap_or_default();
        self.task_webhook_authorization_header.iter().cloned().chain(in_address).collect()
    }

    /// Returns the rate limits of an account of an embedding provider.
    pub fn embedder_limits(&self) -> RateLimits {
        RateLimits {
            requests_per_minute: self.embedder_requests_per_minute,
            tokens_per_minute: self.embedder_tokens_per_minute,
        }
    }

    /// Reports whether the authorization header of the webhook can be sent. The option itself does not check this,
    /// because its refusal would show the secret.
    pub fn authorization_is_sendable(&self) -> bool {
        let value = self.task_webhook_authorization_header.as_deref();
        value.is_none_or(|value| reqwest::header::HeaderValue::from_str(value).is_ok())
    }
}

fn webhook_url(text: &str) -> Result<String, String> {
    parse_url(text).map(|_| text.to_owned())
}
