//! Launch options: command line over environment over configuration file over defaults.

mod byte_size;
mod config_file;
mod interval;
mod master_key;
mod memory;
mod paper;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::FalseyValueParser;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use thiserror::Error;

pub use byte_size::{ByteSize, human_size};
pub use config_file::ConfigFileError;
pub use interval::Interval;
pub use master_key::{MasterKeyError, check_master_key, suggested_master_key};
pub use memory::usable_memory_bytes;
pub use paper::{completions, manual};

use crate::error::ErrorDocs;
use crate::features::Feature;
use crate::http::TlsOptions;
use crate::outbound::{IpPolicy, parse_url};
use crate::webhooks::Webhook;
use crate::{evaluate, import, inspect};

/// The command line of `lamina`.
#[derive(Debug, Parser)]
#[command(
    name = "lamina",
    version,
    about = "A search engine with an HTTP interface. Without a command: serve.",
    args_conflicts_with_subcommands = true,
    after_help = "Every option can also be set by an environment variable (shown beside it) or in the configuration \
                  file (TOML, lower snake case). The command line wins over the environment, the environment over the \
                  file."
)]
pub struct Cli {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to serve.
    #[command(flatten)]
    pub options: Options,
}

/// Commands besides serving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load documents from files or standard input into an index of a running server.
    Import(import::Args),
    /// Measure the quality of answers with judged queries, comparing ways of searching.
    Evaluate(evaluate::Args),
    /// Print what a database folder holds: indexes, segments, sections, postings of a word, words of a document.
    Inspect(inspect::InspectArgs),
    /// Re-read every byte of a database folder and check it against its checksums.
    Verify(inspect::VerifyArgs),
    /// Print what a shell needs to complete command lines of this program.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Manual,
}

