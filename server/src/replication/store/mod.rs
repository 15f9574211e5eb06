//! Where a publisher puts its state and replicas find it: objects by key, created once and never changed.
//!
//! The only primitive that safety rests on is [`ObjectStore::create`], which fails if there is such an object.

mod bucket;
mod folder;

use std::fs::File;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::object_storage::{Bucket, StorageError};
use crate::options::{ObjectStorageOptions, StoreAddress};
use crate::outbound::Outbound;

/// A place for objects. Every call blocks; none is for threads of the runtime.
#[derive(Debug)]
pub(super) enum ObjectStore {
    Folder(PathBuf),
    Bucket { bucket: Bucket, prefix: String },
}

/// Why the store does not do what it is asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ObjectError {
    /// There is an object of this name.
    #[error("there is an object `{0}` already")]
    Exists(String),
    /// There is none.
    #[error("there is no object `{0}`")]
    Missing(String),
    /// The bytes are not those that were published.
    #[error("`{key}` is damaged: {reason}")]
    Damaged {
        /// Of the object.
        key: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A requirement of publishing that this store does not meet.
    #[error("this store cannot be used: {0}")]
    Unfit(&'static str),
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
        /// What the file system says.
        source: std::io::Error,
    },
}

impl ObjectError {
    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ObjectError + '_ {
        move |source| ObjectError::Io { path: path.to_owned(), source }
    }
}

/// What an object is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    Bytes(&'a [u8]),
    /// A file that does not change.
    File(&'a Path),
}

impl ObjectStore {
    /// The store at `address`.
    ///
    /// # Errors
    /// [`ObjectError::Storage`] where the options of the store are not complete.
    pub(super) fn open(
        address: &StoreAddress,
        options: &ObjectStorageOptions,
        outbound: &Outbound,
    ) -> Result<ObjectStore, ObjectError> {
        Ok(match address {
            StoreAddress::Folder(folder) => ObjectStore::Folder(folder.clone()),
            StoreAddress::Bucket { name, prefix } => {
                let options = ObjectStorageOptions { s3_bucket_name: Some(name.clone()), ..options.clone() };
                let missing = || StorageError::Parameters("`--s3-bucket-url` is missing".to_owned());
                let bucket = Bucket::of(&options, outbound)?.ok_or_else(missing)?;
                ObjectStore::Bucket { bucket, prefix: prefix.clone() }
            }
        })
    }

    /// Creates an object. Durable when this returns.
    ///
    /// # Errors
    /// [`ObjectError::Exists`]; after any other error it may exist or not.
    pub(super) fn create(&self, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
        match self {
            ObjectStore::Folder(folder) => folder::create(folder, key, content),
            ObjectStore::Bucket { bucket, prefix } => bucket::create(bucket, &format!("{prefix}{key}"), content),
        }
    }

    /// A small object: a root or a manifest.
    ///
    /// # Errors
    /// [`ObjectError::Missing`], or what the store says.
    pub(super) fn read(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        match self {
            ObjectStore::Folder(folder) => folder::read(folder, key),
            ObjectStore::Bucket { bucket, prefix } => bucket::read(bucket, &format!("{prefix}{key}")),
        }
    }

    /// Writes the bytes of an object of this length into `file`. Answers their CRC-32.
    ///
    /// # Errors
    /// [`ObjectError::Missing`], [`ObjectError::Damaged`] for another length, or what the store says.
    pub(super) fn fetch(&self, key: &str, bytes: u64, file: &mut File, path: &Path) -> Result<u32, ObjectError> {
        match self {
            ObjectStore::Folder(folder) => folder::fetch(folder, key, bytes, file, path),
            ObjectStore::Bucket { bucket, prefix } => {
                bucket::fetch(bucket, &format!("{prefix}{key}"), bytes, file, path)
            }
        }
    }

    /// Keys that begin with `folder` and come after `after` in byte order, ascending: all of them, or the first. Empty: there are
    /// no more.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn list(&self, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
        match self {
            ObjectStore::Folder(root) => folder::list(root, folder, after),
            ObjectStore::Bucket { bucket, prefix } => {
                let keys = bucket::list(bucket, &format!("{prefix}{folder}"), &format!("{prefix}{after}"))?;
                let own = |key: String| key.strip_prefix(prefix.as_str()).map(str::to_owned);
                Ok(keys.into_iter().filter_map(own).collect())
            }
        }
    }

    /// Removes an object. None there: nothing.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn remove(&self, key: &str) -> Result<(), ObjectError> {
        match self {
            ObjectStore::Folder(folder) => folder::remove(folder, key),
            ObjectStore::Bucket { bucket, prefix } => bucket::remove(bucket, &format!("{prefix}{key}")),
        }
    }

    /// Checks that an object cannot be created twice, which all else rests on, and that it is found where it was put.
    ///
    /// # Errors
    /// [`ObjectError::Unfit`], or what the store says.
    pub(super) fn probe(&self) -> Result<(), ObjectError> {
        let key = format!("probe/{}", uuid::Uuid::new_v4());
        self.create(&key, Content::Bytes(b"one"))?;
        let again = self.create(&key, Content::Bytes(b"two"));
        let (found, listed) = (self.read(&key), self.list("probe/", "probe/"));
        self.remove(&key)?;
        if !matches!(again, Err(ObjectError::Exists(_))) {
            return Err(ObjectError::Unfit("it lets an object be created twice (`If-None-Match: *` is ignored)"));
        }
        if found? != b"one" || !listed?.contains(&key) {
            return Err(ObjectError::Unfit("an object that was created is not found"));
        }
        Ok(())
    }
}
