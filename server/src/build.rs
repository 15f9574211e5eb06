//! `lamina build`: makes an index of files without a server, in a folder that `POST /indexes/{indexUid}/attach` takes.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use lamina_engine::document::{PayloadError, PayloadFormat, normalize_payload};
use lamina_engine::index::{
    CommitNote, Index, IndexError, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod,
};
use serde_json::Value;
use thiserror::Error;

use crate::console;
use crate::options::{ByteSize, human_disk_size, usable_memory_bytes};
use crate::wire::settings;

/// For documents in work; less makes many small segments.
const MEMORY_BYTES_MIN: usize = 32 << 20;

/// What is built, and where.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Files with documents, in order: `.ndjson`, `.jsonl`, `.json`, `.csv` or `.tsv`, also compressed (`.gz`, `.zst`).
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder of the new index, which must not exist. In that of `--attach-dir`, a server can attach it.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// File with the settings of the index, as JSON.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The field that identifies a document; inferred when absent.
    #[arg(long, value_name = "FIELD")]
    primary_key: Option<String>,
    /// Memory for the work. By default two thirds of what the process may use.
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Threads for the work. By default as many as there are cores.
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
}

#[derive(Debug, Error)]
enum BuildError {
    #[error("{path:?}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{0:?} already exists")]
    Exists(PathBuf),
    #[error(
        "{0:?}: unknown format: expected a name ending in .ndjson, .jsonl, .json, .csv or .tsv, optionally followed by .gz or .zst"
    )]
    UnknownFormat(PathBuf),
    #[error("{path:?}: {text}")]
    Refused { path: PathBuf, text: String },
    #[error(
        "{0:?}: the embedder `{1}` makes vectors from texts, which only a server does: build without it, attach the index, and \
         then set the embedder"
    )]
    Embedder(PathBuf, String),
    #[error(transparent)]
    Index(#[from] IndexError),
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> BuildError + '_ {
    move |source| BuildError::Io { path: path.to_owned(), source }
}

/// Builds it; nothing is left of an index that cannot be built.
pub fn run(args: &BuildArgs) -> ExitCode {
    match checked(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::line(format_args!("lamina build: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn checked(args: &BuildArgs) -> Result<(), BuildError> {
    // Everything that can be known before the work begins.
    let formats = args.files.iter().map(|file| format_of(file)).collect::<Result<Vec<_>, _>>()?;
    let settings = args.settings.as_deref().map(settings_of).transpose()?;
    args.files.iter().try_for_each(|file| File::open(file).map(drop).map_err(io(file)))?;
    if args.output.exists() {
        return Err(BuildError::Exists(args.output.clone()));
    }
    let built = build(args, &formats, settings);
    if built.is_err() {
        // The first error is what counts.
        let _ = fs::remove_dir_all(&args.output);
    }
    built
}

fn build(
    args: &BuildArgs,
    formats: &[(PayloadFormat, Packing)],
    settings: Option<Operation>,
) -> Result<(), BuildError> {
    let start = Instant::now();
    let index = Index::create(&args.output, options(args))?;
    let mut operations: Vec<Operation> = settings.into_iter().collect();
    let settings_count = operations.len();
    let mut lines = Vec::with_capacity(args.files.len());
    for (number, (file, (format, packing))) in args.files.iter().zip(formats).enumerate() {
        let path = args.output.join(format!("documents-{number}.tmp"));
        normalize(file, *format, *packing, &path)?;
        let payload = Payload::File(path.clone());
        let primary_key = args.primary_key.clone();
        operations.push(Operation::Upsert(Upsert {
            payload,
            method: WriteMethod::Replace,
            primary_key,
            skip_creation: false,
        }));
        lines.push(path);
    }
    let note = CommitNote::new(0, |_| Vec::new());
    let results = index.apply(&operations, note, &Progress::default(), &AtomicBool::new(false))?;
    let named = args.settings.iter().take(settings_count).chain(&args.files);
    for (file, result) in named.zip(results) {
        if let Err(error) = result {
            return Err(BuildError::Refused { path: file.clone(), text: error.to_string() });
        }
    }
    lines.iter().try_for_each(|path| fs::remove_file(path).map_err(io(path)))?;
    index.wait_for_merges();
    let snapshot = index.snapshot();
    let (documents, bytes) = (snapshot.document_count(), human_disk_size(snapshot.disk_bytes()));
    let seconds = start.elapsed().as_secs_f64();
    console::line(format_args!("{documents} documents, {bytes} in {:?}, after {seconds:.1} s", args.output));
    Ok(())
}

fn options(args: &BuildArgs) -> IndexOptions {
    let default = IndexOptions::default();
    let memory = args.memory.map_or_else(|| usable_memory_bytes() / 3 * 2, ByteSize::bytes);
    IndexOptions {
        indexing_memory_bytes: usize::try_from(memory).unwrap_or(usize::MAX).max(MEMORY_BYTES_MIN),
        indexing_threads: args.threads.map_or(default.indexing_threads, NonZeroUsize::get),
        ..default
    }
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

fn format_of(file: &Path) -> Result<(PayloadFormat, Packing), BuildError> {
    let extension = |path: &Path| path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let packing = match extension(file).as_str() {
        "gz" => Packing::Gzip,
        "zst" => Packing::Zstd,
        _ => Packing::None,
    };
    let inner = if packing == Packing::None { file.to_owned() } else { file.with_extension("") };
    let format = match extension(&inner).as_str() {
        "ndjson" | "jsonl" => PayloadFormat::NdJson,
        "json" => PayloadFormat::Json,
        "csv" => PayloadFormat::Csv { delimiter: b',' },
        "tsv" => PayloadFormat::Csv { delimiter: b'\t' },
        _ => return Err(BuildError::UnknownFormat(file.to_owned())),
    };
    Ok((format, packing))
}

/// Writes the documents of a file as lines.
fn normalize(file: &Path, format: PayloadFormat, packing: Packing, path: &Path) -> Result<(), BuildError> {
    let input = BufReader::with_capacity(1 << 20, File::open(file).map_err(io(file))?);
    let input: Box<dyn Read> = match packing {
        Packing::None => Box::new(input),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(input)),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input).map_err(io(file))?),
    };
    let output = File::create(path).map_err(io(path))?;
    match normalize_payload(format, input, output) {
        Ok(_) => Ok(()),
        Err(PayloadError::Io(source)) => Err(BuildError::Io { path: file.to_owned(), source }),
        Err(error) => Err(BuildError::Refused { path: file.to_owned(), text: error.to_string() }),
    }
}

/// The settings in a file, as an operation.
fn settings_of(file: &Path) -> Result<Operation, BuildError> {
    let bytes = fs::read(file).map_err(io(file))?;
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|error| BuildError::Refused { path: file.to_owned(), text: format!("it is not JSON: {error}") })?;
    let makes_vectors = |embedder: &&(&String, &Value)| embedder.1["source"] != "userProvided" && !embedder.1.is_null();
    let embedders = body["embedders"].as_object();
    if let Some((name, _)) = embedders.and_then(|all| all.iter().find(|one| makes_vectors(&one))) {
        return Err(BuildError::Embedder(file.to_owned(), name.clone()));
    }
    let patch =
        settings::read(&body).map_err(|error| BuildError::Refused { path: file.to_owned(), text: error.message })?;
    Ok(Operation::Settings(Box::new(patch)))
}