/// Options of the server.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Folder of the whole database; created if absent.
    #[arg(long, env = "SVC_DB_PATH", default_value = "./data.lamina", value_name = "FOLDER", help_heading = "Main")]
    pub db_path: PathBuf,

    /// Address to listen on.
    #[arg(
        long,
        env = "SVC_HTTP_ADDR",
        default_value = "localhost:7700",
        value_name = "HOST:PORT",
        help_heading = "Main"
    )]
    pub http_addr: String,

    /// Protects all routes except `GET /health` and `GET /`. At least 16 bytes, and mandatory, in production.
    #[arg(long, env = "SVC_MASTER_KEY", hide_env_values = true, value_name = "KEY", help_heading = "Main")]
    pub master_key: Option<String>,

    /// `production` insists on a good master key.
    #[arg(long, env = "SVC_ENV", default_value = "development", help_heading = "Main")]
    pub env: Environment,

    /// Configuration file. Without this option `./config.toml` is read when it exists.
    #[arg(long, env = "SVC_CONFIG_FILE_PATH", value_name = "FILE", help_heading = "Main")]
    pub config_file_path: Option<PathBuf>,

    /// Largest request body, after decompression; a larger one is answered with status 413.
    #[arg(
        long,
        env = "SVC_HTTP_PAYLOAD_SIZE_LIMIT",
        default_value = "100 MB",
        value_name = "SIZE",
        help_heading = "Main"
    )]
    http_payload_size_limit: ByteSize,

    /// Address of the documentation of error codes: the `link` of an error is this, `#`, and the code.
    #[arg(long, env = "SVC_ERROR_DOCS_URL", default_value = ErrorDocs::DEFAULT_BASE, value_name = "URL", help_heading = "Main")]
    pub error_docs_url: String,

    /// OFF, ERROR, WARN, INFO, DEBUG or TRACE.
    #[arg(long, env = "SVC_LOG_LEVEL", default_value = "INFO", value_name = "LEVEL", help_heading = "Logs")]
    pub log_level: LogLevel,

    /// Share anonymous usage figures with the collector at this address, once an hour. Nothing is gathered without it.
    #[arg(long, env = "SVC_TELEMETRY_URL", value_name = "URL", help_heading = "Telemetry")]
    pub telemetry_url: Option<String>,

    /// Share no usage figures, whatever else is set.
    #[arg(
        long,
        env = "SVC_NO_ANALYTICS",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Telemetry"
    )]
    pub no_analytics: bool,

    /// Start with the experimental feature `metrics` on: `GET /metrics`.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_ENABLE_METRICS",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Experimental features"
    )]
    pub experimental_enable_metrics: bool,

    /// Start with the experimental feature `logsRoute` on: `/logs/stream` and `/logs/stderr`.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_ENABLE_LOGS_ROUTE",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Experimental features"
    )]
    pub experimental_enable_logs_route: bool,

    /// Start with the experimental feature `containsFilter` on: `CONTAINS` in filters.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_CONTAINS_FILTER",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Experimental features"
    )]
    pub experimental_contains_filter: bool,

    /// For replicas: the header `TaskId` sets the uid of a new task, `DryRun: true` only checks a request, and old tasks
    /// are never deleted by themselves.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_REPLICATION_PARAMETERS",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Experimental features"
    )]
    pub experimental_replication_parameters: bool,

    /// Index with a quarter of the memory: slower, for small machines.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_REDUCE_INDEXING_MEMORY_USAGE",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Indexing"
    )]
    pub experimental_reduce_indexing_memory_usage: bool,

    /// Names of the options that were given, wherever.
    #[arg(skip)]
    specified: BTreeSet<String>,

    /// Whether a configuration file was read.
    #[arg(skip)]
    pub has_config_file: bool,

    /// `human` lines or `json` objects.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_LOGS_MODE",
        default_value = "human",
        value_name = "MODE",
        help_heading = "Logs"
    )]
    pub experimental_logs_mode: LogsMode,

    /// Memory that indexing may use. By default two thirds of what the process may use, container limits respected.
    #[arg(long, env = "SVC_MAX_INDEXING_MEMORY", value_name = "SIZE", help_heading = "Indexing")]
    max_indexing_memory: Option<ByteSize>,

    /// Threads that indexing may use: a number, or `unlimited` for the default, half of the cores.
    #[arg(
        long,
        env = "SVC_MAX_INDEXING_THREADS",
        default_value = "",
        hide_default_value = true,
        value_name = "COUNT",
        help_heading = "Indexing"
    )]
    max_indexing_threads: IndexingThreads,

    /// Most tasks in one batch. Unlimited by default.
    #[arg(long, env = "SVC_EXPERIMENTAL_MAX_NUMBER_OF_BATCHED_TASKS", value_name = "COUNT", help_heading = "Indexing")]
    pub experimental_max_number_of_batched_tasks: Option<NonZeroUsize>,

    /// Most bytes of documents in one batch. By default half of the indexing memory, at most 10 GiB.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_LIMIT_BATCHED_TASKS_TOTAL_SIZE",
        value_name = "SIZE",
        help_heading = "Indexing"
    )]
    experimental_limit_batched_tasks_total_size: Option<ByteSize>,

    /// Folder of the dumps.
    #[arg(long, env = "SVC_DUMP_DIR", default_value = "dumps/", value_name = "FOLDER", help_heading = "Dumps")]
    pub dump_dir: PathBuf,

    /// Start from this dump, of this program or of another one of the protocol.
    #[arg(
        long,
        env = "SVC_IMPORT_DUMP",
        value_name = "DUMP",
        conflicts_with = "import_snapshot",
        help_heading = "Dumps"
    )]
    pub import_dump: Option<PathBuf>,

    /// Start without the dump when it does not exist.
    #[arg(
        long,
        env = "SVC_IGNORE_MISSING_DUMP",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Dumps"
    )]
    pub ignore_missing_dump: bool,

    /// Start with the existing database when there is one, instead of the dump.
    #[arg(
        long,
        env = "SVC_IGNORE_DUMP_IF_DB_EXISTS",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Dumps"
    )]
    pub ignore_dump_if_db_exists: bool,

    /// Folder of the snapshots.
    #[arg(
        long,
        env = "SVC_SNAPSHOT_DIR",
        default_value = "snapshots/",
        value_name = "FOLDER",
        help_heading = "Snapshots"
    )]
    pub snapshot_dir: PathBuf,

    /// Make a snapshot every so many seconds (or `15m`, `6h`, `1d`); without a value, once a day.
    #[arg(
        long,
        env = "SVC_SCHEDULE_SNAPSHOT",
        default_value = "",
        hide_default_value = true,
        num_args = 0..=1,
        default_missing_value = interval::DAILY,
        value_name = "SECONDS",
        help_heading = "Snapshots"
    )]
    pub schedule_snapshot: Interval,

    /// Snapshots that are kept in the folder; a new one removes the oldest.
    #[arg(long, env = "SVC_SNAPSHOTS_KEPT", default_value = "3", value_name = "COUNT", help_heading = "Snapshots")]
    pub snapshots_kept: NonZeroUsize,

    /// Start from this snapshot.
    #[arg(long, env = "SVC_IMPORT_SNAPSHOT", value_name = "SNAPSHOT", help_heading = "Snapshots")]
    pub import_snapshot: Option<PathBuf>,

    /// Start without the snapshot when it does not exist.
    #[arg(
        long,
        env = "SVC_IGNORE_MISSING_SNAPSHOT",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Snapshots"
    )]
    pub ignore_missing_snapshot: bool,

    /// Start with the existing database when there is one, instead of the snapshot.
    #[arg(
        long,
        env = "SVC_IGNORE_SNAPSHOT_IF_DB_EXISTS",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "Snapshots"
    )]
    pub ignore_snapshot_if_db_exists: bool,

    /// Certificate chain of the server (PEM). With it and a key, the server speaks only HTTPS.
    #[arg(long, env = "SVC_SSL_CERT_PATH", value_name = "FILE", help_heading = "TLS")]
    pub ssl_cert_path: Option<PathBuf>,

    /// Private key of the server (PEM, not encrypted).
    #[arg(long, env = "SVC_SSL_KEY_PATH", value_name = "FILE", help_heading = "TLS")]
    pub ssl_key_path: Option<PathBuf>,

    /// Roots (PEM) to check certificates of clients with.
    #[arg(long, env = "SVC_SSL_AUTH_PATH", value_name = "FILE", help_heading = "TLS")]
    pub ssl_auth_path: Option<PathBuf>,

    /// Refuse clients without a certificate.
    #[arg(
        long,
        env = "SVC_SSL_REQUIRE_AUTH",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "TLS"
    )]
    pub ssl_require_auth: bool,

    /// Answer of the OCSP responder (DER) to staple to the certificate.
    #[arg(long, env = "SVC_SSL_OCSP_PATH", value_name = "FILE", help_heading = "TLS")]
    pub ssl_ocsp_path: Option<PathBuf>,

    /// Remember the sessions of clients.
    #[arg(
        long,
        env = "SVC_SSL_RESUMPTION",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "TLS"
    )]
    pub ssl_resumption: bool,

    /// Give clients tickets to resume their sessions with.
    #[arg(
        long,
        env = "SVC_SSL_TICKETS",
        action = ArgAction::SetTrue,
        value_parser = FalseyValueParser::new(),
        help_heading = "TLS"
    )]
    pub ssl_tickets: bool,

    /// Searches that may wait for a free slot; one more makes a random one be refused. 0: none may wait.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_SEARCH_QUEUE_SIZE",
        default_value = "1000",
        value_name = "COUNT",
        help_heading = "Search"
    )]
    pub experimental_search_queue_size: usize,

    /// Searches that run at the same time, for each core.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_NB_SEARCHES_PER_CORE",
        default_value = "4",
        value_name = "COUNT",
        help_heading = "Search"
    )]
    pub experimental_nb_searches_per_core: NonZeroUsize,

    /// Seconds after which a search that still waits is refused.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_DROP_SEARCH_AFTER",
        default_value = "60",
        value_name = "SECONDS",
        help_heading = "Search"
    )]
    pub experimental_drop_search_after: NonZeroUsize,

    /// Address that is told of every finished batch, as newline-delimited JSON with a line per task.
    #[arg(
        long,
        env = "SVC_TASK_WEBHOOK_URL",
        value_name = "URL",
        value_parser = webhook_url,
        help_heading = "Outbound requests"
    )]
    task_webhook_url: Option<String>,

    /// Sent to that address as `Authorization`, as it is.
    #[arg(
        long,
        env = "SVC_TASK_WEBHOOK_AUTHORIZATION_HEADER",
        hide_env_values = true,
        value_name = "VALUE",
        value_parser = header_value,
        help_heading = "Outbound requests"
    )]
    task_webhook_authorization_header: Option<String>,

    /// Compresses what webhooks are sent (`Content-Encoding: gzip`).
    #[arg(
        long,
        env = "SVC_TASK_WEBHOOK_GZIP",
        value_parser = clap::builder::FalseyValueParser::new(),
        help_heading = "Outbound requests"
    )]
    pub task_webhook_gzip: bool,

    /// Networks (`10.0.0.0/8,192.168.1.7`) that webhooks, embedders, exports and remotes may reach besides global
    /// addresses; `any` for all.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_ALLOWED_IP_NETWORKS",
        default_value = "",
        hide_default_value = true,
        value_name = "NETWORKS",
        help_heading = "Outbound requests"
    )]
    pub experimental_allowed_ip_networks: IpPolicy,

    /// Texts of queries whose vectors are remembered; 0 remembers none.
    #[arg(
        long,
        env = "SVC_EXPERIMENTAL_EMBEDDING_CACHE_ENTRIES",
        default_value_t = 0,
        value_name = "COUNT",
        help_heading = "Outbound requests"
    )]
    pub experimental_embedding_cache_entries: usize,
}

