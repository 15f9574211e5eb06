//! `lamina build`: makes an index of files without a server, in a folder or a store from which `POST /indexes/{indexUid}/attach`
//! takes it.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use lamina_base::console;
use lamina_base::options::{
    BuiltPlace, ByteSize, ObjectStorageOptions, StoreAddress, human_disk_size, usable_memory_bytes,
};
use lamina_base::outbound::{IpPolicy, Outbound, OutboundError};
use lamina_base::plural::counted;
use lamina_base::text_file::without_mark;
use lamina_engine::document::{DocumentBytesMax, PayloadError, PayloadFormat, PayloadMemory, normalize_payload};
use lamina_engine::index::{
    CommitNote, Index, IndexError, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod, document_bytes_max,
};
use lamina_protocol::wire::identifier::check_index_uid;
use lamina_protocol::wire::settings;
use lamina_replication::{BuiltStore, ObjectError};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::runtime::Runtime;
use uuid::Uuid;

/// For documents in work; less makes many small segments.
const MEMORY_BYTES_MIN: usize = 32 << 20;

/// Input and output of a build.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Files with documents, in order.
    ///
    /// Their names end in `.ndjson`, `.jsonl`, `.json`, `.csv` or `.tsv`, also compressed (`.gz`, `.zst`).
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder of the new index, or a store as in `--publish`.
    ///
    /// The folder must not exist. A server attaches indexes from its `--attach-dir`. Nothing may be published under the prefix of a
    /// store; the index is built in the current folder first.
    #[arg(short, long, value_name = "FOLDER")]
    output: BuiltPlace,
    /// Name of the index for servers that follow the store. By default the last part of its address.
    #[arg(long, value_name = "UID")]
    index_uid: Option<String>,
    /// File with the settings of the index, as JSON.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The field that identifies a document; inferred when absent.
    #[arg(long, value_name = "FIELD")]
    primary_key: Option<String>,
    /// Maximum memory. By default two thirds of what the process may use.
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Number of threads. By default one for each core.
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// Print results and errors as JSON, for programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    bucket: ObjectStorageOptions,
}

/// The store that a built index is for, under which name, and what its requests need.
struct Publishing {
    store: BuiltStore,
    uid: String,
    _runtime: Runtime,
}

#[derive(Debug, Error)]
enum BuildError {
    #[error("{path:?}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{0:?} already exists: remove it, or choose another place")]
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
    #[error("`{0}` is not the uid of an index: name one with `--index-uid`")]
    Uid(String),
    #[error("`--index-uid` is for stores: an index in a folder gets its name when it is attached")]
    UidOfFolder,
    #[error("{place}: {source}")]
    Store { place: String, source: ObjectError },
    #[error("{place}: {source}")]
    Outbound { place: String, source: OutboundError },
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("cannot print the results: {0}")]
    Print(std::io::Error),
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> BuildError + '_ {
    move |source| BuildError::Io { path: path.to_owned(), source }
}

/// Builds it; nothing is left of an index that cannot be built.
pub fn run(args: &BuildArgs) -> ExitCode {
    match checked(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed("build", args.json, &error, None);
            ExitCode::FAILURE
        }
    }
}

fn checked(args: &BuildArgs) -> Result<(), BuildError> {
    // Everything that can be known before the work begins.
    let formats = args.files.iter().map(|file| format_of(file)).collect::<Result<Vec<_>, _>>()?;
    let settings = args.settings.as_deref().map(settings_of).transpose()?;
    args.files.iter().try_for_each(|file| File::open(file).map(drop).map_err(io(file)))?;
    let (folder, publishing) = match &args.output {
        BuiltPlace::Folder(_) if args.index_uid.is_some() => return Err(BuildError::UidOfFolder),
        BuiltPlace::Folder(folder) => (folder.clone(), None),
        BuiltPlace::Store(address, text) => {
            let name = format!("lamina-build-{}", Uuid::new_v4().simple());
            (PathBuf::from(name), Some(publishing(args, address, text)?))
        }
    };
    if folder.exists() {
        return Err(BuildError::Exists(folder));
    }
    let built = build(args, &formats, settings, &folder, publishing.as_ref());
    if built.is_err() || publishing.is_some() {
        // The first error is what counts.
        let _ = fs::remove_dir_all(&folder);
    }
    built
}

