//! Filling an empty database folder from a dump.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Lines, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lamina_base::aliases::{Alias, Aliases};
use lamina_base::engine_errors::payload_error;
use lamina_base::stored_names::{FolderName, PayloadName};
use lamina_data::access::{ApiKey, import_keys};
use lamina_data::chats;
use lamina_data::experiments;
use lamina_data::features;
use lamina_data::instance::{Instance, InstanceError, set_instance_uid};
use lamina_data::network::{self, Topology};
use lamina_data::rules::import_rules;
use lamina_data::tasks::{Content, NewTask, PayloadPlace, Store, StoreError, TransferredBatch, TransferredTask};
use lamina_data::webhooks::{WebhookFile, import_webhooks};
use lamina_engine::document::{DocumentBytesMax, PayloadError, PayloadFormat, normalize_payload};
use lamina_engine::index::settings::SettingsPatch;
use lamina_engine::index::{Index, IndexOptions, Operation, Payload, Upsert, WriteMethod, document_bytes_max};
use lamina_protocol::wire::{identifier, settings};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;
use uuid::Uuid;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::embedders::{EMBEDDERS_TIME, Refusal, WaitingTime, apply, apply_settings, of_waiting};
use super::layout::{
    ALIASES, AliasLine, BATCHES, BatchLine, CHATS, DOCUMENTS, EVENTS, EVENTS_KEY, EXPERIMENTS, FEATURES,
    INDEX_METADATA, INDEXES, INSTANCE_UID, IndexMetadata, KEYS, METADATA, Metadata, NETWORK, OTHER_CHATS, OWN,
    OWN_BATCHES, OWN_TASKS, PAYLOADS, RULES, SETTINGS, TASKS, TaskLine, VERSION, WEBHOOKS,
};
use super::task_line::DumpedTask;
use super::unpack::{UnpackError, unpack};

/// Unpacked here, inside of the database folder, so that it is on the same disk.
const UNPACKED: &str = "dump-import";

