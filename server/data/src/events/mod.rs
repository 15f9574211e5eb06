//! Store of events that clients send, and the searches that indexes record. They are documents of one index of the
//! server, in a folder beside the others:
//!
//! ```text
//! <db-path>/events/
//!   user-key    random, made once: users are stored as hashes with it
//!   index/      an index of the engine; no route names it
//! ```
//!
//! Documents wait in a buffer with a bound. A thread commits it each second, and when it is half full; the folder is made by the
//! first event. See `docs/decisions/0116-events-in-an-index-of-the-server.md`.

mod belonging;
mod buffer;
mod document;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use aws_lc_rs::hmac;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::bits::DocSet;
use lamina_engine::condition::{OutOfTime, PreparedFilter, TimeLimit};
use lamina_engine::filter::Filter;
use lamina_engine::index::{
    Index, IndexError, IndexOptions, Operation, Outcome, Payload, Selector, Snapshot, Upsert, expired,
};
use lamina_protocol::wire::events::Event;
use parking_lot::{Condvar, Mutex, RwLock};
use uuid::Uuid;

use crate::durably::write_durably;
pub use belonging::of_index;
use belonging::of_no_index;
use buffer::Buffer;
pub use document::{Part, Place, SEARCH_KIND, Search, TEXT_BYTES_MAX, fields, identity, name_key};
use document::{UserHash, vote_id};

/// Name of the folder.
pub const FOLDER: &str = "events";
const KEY_FILE: &str = "user-key";
/// Hexadecimal digits of the secret.
const KEY_DIGITS: usize = 64;
/// Heap of a commit. A batch is a few megabytes.
const MEMORY_BYTES_MAX: usize = 256 << 20;
/// Interval at which events are committed.
pub const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// The store of events. Shared by reference.
#[derive(Debug)]
pub struct Events {
    folder: PathBuf,
    options: IndexOptions,
    opened: RwLock<Option<Arc<Opened>>>,
    buffer: Mutex<Buffer>,
    /// Notified when the buffer is half full, and at the end.
    wake: Condvar,
    /// The batch that could not be committed. Locked for as long as a commit takes.
    batch: Mutex<Option<Arc<[u8]>>>,
    /// True after a commit that failed, until one succeeds: what cannot be written is not taken.
    is_failing: AtomicBool,
    counts: Counts,
}

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counts {
    /// Events that were taken.
    pub events: AtomicU64,
    /// Searches that were recorded.
    pub searches: AtomicU64,
    /// Searches that were not recorded, because the buffer was full.
    pub dropped_searches: AtomicU64,
}

#[derive(Debug)]
struct Opened {
    index: Index,
    users: hmac::Key,
}

impl Events {
    /// Returns the store of the database in `folder`. Nothing is opened yet.
    pub(crate) fn new(folder: &Path, options: &IndexOptions) -> Events {
        Events {
            folder: folder.join(FOLDER),
            // A deleted user leaves no earlier state behind.
            options: IndexOptions {
                keep: Duration::ZERO,
                indexing_memory_bytes: options.indexing_memory_bytes.min(MEMORY_BYTES_MAX),
                // Searches go on beside it.
                indexing_threads: 1,
                ..options.clone()
            },
            is_failing: AtomicBool::new(false),
            opened: RwLock::default(),
            buffer: Mutex::default(),
            wake: Condvar::new(),
            batch: Mutex::default(),
            counts: Counts::default(),
        }
    }

    /// Returns the folder of the index, if there is one.
    pub fn index_folder(&self) -> Option<PathBuf> {
        Some(self.folder.join("index")).filter(|folder| folder.exists())
    }