/// The store, if it can be used.
fn publishing(args: &BuildArgs, address: &StoreAddress, text: &str) -> Result<Publishing, BuildError> {
    let last = || text.rsplit('/').next().unwrap_or_default().to_owned();
    let uid = args.index_uid.clone().unwrap_or_else(last);
    check_index_uid(&uid).map_err(|_| BuildError::Uid(uid.clone()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(io(Path::new(text)))?;
    let guard = runtime.enter();
    // The address is the operator's own.
    let outbound =
        Outbound::new(IpPolicy::Any).map_err(|source| BuildError::Outbound { place: text.to_owned(), source })?;
    let store = BuiltStore::open(address, &args.bucket, &outbound);
    let store = store.and_then(|store| store.check_unused().map(|()| store)).map_err(of_store(text))?;
    drop(guard);
    Ok(Publishing { store, uid, _runtime: runtime })
}

fn of_store(place: &str) -> impl FnOnce(ObjectError) -> BuildError + '_ {
    move |source| BuildError::Store { place: place.to_owned(), source }
}

fn build(
    args: &BuildArgs,
    formats: &[(PayloadFormat, Packing)],
    settings: Option<Operation>,
    folder: &Path,
    publishing: Option<&Publishing>,
) -> Result<(), BuildError> {
    let start = Instant::now();
    let options = options(args);
    let memory_bytes = options.indexing_memory_bytes;
    let index = Index::create(folder, options)?;
    let mut operations: Vec<Operation> = settings.into_iter().collect();
    let settings_count = operations.len();
    let mut lines = Vec::with_capacity(args.files.len());
    for (number, (file, (format, packing))) in args.files.iter().zip(formats).enumerate() {
        let path = folder.join(format!("documents-{number}.tmp"));
        normalize(file, *format, *packing, &path, &mut DocumentBytesMax(document_bytes_max(memory_bytes)))?;
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
    let (documents, bytes) = (snapshot.document_count(), snapshot.disk_bytes());
    let place = match &args.output {
        BuiltPlace::Folder(folder) => format!("{folder:?}"),
        BuiltPlace::Store(_, text) => text.clone(),
    };
    if let Some(Publishing { store, uid, .. }) = publishing {
        store.publish(uid, &snapshot, folder).map_err(of_store(&place))?;
    }
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let uid = publishing.map(|publishing| &publishing.uid);
        let built = json!({"output": output_of(args), "indexUid": uid, "documents": documents, "bytes": bytes, "seconds": seconds});
        return console::print(&format!("{built:#}\n")).map_err(BuildError::Print);
    }
    let size = human_disk_size(bytes);
    let documents = counted(documents, "document");
    console::line(format_args!("{documents}, {size} in {place}, after {seconds:.1} s"));
    Ok(())
}

/// Returns the output as the user gave it.
fn output_of(args: &BuildArgs) -> String {
    match &args.output {
        BuiltPlace::Folder(folder) => folder.display().to_string(),
        BuiltPlace::Store(_, text) => text.clone(),
    }
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

/// Compression of a file.
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
fn normalize(
    file: &Path,
    format: PayloadFormat,
    packing: Packing,
    path: &Path,
    memory: &mut dyn PayloadMemory,
) -> Result<(), BuildError> {
    let input = BufReader::with_capacity(1 << 20, File::open(file).map_err(io(file))?);
    let input: Box<dyn Read> = match packing {
        Packing::None => Box::new(input),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(input)),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input).map_err(io(file))?),
    };
    let output = File::create(path).map_err(io(path))?;
    match normalize_payload(format, input, output, memory) {
        Ok(_) => Ok(()),
        Err(PayloadError::Io(source)) => Err(BuildError::Io { path: file.to_owned(), source }),
        Err(error) => Err(BuildError::Refused { path: file.to_owned(), text: error.to_string() }),
    }
}

/// The settings in a file, as an operation.
fn settings_of(file: &Path) -> Result<Operation, BuildError> {
    let bytes = fs::read(file).map_err(io(file))?;
    let body: Value = serde_json::from_slice(without_mark(&bytes))
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
