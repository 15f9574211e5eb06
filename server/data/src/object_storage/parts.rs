//! An object that is being sent in parts, as each kind of store takes it.

use futures_util::future::BoxFuture;
use object_store::MultipartUpload;

use super::google::GoogleBucket;
use super::library::Library;
use super::{Part, StorageError};

/// Granularity of parts in Google's stores: all parts but the last are multiples of it.
const STEP_BYTES: u64 = 256 << 10;

/// Target of an upload. Parts that an Azure store holds expire on their own, unless they are joined.
pub(super) enum Parts {
    Library(Box<dyn MultipartUpload>),
    Google { bucket: GoogleBucket, session: String },
}

impl Parts {
    pub(super) async fn of_library(library: Library, key: &str) -> Result<Parts, StorageError> {
        Ok(Parts::Library(library.begin(key).await?))
    }

    pub(super) async fn of_google(bucket: GoogleBucket, key: &str) -> Result<Parts, StorageError> {
        let session = bucket.begin(key, &[]).await?;
        Ok(Parts::Google { bucket, session })
    }

    /// The size of parts that is nearest to `bytes`, and how many may be under way.
    pub(super) fn fit(&self, bytes: u64, parallel: usize) -> (u64, usize) {
        match self {
            Parts::Google { .. } => ((bytes / STEP_BYTES).max(1) * STEP_BYTES, 1),
            Parts::Library(_) => (bytes, parallel.max(1)),
        }
    }

    /// Reports whether the last part is sent even if it is empty, because it marks the end.
    pub(super) fn needs_a_last(&self) -> bool {
        matches!(self, Parts::Google { .. })
    }

    /// Sends the next part.
    pub(super) fn send(&mut self, part: Part) -> BoxFuture<'static, Result<(), StorageError>> {
        match self {
            Parts::Library(upload) => {
                let sent = upload.put_part(part.bytes.into());
                Box::pin(async move { Ok(sent.await?) })
            }
            Parts::Google { bucket, session } => {
                let (bucket, session) = (bucket.clone(), session.clone());
                Box::pin(async move { bucket.send_part(&session, part).await })
            }
        }
    }

    /// Makes the object visible under its key, in the place of an older one.
    pub(super) async fn join(&mut self) -> Result<(), StorageError> {
        match self {
            Parts::Library(upload) => Ok(upload.complete().await.map(drop)?),
            // The last part has said so.
            Parts::Google { .. } => Ok(()),
        }
    }

    /// Removes what was sent; whether that went well.
    pub(super) async fn abort(&mut self) -> bool {
        match self {
            Parts::Library(upload) => upload.abort().await.is_ok(),
            Parts::Google { bucket, session } => bucket.forget(session).await,
        }
    }
}
