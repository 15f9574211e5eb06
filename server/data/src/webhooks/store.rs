//! Who is to be notified: durable in a table beside the tasks, and in memory.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::outbound::{is_framing, parse_url};
use lamina_base::secret::{have_same_origin, shown_url};
use lamina_protocol::wire::webhooks::WebhookPatch;
use parking_lot::{Mutex, RwLock};
use reqwest::header::{HeaderName, HeaderValue};
use rusqlite::params;
use uuid::Uuid;

use super::{Webhook, WebhookFile};
use crate::tasks::{Durable, StoreError};

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS webhooks (
    uuid TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    headers TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

const WEBHOOKS_MAX: usize = 20;
const HEADERS_MAX: usize = 200;

/// All webhooks of a server.
#[derive(Debug)]
pub struct Webhooks {
    /// Locked for the whole of a change, so that memory follows the table in order.
    connection: Mutex<Durable>,
    /// By uuid; the one of the command line, which is not stored, comes first.
    live: RwLock<Arc<Vec<Arc<Webhook>>>>,
}

impl Webhooks {
    /// Reads the webhooks; `reserved` is the one of the command line.
    ///
    /// # Errors
    /// When the table cannot be used.
    pub fn open(mut connection: Durable, reserved: Option<Webhook>) -> Result<Webhooks, StoreError> {
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLE)?;
        transaction.commit()?;
        let mut all: Vec<Arc<Webhook>> = reserved.into_iter().map(Arc::new).collect();
        let mut statement = connection.connection().prepare("SELECT uuid, url, headers FROM webhooks ORDER BY uuid")?;
        let rows = statement.query_map([], |row| {
            let damaged = |column: usize, source: Box<dyn std::error::Error + Send + Sync>| {
                rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, source)
            };
            let (uuid, headers): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(Webhook {
                uuid: Uuid::parse_str(&uuid).map_err(|error| damaged(0, error.into()))?,
                url: row.get(1)?,
                headers: serde_json::from_str(&headers).map_err(|error| damaged(2, error.into()))?,
                is_editable: true,
            })
        })?;
        for webhook in rows {
            all.push(Arc::new(webhook?));
        }
        drop(statement);
        Ok(Webhooks { connection: Mutex::new(connection), live: RwLock::new(Arc::new(all)) })
    }

    /// All of them, by uuid.
    pub fn all(&self) -> Arc<Vec<Arc<Webhook>>> {
        Arc::clone(&self.live.read())
    }

    /// One of them.
    ///
    /// # Errors
    /// `webhook_not_found`
    pub fn find(&self, uuid: Uuid) -> ApiResult<Arc<Webhook>> {
        self.all()
            .iter()
            .find(|webhook| webhook.uuid == uuid)
            .cloned()
            .ok_or_else(|| ApiError::new(Code::WebhookNotFound, format!("Webhook `{uuid}` not found.")))
    }

    /// Adds a webhook. Blocks for an fsync, as all changes do.
    ///
    /// # Errors
    /// What is wrong with it, or one too many; nothing has changed then.
    pub fn create(&self, patch: WebhookPatch) -> ApiResult<Arc<Webhook>> {
        self.insert(Uuid::new_v4(), patch)
    }

    /// Creates a webhook like [`Webhooks::create`], with a given uuid.
    ///
    /// # Errors
    /// Same as [`Webhooks::create`].
    pub fn insert(&self, uuid: Uuid, patch: WebhookPatch) -> ApiResult<Arc<Webhook>> {
        let mut connection = self.connection.lock();
        let webhook =
            patched(&Webhook { uuid, url: String::new(), headers: BTreeMap::new(), is_editable: true }, patch)?;
        if webhook.url.is_empty() {
            return Err(missing_url(uuid));
        }
        if self.all().iter().filter(|webhook| webhook.is_editable).count() >= WEBHOOKS_MAX {
            return Err(ApiError::new(
                Code::InvalidWebhooks,
                format!(
                    "Defining too many webhooks would crush the server. Please limit the number of webhooks to \
                     {WEBHOOKS_MAX}. You may use a third-party proxy server to dispatch events to more than \
                     {WEBHOOKS_MAX} endpoints."
                ),
            ));
        }
        connection.execute(
            "INSERT INTO webhooks (uuid, url, headers) VALUES (?1, ?2, ?3)",
            params![uuid.to_string(), webhook.url, headers_text(&webhook)],
        )?;
        Ok(self.replace(uuid, Some(webhook)).expect("it was just put there"))
    }

    /// Changes a webhook.
    ///
    /// # Errors
    /// `immutable_webhook`, `webhook_not_found`, or what is wrong with the change; nothing has changed then.
    pub fn update(&self, uuid: Uuid, patch: WebhookPatch) -> ApiResult<Arc<Webhook>> {
        let mut connection = self.connection.lock();
        let webhook = patched(&*self.editable(uuid)?, patch)?;
        connection.execute(
            "UPDATE webhooks SET url = ?2, headers = ?3 WHERE uuid = ?1",
            params![uuid.to_string(), webhook.url, headers_text(&webhook)],
        )?;
        Ok(self.replace(uuid, Some(webhook)).expect("it was just put there"))
    }

    /// Removes a webhook; what was not delivered to it never will be.
    ///
    /// # Errors
    /// `immutable_webhook`, `webhook_not_found`
    pub fn delete(&self, uuid: Uuid) -> ApiResult<()> {
        let mut connection = self.connection.lock();
        self.editable(uuid)?;
        connection.execute("DELETE FROM webhooks WHERE uuid = ?1", [uuid.to_string()])?;
        self.replace(uuid, None);
        Ok(())
    }

    /// Makes these all the webhooks that clients made; the one of the command line stays. One that this server would not take
    /// is left out.
    ///
    /// # Errors
    /// What the table says; nothing has changed then.
    pub fn follow(&self, file: WebhookFile) -> ApiResult<()> {
        let mut connection = self.connection.lock();
        let mut all: Vec<Arc<Webhook>> = self.all().iter().filter(|webhook| !webhook.is_editable).cloned().collect();
        let transaction = connection.transaction()?;
        sql(transaction.execute("DELETE FROM webhooks", []))?;
        for webhook in file.into_webhooks().take(WEBHOOKS_MAX) {
            if let Err(error) = check(&webhook) {
                tracing::warn!(uuid = %webhook.uuid, error = error.message, "left out a webhook of the publisher");
                continue;
            }
            sql(transaction.execute(
                "INSERT INTO webhooks (uuid, url, headers) VALUES (?1, ?2, ?3)",
                params![webhook.uuid.to_string(), webhook.url, headers_text(&webhook)],
            ))?;
            all.push(Arc::new(webhook));
        }
        transaction.commit()?;
        all.sort_by_key(|webhook| webhook.uuid);
        *self.live.write() = Arc::new(all);
        Ok(())
    }

    fn editable(&self, uuid: Uuid) -> ApiResult<Arc<Webhook>> {
        if uuid.is_nil() {
            return Err(ApiError::new(
                Code::ImmutableWebhook,
                format!(
                    "Webhook `{uuid}` is immutable. The webhook defined from the command line cannot be modified using \
                     the API."
                ),
            ));
        }
        self.find(uuid)
    }

    fn replace(&self, uuid: Uuid, by: Option<Webhook>) -> Option<Arc<Webhook>> {
        let by = by.map(Arc::new);
        let mut all: Vec<Arc<Webhook>> = self.all().iter().filter(|webhook| webhook.uuid != uuid).cloned().collect();
        all.extend(by.clone());
        all.sort_by_key(|webhook| webhook.uuid);
        *self.live.write() = Arc::new(all);
        by
    }
}

