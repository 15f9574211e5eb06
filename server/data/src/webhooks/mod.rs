//! Webhooks: addresses that are notified of every finished batch.
//!
//! [`Webhooks`] knows who is to be notified, [`Deliveries`] notifies them. That happens beside the queue: a receiver that
//! fails or stalls delays its own deliveries and nothing else.

mod body;
mod delivery;
mod store;
mod transfer;

use std::collections::BTreeMap;

use lamina_base::secret::{AUTHORIZATION, redacted, shown_header, shown_url};
use serde::Serialize;
use uuid::Uuid;

pub use delivery::Deliveries;
pub use store::Webhooks;
pub use transfer::{WebhookFile, export_webhooks, import_webhooks};

/// An address and what is sent along.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Nil for the one of the command line.
    pub uuid: Uuid,
    /// Address as the client wrote it.
    pub url: String,
    /// Headers as the client wrote them; values may be secrets.
    pub headers: BTreeMap<String, String>,
    /// True if clients may change the webhook.
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

    /// The public object. Values of headers that are secrets by their names are made unreadable; those of all headers unless
    /// it is `for_writers`. Passwords in addresses are never shown.
    pub fn view(&self, for_writers: bool) -> WebhookView {
        let show = |name: &str, value: &str| if for_writers { shown_header(name, value) } else { redacted(value) };
        let shown = self.headers.iter().map(|(name, value)| (name.clone(), show(name, value)));
        WebhookView {
            uuid: self.uuid,
            is_editable: self.is_editable,
            url: shown_url(&self.url),
            headers: shown.collect(),
        }
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
            serde_json::to_string(&webhook.view(true)).unwrap(),
            r#"{"uuid":"00000000-0000-0000-0000-000000000000","isEditable":false,"url":"https://example.org","headers":{"Authorization":"XXX...","X-Other":"shown","authorization":"Bearer 12XXXX..."}}"#
        );
        webhook.url = "https://user:s3cret@example.org/?token=s3cret".into();
        let shown = serde_json::to_string(&webhook.view(false)).unwrap();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(!shown.contains("shown"), "{shown}");
        assert!(!format!("{webhook:?}").contains("TOKEN"));
    }
}