    /// Counts since the start.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes all of `events`, each with the index that it belongs to. The next commit makes them durable, within
    /// [`COMMIT_INTERVAL`] and the time that it takes.
    ///
    /// # Errors
    /// `too_many_write_requests` where the buffer has no room for them; what is wrong with the files. None is taken then.
    pub fn add<'e>(&self, events: impl ExactSizeIterator<Item = (&'e Event, &'e Place)>) -> ApiResult<()> {
        let opened = self.opened()?;
        let (now, count) = (unix_seconds(), events.len());
        let mut lines = Vec::with_capacity(count * 256);
        for (event, place) in events {
            let user = UserHash::new(&opened.users, &event.user_id);
            let id = vote_id(&opened.users, event, place, user, now);
            document::write_event(&mut lines, &id, event, place, user, now);
        }
        let busy = |message: &str| Err(ApiError::new(Code::TooManyWriteRequests, message));
        if self.is_failing.load(Ordering::Relaxed) {
            return busy("Events cannot be written now, see the log of the server. Send these again later.");
        }
        if !self.put(count, &lines) {
            return busy("Events arrive faster than they can be written. Send these again later.");
        }
        self.counts.events.fetch_add(count as u64, Ordering::Relaxed);
        Ok(())
    }

    fn put(&self, count: usize, lines: &[u8]) -> bool {
        let mut buffer = self.buffer.lock();
        let has_room = buffer.put(count, lines);
        if !has_room || buffer.is_half_full() {
            self.wake.notify_all();
        }
        has_room
    }

    /// Records a search. Where there is no room for it, it is counted as dropped: no search fails because of it.
    pub fn record(&self, place: &Place, search: &Search<'_>) {
        let Ok(opened) = self.opened() else {
            self.counts.dropped_searches.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let user = search.user.map(|user| UserHash::new(&opened.users, user));
        let mut lines = Vec::with_capacity(512);
        let mut buffer = self.buffer.lock();
        let uids = buffer.joined(place.identity(), user, search.text, search.uid, Instant::now());
        document::write_search(&mut lines, &uids, search, place, user, unix_seconds());
        let is_taken = buffer.put(1, &lines);
        drop(buffer);
        let count = if is_taken { &self.counts.searches } else { &self.counts.dropped_searches };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Commits what waits.
    ///
    /// # Errors
    /// What is wrong with the files. The batch is kept for another try.
    pub fn flush(&self) -> ApiResult<()> {
        let mut batch = self.batch.lock();
        if batch.is_none() {
            let lines = self.buffer.lock().take();
            if lines.is_empty() {
                return Ok(());
            }
            *batch = Some(lines.into());
        }
        let Some(lines) = batch.as_ref() else { return Ok(()) };
        let upsert = Operation::Upsert(Upsert::replacing(Payload::Bytes(Arc::clone(lines))));
        let written = self.opened().and_then(|opened| opened.write(upsert));
        self.is_failing.store(written.is_err(), Ordering::Relaxed);
        written?;
        *batch = None;
        Ok(())
    }

    /// Deletes all that is known of a user; how many documents that was.
    ///
    /// # Errors
    /// What is wrong with the files. Some of it may be left then.
    pub fn delete_user(&self, user: &str) -> ApiResult<u64> {
        let Some(opened) = self.existing()? else { return Ok(0) };
        let user = UserHash::new(&opened.users, user);
        self.buffer.lock().forget(user);
        self.flush()?;
        opened.remove(move |snapshot| matching(snapshot, &format!("{} = '{user}'", fields::USER)))
    }

    /// The present state, without documents that have expired; `None` where nothing was ever kept.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn snapshot(&self) -> ApiResult<Option<Arc<Snapshot>>> {
        let snapshot = self.existing()?.map(|opened| opened.index.view(SystemTime::now()));
        if let Some(snapshot) = &snapshot {
            snapshot.check_whole().and_then(|()| snapshot.check_health())?;
        }
        Ok(snapshot)
    }

    /// Puts the store into `target`, the folder of a copy of the database.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn link_to(&self, target: &Path) -> ApiResult<()> {
        let Some(opened) = self.existing()? else { return Ok(()) };
        self.flush()?;
        let target = target.join(FOLDER);
        let index = target.join("index");
        fs::create_dir_all(&index)?;
        write_durably(&target.join(KEY_FILE), &fs::read_to_string(self.folder.join(KEY_FILE))?)?;
        opened.index.snapshot().link_to(opened.index.directory(), &index)?;
        Ok(())
    }

    /// Returns the secret of the users and all documents, after what waits; nothing where nothing was ever kept.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn export(&self) -> ApiResult<Option<(String, Arc<Snapshot>)>> {
        self.flush()?;
        let Some(snapshot) = self.snapshot()? else { return Ok(None) };
        Ok(Some((fs::read_to_string(self.folder.join(KEY_FILE))?, snapshot)))
    }

    /// Takes over what [`Events::export`] gave elsewhere, into a store that is not there yet.
    ///
    /// # Errors
    /// A secret or documents that are none of ours; what is wrong with the files.
    pub fn import(&self, key: &str, documents: PathBuf) -> ApiResult<()> {
        if key.len() != KEY_DIGITS || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ApiError::internal("the secret of the users of events is not one"));
        }
        fs::create_dir_all(&self.folder)?;
        write_durably(&self.folder.join(KEY_FILE), key)?;
        self.opened()?.write(Operation::Upsert(Upsert::replacing(Payload::File(documents)))).map(drop)
    }

    /// The store, if there is one.
    fn existing(&self) -> ApiResult<Option<Arc<Opened>>> {
        if let Some(opened) = &*self.opened.read() {
            return Ok(Some(Arc::clone(opened)));
        }
        self.index_folder().map(|_| self.opened()).transpose()
    }

    /// The store, made if there is none.
    fn opened(&self) -> ApiResult<Arc<Opened>> {
        if let Some(opened) = &*self.opened.read() {
            return Ok(Arc::clone(opened));
        }
        let mut place = self.opened.write();
        if let Some(opened) = &*place {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(
            Opened::open(&self.folder, self.options.clone())
                .map_err(|error| error.prefixed("The events of this server cannot be opened: "))?,
        );
        *place = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Waits until `until`, or until the buffer is half full. Returns whether the server stops.
    pub fn wait(&self, until: Instant) -> bool {
        let mut buffer = self.buffer.lock();
        while !buffer.stops && !buffer.is_half_full() && !self.wake.wait_until(&mut buffer, until).timed_out() {}
        buffer.forget_old(Instant::now());
        buffer.stops
    }

    /// Ends the thread that commits, after what waits.
    pub fn stop(&self) {
        self.buffer.lock().stops = true;
        self.wake.notify_all();
    }
}

impl Opened {
    fn open(folder: &Path, options: IndexOptions) -> ApiResult<Opened> {
        let path = folder.join("index");
        fs::create_dir_all(folder)?;
        let key_file = folder.join(KEY_FILE);
        let key = match fs::read_to_string(&key_file) {
            Ok(key) => key,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
                write_durably(&key_file, &key)?;
                key
            }
            Err(error) => return Err(error.into()),
        };
        let index = match Index::open(&path, options.clone()) {
            Err(IndexError::NotFound) => Index::create(&path, options),
            opened => opened,
        }?;
        let users = hmac::Key::new(hmac::HMAC_SHA256, key.trim().as_bytes());
        let opened = Opened { index, users };
        let settings = fields::settings();
        let present = opened.index.snapshot();
        if present.settings.patched(&settings).is_ok_and(|wanted| wanted != *present.settings) {
            opened.write(Operation::Settings(Box::new(settings)))?;
        }
        Ok(opened)
    }

    fn write(&self, operation: Operation) -> ApiResult<Outcome> {
        let mut outcomes = self.index.write(&[operation])?;
        let outcome = outcomes.pop().ok_or_else(|| ApiError::internal("an operation has an outcome"))?;
        outcome.map_err(|error| ApiError::internal(error.to_string()))
    }

    /// Deletes the documents that `select` finds; how many they were.
    fn remove(&self, select: impl Fn(&Snapshot) -> Selection + Send + Sync + 'static) -> ApiResult<u64> {
        match self.write(Operation::DeleteMatching(Selector::new(move |snapshot, _| select(snapshot))))? {
            Outcome::Deleted { deleted } => Ok(deleted),
            _ => Ok(0),
        }
    }
}

