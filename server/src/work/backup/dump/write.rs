//! Writing a dump.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use lamina_base::aliases::Alias;
use lamina_base::options::EventsInBackups;
use lamina_base::timestamp::stamp;
use lamina_data::access::{ApiKey, export_keys};
use lamina_data::chats;
use lamina_data::experiments;
use lamina_data::instance::Instance;
use lamina_data::network::Network;
use lamina_data::rules::settings_of_rules;
use lamina_data::tasks::{LiveBatch, Store};
use lamina_data::webhooks::export_webhooks;
use lamina_engine::index::embedding::cut;
use lamina_engine::index::{DocumentAddress, IndexError, Snapshot};
use lamina_protocol::wire::rules::RULES_UID;
use lamina_protocol::wire::settings::{keep_portable, written};
use serde_json::{Map, Value};
use time::OffsetDateTime;

use super::archive::{Archive, give_up_if_canceled};
use super::layout::{
    ALIASES, AliasLine, CHATS, DOCUMENTS, EVENTS, EVENTS_KEY, EXPERIMENTS, FEATURES, FOLDERS, GENERATOR,
    INDEX_METADATA, INDEXES, INSTANCE_UID, IndexMetadata, KEYS, LAYOUT, METADATA, Metadata, NETWORK, OTHER_CHATS, OWN,
    RULES, SETTINGS, VERSION, WEBHOOKS,
};
use super::queue::add_queue;
use crate::work::backup::{BackupError, BackupPlaces};

/// Longest name of a file or folder.
const NAME_BYTES_MAX: usize = 255;

/// A finished dump.
#[derive(Debug)]
pub(crate) struct CreatedDump {
    /// Name of the dump, without the ending.
    pub(crate) uid: String,
    /// By index the number of documents that are left out, because they are in damaged segments.
    pub(crate) skipped: Map<String, Value>,
}

/// Writes everything but `task`, the one that asks for it, to `<dumps>/<uid>.dump`. An index with a damaged segment fails
/// the dump, unless it is to `skip_damaged`.
///
/// # Errors
/// No file of that name exists then.
pub(crate) fn create(
    instance: &Instance,
    store: &Store,
    places: &BackupPlaces,
    task: u32,
    skip_damaged: bool,
    live: &LiveBatch,
) -> Result<CreatedDump, BackupError> {
    let nanos = i128::from(live.started_at.nanos());
    let time = OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    live.steps.enter("writing keys and switches", 0, 4);
    let dump_uid = stamp(time);
    let folder = &places.dumps;
    fs::create_dir_all(folder).map_err(BackupError::io(folder))?;
    // Named by the database: another one that shares the folder is left alone, an interrupted dump is written over.
    let temporary = folder.join(format!(".{}.unfinished-dump", instance.uid()));
    let seconds = u64::try_from(time.unix_timestamp()).unwrap_or(0);
    let mut archive = Archive::create(temporary, seconds)?;
    let metadata = Metadata {
        dump_version: VERSION.to_owned(),
        db_version: env!("CARGO_PKG_VERSION").to_owned(),
        dump_date: live.started_at,
        generator: Some(GENERATOR.to_owned()),
        layout: Some(LAYOUT),
    };
    archive.add_text(METADATA, &json_text(&metadata))?;
    FOLDERS.iter().try_for_each(|folder| archive.add_folder(folder))?;
    archive.add_text(INSTANCE_UID, &instance.uid().to_string())?;
    let keys = export_keys(store.connect()?)?;
    add_names(&mut archive, store, &keys)?;
    add_features(&mut archive, instance.folder())?;
    let network = Network::open(instance.folder()).topology();
    archive.add_text(NETWORK, &network.whole().to_string())?;
    add_chats(&mut archive, instance.folder())?;
    live.steps.enter("writing indexes", 1, 4);
    let uids = instance.uids();
    live.steps.enter_inner(1, "index", uids.len() as u64);
    let mut skipped = Map::new();
    for (number, uid) in uids.iter().enumerate() {
        let snapshot = if skip_damaged { instance.state(uid) } else { instance.snapshot(uid) };
        let snapshot = snapshot.map_err(BackupError::Api)?;
        if snapshot.is_degraded() {
            let lost = snapshot.document_count() - snapshot.readable_count();
            tracing::warn!(index = uid, documents = lost, "a dump leaves out the documents of damaged segments");
            skipped.insert(uid.clone(), lost.into());
        }
        add_index(&mut archive, &index_folder(uid, number), uid, &snapshot, live)?;
        live.steps.leave_inner(2);
    }
    add_rules(&mut archive, instance, live)?;
    if places.events == EventsInBackups::All {
        add_events(&mut archive, instance, live)?;
    }
    live.steps.enter("writing tasks", 2, 4);
    add_queue(&mut archive, instance, store, task, &serde_json::to_value(&keys).expect("keys are plain JSON"), live)?;
    live.steps.enter("making the archive durable", 3, 4);
    archive.finish(&folder.join(format!("{dump_uid}.dump")))?;
    Ok(CreatedDump { uid: dump_uid, skipped })
}