/// Reason why a dump cannot be imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The archive is damaged, or no dump.
    #[error("cannot unpack the dump: {0}")]
    Archive(String),
    /// Another layout.
    #[error("the dump has version {found}, this program reads {VERSION}")]
    OtherVersion {
        /// Version in the dump.
        found: String,
    },
    /// A file or a line of it makes no sense.
    #[error("`{file}` of the dump{}: {reason}", line.map_or_else(String::new, |line| format!(", line {line}")))]
    Content {
        /// Path in the archive.
        file: String,
        /// From 1.
        line: Option<usize>,
        /// Description of the fault.
        reason: String,
    },
    /// The documents or settings of an index are refused.
    #[error("index `{uid}`: {reason}")]
    Index {
        /// The index.
        uid: String,
        /// Description of the fault for the operator.
        reason: String,
    },
    /// The database folder cannot be used.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The task store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file system says no.
    #[error("{path:?}: {source}")]
    Io {
        /// Path that was read or written.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

impl From<UnpackError> for DumpError {
    fn from(error: UnpackError) -> DumpError {
        DumpError::Archive(error.to_string())
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> DumpError + '_ {
    move |source| DumpError::Io { path: path.to_owned(), source }
}

/// Fills the folder `database`, which holds nothing but a marker, from the archive `dump`. Everything is durable when it
/// returns.
pub(in crate::work::backup) fn restore(dump: &Path, database: &Path, options: IndexOptions) -> Result<(), DumpError> {
    let unpacked = database.join(UNPACKED);
    fs::create_dir(&unpacked).map_err(io_error(&unpacked))?;
    unpack(dump, &unpacked)?;
    let dump = Unpacked { root: &unpacked, document_bytes_max: document_bytes_max(options.indexing_memory_bytes) };
    let metadata: Metadata = dump.json(METADATA)?;
    if metadata.dump_version != VERSION {
        return Err(DumpError::OtherVersion { found: metadata.dump_version });
    }
    // Before the folder is opened, which would make a new uid.
    if let Some(text) = dump.text(INSTANCE_UID)? {
        let uid = Uuid::parse_str(text.trim()).map_err(|error| content_error(INSTANCE_UID, None, error))?;
        set_instance_uid(database, uid)?;
    }
    let (instance, store) = Instance::open(database, options, false)?;
    let (indexes, late) = dump.import_indexes(&instance, &store)?;
    store.import(&indexes, dump.batches()?, dump.tasks(&instance)?)?;
    for (uid, patch) in late {
        store
            .enqueue(NewTask::for_index(uid, Content::Settings { patch: Box::new(patch), may_create_index: false }))?;
    }
    let keys: Vec<ApiKey> = dump.lines(KEYS)?.map(|line| line.map(|line| line.value)).collect::<Result<_, _>>()?;
    import_keys(store.connect()?, &keys)?;
    store.import_aliases(&dump.aliases(&indexes)?)?;
    let rules: Vec<Value> =
        dump.lines(&format!("{RULES}/{DOCUMENTS}"))?.map(|line| Ok(line?.value)).collect::<Result<_, DumpError>>()?;
    import_rules(&store, rules.into_iter())?;
    if let Some(text) = dump.text(WEBHOOKS)? {
        let file: WebhookFile = serde_json::from_str(&text).map_err(|error| content_error(WEBHOOKS, None, error))?;
        import_webhooks(store.connect()?, file).map_err(|error| content_error(WEBHOOKS, None, error))?;
    }
    if let Some(text) = dump.text(NETWORK)? {
        // Of other programs it may hold more, which is left out, or `null`.
        let topology: Option<Topology> =
            serde_json::from_str(&text).map_err(|error| content_error(NETWORK, None, error))?;
        network::import(database, &topology.unwrap_or_default()).map_err(io_error(database))?;
    }
    chats::import(database, dump.chats()?).map_err(io_error(database))?;
    if let Some(text) = dump.text(FEATURES)? {
        let value: Value = serde_json::from_str(&text).map_err(|error| content_error(FEATURES, None, error))?;
        features::import(database, &value).map_err(io_error(database))?;
    }
    if let Some(text) = dump.text(EXPERIMENTS)? {
        experiments::import(database, &text).map_err(|error| content_error(EXPERIMENTS, None, error))?;
    }
    dump.import_events(&instance)?;
    sync_payloads(&instance)?;
    drop((store, instance));
    fs::remove_dir_all(&unpacked).map_err(io_error(&unpacked))
}

fn content_error(file: &str, line: Option<usize>, reason: impl std::fmt::Display) -> DumpError {
    DumpError::Content { file: file.to_owned(), line, reason: reason.to_string() }
}

/// The names of the payloads; their content is durable already.
fn sync_payloads(instance: &Instance) -> Result<(), DumpError> {
    let folder = instance.payload_folder();
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(io_error(&folder))
}

/// A line of a file, parsed, with its place.
struct Line<T> {
    number: usize,
    value: T,
}

/// Subject of a line.
#[derive(Deserialize)]
struct Uid {
    uid: u32,
}

/// Indexes by their names.
type Imported = Vec<(String, FolderName)>;

/// Settings of indexes that tasks are to set.
type Late = Vec<(String, SettingsPatch)>;

/// An unpacked dump.
struct Unpacked<'a> {
    root: &'a Path,
    /// Longest document, in bytes.
    document_bytes_max: usize,
}

impl Unpacked<'_> {
    fn text(&self, file: &str) -> Result<Option<String>, DumpError> {
        let path = self.root.join(file);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DumpError::Io { path, source }),
        }
    }

    /// The workspaces of conversations by their uids.
    fn chats(&self) -> Result<Map<String, Value>, DumpError> {
        let mut found = match self.text(OTHER_CHATS)? {
            Some(text) => serde_json::from_str(&text).map_err(|error| content_error(OTHER_CHATS, None, error))?,
            None => Map::new(),
        };
        for entry in fs::read_dir(self.root.join(CHATS)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(uid) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
            found.insert(uid.to_owned(), self.json(&format!("{CHATS}/{uid}.json"))?);
        }
        Ok(found)
    }

    fn json<T: DeserializeOwned>(&self, file: &str) -> Result<T, DumpError> {
        let text = self.text(file)?.ok_or_else(|| content_error(file, None, "the file is missing"))?;
        serde_json::from_str(&text).map_err(|error| content_error(file, None, error))
    }

    /// The lines of a file; none when it is absent.
    fn lines<T: DeserializeOwned>(
        &self,
        file: &str,
    ) -> Result<impl Iterator<Item = Result<Line<T>, DumpError>> + use<T>, DumpError> {
        let file = file.to_owned();
        let path = self.root.join(&file);
        let lines: Option<Lines<BufReader<File>>> = match File::open(&path) {
            Ok(opened) => Some(BufReader::new(opened).lines()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(DumpError::Io { path, source }),
        };
        Ok((1..).zip(lines.into_iter().flatten()).filter_map(move |(number, line)| match line {
            Ok(line) if line.trim().is_empty() => None,
            Ok(line) => Some(
                serde_json::from_str(&line)
                    .map(|value| Line { number, value })
                    .map_err(|error| content_error(&file, Some(number), error)),
            ),
            Err(error) => Some(Err(content_error(&file, Some(number), error))),
        }))
    }

    /// The aliases of these indexes.
    fn aliases(&self, indexes: &[(String, FolderName)]) -> Result<Aliases, DumpError> {
        let mut aliases = Aliases::default();
        for line in self.lines(ALIASES)? {
            let Line { number, value: AliasLine { alias: name, index_uid, updated_at } } = line?;
            let malformed = |reason: String| content_error(ALIASES, Some(number), reason);
            identifier::check_index_uid(&name).map_err(malformed)?;
            let is_index = |name: &str| indexes.iter().any(|(uid, _)| uid == name);
            if is_index(&name) {
                return Err(malformed(format!("`{name}` is an index, and no alias can be called so")));
            }
            if !is_index(&index_uid) {
                return Err(malformed(format!(
                    "the alias `{name}` stands for `{index_uid}`, which is not an index of the dump"
                )));
            }
            aliases.insert(name, Alias { index_uid, updated_at });
        }
        Ok(aliases)
    }

    /// Creates and fills all indexes; their names and folders, and the settings that are left to tasks.
    fn import_indexes(&self, instance: &Instance, store: &Store) -> Result<(Imported, Late), DumpError> {
        let root = self.root.join(INDEXES);
        let entries = match fs::read_dir(&root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            Err(source) => return Err(DumpError::Io { path: root, source }),
        };
        let (mut indexes, mut late) = (Imported::new(), Late::new());
        let patience = WaitingTime::new(EMBEDDERS_TIME);
        for entry in entries {
            let entry = entry.map_err(io_error(&root))?;
            let Some(name) = entry.file_name().to_str().filter(|_| entry.path().is_dir()).map(str::to_owned) else {
                continue;
            };
            let folder = format!("{INDEXES}/{name}");
            if folder == RULES {
                continue;
            }
            let metadata: IndexMetadata = self.json(&format!("{folder}/{INDEX_METADATA}"))?;
            identifier::check_index_uid(&metadata.uid)
                .map_err(|reason| content_error(&format!("{folder}/{INDEX_METADATA}"), None, reason))?;
            if indexes.iter().any(|(uid, _)| *uid == metadata.uid) {
                return Err(content_error(&folder, None, format!("there are two indexes `{}`", metadata.uid)));
            }
            let refuse = |reason: String| DumpError::Index { uid: metadata.uid.clone(), reason };
            let (index_folder, index) =
                instance.create_unnamed(store, &metadata.uid, 0).map_err(|error| refuse(error.message))?;
            let settings = self.fill(&index, &folder, &metadata, &patience)?;
            late.extend(settings.map(|settings| (metadata.uid.clone(), settings)));
            index
                .set_dates(metadata.created_at.into(), metadata.updated_at.into())
                .map_err(|error| refuse(error.to_string()))?;
            tracing::info!(index = metadata.uid, documents = index.snapshot().document_count(), "imported an index");
            indexes.push((metadata.uid, index_folder));
        }
        Ok((indexes, late))
    }

    /// Writes settings and documents; the settings that are left to a task.
    fn fill(
        &self,
        index: &Index,
        folder: &str,
        metadata: &IndexMetadata,
        patience: &WaitingTime,
    ) -> Result<Option<SettingsPatch>, DumpError> {
        let refuse = |reason: Refusal| DumpError::Index { uid: metadata.uid.clone(), reason: reason.to_string() };
        let (mut operations, mut late) = (Vec::new(), None);
        let files = [format!("{OWN}/{folder}/{SETTINGS}"), format!("{folder}/{SETTINGS}")];
        if let Some(file) = files.into_iter().find(|file| self.root.join(file).exists()) {
            let text = self.text(&file)?.unwrap_or_default();
            let value: Value = serde_json::from_str(&text).map_err(|error| content_error(&file, None, error))?;
            let patch = settings::read(&value).map_err(|error| content_error(&file, None, error.message))?;
            late = apply_settings(index, patch, patience).map_err(refuse)?;
        }
        if let Some(primary_key) = &metadata.primary_key {
            operations.push(Operation::SetPrimaryKey(Some(primary_key.clone())));
        }
        let documents = self.root.join(folder).join(DOCUMENTS);
        if documents.exists() {
            let checked = documents.with_extension("checked");
            if self.normalize(&documents, &checked)?.count > 0 {
                operations.push(Operation::Upsert(Upsert {
                    payload: Payload::File(checked.clone()),
                    method: WriteMethod::Replace,
                    primary_key: metadata.primary_key.clone(),
                    skip_creation: false,
                }));
            }
            // Space matters more than the second copy: the checked one is all that is needed.
            fs::remove_file(&documents).map_err(io_error(&documents))?;
        }
        apply(index, &operations, &AtomicBool::new(false)).map_err(refuse)?;
        Ok(late.or_else(|| of_waiting(index)))
    }

    /// Takes over the events, if there are any.
    fn import_events(&self, instance: &Instance) -> Result<(), DumpError> {
        let Some(key) = self.text(EVENTS_KEY)? else { return Ok(()) };
        let documents = self.root.join(EVENTS);
        let checked = documents.with_extension("checked");
        self.normalize(&documents, &checked)?;
        let imported = instance.events().import(key.trim(), checked);
        imported.map_err(|error| content_error(EVENTS, None, error.message))
    }

    /// All tasks, with their documents.
    fn tasks<'s>(
        &'s self,
        instance: &'s Instance,
    ) -> Result<impl Iterator<Item = Result<TransferredTask, DumpError>> + 's, DumpError> {
        let own_uids: HashSet<u32> =
            self.lines::<Uid>(OWN_TASKS)?.map(|line| Ok(line?.value.uid)).collect::<Result<_, DumpError>>()?;
        let common = move |line: Line<Value>| -> Result<Option<TransferredTask>, DumpError> {
            let malformed = |error: serde_json::Error| content_error(TASKS, Some(line.number), error);
            let uid = Uid::deserialize(&line.value).map_err(malformed)?.uid;
            let task = serde_json::from_value::<DumpedTask>(line.value).map_err(malformed)?;
            if own_uids.contains(&uid) {
                return Ok(None);
            }
            let task = task.translate();
            if task.is_none() {
                tracing::warn!(line = line.number, "left out a task of the dump that cannot be carried out here");
            }
            Ok(task)
        };
        let common = self.lines(TASKS)?.map(move |line| common(line?)).filter_map(Result::transpose);
        let own = self.lines::<TaskLine>(OWN_TASKS)?.map(|line| Ok(line?.value.into_task()));
        Ok(common.chain(own).map(|task| self.with_documents(task?, instance)))
    }

    /// All batches that have ended.
    fn batches(&self) -> Result<impl Iterator<Item = Result<TransferredBatch, DumpError>> + use<>, DumpError> {
        let own_uids: HashSet<u32> =
            self.lines::<Uid>(OWN_BATCHES)?.map(|line| Ok(line?.value.uid)).collect::<Result<_, DumpError>>()?;
        let common = self
            .lines(BATCHES)?
            .filter(move |line| !line.as_ref().is_ok_and(|line: &Line<BatchLine>| own_uids.contains(&line.value.uid)));
        Ok(common.chain(self.lines(OWN_BATCHES)?).filter_map(|line| batch(line).transpose()))
    }

    /// A task with its documents, if it still waits.
    fn with_documents(&self, mut task: TransferredTask, instance: &Instance) -> Result<TransferredTask, DumpError> {
        if let Some(Content::Upsert(upsert)) = &mut task.content {
            let source = self.root.join(PAYLOADS).join(format!("{}.jsonl", task.task.uid));
            let name = PayloadName::random();
            let target = instance.payload_folder().join(&name);
            let checksum = if source.exists() {
                self.normalize(&source, &target)?.checksum
            } else {
                File::create(&target).map_err(io_error(&target))?;
                xxh3_64(&[])
            };
            upsert.payload_checksum = checksum;
            upsert.payload_bytes = fs::metadata(&target).map_err(io_error(&target))?.len();
            upsert.payload = PayloadPlace::File(name);
        }
        Ok(task)
    }

    /// Checks documents and writes them as lines, durably.
    fn normalize(&self, source: &Path, target: &Path) -> Result<Normalized, DumpError> {
        let read = File::open(source).map_err(io_error(source))?;
        let file = File::create(target).map_err(io_error(target))?;
        let mut writer = BufWriter::with_capacity(1 << 20, Summing { inner: file, sum: Xxh3::new() });
        let reader = BufReader::with_capacity(1 << 20, read);
        let count = normalize_payload(
            PayloadFormat::NdJson,
            reader,
            &mut writer,
            &mut DocumentBytesMax(self.document_bytes_max),
        )
        .map_err(|error| {
            let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match error {
                PayloadError::DocumentTooLarge { .. } => {
                    content_error(&name, None, payload_error("ndjson", error).message)
                }
                error => content_error(&name, None, error),
            }
        })?;
        writer.flush().and_then(|()| writer.get_ref().inner.sync_all()).map_err(io_error(target))?;
        Ok(Normalized { count, checksum: writer.get_ref().sum.digest() })
    }
}

/// Documents as lines.
struct Normalized {
    count: u64,
    /// XXH3-64.
    checksum: u64,
}

/// Passes bytes on and sums them up.
struct Summing<W> {
    inner: W,
    sum: Xxh3,
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A batch that was under way has tasks that wait again.
fn batch(line: Result<Line<BatchLine>, DumpError>) -> Result<Option<TransferredBatch>, DumpError> {
    let batch = line?.value;
    Ok(batch.finished_at.map(|finished_at| TransferredBatch {
        uid: batch.uid,
        started_at: batch.started_at,
        finished_at,
        details: batch.details,
        stats: batch.stats,
        strategy: batch.batch_strategy,
    }))
}
