//! What is logged and how it looks.

use std::str::FromStr;

use clap::{ArgAction, Args};
use tracing_subscriber::filter::LevelFilter;

/// Options of console logs and metrics.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Logs")]
pub struct Logging {
    /// OFF, ERROR, WARN, INFO, DEBUG or TRACE.
    #[arg(long, default_value = "INFO", value_name = "LEVEL")]
    pub log_level: LogLevel,

    /// `human` lines or `json` objects.
    #[arg(long, default_value = "human", value_name = "MODE")]
    pub experimental_logs_mode: LogsMode,

    /// Log a warning about each search that takes this long, in milliseconds, with its words; at most one a second. 0: none.
    #[arg(long, default_value = "1000", value_name = "MS", value_parser = super::count_or_none::<u64>)]
    pub slow_search_ms: u64,

    /// Serve metrics for Prometheus at `GET /metrics`.
    #[arg(long, action = ArgAction::SetTrue)]
    pub metrics: bool,
}

/// Least important messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLevel(pub LevelFilter);

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<LogLevel, String> {
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
    /// Returns the value as written on the command line.
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