impl Options {
    /// Largest decoded body, in bytes.
    pub fn payload_bytes_max(&self) -> u64 {
        self.http_payload_size_limit.bytes()
    }

    /// Where usage figures go, if anywhere.
    pub fn collector(&self) -> Option<&str> {
        self.telemetry_url.as_deref().filter(|url| !self.no_analytics && !url.is_empty())
    }

    /// Features that are on from the start.
    pub fn preset_features(&self) -> Vec<Feature> {
        let presets = [
            (self.experimental_enable_metrics, Feature::Metrics),
            (self.experimental_enable_logs_route, Feature::LogsRoute),
            (self.experimental_contains_filter, Feature::ContainsFilter),
        ];
        presets.into_iter().filter_map(|(is_on, feature)| is_on.then_some(feature)).collect()
    }

    /// Whether an option was given, on the command line, in the environment or in the file.
    pub fn is_specified(&self, name: &str) -> bool {
        self.specified.contains(name)
    }

    /// How to speak TLS; `None` without both a certificate and a key.
    pub fn tls(&self) -> Option<TlsOptions> {
        let (certificates, key) = (self.ssl_cert_path.clone()?, self.ssl_key_path.clone()?);
        Some(TlsOptions {
            certificates,
            key,
            client_roots: self.ssl_auth_path.clone(),
            requires_client: self.ssl_require_auth,
            ocsp: self.ssl_ocsp_path.clone(),
            resumption: self.ssl_resumption,
            tickets: self.ssl_tickets,
        })
    }

