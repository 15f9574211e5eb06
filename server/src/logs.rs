//! Logs on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::options::{LogLevel, LogsMode};

/// Starts logging. Of other crates' messages only warnings are shown, unless the level is DEBUG or TRACE.
pub(crate) fn start(level: LogLevel, mode: LogsMode) {
    use tracing_subscriber::filter::LevelFilter;
    let others = if level.0 >= LevelFilter::DEBUG { level.0 } else { level.0.min(LevelFilter::WARN) };
    let filter = Targets::new()
        .with_default(others)
        // At TRACE it shows every segment of every path: some are values of keys.
        .with_target("warp", others.min(LevelFilter::DEBUG))
        .with_target("lamina_server", level.0)
        .with_target("lamina_engine", level.0);
    let layer = match mode {
        LogsMode::Human => fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).boxed(),
        LogsMode::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    // Fails only when logging was started before, as tests do.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
}