/// Keys, aliases and webhooks.
fn add_names(archive: &mut Archive, store: &Store, keys: &[ApiKey]) -> Result<(), BackupError> {
    let mut lines = archive.lines()?;
    keys.iter().try_for_each(|key| lines.push(key))?;
    archive.add_lines(KEYS, lines)?;
    let mut aliases = archive.lines()?;
    for (name, Alias { index_uid, updated_at }) in store.aliases()?.iter() {
        let (alias, index_uid) = (name.clone(), index_uid.clone());
        aliases.push(&AliasLine { alias, index_uid, updated_at: *updated_at })?;
    }
    archive.add_lines(ALIASES, aliases)?;
    let webhooks = export_webhooks(store.connect()?).map_err(BackupError::Api)?;
    archive.add_text(WEBHOOKS, &json_text(&webhooks))
}

fn json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("metadata is plain JSON")
}

/// Chat workspaces, a file each.
fn add_chats(archive: &mut Archive, database: &Path) -> Result<(), BackupError> {
    let Value::Object(workspaces) = chats::export(database) else { return Ok(()) };
    let mut others = Map::new();
    for (uid, workspace) in workspaces {
        let file = format!("{uid}.json");
        if file.len() <= NAME_BYTES_MAX {
            archive.add_text(&format!("{CHATS}/{file}"), &workspace.to_string())?;
        } else {
            others.insert(uid, workspace);
        }
    }
    if others.is_empty() { Ok(()) } else { archive.add_text(OTHER_CHATS, &Value::Object(others).to_string()) }
}

