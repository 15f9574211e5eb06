//! A bucket of an S3-compatible store or a container of Azure Blob Storage, through the library `object_store`.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, GetResult, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
};

use super::StorageError;
use super::guarded::BytesMax;

/// Keys that one listing answers with at most.
const LISTED_MAX: usize = 1000;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Library {
    pub(super) store: Arc<dyn ObjectStore>,
    /// A listing can begin behind a key.
    pub(super) has_offsets: bool,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The credentials are secrets.
        f.debug_struct("Library").field("store", &self.store.to_string()).finish_non_exhaustive()
    }
}

fn path(key: &str) -> Result<Path, StorageError> {
    Path::parse(key).map_err(|error| StorageError::Options(format!("`{key}` cannot be the key of an object: {error}")))
}

impl Library {
    pub(super) async fn create(&self, key: &str, body: Bytes) -> Result<bool, StorageError> {
        match self.store.put_opts(&path(key)?, body.into(), PutOptions::from(PutMode::Create)).await {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn put(&self, key: &str, body: Bytes) -> Result<(), StorageError> {
        Ok(self.store.put(&path(key)?, body.into()).await.map(drop)?)
    }

    /// Begins an object of several parts.
    pub(super) async fn begin(&self, key: &str) -> Result<Box<dyn MultipartUpload>, StorageError> {
        Ok(self.store.put_multipart(&path(key)?).await?)
    }

    pub(super) async fn read(
        &self,
        key: &str,
        range: Option<Range<u64>>,
        bytes_max: usize,
    ) -> Result<Option<Bytes>, StorageError> {
        let range = range.map(GetRange::Bounded);
        match self.get(key, GetOptions { range, ..GetOptions::default() }, bytes_max).await? {
            Some(object) => Ok(Some(object.bytes().await?)),
            None => Ok(None),
        }
    }

    pub(super) async fn has(&self, key: &str) -> Result<bool, StorageError> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        Ok(self.get(key, options, 0).await?.is_some())
    }

    async fn get(
        &self,
        key: &str,
        mut options: GetOptions,
        bytes_max: usize,
    ) -> Result<Option<GetResult>, StorageError> {
        options.extensions.insert(BytesMax(bytes_max));
        found(self.store.get_opts(&path(key)?, options).await)
    }

    pub(super) async fn list(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        let folder = path(prefix)?;
        let all = match self.has_offsets {
            true => self.store.list_with_offset(Some(&folder), &path(after)?),
            false => self.store.list(Some(&folder)),
        };
        let keys = all.map_ok(|object| object.location.to_string()).map_err(StorageError::from);
        keys.try_filter(|key| std::future::ready(key.as_str() > after)).take(LISTED_MAX).try_collect().await
    }

    pub(super) async fn remove(&self, key: &str) -> Result<(), StorageError> {
        found(self.store.delete(&path(key)?).await).map(drop)
    }
}

/// `None` where there is no such object.
fn found<T>(answer: object_store::Result<T>) -> Result<Option<T>, StorageError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
