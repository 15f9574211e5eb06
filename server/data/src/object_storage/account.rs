//! Who the store is asked as: a fixed pair of keys, or a role whose keys end soon and are fetched anew.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use lamina_base::outbound::{Outbound, Reply};
use lamina_base::text_file::text_without_mark;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};
use tokio::sync::Mutex;

use super::signature::{Credentials, encoded_query};
use super::{Attempts, REQUEST_TIME, StorageError, element};

/// The name under which the store's logs know us.
const SESSION: &str = "lamina";
/// Keys of a role are fetched anew this long before their end, so that none ends while a request is under way.
const MARGIN: Duration = Duration::minutes(5);
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Cheap to clone.
#[derive(Clone)]
pub(super) enum Account {
    /// With keys that were given.
    Fixed(Arc<Credentials>),
    /// With keys that a role gets.
    Role(Arc<Role>),
}

/// A role that is taken with the token of another service, as pods of clusters have it (`AssumeRoleWithWebIdentity`).
pub(super) struct Role {
    pub(super) arn: String,
    /// Read for each new pair of keys: who runs the server replaces the token before it ends.
    pub(super) token_file: PathBuf,
    /// Address of the service that issues the keys.
    pub(super) url: String,
    pub(super) region: String,
    /// The last ones, and when they end.
    pub(super) current: Mutex<Option<(Arc<Credentials>, OffsetDateTime)>>,
}

impl Account {
    /// Keys that are valid for some time to come.
    pub(super) async fn credentials(&self, outbound: &Outbound) -> Result<Arc<Credentials>, StorageError> {
        let role = match self {
            Account::Fixed(credentials) => return Ok(Arc::clone(credentials)),
            Account::Role(role) => role,
        };
        // Parts that are sent at the same time wait here for the one that asks.
        let mut current = role.current.lock().await;
        if let Some((credentials, end)) = &*current
            && OffsetDateTime::now_utc() + MARGIN < *end
        {
            return Ok(Arc::clone(credentials));
        }
        let (credentials, end) = role.assume(outbound).await?;
        let credentials = Arc::new(credentials);
        *current = Some((Arc::clone(&credentials), end));
        Ok(credentials)
    }
}

impl Role {
    async fn assume(&self, outbound: &Outbound) -> Result<(Credentials, OffsetDateTime), StorageError> {
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
            let request = outbound.request(Method::POST, &self.url)?.timeout(REQUEST_TIME).body(form.clone());
            let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            if let Some(reply) = attempts.judge(outbound.send(request, ANSWER_BYTES_MAX).await).await? {
                return self.read(&reply);
            }
        }
    }

    fn read(&self, reply: &Reply) -> Result<(Credentials, OffsetDateTime), StorageError> {
        let text = String::from_utf8_lossy(&reply.body);
        let part = |name: &str| {
            element(&text, name)
                .map(|value| value.trim().to_owned())
                .ok_or_else(|| StorageError::Failed(format!("the keys of the role came without `{name}`")))
        };
        let end = part("Expiration")?;
        let end = OffsetDateTime::parse(&end, &Rfc3339).map_err(|_| {
            StorageError::Failed(format!("the keys of the role expire at `{end}`, which is not a time"))
        })?;
        let credentials = Credentials {
            access_key: part("AccessKeyId")?,
            secret_key: part("SecretAccessKey")?,
            session_token: Some(part("SessionToken")?),
            region: self.region.clone(),
        };
        Ok((credentials, end))
    }
}
