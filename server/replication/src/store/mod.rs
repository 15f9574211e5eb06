//! Where a publisher puts its state and replicas find it: objects by key, created once and never changed.
//!
//! The only primitive that safety rests on is [`ObjectStore::create`], which fails if there is such an object.

mod anchor;
mod bucket;
mod fetching;
mod folder;
mod leftovers;
#[cfg(test)]
mod memory;
mod traffic;
mod written;

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use thiserror::Error;

pub(super) use anchor::Anchor;
pub(super) use fetching::{Wanted, settle, staging_path};

use lamina_base::options::{ObjectStorageOptions, StoreAddress};
use lamina_base::outbound::Outbound;
use lamina_data::object_storage::{AnyBucket, StorageError};

pub(super) use leftovers::Leftover;
#[cfg(test)]
pub(super) use memory::MemoryObjects;
pub use traffic::{Call, Traffic};
pub(super) use written::{Checksum, WrittenFile};

/// Operations of a store that a publisher and its standbys need. This is a trait so that tests can simulate a store
/// that responds late, twice, wrongly or not at all. See [`ObjectStore`] for the effect of each operation.
pub(super) trait Objects {
    async fn create(&self, key: &str, content: Content<'_>) -> Result<(), ObjectError>;
    /// Creates an object, or takes the place of the one there is.
    async fn put(&self, key: &str, bytes: &[u8]) -> Result<(), ObjectError>;
    async fn read(&self, key: &str) -> Result<Vec<u8>, ObjectError>;
    async fn list(&self, folder: &str, after: &str) -> Result<Vec<String>, ObjectError>;
    async fn remove(&self, key: &str) -> Result<(), ObjectError>;
    /// Creates nothing any more where this object is not there: then it is not the store of before.
    fn rest_on(&self, _anchor: Anchor) {}
}

/// Waits for what needs a store that blocks. Not for threads of the runtime.
pub(super) fn blocking<T>(steps: impl Future<Output = T>) -> T {
    match std::pin::pin!(steps).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("a store that blocks has its answer when it returns"),
    }
}

impl Objects for ObjectStore {
    async fn create(&self, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
        ObjectStore::create(self, key, content)
    }

    async fn put(&self, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
        ObjectStore::put(self, key, bytes)
    }

    async fn read(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        ObjectStore::read(self, key)
    }

    async fn list(&self, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
        ObjectStore::list(self, folder, after)
    }

    async fn remove(&self, key: &str) -> Result<(), ObjectError> {
        ObjectStore::remove(self, key)
    }

    fn rest_on(&self, anchor: Anchor) {
        self.rests_on(anchor);
    }
}

/// Maximum size of an object that is read as a whole.
const SMALL_BYTES_MAX: usize = 64 << 20;
const TOO_LONG: &str = "it is longer than anything that this program writes there";
/// Prefixes of objects that make others visible to readers, or promise that they stay.
const ROOTS: &str = "root/";
const RECORDS: &str = "journal/";

/// A place for objects. Every call blocks; none is for threads of the runtime.
#[derive(Clone, Debug)]
pub(super) struct ObjectStore {
    place: Place,
    traffic: Arc<Traffic>,
    anchor: Arc<Mutex<Option<Arc<Anchor>>>>,
}

#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    Bucket { bucket: Box<AnyBucket>, prefix: String },
}

/// Advice for a store that is not there any more.
pub(super) const LOST: &str = "Its file system is not mounted, or it was emptied, put back or replaced. This server writes nothing to \
     it. Mount it, or restore it: then all goes on by itself. If it is lost for good, start the server with the newest data with \
     `--publish` and another address";

/// Reason why an operation of the store failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// There is an object of this name.
    #[error("the object `{0}` already exists")]
    Exists(String),
    /// There is none.
    #[error("there is no object `{0}`")]
    Missing(String),
    /// The bytes are not those that were published.
    #[error("`{key}` is damaged: {reason}")]
    Damaged {
        /// Key of the object.
        key: String,
        /// Description of the damage.
        reason: &'static str,
    },
    /// The bytes of a file of this server are not those that were written.
    #[error("the file {path:?} is damaged: {reason}. It was not sent")]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
        reason: &'static str,
        /// Bytes are missing.
        is_cut: bool,
    },
    /// The store is not the one of before, or not all of it.
    #[error("the store {place} is not the one of before, or is older: it has no `{key}`. {}", LOST)]
    Gone {
        /// Address of the store.
        place: String,
        /// Key of the object that reveals it.
        key: String,
    },
    /// A requirement of publishing that this store does not meet.
    #[error("this store cannot be used: {0}")]
    Unfit(&'static str),
    /// Another server publishes.
    #[error("{0}")]
    TakenOver(&'static str),
    /// Publishing did not begin.
    #[error("{0}")]
    Refused(String),
    /// The store refuses or fails.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file on this machine.
    #[error("{path:?}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
}

impl ObjectError {
    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ObjectError + '_ {
        move |source| ObjectError::Io { path: path.to_owned(), source }
    }
}

