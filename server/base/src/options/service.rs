//! Where the server is and who may ask it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use super::byte_size::ByteSize;
use super::interval;
use crate::outbound::parse_url;

/// Folder, address, key.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Main")]
pub struct Service {
    /// Folder of the whole database; created if absent.
    #[arg(long, default_value = "./data.lamina", value_name = "FOLDER")]
    pub db_path: PathBuf,

    /// Address to listen on.
    #[arg(long, default_value = "localhost:7700", value_name = "HOST:PORT")]
    pub http_addr: String,

    /// Protects all routes except `GET /health`, `GET /openapi.json`, `GET /docs` with its pages, and `GET /`. At least 16 bytes, and mandatory, in production.
    #[arg(long, hide_env_values = true, value_name = "KEY")]
    pub master_key: Option<String>,

    /// Web pages (`https://example.org`, several with commas) that may use a server without a master key, besides
    /// those of its own machine; `*` for all. With a master key, any page may send requests.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "ORIGINS")]
    pub allowed_origins: AllowedOrigins,

    /// Where a server without a master key may listen: `anywhere`, or `local` addresses only.
    #[arg(long, default_value = "anywhere", value_name = "WHERE")]
    pub unprotected: Unprotected,

    /// `production` requires a master key of at least 16 bytes.
    #[arg(long, default_value = "development")]
    pub env: Environment,

    /// Serve the console at `GET /` in production, too. The page holds no data; it asks for a key, and shows what the key may see.
    #[arg(long, action = ArgAction::SetTrue)]
    console: bool,

    /// Let the console load pictures that documents name with `http://`, too. Without this option, it loads those with `https://` only.
    #[arg(long, action = ArgAction::SetTrue)]
    pub console_http_pictures: bool,

    /// Configuration file. Without this option, `./config.toml` is read if it exists.
    #[arg(long, value_name = "FILE")]
    pub config_file_path: Option<PathBuf>,

    /// Maximum size of a request body, after decompression; a larger one gets status 413.
    #[arg(long, default_value = "100 MB", value_name = "SIZE")]
    http_payload_size_limit: ByteSize,

    /// Timeout in seconds (or `2m`) for a client to send the head of a request or the next piece of its body, to read
    /// more of its response, or to use an idle connection. After it, the connection is closed.
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = interval::time)]
    pub client_timeout: Duration,

    /// Maximum time in seconds to stop after SIGTERM or Ctrl-C. The next start carries out everything that was
    /// acknowledged.
    #[arg(long, default_value = "20", value_name = "SECONDS", value_parser = interval::time)]
    pub shutdown_timeout: Duration,

    /// Address of the documentation of error codes: the `link` of an error is this, `#`, and the code. By default
    /// `/docs/errors` below `--public-url` or `--http-addr`.
    #[arg(long, value_name = "URL", value_parser = address_or_nothing)]
    pub error_docs_url: Option<String>,

    /// Refuse a database of an older version. Without this option, the start upgrades it, keeps its earlier files in
    /// `before-upgrade` until the next start, and checks all of it with a task.
    #[arg(long, action = ArgAction::SetTrue)]
    no_upgrade: bool,

    /// Upgrade in spite of `--no-upgrade`. Meilisearch needs this option for an upgrade.
    #[arg(long, action = ArgAction::SetTrue)]
    experimental_dumpless_upgrade: bool,

    /// The same, under the name that newer versions of Meilisearch use.
    #[arg(long, action = ArgAction::SetTrue)]
    upgrade_db: bool,

    /// Send anonymous usage figures to the collector at this address, once an hour. Without it, nothing is collected.
    #[arg(long, value_name = "URL", value_parser = address_or_nothing)]
    pub telemetry_url: Option<String>,

    /// Send a span of each request to the OpenTelemetry collector at this address (OTLP over HTTP, as JSON):
    /// `https://collector.example.org/v1/traces`.
    #[arg(long, value_name = "URL", value_parser = address_or_nothing)]
    pub trace_url: Option<String>,

    /// Send no usage figures, whatever else is set.
    #[arg(long, action = ArgAction::SetTrue)]
    pub no_analytics: bool,
}

impl Service {
    /// Largest decoded body, in bytes.
    pub fn payload_bytes_max(&self) -> u64 {
        self.http_payload_size_limit.bytes()
    }

    /// Reports whether the console is served.
    pub fn has_console(&self) -> bool {
        self.console || self.env == Environment::Development
    }

    /// Reports whether a database of an older version is upgraded to this version.
    pub fn upgrades(&self) -> bool {
        !self.no_upgrade || self.experimental_dumpless_upgrade || self.upgrade_db
    }

    /// Returns the address to which spans of requests are sent, if there is one.
    pub fn trace_collector(&self) -> Option<&str> {
        self.trace_url.as_deref().filter(|url| !url.is_empty())
    }

    /// Returns the address to which usage figures are sent, if there is one.
    pub fn collector(&self) -> Option<&str> {
        self.telemetry_url.as_deref().filter(|url| !self.no_analytics && !url.is_empty())
    }
}

/// Reads where requests or clients may be sent: empty text is nowhere.
pub(super) fn address_or_nothing(text: &str) -> Result<String, String> {
    if !text.is_empty() {
        parse_url(text)?;
    }
    Ok(text.to_owned())
}

/// Web pages by their origins, as browsers write them: `https://example.org:8080`, `null`; or `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedOrigins(pub Vec<String>);

impl FromStr for AllowedOrigins {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowedOrigins, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(origin).collect::<Result<_, _>>().map(AllowedOrigins)
    }
}

fn origin(text: &str) -> Result<String, String> {
    if text == "*" || text == "null" {
        return Ok(text.to_owned());
    }
    let url = parse_url(text).map_err(|reason| format!("`{text}` is not an origin: {reason}"))?;
    let origin = url.origin().ascii_serialization();
    // A slash at the end is what people copy from the line of a browser.
    if origin.eq_ignore_ascii_case(text.trim_end_matches('/')) {
        Ok(origin)
    } else {
        Err(format!("`{text}` is not an origin: expected only a scheme, a host and optionally a port: `{origin}`"))
    }
}

/// Addresses on which a server without a master key may listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unprotected {
    /// Wherever the options say.
    Anywhere,
    /// On this machine.
    Local,
}

impl Unprotected {
    /// Returns the value as written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Unprotected::Anywhere => "anywhere",
            Unprotected::Local => "local",
        }
    }
}

/// Environment of the server: it decides how strict the master key is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Environment {
    /// A master key is optional.
    Development,
    /// A good master key is mandatory.
    Production,
}

impl Environment {
    /// Returns the value as written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Environment::Development => "development",
            Environment::Production => "production",
        }
    }
}