    /// Memory for indexing, in bytes.
    pub fn indexing_memory_bytes(&self) -> u64 {
        let bytes = self.max_indexing_memory.map_or_else(|| usable_memory_bytes() / 3 * 2, ByteSize::bytes);
        if self.experimental_reduce_indexing_memory_usage { bytes / 4 } else { bytes }
    }

    /// The webhook that the options name.
    pub fn task_webhook(&self) -> Option<Webhook> {
        let url = self.task_webhook_url.clone()?;
        Some(Webhook::of_command_line(url, self.task_webhook_authorization_header.clone()))
    }

    /// Threads for indexing, at least 1.
    pub fn indexing_threads(&self) -> usize {
        self.max_indexing_threads.0.map_or_else(|| (core_count() / 2).max(1), NonZeroUsize::get)
    }

    /// Most bytes of documents in one batch.
    pub fn batch_bytes_max(&self) -> u64 {
        const MOST: u64 = 10 << 30;
        self.experimental_limit_batched_tasks_total_size
            .map_or_else(|| (self.indexing_memory_bytes() / 2).min(MOST), ByteSize::bytes)
    }
}

fn webhook_url(text: &str) -> Result<String, String> {
    parse_url(text).map(|_| text.to_owned())
}

fn header_value(text: &str) -> Result<String, String> {
    reqwest::header::HeaderValue::from_str(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Logical cores that the process may use.
pub fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// How careful to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Environment {
    /// A master key is optional.
    Development,
    /// A good master key is mandatory.
    Production,
}

impl Environment {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Environment::Development => "development",
            Environment::Production => "production",
        }
    }
}

