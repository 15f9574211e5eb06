//! A role whose keys expire soon, and are then fetched again.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use lamina_base::outbound::{Outbound, Reply};
use lamina_base::text_file::text_without_mark;
use lamina_base::timestamp::instant;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use time::{Duration, OffsetDateTime};
use tokio::sync::Mutex;

use super::encoding::encoded_query;
use super::{Attempts, REQUEST_TIME, StorageError, element};

/// The name under which the store's logs know us.
const SESSION: &str = "lamina";
/// Keys of a role are fetched anew this long before their end, so that none ends while a request is under way.
const MARGIN: Duration = Duration::minutes(5);
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// A role that is taken with the token of another service, as pods of clusters have it (`AssumeRoleWithWebIdentity`).
pub(super) struct Role {
    pub(super) outbound: Outbound,
    pub(super) arn: String,
    /// Read for each new pair of keys: who runs the server replaces the token before it ends.
    pub(super) token_file: PathBuf,
    /// Address of the service that issues the keys.
    pub(super) url: String,
    /// The last ones, and when they end.
    pub(super) current: Mutex<Option<(Arc<AwsCredential>, OffsetDateTime)>>,
}

#[async_trait]
impl CredentialProvider for Role {
    type Credential = AwsCredential;

    /// Keys that are valid for some time to come.
    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        // Parts that are sent at the same time wait here for the one that asks.
        let mut current = self.current.lock().await;
        if let Some((credentials, end)) = &*current
            && OffsetDateTime::now_utc() + MARGIN < *end
        {
            return Ok(Arc::clone(credentials));
        }
        let failed = |error: StorageError| object_store::Error::Generic { store: "S3", source: Box::new(error) };
        let (credentials, end) = self.assume().await.map_err(failed)?;
        let credentials = Arc::new(credentials);
        *current = Some((Arc::clone(&credentials), end));
        Ok(credentials)
    }
}

impl std::fmt::Debug for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Role").field("arn", &self.arn).finish_non_exhaustive()
    }
}

impl Role {
    async fn assume(&self) -> Result<(AwsCredential, OffsetDateTime), StorageError> {
        let token = tokio::fs::read_to_string(&self.token_file).await.map_err(|error| {
            StorageError::Parameters(format!("the token file `{}`: {error}", self.token_file.display()))
        })?;
        let form = Bytes::from(encoded_query(&[
            ("Action", "AssumeRoleWithWebIdentity"),
            ("Version", "2011-06-15"),
            ("RoleArn", &self.arn),
            ("RoleSessionName", SESSION),
            ("WebIdentityToken", text_without_mark(&token).trim()),
        ]));
        let mut attempts = Attempts::default();
        loop {
            let request = self.outbound.request(Method::POST, &self.url)?.timeout(REQUEST_TIME).body(form.clone());
            let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            if let Some(reply) = attempts.judge(self.outbound.send(request, ANSWER_BYTES_MAX).await).await? {
                return self.read(&reply);
            }
        }
    }

    fn read(&self, reply: &Reply) -> Result<(AwsCredential, OffsetDateTime), StorageError> {
        let text = String::from_utf8_lossy(&reply.body);
        let part = |name: &str| {
            element(&text, name)
                .map(|value| value.trim().to_owned())
                .ok_or_else(|| StorageError::Failed(format!("the keys of the role came without `{name}`")))
        };
        let end = part("Expiration")?;
        let end = instant(&end).ok_or_else(|| {
            StorageError::Failed(format!("the keys of the role expire at `{end}`, which is not a time"))
        })?;
        let credentials = AwsCredential {
            key_id: part("AccessKeyId")?,
            secret_key: part("SecretAccessKey")?,
            token: Some(part("SessionToken")?),
        };
        Ok((credentials, end))
    }
}
