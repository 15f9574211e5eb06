//! Line feeds in the heads of HTTP/1 requests: each must follow a carriage return. The parser takes one alone for the end of a line; a
//! proxy in front that does not would see other headers, or another number of requests, than this server.
//!
//! Bodies are passed over by their length, so this reads the heads along with the parser.

use memchr::memchr;

/// Number of bytes kept of a line. Longer lines are irrelevant to the body.
const LINE_BYTES_MAX: usize = 256;

/// Position of the client in a connection.
#[derive(Debug)]
pub(super) struct Heads {
    place: Place,
    /// The beginning of the line under way.
    line: Vec<u8>,
    /// Previous byte, for a line feed that comes first.
    last: u8,
    body: Length,
    is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before a request: empty lines are passed over.
    Between,
    Head,
    /// So many bytes are to come.
    Body(u64),
    ChunkSize,
    /// Remaining bytes of a chunk, with the end of its line.
    Chunk(u64),
    Trailers,
}

/// Length of the body according to a head.
#[derive(Clone, Copy, Debug, Default)]
struct Length {
    bytes: u64,
    is_chunked: bool,
}

impl Heads {
    pub(super) fn new() -> Heads {
        Heads { place: Place::Between, line: Vec::new(), last: 0, body: Length::default(), is_over: false }
    }

    /// Looks at what was received, before the parser does. A line feed alone in a head becomes a byte that no head can have, which
    /// the parser refuses.
    pub(super) fn look(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() && !self.is_over {
            at += match self.place {
                Place::Body(left) => self.pass(left, bytes.len() - at, Place::Body, Place::Between),
                Place::Chunk(left) => self.pass(left, bytes.len() - at, Place::Chunk, Place::ChunkSize),
                Place::Between | Place::Head | Place::ChunkSize | Place::Trailers => self.read(bytes, at),
            };
        }
    }

    fn pass(&mut self, left: u64, there: usize, rest: impl Fn(u64) -> Place, next: Place) -> usize {
        let passed = left.min(there as u64);
        // What ends a body begins no end of a line.
        self.last = 0;
        self.place = if passed == left { next } else { rest(left - passed) };
        usize::try_from(passed).unwrap_or(there)
    }

    /// Reads from `at` up to the end of a line; how many bytes.
    fn read(&mut self, bytes: &mut [u8], at: usize) -> usize {
        let Some(len) = memchr(b'\n', &bytes[at..]) else {
            self.keep(&bytes[at..]);
            self.last = bytes.last().copied().unwrap_or(self.last);
            return bytes.len() - at;
        };
        let end = at + len;
        let before = if len > 0 { bytes[end - 1] } else { self.last };
        if before != b'\r' && matches!(self.place, Place::Between | Place::Head) {
            // At the end of a head the parser waits for a line feed; then it is the line before that is refused.
            let is_end = bytes[..end].ends_with(b"\r\n");
            bytes[if is_end { end - 2 } else { end }] = 0;
            self.is_over = true;
            return len + 1;
        }
        self.keep(&bytes[at..end]);
        self.last = b'\n';
        self.end_line();
        len + 1
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        match self.place {
            Place::Between if line.is_empty() => {}
            Place::Between => {
                self.place = Place::Head;
                self.body = Length::default();
            }
            Place::Head if line.is_empty() => {
                self.place = match self.body {
                    Length { is_chunked: true, .. } => Place::ChunkSize,
                    Length { bytes: 0, .. } => Place::Between,
                    Length { bytes, .. } => Place::Body(bytes),
                };
            }
            Place::Head => self.note_header(line),
            Place::ChunkSize => self.place = self.chunk(line),
            Place::Trailers if line.is_empty() => self.place = Place::Between,
            Place::Trailers | Place::Body(_) | Place::Chunk(_) => {}
        }
    }

    fn note_header(&mut self, line: &[u8]) {
        let Some(colon) = memchr(b':', line) else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            // The parser refuses what is no number.
            self.body.bytes = number.unwrap_or(self.body.bytes);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            // The last one is chunked, or the parser refuses the request.
            self.body.is_chunked = true;
        }
    }

    fn chunk(&mut self, line: &[u8]) -> Place {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let text = std::str::from_utf8(&line[..digits]).unwrap_or_default();
        match u64::from_str_radix(text, 16) {
            Ok(0) => Place::Trailers,
            Ok(bytes) => Place::Chunk(bytes.saturating_add(2)),
            // The parser refuses it, and the connection ends.
            Err(_) => {
                self.is_over = true;
                Place::ChunkSize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what the parser gets, however the bytes come.
    fn seen(text: &str) -> String {
        let mut all = text.as_bytes().to_vec();
        Heads::new().look(&mut all);
        for step in [1, 3, 7] {
            let (mut heads, mut pieces) = (Heads::new(), text.as_bytes().to_vec());
            pieces.chunks_mut(step).for_each(|piece| heads.look(piece));
            assert_eq!(pieces, all, "{step} bytes at a time");
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_line_feed_alone_is_none_in_a_head() {
        for (sent, seen_as) in [
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\0Host: a\r\n\r\n"),
            ("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\0X: b\r\n\r\n"),
            ("\nGET / HTTP/1.1\r\n\r\n", "\0GET / HTTP/1.1\r\n\r\n"),
            (
                "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\nGET / HTTP/1.1\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\nGET / HTTP/1.1\0\r\n",
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\r\0GET / HTTP/1.1\r\n\r\n",
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2;x\r\n\n\n\r\n0\r\nT: 1\r\n\r\nGET /\nX\r\n\r\n",
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2;x\r\n\n\n\r\n0\r\nT: 1\r\n\r\nGET /\0X\r\n\r\n",
            ),
        ] {
            assert_eq!(seen(sent), seen_as);
        }
    }

    #[test]
    fn the_end_of_a_head_is_one_line_feed_or_none() {
        let mut sent = b"GET / HTTP/1.1\r\nHost: a\r\n\n".to_vec();
        Heads::new().look(&mut sent);
        assert_eq!(sent, b"GET / HTTP/1.1\r\nHost: a\0\n\n");
        let (mut heads, mut pieces) = (Heads::new(), b"GET / HTTP/1.1\r\nHost: a\r\n\n".to_vec());
        pieces.chunks_mut(1).for_each(|piece| heads.look(piece));
        assert_eq!(pieces, b"GET / HTTP/1.1\r\nHost: a\r\n\0");
    }

    #[test]
    fn bodies_and_good_heads_stay_as_they_are() {
        let long =
            format!("GET / HTTP/1.1\r\nX: {}\r\nContent-Length: 2\r\n\r\n\n\nGET / HTTP/1.1\r\n\r\n", "x".repeat(1000));
        for good in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length:11\r\n\r\n{\"a\": \n1}\n\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\nA\r\n\n\n\n\n\n\n\n\n\n\n\r\n1\r\n\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            &long,
        ] {
            assert_eq!(seen(good), good);
        }
    }
}