fn sql<T>(result: rusqlite::Result<T>) -> ApiResult<T> {
    result.map_err(|error| StoreError::from(error).into())
}

fn headers_text(webhook: &Webhook) -> String {
    serde_json::to_string(&webhook.headers).expect("names and texts are JSON")
}

fn missing_url(uuid: Uuid) -> ApiError {
    ApiError::new(Code::InvalidWebhookUrl, format!("The URL for the webhook `{uuid}` is missing."))
}

/// The webhook as the client wants it.
fn patched(old: &Webhook, patch: WebhookPatch) -> ApiResult<Webhook> {
    let mut webhook = old.clone();
    if let Some(Some(url)) = &patch.url
        && !have_same_origin(&old.url, url)
    {
        // Any of them may be a secret, which was given for the receiver before.
        webhook.headers.clear();
    }
    match patch.headers {
        None => {}
        Some(None) => webhook.headers.clear(),
        Some(Some(headers)) => {
            for (name, value) in headers {
                // Names differ whatever their case.
                webhook.headers.retain(|known, _| !known.eq_ignore_ascii_case(&name));
                // A new webhook has nothing to remove: there a null is an empty text.
                let value = value.or_else(|| old.url.is_empty().then(String::new));
                webhook.headers.extend(value.map(|value| (name, value)));
            }
        }
    }
    match patch.url {
        None => {}
        Some(None) => return Err(missing_url(old.uuid)),
        Some(Some(url)) => webhook.url = url,
    }
    check(&webhook)?;
    Ok(webhook)
}

