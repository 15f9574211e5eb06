//! Logs: on standard error, and for one client at a time that listens over HTTP.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::Level;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use crate::options::{LogLevel, LogsMode};

/// Lines that wait for a slow listener; more are dropped, because logging must not wait.
const LINES_WAITING: usize = 4096;

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The parts that change while the server runs. Logging belongs to the process, so there is one.
struct Handles {
    stderr: reload::Handle<BoxedLayer, Registry>,
    stream: reload::Handle<Option<BoxedLayer>, Registry>,
    mode: LogsMode,
    /// Number of the listener, counted from 1; `None` when nobody listens.
    listener: Mutex<(u64, Option<u64>)>,
}

static HANDLES: OnceLock<Handles> = OnceLock::new();

/// Starts logging. Of other crates' messages only warnings are shown, unless the level is DEBUG or TRACE.
pub(crate) fn start(level: LogLevel, mode: LogsMode) {
    let others = if level.0 >= LevelFilter::DEBUG { level.0 } else { level.0.min(LevelFilter::WARN) };
    let filter =
        Targets::new().with_default(others).with_target("lamina_server", level.0).with_target("lamina_engine", level.0);
    let filter = without_secrets(filter);
    // Both are layers on the bare registry, in one list: a layer in a reload handle has a fixed type below it.
    let (stderr, stderr_handle) = reload::Layer::new(to_stderr(filter, mode));
    let (stream, stream_handle) = reload::Layer::new(None::<BoxedLayer>);
    let layers: Vec<BoxedLayer> = vec![stderr.boxed(), stream.boxed()];
    // Fails only when logging was started before, as tests do.
    if tracing_subscriber::registry().with(layers).try_init().is_ok() {
        let handles = Handles { stderr: stderr_handle, stream: stream_handle, mode, listener: Mutex::new((0, None)) };
        let _ = HANDLES.set(handles);
    }
}

/// At TRACE, the crate of the routes shows every segment of every path, and some are values of keys.
fn without_secrets(filter: Targets) -> Targets {
    if filter.would_enable("warp", &Level::TRACE) { filter.with_target("warp", LevelFilter::DEBUG) } else { filter }
}

fn to_stderr(filter: Targets, mode: LogsMode) -> BoxedLayer {
    match mode {
        LogsMode::Human => {
            fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).with_filter(filter).boxed()
        }
        LogsMode::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).with_filter(filter).boxed(),
    }
}

/// Shows other messages on standard error until the restart. Whether logging runs at all.
pub(crate) fn set_stderr(filter: Targets) -> bool {
    HANDLES.get().is_some_and(|handles| handles.stderr.reload(to_stderr(without_secrets(filter), handles.mode)).is_ok())
}

/// The lines of a listener. Nobody listens any more once it is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) lines: mpsc::Receiver<Bytes>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        stop_listening(Some(self.number));
    }
}

/// Begins to listen; `None` when somebody does already.
pub(crate) fn listen(filter: Targets, mode: LogsMode) -> Option<Listening> {
    let handles = HANDLES.get()?;
    let mut listener = handles.listener.lock();
    if listener.1.is_some() {
        return None;
    }
    let (sender, lines) = mpsc::channel(LINES_WAITING);
    let filter = without_secrets(filter);
    let writer = Lines(sender);
    let layer: BoxedLayer = match mode {
        LogsMode::Human => fmt::layer().with_writer(writer).with_ansi(false).with_filter(filter).boxed(),
        LogsMode::Json => fmt::layer().json().flatten_event(true).with_writer(writer).with_filter(filter).boxed(),
    };
    handles.stream.reload(Some(layer)).ok()?;
    listener.0 += 1;
    listener.1 = Some(listener.0);
    Some(Listening { lines, number: listener.0 })
}

/// Ends the stream of this listener, or of whoever listens.
pub(crate) fn stop_listening(number: Option<u64>) {
    let Some(handles) = HANDLES.get() else { return };
    let mut listener = handles.listener.lock();
    if listener.1.is_some() && (number.is_none() || listener.1 == number) {
        listener.1 = None;
        if let Err(error) = handles.stream.reload(None) {
            eprintln!("cannot end a stream of logs: {error}");
        }
    }
}

/// Sends each line to the listener.
#[derive(Clone)]
struct Lines(mpsc::Sender<Bytes>);

/// A line that is being written.
struct Line {
    text: Vec<u8>,
    sender: mpsc::Sender<Bytes>,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { text: Vec::new(), sender: self.0.clone() }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A listener that is too slow misses lines; one that is gone needs none.
        let _ = self.sender.try_send(std::mem::take(&mut self.text).into());
    }
}
