//! A bucket of any store that is known, as publishers and replicas use it. Every call blocks; none is for threads of the runtime.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use bytes::Bytes;
use lamina_base::options::{BucketKind, ObjectStorageOptions};
use lamina_base::outbound::Outbound;

use super::google::GoogleBucket;
use super::library::Library;
use super::parts::Parts;
use super::{Cut, StorageError, Upload, azure, s3};

/// Parts of a large object, and how many of them are under way at the same time.
const PART_BYTES: u64 = 16 << 20;
const PARALLEL: usize = 2;

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct AnyBucket {
    place: Place,
    outbound: Outbound,
    /// Maximum time to wait for a response; `None` means as long as the attempts take.
    limit: Option<Duration>,
}

#[derive(Clone, Debug)]
enum Place {
    Library(Library),
    Google(GoogleBucket),
}

impl AnyBucket {
    /// The bucket `name` of such a store.
    ///
    /// # Errors
    /// [`StorageError::Parameters`] or [`StorageError::Options`], where the options do not say how to reach it.
    pub fn open(
        kind: BucketKind,
        name: &str,
        options: &ObjectStorageOptions,
        outbound: &Outbound,
    ) -> Result<AnyBucket, StorageError> {
        let clouds = options.clouds.with_variables();
        let place = match kind {
            BucketKind::S3 => Place::Library(s3::open(name, options, outbound)?),
            BucketKind::Google => Place::Google(GoogleBucket::new(name, &clouds, outbound)?),
            BucketKind::Azure => Place::Library(azure::open(name, &clouds, outbound)?),
        };
        Ok(AnyBucket { place, outbound: outbound.clone(), limit: None })
    }

    /// The same, which is given so long for each answer.
    pub fn within(&self, limit: Duration) -> AnyBucket {
        AnyBucket { limit: Some(limit), ..self.clone() }
    }

    fn answer<T>(&self, answer: impl Future<Output = Result<T, StorageError>>) -> Result<T, StorageError> {
        let runtime = self.outbound.runtime();
        let Some(limit) = self.limit else { return runtime.block_on(answer) };
        runtime
            .block_on(async { tokio::time::timeout(limit, answer).await })
            .unwrap_or_else(|_| Err(StorageError::Failed(format!("no answer within {} s", limit.as_secs_f64()))))
    }

    /// Creates an object, if there is none of this key. Whether there was none; after a failure it may be there.
    ///
    /// # Errors
    /// What the store says.
    pub fn create(&self, key: &str, body: Bytes) -> Result<bool, StorageError> {
        self.answer(async {
            match &self.place {
                Place::Library(library) => library.create(key, body).await,
                Place::Google(bucket) => bucket.create(key, body).await,
            }
        })
    }

    /// Creates an object like [`AnyBucket::create`], from `bytes` bytes of a file. Two servers that race send the same
    /// content. If the file cannot be read, no object is created.
    ///
    /// # Errors
    /// Fails with the error of the store, or of the file.
    pub fn create_large(&self, key: &str, file: &mut dyn Read, bytes: u64) -> Result<bool, StorageError> {
        match &self.place {
            Place::Library(library) if self.answer(library.has(key))? => Ok(false),
            Place::Library(library) => self.send_in_parts(library, key, file, bytes).map(|()| true),
            Place::Google(bucket) => self.answer(bucket.create_large(key, file, bytes)),
        }
    }

    /// Begins to send an object, which takes the place of the one there is when all of it is there.
    ///
    /// # Errors
    /// What the store says, or [`StorageError::Cancelled`].
    pub fn upload<'a>(&self, key: &str, cut: Cut, cancelled: &'a AtomicBool) -> Result<Upload<'a>, StorageError> {
        let begun = async {
            match self.place.clone() {
                Place::Library(library) => Parts::of_library(library, key).await,
                Place::Google(bucket) => Parts::of_google(bucket, key).await,
            }
        };
        Upload::begin(&self.outbound, begun, cut, cancelled)
    }

    fn send_in_parts(&self, library: &Library, key: &str, file: &mut dyn Read, bytes: u64) -> Result<(), StorageError> {
        let is_over = AtomicBool::new(false);
        let mut send = || {
            let cut = Cut { bytes, part_bytes: PART_BYTES, parallel: PARALLEL };
            let begun = Parts::of_library(library.clone(), key);
            let mut upload = Upload::begin(&self.outbound, begun, cut, &is_over)?;
            io::copy(&mut *file, &mut upload)?;
            upload.finish()
        };
        let Some(limit) = self.limit else { return send() };
        std::thread::scope(|scope| {
            let (ended, end) = channel::<()>();
            let is_over = &is_over;
            scope.spawn(move || {
                if end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    is_over.store(true, Ordering::Release);
                }
            });
            let sent = send();
            drop(ended);
            sent
        })
    }

    /// Creates an object, or takes the place of the one there is.
    ///
    /// # Errors
    /// What the store says.
    pub fn put(&self, key: &str, body: Bytes) -> Result<(), StorageError> {
        self.answer(async {
            match &self.place {
                Place::Library(library) => library.put(key, body).await,
                Place::Google(bucket) => bucket.put(key, body).await,
            }
        })
    }

    /// An object of at most `bytes_max` bytes, or a range of one; `None` if there is no such object.
    ///
    /// # Errors
    /// What the store says.
    pub fn read(&self, key: &str, range: Option<Range<u64>>, bytes_max: usize) -> Result<Option<Bytes>, StorageError> {
        self.answer(async {
            match &self.place {
                Place::Library(library) => library.read(key, range, bytes_max).await,
                Place::Google(bucket) => bucket.read(key, range, bytes_max).await,
            }
        })
    }

    /// Keys that begin with `prefix` and come after `after`, ascending in byte order: all of them, or the first.
    ///
    /// # Errors
    /// What the store says.
    pub fn list(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        self.answer(async {
            match &self.place {
                Place::Library(library) => library.list(prefix, after).await,
                Place::Google(bucket) => bucket.list(prefix, after).await,
            }
        })
    }

    /// Removes an object; one that is not there is as good.
    ///
    /// # Errors
    /// What the store says.
    pub fn remove(&self, key: &str) -> Result<(), StorageError> {
        self.answer(async {
            match &self.place {
                Place::Library(library) => library.remove(key).await,
                Place::Google(bucket) => bucket.remove(key).await,
            }
        })
    }
}
