//! `lamina import`: loads files into a server over its public HTTP interface.
//!
//! A client like any other: it knows the address and a key, nothing of the data folder. One thread reads, decompresses
//! and cuts the input at document boundaries ([`split`]); a few requests are in flight at a time ([`client`]); finished
//! tasks move the progress bar ([`progress`]). What is refused, and tasks that fail, for a document are sent again in parts
//! until only that document is left ([`deliver`], [`again`]). Memory: about `(in flight + 2) x batch bytes`, and of standard
//! input four batches more, however large the input; a document that is larger than a batch may need as much as a request of
//! its own.

mod again;
mod client;
mod deliver;
mod failures;
mod ledger;
mod part;
mod place;
mod progress;
mod source;
mod split;
mod upload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args as ClapArgs, ValueEnum};
use lamina_base::console;
use lamina_base::options::{self, ByteSize};

use crate::client::{ClientError, ServerArgs, advice};

/// Load documents from files or standard input into an index.
#[derive(Debug, Clone, ClapArgs)]
pub struct Args {
    /// Files to load, in order; `-` is standard input.
    ///
    /// Compressed files (gzip, zstd) are recognized by their content.
    #[arg(default_value = "-", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The index for the documents; it is created if absent.
    #[arg(short, long, value_name = "UID")]
    index: String,
    #[command(flatten)]
    server: ServerArgs,
    /// The primary key; by default the server infers it.
    #[arg(long, value_name = "FIELD")]
    primary_key: Option<String>,
    /// Format of the input.
    ///
    /// By default from the file name (`films.csv.gz` is CSV) or the content (`[` begins an array, `{` a line of ndjson).
    #[arg(short, long)]
    format: Option<Format>,
    /// The delimiter of a CSV file, or `tab`.
    ///
    /// By default a tab in `.tsv` files, otherwise a comma, or what the first line has instead: `;`, a tab or `|`.
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    csv_delimiter: Option<u8>,
    /// Merge the fields into existing documents instead of replacing them.
    #[arg(long)]
    update: bool,
    /// Size of a request in bytes.
    ///
    /// A larger document is sent in its own request, up to 100 MB; a document larger than both ends the import.
    #[arg(long, value_name = "BYTES", default_value = "20000000", value_parser = options::count::<usize>)]
    batch_bytes: usize,
    /// Number of parallel requests; 1 keeps the order of the input.
    ///
    /// With more than one, the server may apply two versions of a document in either order if they are in different requests.
    /// Documents whose task failed because of another document are sent again at the end.
    #[arg(long, value_name = "COUNT", default_value = "3", value_parser = in_flight)]
    in_flight: u16,
    /// Wait for a server that is not listening yet.
    ///
    /// Without it, the import exits at once.
    #[arg(long)]
    wait: bool,
    /// Seconds to keep retrying while the server is busy.
    ///
    /// Also while it is unreachable after its first response. By default 300; with --wait, 10 for the first response.
    #[arg(long, value_name = "SECONDS", value_parser = patience)]
    patience: Option<u64>,
    /// Exit when everything is accepted, without waiting for the tasks.
    #[arg(long)]
    no_wait: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Print results and errors as JSON, for programs.
    ///
    /// One object at the end has the result, with the failures. There is no progress.
    #[arg(long)]
    json: bool,
}

fn in_flight(text: &str) -> Result<u16, String> {
    options::within(text, 1..=64)
}

/// At most a day.
fn patience(text: &str) -> Result<u64, String> {
    options::within(text, 0..=86_400)
}

/// One ASCII character, or the word `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err(format!(
            "`{}` is not a delimiter: expected one ASCII character other than quotes and line breaks, or `tab`",
            text.escape_default()
        )),
    }
}

/// Format of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// JSON objects one after the other, usually one per line.
    Ndjson,
    /// One array of objects, or one object.
    Json,
    /// A header line, then rows; a header can have a type (`price:number`).
    Csv,
    /// The same with tabs between the cells.
    Tsv,
}

/// Reason why an import could not continue. Single failed requests and tasks are not errors of this kind: they are
/// counted, reported at the end, and make the exit status non-zero.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ImportError {
    #[error("{file}: {source}")]
    Read { file: String, source: std::io::Error },
    #[error(
        "{file}: cannot detect the format from the name or the content; set it with --format ndjson, json, csv or tsv"
    )]
    UnknownFormat { file: String },
    #[error("{file}: the JSON text ends inside document {document}, which starts at line {line} column {column}")]
    TruncatedJson { file: String, document: u64, line: u64, column: u64 },
    #[error("{file}: expected {expected} at line {line} column {column}, {}, found {found}", behind(*.documents_before))]
    Misplaced { file: String, line: u64, column: u64, documents_before: u64, expected: &'static str, found: String },
    #[error(
        "{file}: document {document}, from line {line} on, is larger than {max}. {hint}. For documents of that size, give a \
         larger --batch-bytes here and a larger --http-payload-size-limit to the server"
    )]
    TooLarge { file: String, document: u64, line: u64, max: ByteSize, hint: &'static str },
    #[error(transparent)]
    Server(#[from] ClientError),
    #[error("{url} did not answer for {seconds} s: {reason}")]
    Unreachable { url: String, seconds: u64, reason: String },
    #[error("the server refused the import: {status} {message}{}", advice(code))]
    Refused { status: u16, message: String, code: String },
    #[error("the server accepts no request of {bytes} bytes; set a smaller --batch-bytes: {message}")]
    BatchTooLarge { bytes: usize, message: String },
    #[error("the server did not report the outcome of the tasks: {status} {message}")]
    NoOutcome { status: u16, message: String },
    #[error("cannot print the results: {0}")]
    Print(std::io::Error),
}

impl ImportError {
    /// Reports whether the error is unrelated to the data that was sent: the server is unreachable, or refuses the key.
    fn is_of_all(&self) -> bool {
        matches!(
            self,
            ImportError::Server(ClientError::Unreachable { .. }) | ImportError::Refused { status: 401 | 403, .. }
        )
    }

    fn code(&self) -> Option<&str> {
        match self {
            ImportError::Server(error) => error.code(),
            ImportError::Refused { code, .. } => Some(code),
            _ => None,
        }
    }
}

fn behind(documents: u64) -> String {
    if documents == 0 { "before any document".to_owned() } else { format!("after document {documents}") }
}

/// Runs the import to its end. The exit status is 0 only when every document was accepted and every task succeeded.
pub fn run(args: &Args) -> ExitCode {
    match upload::run(args) {
        Ok(summary) if summary.is_success() => ExitCode::SUCCESS,
        Ok(summary) => {
            summary.complain(args.json);
            ExitCode::FAILURE
        }
        Err(error) => {
            console::failed("import", args.json, &error, error.code());
            ExitCode::FAILURE
        }
    }
}