/// Content of an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    Bytes(&'a [u8]),
    /// A file, which is sent only as it was written.
    File(WrittenFile<'a>),
}

impl Content<'_> {
    /// Returns the length in bytes.
    fn bytes(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File(file) => file.bytes,
        }
    }
}

impl ObjectStore {
    /// The store at `address`, whose calls are counted in `traffic`.
    ///
    /// # Errors
    /// [`ObjectError::Storage`] where the options of the store are not complete.
    pub(super) fn open(
        address: &StoreAddress,
        options: &ObjectStorageOptions,
        outbound: &Outbound,
        traffic: Arc<Traffic>,
    ) -> Result<ObjectStore, ObjectError> {
        let place = match address {
            StoreAddress::Folder(folder) => Place::Folder(folder.clone()),
            StoreAddress::Bucket { kind, name, prefix } => {
                let bucket = Box::new(AnyBucket::open(*kind, name, options, outbound)?);
                Place::Bucket { bucket, prefix: prefix.clone() }
            }
        };
        Ok(ObjectStore { place, traffic, anchor: Arc::default() })
    }

    #[cfg(test)]
    pub(super) fn of_folder(folder: &Path) -> ObjectStore {
        ObjectStore { place: Place::Folder(folder.to_owned()), traffic: Arc::default(), anchor: Arc::default() }
    }

    /// The same, whose calls fail after so long. A folder answers when it does.
    pub(super) fn within(&self, limit: Duration) -> ObjectStore {
        let place = match &self.place {
            Place::Folder(folder) => Place::Folder(folder.clone()),
            Place::Bucket { bucket, prefix } => {
                Place::Bucket { bucket: Box::new(bucket.within(limit)), prefix: prefix.clone() }
            }
        };
        ObjectStore { place, ..self.clone() }
    }

    /// The same, whose calls are not counted: for what nothing rests on, which may be refused for good.
    pub(super) fn uncounted(&self) -> ObjectStore {
        ObjectStore { traffic: Arc::default(), ..self.clone() }
    }

    /// The store in the folder `name` of this one.
    pub(super) fn below(&self, name: &str) -> ObjectStore {
        let place = match &self.place {
            Place::Folder(folder) => Place::Folder(folder.join(name)),
            Place::Bucket { bucket, prefix } => {
                Place::Bucket { bucket: bucket.clone(), prefix: format!("{prefix}{name}/") }
            }
        };
        ObjectStore { place, traffic: Arc::clone(&self.traffic), anchor: Arc::default() }
    }

    /// Returns whether it is a folder that is a link: then it is wherever that leads.
    pub(super) fn is_link(&self) -> bool {
        matches!(&self.place, Place::Folder(folder) if folder.is_symlink())
    }

    fn counted<T>(&self, call: Call, bytes: (u64, u64), result: Result<T, ObjectError>) -> Result<T, ObjectError> {
        self.traffic.note(call, bytes, &result);
        result
    }

    /// Creates an object. Durable when this returns.
    ///
    /// # Errors
    /// [`ObjectError::Exists`], [`ObjectError::DamagedFile`]; after any other error it may exist or not.
    pub(super) fn create(&self, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
        let sent = (content.bytes(), 0);
        match &self.place {
            // Looking costs nothing, and is done once more when the object is there: nothing may be in its place since.
            Place::Folder(root) => {
                self.change(root, |root| self.counted(Call::Create, sent, folder::create(root, key, content)))?;
                self.is_of_before()
            }
            Place::Bucket { bucket, prefix } => {
                let create = || {
                    let created = bucket::create(bucket, &format!("{prefix}{key}"), content);
                    self.counted(Call::Create, sent, created)
                };
                if key.starts_with(RECORDS) {
                    // Beside it: clients wait for records.
                    return std::thread::scope(|scope| {
                        let looking = scope.spawn(|| self.is_of_before());
                        let created = create();
                        looking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(created)
                    });
                }
                // By others nothing is visible.
                if key.starts_with(ROOTS) {
                    self.is_of_before()?;
                }
                create()
            }
        }
    }

