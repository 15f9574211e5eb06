//! Events that the client of a conversation gets.

use bytes::Bytes;
use lamina_protocol::events::event;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

/// Stream of events for a client.
#[derive(Clone, Debug)]
pub(crate) struct Events(mpsc::Sender<Bytes>);

/// The client is gone.
#[derive(Debug)]
pub(super) struct Gone;

/// Failure of a conversation, in the form that clients get.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(super) kind: String,
    pub(super) code: Option<String>,
    pub(super) message: String,
    pub(super) param: Option<String>,
}

impl Fault {
    /// With a code for programs.
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Fault {
        let (kind, code) = ("invalid_request_error".to_owned(), Some(code.to_owned()));
        Fault { kind, code, message: message.into(), param: None }
    }
}

impl Events {
    /// Events, and what reads them.
    pub(crate) fn channel(waiting_max: usize) -> (Events, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(waiting_max);
        (Events(sender), receiver)
    }

    pub(super) async fn text(&self, text: &str) -> Result<(), Gone> {
        self.0.send(Bytes::copy_from_slice(text.as_bytes())).await.map_err(|_| Gone)
    }

    pub(super) async fn data(&self, value: &Value) -> Result<(), Gone> {
        self.text(&event(None, None, value)).await
    }

    pub(super) async fn fault(&self, fault: &Fault) -> Result<(), Gone> {
        let Fault { kind, code, message, param } = fault;
        let error = json!({ "type": kind, "code": code, "message": message, "param": param, "event_id": null });
        self.data(&json!({ "event_id": Uuid::new_v4(), "type": "error", "error": error })).await
    }

    pub(super) async fn done(&self) -> Result<(), Gone> {
        self.text(&event(None, None, &"[DONE]")).await
    }

    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}
