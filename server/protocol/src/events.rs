//! Server-sent events: as clients get them, and as providers send them.

use std::fmt::Display;

/// Content type of a stream of events.
pub const CONTENT_TYPE: &str = "text/event-stream";
/// First piece of a stream: the time that a client must wait before it connects again.
pub const RETRY: &str = "retry: 10000\n\n";
/// A comment, so that proxies see that the connection is in use.
pub const STILL_HERE: &str = ":\n\n";

/// Returns an event. Its name, number and data have no line breaks, as JSON has none.
pub fn event(name: Option<&str>, id: Option<&dyn Display>, data: &dyn Display) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{name}{id}data: {data}\n\n")
}

/// Reader of the `data` of events, which come in pieces.
#[derive(Debug, Default)]
pub struct Lines {
    buffer: Vec<u8>,
    /// So many bytes of it are known to hold no end of a line: one that comes byte by byte is looked at once.
    searched: usize,
}

impl Lines {
    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// Returns the next `data`, if its line is whole. Comments, names and numbers of events are passed over.
    pub fn next_data(&mut self) -> Option<String> {
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
    pub fn rest(&mut self) -> Option<String> {
        self.buffer.push(b'\n');
        self.next_data()
    }

    /// Returns the bytes of the line that is not whole yet.
    pub fn waiting_bytes(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_lines_that_end_with_an_empty_one() {
        let data = r#"{"a":1}"#;
        assert_eq!(event(None, None, &data), "data: {\"a\":1}\n\n");
        let whole = event(Some("added"), Some(&3), &data);
        assert_eq!(whole, "event: added\nid: 3\ndata: {\"a\":1}\n\n");
        let mut lines = Lines::default();
        lines.push(format!("{RETRY}{STILL_HERE}{whole}").as_bytes());
        assert_eq!((lines.next_data().as_deref(), lines.next_data()), (Some(data), None));
    }

    #[test]
    fn data_comes_line_by_line() {
        let mut lines = Lines::default();
        lines.push(b"retry: 1\n\ndata: {\"a\":");
        assert_eq!(lines.next_data(), None);
        lines.push(b"1}\r\n\r\n: still here\nevent: x\ndata:[DONE]");
        assert_eq!(lines.next_data().as_deref(), Some("{\"a\":1}"));
        assert_eq!(lines.next_data(), None);
        assert_eq!(lines.rest().as_deref(), Some("[DONE]"));
        assert_eq!((lines.rest(), lines.waiting_bytes()), (None, 0));
        for byte in b"data: x\n\ndata: y" {
            lines.push(&[*byte]);
            assert!(lines.next_data().is_none_or(|data| data == "x"));
        }
        assert_eq!((lines.waiting_bytes(), lines.rest().as_deref()), (7, Some("y")));
    }
}
