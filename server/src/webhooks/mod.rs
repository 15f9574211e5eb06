//! Webhooks: addresses that are told of every finished batch.
//!
//! [`Webhooks`] knows who wants to be told, [`Deliveries`] tells them. Telling happens beside the queue: a receiver that
//! fails or stalls delays its own deliveries and nothing else.

mod body;
mod delivery;
mod store;
mod transfer;

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

pub use delivery::Deliveries;
pub use store::{WebhookPatch, Webhooks};
pub(crate) use transfer::{WebhookFile, export_webhooks, import_webhooks};

use crate::wire::secret::{AUTHORIZATION, shown_header};

/// An address and what is sent along.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Nil for the one of the command line.
    pub uuid: Uuid,
    /// As the client wrote it.
    pub url: String,
    /// As the client wrote them; values may be secrets.
    pub headers: BTreeMap<String, String>,
    /// Whether clients may change it.
    pub is_editable: bool,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address and the headers may hold secrets.
        f.debug_struct("Webhook").field("uuid", &self.uuid).finish_non_exhaustive()
    }
}

/// The public webhook object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    uuid: Uuid,
    is_editable: bool,
    url: String,
    headers: BTreeMap<String, String>,
}

impl Webhook {
    /// The one that launch options ask for.
    pub fn of_command_line(url: String, authorization: Option<String>) -> Webhook {
        let headers = authorization.into_iter().map(|value| (AUTHORIZATION.to_owned(), value)).collect();
        Webhook { uuid: Uuid::nil(), url, headers, is_editable: false }
    }

    /// The public object; the value of an `Authorization` header is made unreadable.
    pub fn view(&self) -> WebhookView {
        let shown = self.headers.iter().map(|(name, value)| (name.clone(), shown_header(name, value)));
        WebhookView { uuid: self.uuid, is_editable: self.is_editable, url: self.url.clone(), headers: shown.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorization_is_not_shown() {
        let mut webhook = Webhook::of_command_line("https://example.org".into(), Some("TOKEN".into()));
        webhook.headers.insert("authorization".into(), "Bearer 1234567890".into());
        webhook.headers.insert("X-Other".into(), "shown".into());
        assert_eq!(
            serde_json::to_string(&webhook.view()).unwrap(),
            r#"{"uuid":"00000000-0000-0000-0000-000000000000","isEditable":false,"url":"https://example.org","headers":{"Authorization":"XXX...","X-Other":"shown","authorization":"Bearer 12XXXX..."}}"#
        );
        assert!(!format!("{webhook:?}").contains("TOKEN"));
    }
}
