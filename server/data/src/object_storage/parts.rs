//! An object that is being sent in parts, as each kind of store takes it.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::Method;
use reqwest::header::ETAG;

use super::azure::AzureContainer;
use super::google::GoogleBucket;
use super::{Bucket, Part, StorageError, element, said};

/// Granularity of parts in Google's stores: all parts but the last are multiples of it.
const STEP_BYTES: u64 = 256 << 10;

/// Target of an upload. Parts that an Azure store holds expire on their own, unless they are joined.
#[derive(Clone)]
pub(super) enum Parts {
    S3 { bucket: Bucket, key: String, id: String },
    Google { bucket: GoogleBucket, session: String },
    Azure { container: AzureContainer, key: String },
}

impl Parts {
    pub(super) async fn of_s3(bucket: Bucket, key: String) -> Result<Parts, StorageError> {
        let reply = bucket.ask(Method::POST, &key, &[("uploads", "")], Bytes::new()).await?;
        let text = String::from_utf8_lossy(&reply.body);
        let id = element(&text, "UploadId").ok_or_else(|| {
            StorageError::Failed(format!("it started an upload without returning its id: {}", said(&reply)))
        })?;
        let id = id.to_owned();
        Ok(Parts::S3 { bucket, key, id })
    }

    pub(super) async fn of_google(bucket: GoogleBucket, key: &str) -> Result<Parts, StorageError> {
        let session = bucket.begin(key, &[]).await?;
        Ok(Parts::Google { bucket, session })
    }

    /// The size of parts that is nearest to `bytes`, and how many may be under way.
    pub(super) fn fit(&self, bytes: u64, parallel: usize) -> (u64, usize) {
        match self {
            Parts::Google { .. } => ((bytes / STEP_BYTES).max(1) * STEP_BYTES, 1),
            Parts::S3 { .. } | Parts::Azure { .. } => (bytes, parallel.max(1)),
        }
    }

    /// Reports whether the last part is sent even if it is empty, because it marks the end.
    pub(super) fn needs_a_last(&self) -> bool {
        matches!(self, Parts::Google { .. })
    }

    /// Sends a part; what joins it to the others.
    pub(super) async fn send(&self, part: Part) -> Result<String, StorageError> {
        match self {
            Parts::S3 { bucket, key, id } => {
                let query = [("partNumber", part.number.to_string()), ("uploadId", id.clone())];
                let query = query.each_ref().map(|(name, value)| (*name, value.as_str()));
                let reply = bucket.ask(Method::PUT, key, &query, part.bytes).await?;
                let tag = reply.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
                tag.map(str::to_owned)
                    .ok_or_else(|| StorageError::Failed("it took a part and gave no tag for it".into()))
            }
            Parts::Google { bucket, session } => bucket.send_part(session, part).await.map(|()| String::new()),
            Parts::Azure { container, key } => {
                let id = STANDARD.encode(format!("{:020}", part.start));
                container.send_block(key, &id, part.bytes).await.map(|()| id)
            }
        }
    }

    /// Makes the object visible under its key, in the place of an older one.
    pub(super) async fn join(&self, tags: &[String]) -> Result<(), StorageError> {
        match self {
            Parts::S3 { bucket, key, id } => {
                let mut body = "<CompleteMultipartUpload>".to_owned();
                for (number, tag) in (1..).zip(tags) {
                    let number: u32 = number;
                    let tag = escaped(tag);
                    // Writing into a text does not fail.
                    let _ = write!(body, "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
                }
                body.push_str("</CompleteMultipartUpload>");
                let reply = bucket.ask(Method::POST, key, &[("uploadId", id)], body.into()).await?;
                // A store that begins to answer before it is done reports a failure with status 200.
                match String::from_utf8_lossy(&reply.body).contains("<Error>") {
                    true => Err(StorageError::Failed(said(&reply))),
                    false => Ok(()),
                }
            }
            // The last part has said so.
            Parts::Google { .. } => Ok(()),
            Parts::Azure { container, key } => container.join_blocks(key, tags, Vec::new()).await.map(drop),
        }
    }

    /// Removes what was sent; whether that went well.
    pub(super) async fn abort(&self) -> bool {
        match self {
            Parts::S3 { bucket, key, id } => {
                bucket.ask(Method::DELETE, key, &[("uploadId", id)], Bytes::new()).await.is_ok()
            }
            Parts::Google { bucket, session } => bucket.forget(session).await,
            Parts::Azure { .. } => true,
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