/// Most characters of a name that is wrong and shown.
const SHOWN_MAX: usize = 100;

/// A name that may be anything, so that it fits a message: escaped, and cut where it is long.
fn excerpt(name: &str) -> String {
    let mut shown: String = name.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    if name.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}

fn check(webhook: &Webhook) -> ApiResult<()> {
    let bad_headers = |message: String| Err(ApiError::new(Code::InvalidWebhookHeaders, message));
    if webhook.headers.len() > HEADERS_MAX {
        return bad_headers(format!(
            "Too many headers for the webhook `{}`. Please limit the number of headers to {HEADERS_MAX}. Hint: To \
             remove an already defined header set its value to `null`",
            webhook.uuid
        ));
    }
    for (name, value) in &webhook.headers {
        match HeaderName::from_str(name) {
            Err(error) => return bad_headers(format!("Invalid header name `{}`: {error}", excerpt(name))),
            Ok(known) if is_framing(known.as_str()) => {
                return bad_headers(format!("Invalid header name `{name}`: the server sets it itself"));
            }
            Ok(_) => {}
        }
        if let Err(error) = HeaderValue::from_str(value) {
            return bad_headers(format!("Invalid header value `{name}`: {error}"));
        }
    }
    if webhook.url.is_empty() {
        return Err(missing_url(webhook.uuid));
    }
    match parse_url(&webhook.url) {
        Ok(_) => Ok(()),
        Err(reason) => {
            Err(ApiError::new(Code::InvalidWebhookUrl, format!("Invalid URL `{}`: {reason}", shown_url(&webhook.url))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://example.org/hook";

    fn open(path: &std::path::Path) -> Webhooks {
        let reserved = Webhook::of_command_line("http://localhost/".into(), None);
        Webhooks::open(Durable::new(rusqlite::Connection::open(path).unwrap()).unwrap(), Some(reserved)).unwrap()
    }

    fn patch(url: &str, headers: &[(&str, Option<&str>)]) -> WebhookPatch {
        let headers = headers.iter().map(|(name, value)| (name.to_string(), value.map(str::to_owned))).collect();
        WebhookPatch { url: Some(Some(url.to_owned())), headers: Some(Some(headers)) }
    }

    fn refused<T: std::fmt::Debug>(result: ApiResult<T>) -> (Code, String) {
        let error = result.unwrap_err();
        (error.code, error.message)
    }

    #[test]
    fn webhooks_live_survive_and_die() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhooks.sqlite");
        let webhooks = open(&path);
        let made = webhooks.create(patch(URL, &[("Authorization", Some("TOKEN")), ("x-null", None)])).unwrap();
        assert_eq!(made.headers.len(), 2);
        assert_eq!(made.headers["x-null"], "");
        let changed = webhooks
            .update(
                made.uuid,
                WebhookPatch {
                    url: None,
                    headers: Some(Some(vec![("authorization".into(), Some("OTHER".into())), ("x-null".into(), None)])),
                },
            )
            .unwrap();
        assert_eq!(changed.url, URL);
        assert_eq!(changed.headers, BTreeMap::from([("authorization".to_owned(), "OTHER".to_owned())]));
        drop(webhooks);

        let again = open(&path);
        assert_eq!(again.all().iter().map(|webhook| webhook.uuid).collect::<Vec<_>>(), [Uuid::nil(), made.uuid]);
        assert_eq!(*again.find(made.uuid).unwrap(), *changed);
        let moved = |url: &str| WebhookPatch { url: Some(Some(url.to_owned())), headers: None };
        assert_eq!(again.update(made.uuid, moved("https://example.org/other")).unwrap().headers.len(), 1);
        assert_eq!(again.update(made.uuid, moved("https://example.com/hook")).unwrap().headers.len(), 0);
        let both = again.update(made.uuid, patch("http://example.com/hook", &[("x", Some("y"))])).unwrap();
        assert_eq!(both.headers, BTreeMap::from([("x".to_owned(), "y".to_owned())]));
        let cleared = again.update(made.uuid, WebhookPatch { url: None, headers: Some(None) }).unwrap();
        assert!(cleared.headers.is_empty());
        again.delete(made.uuid).unwrap();
        assert_eq!(refused(again.delete(made.uuid)).0, Code::WebhookNotFound);
        assert_eq!(open(&path).all().len(), 1);
    }

    #[test]
    fn the_one_of_the_command_line_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let webhooks = open(&folder.path().join("webhooks.sqlite"));
        assert_eq!(refused(webhooks.delete(Uuid::nil())).0, Code::ImmutableWebhook);
        assert_eq!(refused(webhooks.update(Uuid::nil(), WebhookPatch::default())).0, Code::ImmutableWebhook);
    }

    #[test]
    fn twenty_are_enough() {
        let folder = tempfile::tempdir().unwrap();
        let webhooks = open(&folder.path().join("webhooks.sqlite"));
        for _ in 0..20 {
            webhooks.create(patch(URL, &[])).unwrap();
        }
        assert_eq!(refused(webhooks.create(patch(URL, &[]))).0, Code::InvalidWebhooks);
        assert!(webhooks.all().is_sorted_by_key(|webhook| webhook.uuid));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let webhooks = open(&folder.path().join("webhooks.sqlite"));
        let create = |patch| refused(webhooks.create(patch));
        let (code, message) = create(WebhookPatch::default());
        assert_eq!(code, Code::InvalidWebhookUrl);
        assert!(message.starts_with("The URL for the webhook `"), "{message}");
        assert!(message.ends_with("` is missing."), "{message}");
        assert_eq!(create(WebhookPatch { url: Some(None), headers: None }).0, Code::InvalidWebhookUrl);
        assert_eq!(
            create(patch("nope", &[])),
            (Code::InvalidWebhookUrl, "Invalid URL `nope`: relative URL without a base".into())
        );
        assert_eq!(
            create(patch(URL, &[("bad name", Some("x"))])),
            (Code::InvalidWebhookHeaders, "Invalid header name `bad name`: invalid HTTP header name".into())
        );
        assert_eq!(
            create(patch(URL, &[("good-name", Some("a\nb"))])),
            (Code::InvalidWebhookHeaders, "Invalid header value `good-name`: failed to parse header value".into())
        );
        for name in ["Content-Length", "Host", "hOst", "TE", "Proxy-Authorization", "Keep-Alive"] {
            assert_eq!(create(patch(URL, &[(name, Some("1"))])).0, Code::InvalidWebhookHeaders, "{name}");
        }
        let (_, message) = create(patch("http://user:s3cret@x:port/", &[]));
        assert!(!message.contains("s3cret"), "{message}");
        let odd = create(patch(URL, &[("a\r\nb\u{7}\u{202e}", Some("x"))])).1;
        assert_eq!(odd, "Invalid header name `a\\r\\nb\\u{7}\\u{202e}`: invalid HTTP header name");
        let long = create(patch(URL, &[(&"é".repeat(10_000), Some("x"))])).1;
        assert!(long.contains(&format!("`{}…`", "é".repeat(SHOWN_MAX))), "{long}");
        // A name that is none but for its length.
        let long = create(patch(URL, &[(&"x".repeat(100_000), Some("a\nb"))])).1;
        assert!(long.len() < 300, "{long}");
        let names: Vec<String> = (0..201).map(|i| format!("h{i}")).collect();
        let many: Vec<(&str, Option<&str>)> = names.iter().map(|name| (name.as_str(), Some("x"))).collect();
        assert!(create(patch(URL, &many)).1.starts_with("Too many headers for the webhook `"));
        assert!(webhooks.create(patch(URL, &many[..200])).is_ok());
    }
}