    /// Creates a small object, or takes the place of the one there is, as a whole.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn put(&self, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
        let put = match &self.place {
            Place::Folder(root) => self.change(root, |root| folder::put(root, key, bytes)),
            Place::Bucket { bucket, prefix } => bucket::put(bucket, &format!("{prefix}{key}"), bytes),
        };
        self.counted(Call::Put, (bytes.len() as u64, 0), put)
    }

    /// A small object: a root or a manifest.
    ///
    /// # Errors
    /// [`ObjectError::Missing`], or what the store says.
    pub(super) fn read(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        let read = match &self.place {
            Place::Folder(folder) => folder::read(folder, key),
            Place::Bucket { bucket, prefix } => bucket::read(bucket, &format!("{prefix}{key}")),
        };
        let bytes = read.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.counted(Call::Read, (0, bytes), read)
    }

    /// Writes the bytes of an object of this length into `file`. Answers their CRC-32.
    ///
    /// # Errors
    /// [`ObjectError::Missing`], [`ObjectError::Damaged`] for another length, or what the store says.
    pub(super) fn fetch(&self, key: &str, bytes: u64, file: &mut File, path: &Path) -> Result<u32, ObjectError> {
        let mut hasher = crc32fast::Hasher::new();
        for range in fetching::pieces(bytes) {
            let piece = self.read_piece(key, range, bytes)?;
            hasher.update(&piece);
            file.write_all(&piece).map_err(ObjectError::io(path))?;
        }
        Ok(hasher.finalize())
    }

    /// Puts the bytes of this range of an object of `bytes` bytes at the same place of a file. Answers their checksum.
    fn fetch_piece(
        &self,
        key: &str,
        (range, bytes): (Range<u64>, u64),
        (file, path): (&File, &Path),
    ) -> Result<crc32fast::Hasher, ObjectError> {
        if let Place::Folder(folder) = &self.place {
            let length = range.end - range.start;
            let copied = folder::copy_piece(folder, key, (range, bytes), (file, path));
            return self.counted(Call::Read, (0, length), copied);
        }
        let piece = self.read_piece(key, range.clone(), bytes)?;
        file.write_all_at(&piece, range.start).map_err(ObjectError::io(path))?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&piece);
        Ok(hasher)
    }

    /// The bytes of this range of an object of `bytes` bytes.
    fn read_piece(&self, key: &str, range: Range<u64>, bytes: u64) -> Result<Bytes, ObjectError> {
        let length = range.end - range.start;
        let read = match &self.place {
            Place::Folder(folder) => folder::read_piece(folder, key, range, bytes),
            Place::Bucket { bucket, prefix } => bucket::read_piece(bucket, &format!("{prefix}{key}"), range),
        };
        self.counted(Call::Read, (0, length), read)
    }

    /// Keys that begin with `folder` and come after `after` in byte order, ascending: all of them, or the first. Empty: there are
    /// no more.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn list(&self, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
        let listed = match &self.place {
            Place::Folder(root) => folder::list(root, folder, after),
            Place::Bucket { bucket, prefix } => {
                let own = |key: String| key.strip_prefix(prefix.as_str()).map(str::to_owned);
                let keys = bucket::list(bucket, &format!("{prefix}{folder}"), &format!("{prefix}{after}"));
                keys.map(|keys| keys.into_iter().filter_map(own).collect())
            }
        };
        self.counted(Call::List, (0, 0), listed)
    }

    /// Removes an object. None there: nothing.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn remove(&self, key: &str) -> Result<(), ObjectError> {
        let removed = match &self.place {
            Place::Folder(root) => self.change(root, |root| folder::remove(root, key)),
            Place::Bucket { bucket, prefix } => bucket::remove(bucket, &format!("{prefix}{key}")),
        };
        self.counted(Call::Remove, (0, 0), removed)
    }

    /// Checks that an object cannot be created twice, which all else rests on, that it is found where it was put, and that lists
    /// have their order.
    ///
    /// # Errors
    /// [`ObjectError::Unfit`], or what the store says.
    pub(super) fn probe(&self) -> Result<(), ObjectError> {
        if let Place::Folder(root) = &self.place {
            self.change(root, folder::prepare)?;
        }
        let folder = format!("probe/{}/", uuid::Uuid::new_v4());
        let (one, other) = (format!("{folder}1"), format!("{folder}2"));
        let found = self.try_out(&folder, &one, &other);
        let removed = [&one, &other].map(|key| self.remove(key));
        if let Place::Folder(root) = &self.place {
            // Empty, if both are removed.
            let _ = std::fs::remove_dir(root.join(&folder));
        }
        found?;
        removed.into_iter().collect()
    }

    fn try_out(&self, folder: &str, one: &str, other: &str) -> Result<(), ObjectError> {
        self.create(other, Content::Bytes(b"two"))?;
        self.create(one, Content::Bytes(b"one"))?;
        let again = self.create(one, Content::Bytes(b"again"));
        if !matches!(again, Err(ObjectError::Exists(_))) {
            return Err(ObjectError::Unfit(
                "it lets an object be created twice (it ignores the condition: `If-None-Match: *`, or the generation 0)",
            ));
        }
        if self.read(one)? != b"one" {
            return Err(ObjectError::Unfit("an object that was created is not found"));
        }
        if self.list(folder, folder)? != [one, other] || self.list(folder, one)? != [other] {
            return Err(ObjectError::Unfit("its lists are not in the order of bytes, or do not begin behind a key"));
        }
        self.put(other, b"three")?;
        if self.read(other)? != b"three" {
            return Err(ObjectError::Unfit("an object that was replaced has its old content"));
        }
        Ok(())
    }
}
