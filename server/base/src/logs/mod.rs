//! Logs: on standard error, and for one client at a time that listens over HTTP.
//!
//! Lines carry no keys, whatever target and level is asked for: below INFO only this program's own targets are shown, since
//! libraries then print headers, paths and bodies, and each line is redacted where it is written.

mod redaction;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::Metadata;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::{FilterExt, FilterFn, LevelFilter, Targets, filter_fn};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use crate::console::{self, Severity};
use crate::options::{LogLevel, LogsMode};
use redaction::Redacting;

/// Lines that wait for a slow listener; more are dropped, because logging must not wait.
const LINES_WAITING: usize = 4096;

/// The filters that change while the server runs. Only filters do: a layer that is exchanged would lose its place in
/// the bookkeeping of the subscriber. Logging belongs to the process, so there is one.
struct Handles {
    stderr: reload::Handle<Targets, Registry>,
    human: reload::Handle<Targets, Registry>,
    json: reload::Handle<Targets, Registry>,
    lines: Lines,
    /// Number of the last listener, and of the present one.
    listener: Mutex<(u64, Option<u64>)>,
}

static HANDLES: OnceLock<Handles> = OnceLock::new();

/// Starts logging, without the texts in `secrets`. Of other crates' messages only warnings are shown, unless the level is
/// DEBUG or TRACE: then INFO too.
pub fn start(level: LogLevel, mode: LogsMode, secrets: Vec<String>) {
    redaction::remember(secrets);
    let others = if level.0 >= LevelFilter::DEBUG { OTHERS_MAX } else { level.0.min(LevelFilter::WARN) };
    let filter = Targets::new().with_default(others).with_targets(OWN.map(|name| (name, level.0)));
    let (filter, stderr) = reload::Layer::new(filter);
    let writer = Redacting(io::stderr);
    let to_stderr: Box<dyn Layer<Registry> + Send + Sync> = match mode {
        LogsMode::Human => fmt::layer().with_writer(writer).with_ansi(io::stderr().is_terminal()).boxed(),
        LogsMode::Json => fmt::layer().json().flatten_event(true).with_writer(writer).boxed(),
    };
    // Nothing passes these two until a client listens.
    let lines = Lines::default();
    let (human_filter, human) = reload::Layer::new(Targets::new());
    let (json_filter, json) = reload::Layer::new(Targets::new());
    let writer = || Redacting(lines.clone());
    let as_human = fmt::layer().with_writer(writer()).with_ansi(false).with_filter(human_filter.and(discreet()));
    let as_json =
        fmt::layer().json().flatten_event(true).with_writer(writer()).with_filter(json_filter.and(discreet()));
    let layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> =
        vec![to_stderr.with_filter(filter.and(discreet())).boxed(), as_human.boxed(), as_json.boxed()];
    // Fails only when logging was started before, as tests do.
    if tracing_subscriber::registry().with(layers).try_init().is_ok() {
        let _ = HANDLES.set(Handles { stderr, human, json, lines, listener: Mutex::new((0, None)) });
    }
}

/// The most talkative level of other crates: below it, those of the routes and of HTTP print paths, headers and addresses.
const OTHERS_MAX: LevelFilter = LevelFilter::INFO;

/// The crates of this program.
const OWN: [&str; 11] = [
    "lamina",
    "lamina_base",
    "lamina_cli",
    "lamina_client",
    "lamina_data",
    "lamina_engine",
    "lamina_models",
    "lamina_protocol",
    "lamina_replication",
    "lamina_server",
    "lamina_sync",
];

/// Returns whether a message is of this program.
fn is_own(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or_default();
    OWN.contains(&name)
}

/// Lets nothing through that is not meant for people who run a server, whichever targets a client names.
fn discreet() -> FilterFn<impl Fn(&Metadata<'_>) -> bool + Clone> {
    filter_fn(|metadata| is_own(metadata.target()) || *metadata.level() <= OTHERS_MAX)
        .with_max_level_hint(LevelFilter::TRACE)
}

/// Shows other messages on standard error until the restart. Whether logging runs at all.
pub fn set_stderr(filter: Targets) -> bool {
    HANDLES.get().is_some_and(|handles| handles.stderr.reload(filter).is_ok())
}

/// The lines of a listener. The client is gone once it is dropped.
#[derive(Debug)]
pub struct Listening {
    pub lines: mpsc::Receiver<Bytes>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        stop_listening(Some(self.number));
    }
}

/// Begins to listen; `None` when another client does already.
pub fn listen(filter: Targets, mode: LogsMode) -> Option<Listening> {
    let handles = HANDLES.get()?;
    let mut listener = handles.listener.lock();
    if listener.1.is_some() {
        return None;
    }
    let (sender, lines) = mpsc::channel(LINES_WAITING);
    *handles.lines.0.lock() = Some(sender);
    let chosen = match mode {
        LogsMode::Human => &handles.human,
        LogsMode::Json => &handles.json,
    };
    chosen.reload(filter).ok()?;
    listener.0 += 1;
    listener.1 = Some(listener.0);
    Some(Listening { lines, number: listener.0 })
}

/// Ends the stream of this listener, or of the present one.
pub fn stop_listening(number: Option<u64>) {
    let Some(handles) = HANDLES.get() else { return };
    let mut listener = handles.listener.lock();
    if listener.1.is_some() && (number.is_none() || listener.1 == number) {
        listener.1 = None;
        for filter in [&handles.human, &handles.json] {
            if let Err(error) = filter.reload(Targets::new()) {
                console::say(Severity::Warning, format_args!("cannot end a stream of logs: {error}"));
            }
        }
        *handles.lines.0.lock() = None;
    }
}

/// Sends each line to the listener, if there is one.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Option<mpsc::Sender<Bytes>>>>);

/// A line that is being written.
struct Line<'a> {
    text: Vec<u8>,
    lines: &'a Lines,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { text: Vec::new(), lines: self }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        // A listener that is too slow misses lines; one that is gone needs none.
        if let Some(sender) = &*self.lines.0.lock() {
            let _ = sender.try_send(std::mem::take(&mut self.text).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_targets_are_talkative() {
        for target in ["lamina_server", "lamina_engine::index", "lamina"] {
            assert!(is_own(target), "{target}");
        }
        for target in ["warp::filters::path", "hyper", "h2::codec", "lamina_server_of_others", "reqwest", ""] {
            assert!(!is_own(target), "{target}");
        }
    }
}