/// Documents by segment.
type Selection = Result<Vec<DocSet>, Box<dyn std::error::Error + Send + Sync>>;

/// The documents of a state of the store that pass a filter, by segment.
///
/// # Errors
/// A filter that is none.
pub fn matching(snapshot: &Snapshot, filter: &str) -> Selection {
    let filter = Filter::parse(filter)?.ok_or("the filter is empty")?;
    let filter = PreparedFilter::new(&filter, &snapshot.settings, &snapshot.fields)?;
    let sets = snapshot.segments.iter().map(|segment| filter.evaluate(segment, TimeLimit::NONE));
    Ok(sets.collect::<Result<_, OutOfTime>>()?)
}

/// Seconds since 1970 on the clock of this server.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Events {
    /// Deletes what belongs to no index any more. `names` are the keys of all names that there are now, and `identities` says which
    /// indexes there are, or nothing where that cannot be known.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn sweep(
        &self,
        names: &HashSet<String>,
        identities: impl FnOnce() -> Option<HashSet<String>>,
    ) -> ApiResult<()> {
        let Some(opened) = self.existing()? else { return Ok(()) };
        let Some(filter) = of_no_index(&opened.index.snapshot(), names, identities) else { return Ok(()) };
        let deleted = opened.remove(move |snapshot| matching(snapshot, &filter))?;
        if deleted > 0 {
            tracing::info!(deleted, "deleted the events of indexes that are gone");
        }
        Ok(())
    }

    /// Removes documents that have expired. Readers do not see them before either.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn remove_expired(&self) -> ApiResult<()> {
        let Some(opened) = self.existing()? else { return Ok(()) };
        let now = SystemTime::now();
        if opened.index.expired_count(now) > 0 {
            opened.remove(move |snapshot| Ok(expired(snapshot, now)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