fn add_features(archive: &mut Archive, folder: &Path) -> Result<(), BackupError> {
    let path = folder.join(FEATURES);
    match fs::read_to_string(&path) {
        Ok(text) => archive.add_text(FEATURES, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => archive.add_text(FEATURES, "{}"),
        Err(source) => Err(BackupError::Io { path, source }),
    }
}

/// Returns the folder of an index: its uid, unless that is too long for file systems. No uid contains `~`.
fn index_folder(uid: &str, number: usize) -> String {
    if uid.len() <= NAME_BYTES_MAX {
        return format!("{INDEXES}/{uid}");
    }
    format!("{INDEXES}/{}~{number}", cut(uid, NAME_BYTES_MAX - 20))
}

/// Rules, as the documents of an index, if there are any.
fn add_rules(archive: &mut Archive, instance: &Instance, live: &LiveBatch) -> Result<(), BackupError> {
    let rules = instance.rules().all();
    let Some(newest) = rules.iter().map(|rule| rule.last_updated_at).max() else { return Ok(()) };
    let metadata = IndexMetadata {
        uid: RULES_UID.to_owned(),
        primary_key: Some("uid".to_owned()),
        created_at: live.started_at,
        updated_at: newest,
    };
    archive.add_text(&format!("{RULES}/{INDEX_METADATA}"), &json_text(&metadata))?;
    archive.add_text(&format!("{RULES}/{SETTINGS}"), &settings_of_rules().to_string())?;
    let mut lines = archive.lines()?;
    rules.iter().try_for_each(|rule| lines.push(&**rule))?;
    archive.add_lines(&format!("{RULES}/{DOCUMENTS}"), lines)
}

/// Events, recorded searches and experiments, if there are any.
fn add_events(archive: &mut Archive, instance: &Instance, live: &LiveBatch) -> Result<(), BackupError> {
    let folder = instance.folder();
    let experiments = experiments::export(folder)
        .map_err(|source| BackupError::Io { path: folder.join(experiments::FILE), source })?;
    if let Some(text) = experiments {
        archive.add_text(EXPERIMENTS, &text)?;
    }
    let Some((key, snapshot)) = instance.events().export().map_err(BackupError::Api)? else { return Ok(()) };
    archive.add_text(EVENTS_KEY, &key)?;
    add_documents(archive, EVENTS, "events", &snapshot, live)?;
    live.steps.leave_inner(2);
    Ok(())
}

fn add_index(
    archive: &mut Archive,
    folder: &str,
    uid: &str,
    snapshot: &Arc<Snapshot>,
    live: &LiveBatch,
) -> Result<(), BackupError> {
    let metadata = IndexMetadata {
        uid: uid.to_owned(),
        primary_key: snapshot.primary_key.as_deref().map(str::to_owned),
        created_at: snapshot.created_at().into(),
        updated_at: snapshot.updated_at().into(),
    };
    archive.add_text(&format!("{folder}/{INDEX_METADATA}"), &json_text(&metadata))?;
    // Secrets in clear: without them the copy would not work.
    let settings = written(&snapshot.settings);
    let mut portable = settings.clone();
    if let Value::Object(portable) = &mut portable {
        keep_portable(portable);
    }
    archive.add_text(&format!("{folder}/{SETTINGS}"), &portable.to_string())?;
    if portable != settings {
        archive.add_text(&format!("{OWN}/{folder}/{SETTINGS}"), &settings.to_string())?;
    }
    add_documents(archive, &format!("{folder}/{DOCUMENTS}"), uid, snapshot, live)
}

/// The documents of an index, a line each.
fn add_documents(
    archive: &mut Archive,
    file: &str,
    uid: &str,
    snapshot: &Arc<Snapshot>,
    live: &LiveBatch,
) -> Result<(), BackupError> {
    // Read twice: first for their length.
    live.steps.enter_inner(2, format!("documents of `{uid}`"), 2 * snapshot.readable_count());
    let bytes = document_bytes(uid, snapshot, live)?;
    let documents = Documents {
        snapshot: Arc::clone(snapshot),
        addresses: snapshot.documents(0, u64::MAX).into_iter(),
        line: Vec::new(),
        place: 0,
        live,
    };
    let added = archive.add(file, bytes, documents);
    give_up_if_canceled(live)?;
    added.map_err(|error| of_index(uid, error))
}

/// Assigns an archive error about an unreadable document to its index, not to the archive.
fn of_index(uid: &str, error: BackupError) -> BackupError {
    let BackupError::Io { path, source } = error else { return error };
    match source.downcast::<IndexError>() {
        Ok(source) => BackupError::Index { uid: uid.to_owned(), source: Box::new(source) },
        Err(source) => BackupError::Io { path, source },
    }
}

/// The length of all lines, for the archive wants it first. In the order of the store, where each block is read once.
fn document_bytes(uid: &str, snapshot: &Snapshot, live: &LiveBatch) -> Result<u64, BackupError> {
    let mut bytes = 0;
    for (place, segment) in (0..).zip(&snapshot.segments) {
        for doc in (0..segment.reader.doc_count()).filter(|doc| segment.is_live(*doc)) {
            give_up_if_canceled(live)?;
            let line = document_line(snapshot, DocumentAddress { segment: place, doc });
            bytes += line.map_err(|source| BackupError::Index { uid: uid.to_owned(), source: Box::new(source) })?.len()
                as u64;
            live.steps.advance();
        }
    }
    Ok(bytes)
}

/// A document with its vectors, which live beside it in segments that have any.
fn document_line(snapshot: &Snapshot, address: DocumentAddress) -> Result<Vec<u8>, IndexError> {
    let mut line = snapshot.document_with_vectors(address)?;
    // A document may be as long as what memory there is.
    line.reserve_exact(1);
    line.push(b'\n');
    Ok(line)
}

/// The documents in order of first insertion, a line each.
struct Documents<'a> {
    snapshot: Arc<Snapshot>,
    addresses: std::vec::IntoIter<DocumentAddress>,
    line: Vec<u8>,
    place: usize,
    live: &'a LiveBatch,
}

impl Read for Documents<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.place == self.line.len() {
            let Some(address) = self.addresses.next() else { return Ok(0) };
            if self.live.is_cancelled() {
                return Err(io::Error::other("given up"));
            }
            self.line = Vec::new();
            self.line = document_line(&self.snapshot, address).map_err(io::Error::other)?;
            self.live.steps.advance();
            self.place = 0;
        }
        let count = buffer.len().min(self.line.len() - self.place);
        buffer[..count].copy_from_slice(&self.line[self.place..self.place + count]);
        self.place += count;
        Ok(count)
    }
}
