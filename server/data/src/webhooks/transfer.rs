//! Webhooks on their way into a dump and out of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_protocol::wire::webhooks::WebhookPatch;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Webhook;
use super::store::Webhooks;
use crate::tasks::Durable;

/// `webhooks.json`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WebhookFile {
    webhooks: BTreeMap<Uuid, WebhookEntry>,
}

impl std::fmt::Debug for WebhookEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address and the headers may hold secrets.
        f.debug_struct("WebhookEntry").finish_non_exhaustive()
    }
}

impl WebhookFile {
    /// Returns the webhooks of `all` that clients made, with their secrets.
    pub fn of(all: &[Arc<Webhook>]) -> WebhookFile {
        let entry = |webhook: &Webhook| WebhookEntry { url: webhook.url.clone(), headers: webhook.headers.clone() };
        let made = all.iter().filter(|webhook| webhook.is_editable);
        WebhookFile { webhooks: made.map(|webhook| (webhook.uuid, entry(webhook))).collect() }
    }

    /// Each as one that routes may change.
    pub(super) fn into_webhooks(self) -> impl Iterator<Item = Webhook> {
        let webhook = |(uuid, WebhookEntry { url, headers })| Webhook { uuid, url, headers, is_editable: true };
        self.webhooks.into_iter().map(webhook)
    }

    /// Number of webhooks.
    pub fn count(&self) -> usize {
        self.webhooks.len()
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct WebhookEntry {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// All webhooks that clients made, with their secrets.
pub fn export_webhooks(connection: Durable) -> ApiResult<WebhookFile> {
    Ok(WebhookFile::of(&Webhooks::open(connection, None)?.all()))
}

/// Stores webhooks in a database that has none. One that this server would not take is left out.
pub fn import_webhooks(connection: Durable, file: WebhookFile) -> ApiResult<()> {
    let webhooks = Webhooks::open(connection, None)?;
    for (uuid, WebhookEntry { url, headers }) in file.webhooks {
        let headers = headers.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let patch = WebhookPatch { url: Some(Some(url)), headers: Some(Some(headers)) };
        if let Err(error) = webhooks.insert(uuid, patch) {
            tracing::warn!(%uuid, error = error.message, "left out a webhook of the dump");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_survive_the_way_there_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let connect = || Durable::new(rusqlite::Connection::open(folder.path().join("db")).unwrap()).unwrap();
        let text = r#"{"webhooks":{"627ea538-733d-4545-8d2d-03526eb381ce":{"url":"https://example.org/","headers":{"Authorization":"TOKEN"}}}}"#;
        import_webhooks(connect(), serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(serde_json::to_string(&export_webhooks(connect()).unwrap()).unwrap(), text);
    }
}