/// Least important messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLevel(pub tracing_subscriber::filter::LevelFilter);

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<LogLevel, String> {
        use tracing_subscriber::filter::LevelFilter;
        const LEVELS: [(&str, LevelFilter); 6] = [
            ("OFF", LevelFilter::OFF),
            ("ERROR", LevelFilter::ERROR),
            ("WARN", LevelFilter::WARN),
            ("INFO", LevelFilter::INFO),
            ("DEBUG", LevelFilter::DEBUG),
            ("TRACE", LevelFilter::TRACE),
        ];
        let found = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
        found.map(|(_, level)| LogLevel(*level)).ok_or_else(|| {
            format!(
                "Log level '{text}' is invalid. Accepted values are 'OFF', 'ERROR', 'WARN', 'INFO', 'DEBUG', and \
                 'TRACE'."
            )
        })
    }
}

/// Form of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogsMode {
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}

impl LogsMode {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            LogsMode::Human => "human",
            LogsMode::Json => "json",
        }
    }
}

impl FromStr for LogsMode {
    type Err = String;

    fn from_str(text: &str) -> Result<LogsMode, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "human" => Ok(LogsMode::Human),
            "json" => Ok(LogsMode::Json),
            _ => Err(format!("Unsupported log mode level `{text}`. Supported values are `HUMAN` and `JSON`.")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexingThreads(Option<NonZeroUsize>);

impl FromStr for IndexingThreads {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<IndexingThreads, Self::Err> {
        match text.trim() {
            "" => Ok(IndexingThreads(None)),
            text if text.eq_ignore_ascii_case("unlimited") => Ok(IndexingThreads(None)),
            text => text.parse().map(|count| IndexingThreads(Some(count))),
        }
    }
}

/// Why the options cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// Also how `--help` and `--version` end.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    /// What is wrong with the configuration file.
    #[error(transparent)]
    ConfigFile(#[from] ConfigFileError),
    /// One option without another.
    #[error("`{option}` needs `{needed}`")]
    Needs {
        /// The option that is there.
        option: &'static str,
        /// The one that is not.
        needed: &'static str,
    },
}

/// Reads the command line, the environment and the configuration file; also tells which file was read.
///
/// # Errors
/// The first wrong value.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<(Cli, Option<PathBuf>), OptionsError> {
    let (cli, config_file) = config_file::parse(args.into_iter().collect())?;
    check_combination(&cli.options)?;
    Ok((cli, config_file))
}

/// What each option alone cannot know. Checked at the end, because the values may come from different places.
fn check_combination(options: &Options) -> Result<(), OptionsError> {
    let (cert, has_cert) = ("--ssl-cert-path", options.ssl_cert_path.is_some());
    let (key, has_key) = ("--ssl-key-path", options.ssl_key_path.is_some());
    let (dump, has_dump) = ("--import-dump", options.import_dump.is_some());
    let needs = [
        // Half of it would serve in the clear what is meant to be protected.
        (cert, has_cert, key, has_key),
        (key, has_key, cert, has_cert),
        ("--ssl-auth-path", options.ssl_auth_path.is_some(), cert, has_cert),
        ("--ssl-require-auth", options.ssl_require_auth, "--ssl-auth-path", options.ssl_auth_path.is_some()),
        ("--ssl-ocsp-path", options.ssl_ocsp_path.is_some(), cert, has_cert),
        ("--ignore-missing-dump", options.ignore_missing_dump, dump, has_dump),
        ("--ignore-dump-if-db-exists", options.ignore_dump_if_db_exists, dump, has_dump),
        (
            "--ignore-missing-snapshot",
            options.ignore_missing_snapshot,
            "--import-snapshot",
            options.import_snapshot.is_some(),
        ),
        (
            "--ignore-snapshot-if-db-exists",
            options.ignore_snapshot_if_db_exists,
            "--import-snapshot",
            options.import_snapshot.is_some(),
        ),
    ];
    for (option, is_set, needed, is_there) in needs {
        if is_set && !is_there {
            return Err(OptionsError::Needs { option, needed });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
