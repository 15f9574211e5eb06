//! Server-sent events: those that a provider sends, and those that clients get.

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

/// Time that a client must wait before it connects again.
pub(super) const RETRY: &str = "retry: 10000\n\n";

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
        self.text(&format!("data: {value}\n\n")).await
    }

    pub(super) async fn fault(&self, fault: &Fault) -> Result<(), Gone> {
        let Fault { kind, code, message, param } = fault;
        let error = json!({ "type": kind, "code": code, "message": message, "param": param, "event_id": null });
        self.data(&json!({ "event_id": Uuid::new_v4(), "type": "error", "error": error })).await
    }

    pub(super) async fn done(&self) -> Result<(), Gone> {
        self.text("data: [DONE]\n\n").await
    }

    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// Reads the `data` of events out of pieces.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// So many bytes of it are known to hold no end of a line: one that comes byte by byte is looked at once.
    searched: usize,
}

impl Lines {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next `data`, if its line is whole. Comments, names and numbers of events are passed over.
    pub(super) fn next(&mut self) -> Option<String> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                return None;
            };
            let line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
            self.searched = 0;
            let line = String::from_utf8_lossy(&line);
            if let Some(data) = line.trim_end().strip_prefix("data:") {
                return Some(data.trim_start().to_owned());
            }
        }
    }

    /// Returns the rest once nothing more arrives, as if its line had ended.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.buffer.push(b'\n');
        self.next()
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_comes_line_by_line() {
        let mut lines = Lines::default();
        lines.push(b"retry: 1\n\ndata: {\"a\":");
        assert_eq!(lines.next(), None);
        lines.push(b"1}\r\n\r\n: still here\nevent: x\ndata:[DONE]");
        assert_eq!(lines.next().as_deref(), Some("{\"a\":1}"));
        assert_eq!(lines.next(), None);
        assert_eq!(lines.rest().as_deref(), Some("[DONE]"));
        assert_eq!((lines.rest(), lines.waiting_bytes()), (None, 0));
        for byte in b"data: x\n\ndata: y" {
            lines.push(&[*byte]);
            assert!(lines.next().is_none_or(|data| data == "x"));
        }
        assert_eq!((lines.waiting_bytes(), lines.rest().as_deref()), (7, Some("y")));
    }
}
