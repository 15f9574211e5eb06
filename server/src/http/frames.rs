//! HTTP/2 as it goes over a connection, frame by frame: what of it is progress. A client that says nothing but pings, opens
//! windows, or sends the head of a request byte by byte makes none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;

/// On `DATA` and `HEADERS`: nothing of the stream comes behind it in this direction.
const END_STREAM: u8 = 0x1;
/// On `HEADERS` and `CONTINUATION`: the fields are complete.
const END_HEADERS: u8 = 0x4;

/// The head of a frame.
#[derive(Clone, Copy, Debug)]
struct Head {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

/// One direction of a connection, cut into frames.
#[derive(Debug, Default)]
struct Frames {
    head: [u8; HEAD_BYTES],
    /// Bytes of `head` that are there.
    known: usize,
    /// The frame that is under way, and how many bytes of it are still to come.
    current: Option<(Head, usize)>,
}

impl Frames {
    /// Takes what comes next and reports every piece of a frame: its head, the bytes of its content, whether it ends.
    fn pass(&mut self, mut bytes: &[u8], mut report: impl FnMut(Head, usize, bool)) {
        while !bytes.is_empty() || matches!(self.current, Some((_, 0))) {
            if let Some((head, left)) = self.current {
                let taken = left.min(bytes.len());
                bytes = &bytes[taken..];
                self.current = (taken < left).then_some((head, left - taken));
                report(head, taken, taken == left);
                continue;
            }
            let taken = (HEAD_BYTES - self.known).min(bytes.len());
            self.head[self.known..self.known + taken].copy_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            self.known += taken;
            if self.known == HEAD_BYTES {
                self.known = 0;
                let [a, b, c, kind, flags, s, t, u, v] = self.head;
                let length = u32::from_be_bytes([0, a, b, c]) as usize;
                let stream = u32::from_be_bytes([s & 0x7f, t, u, v]);
                self.current = Some((Head { length, kind, flags, stream }, length));
            }
        }
    }
}

/// Progress of a connection.
#[derive(Debug)]
pub(super) struct Progress {
    from_client: Frames,
    to_client: Frames,
    /// Time at which a request, or a piece of a body or of a response, was last transferred.
    last: Instant,
    /// Answers that have begun and not ended, and when a piece of each was sent last.
    answers: BTreeMap<u32, Instant>,
}

impl Progress {
    /// To be called behind the fixed text at the start.
    pub(super) fn new(now: Instant) -> Progress {
        Progress { from_client: Frames::default(), to_client: Frames::default(), last: now, answers: BTreeMap::new() }
    }

    pub(super) fn received(&mut self, bytes: &[u8], now: Instant) {
        let Progress { from_client, last, answers, .. } = self;
        from_client.pass(bytes, |head, taken, ends| match head.kind {
            DATA if taken > 0 => *last = now,
            HEADERS | CONTINUATION if ends && head.flags & END_HEADERS != 0 => *last = now,
            RST_STREAM if ends => drop(answers.remove(&head.stream)),
            _ => {}
        });
    }

    pub(super) fn sent(&mut self, bytes: &[u8], now: Instant) {
        let Progress { to_client, last, answers, .. } = self;
        to_client.pass(bytes, |head, taken, ends| {
            let is_last = ends && head.flags & END_STREAM != 0;
            match head.kind {
                DATA | HEADERS if is_last => {
                    *last = now;
                    answers.remove(&head.stream);
                }
                DATA | HEADERS if taken > 0 && head.length > 0 => {
                    *last = now;
                    answers.insert(head.stream, now);
                }
                RST_STREAM if ends => drop(answers.remove(&head.stream)),
                _ => {}
            }
        });
    }

    /// Returns the time without any progress.
    pub(super) fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last)
    }

    /// Answers of which nothing could be sent for longer than `patience`.
    pub(super) fn stuck(&self, now: Instant, patience: Duration) -> usize {
        self.answers.values().filter(|sent| now.saturating_duration_since(**sent) > patience).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
        let mut bytes = (content.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(content);
        bytes
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pings_and_unfinished_heads_are_no_progress() {
        const PING: u8 = 6;
        const WINDOW_UPDATE: u8 = 8;
        let start = Instant::now();
        let mut progress = Progress::new(start);
        let idle = [
            frame(PING, 0, 0, &[0; 8]),
            frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]),
            frame(4, 1, 0, &[]),
            frame(DATA, 0, 1, &[]),
            frame(HEADERS, END_STREAM, 1, &[1, 2, 3]),
            frame(CONTINUATION, 0, 1, &[1]),
        ];
        for bytes in idle {
            // However it is cut.
            for piece in bytes.chunks(4) {
                progress.received(piece, start + SECOND);
            }
            assert_eq!(progress.idle(start + SECOND), SECOND, "{bytes:?}");
        }
        progress.received(&frame(CONTINUATION, END_HEADERS, 1, &[1])[..9], start + SECOND);
        assert_eq!(progress.idle(start + SECOND), SECOND, "its content is still to come");
        progress.received(&[1], start + SECOND);
        assert_eq!(progress.idle(start + SECOND), Duration::ZERO);
        progress.received(&frame(DATA, 0, 1, &[1]), start + 3 * SECOND);
        assert_eq!(progress.idle(start + 3 * SECOND), Duration::ZERO);
    }

    #[test]
    fn answers_are_stuck_when_nothing_of_them_goes_out() {
        let start = Instant::now();
        let mut progress = Progress::new(start);
        progress.sent(&frame(HEADERS, END_HEADERS, 1, &[1]), start);
        progress.sent(&frame(HEADERS, END_HEADERS, 3, &[1]), start);
        progress.sent(&frame(HEADERS, END_HEADERS | END_STREAM, 5, &[1]), start);
        progress.sent(&frame(DATA, 0, 1, &[1; 100]), start + 2 * SECOND);
        let late = start + 3 * SECOND;
        assert_eq!((progress.stuck(late, 2 * SECOND), progress.stuck(late, SECOND / 2)), (1, 2));
        progress.sent(&frame(DATA, END_STREAM, 1, &[]), late);
        progress.received(&frame(RST_STREAM, 0, 3, &[0; 4]), late);
        assert_eq!(progress.stuck(late + 9 * SECOND, SECOND), 0);
    }
}
