//! A body that arrives asynchronously, as a blocking reader on another thread.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::http::BodyStream;

/// Pieces under way between the two: what the connection reads ahead of the parser.
const PIECES: usize = 16;
/// Bytes of the pieces: a piece has up to 400 KiB where a connection is fast.
const AHEAD_BYTES: usize = 512 << 10;

/// The reading end.
pub(super) struct BodyReader {
    head: std::vec::IntoIter<Bytes>,
    current: Bytes,
    /// The room that `current` takes.
    room: Option<OwnedSemaphorePermit>,
    pieces: mpsc::Receiver<Piece>,
    ended: bool,
}

/// The feeding end.
pub(super) struct BodyFeeder {
    pieces: mpsc::Sender<Piece>,
    /// One for each byte that may be under way.
    room: Arc<Semaphore>,
}

impl BodyFeeder {
    /// Waits until there is room for a piece.
    async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        // Any piece fits into the whole room.
        let permits = u32::try_from(bytes.min(AHEAD_BYTES)).unwrap_or(u32::MAX);
        Arc::clone(&self.room).acquire_many_owned(permits).await.ok()
    }
}

enum Piece {
    Bytes(Bytes, Option<OwnedSemaphorePermit>),
    /// A body that just stops without this was cut off.
    End,
}

/// The two ends; `head` was received already.
pub(super) fn pair(head: Vec<Bytes>) -> (BodyReader, BodyFeeder) {
    let (sender, receiver) = mpsc::channel(PIECES);
    let (head, current) = (head.into_iter(), Bytes::new());
    let reader = BodyReader { head, current, room: None, pieces: receiver, ended: false };
    (reader, BodyFeeder { pieces: sender, room: Arc::new(Semaphore::new(AHEAD_BYTES)) })
}

impl BodyFeeder {
    /// Passes the body on until it ends or its reader is gone; then discards up to `drain_bytes` of the rest.
    pub(super) async fn feed(self, mut body: BodyStream, ended: bool, drain_bytes: u64) {
        let mut is_read = true;
        let mut drained = 0;
        while !ended && drained <= drain_bytes {
            match body.next().await {
                Some(Ok(piece)) if is_read => {
                    let room = self.room(piece.len()).await;
                    is_read = self.pieces.send(Piece::Bytes(piece, room)).await.is_ok();
                }
                Some(Ok(piece)) => drained += piece.len() as u64,
                Some(Err(_)) => return,
                None => break,
            }
        }
        // The reader is gone after an early refusal.
        let _ = self.pieces.send(Piece::End).await;
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.ended {
            // What was read leaves its room to the next pieces.
            (self.current, self.room) = (Bytes::new(), None);
            if let Some(piece) = self.head.next() {
                self.current = piece;
                continue;
            }
            match self.pieces.blocking_recv() {
                Some(Piece::Bytes(piece, room)) => (self.current, self.room) = (piece, room),
                Some(Piece::End) => self.ended = true,
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the body was cut off")),
            }
        }
        let count = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Pieces that a fast connection has, of `bytes` each, and how many of them were taken so far.
    fn pieces(count: usize, bytes: usize) -> (BodyStream, Arc<AtomicUsize>) {
        let taken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&taken);
        let next = move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(Bytes::from(vec![b'x'; bytes]))
        };
        (Box::pin(futures_util::stream::iter(0..count).map(next)), taken)
    }

    #[tokio::test]
    async fn what_is_read_ahead_is_bounded_by_bytes() {
        for bytes in [400 << 10, AHEAD_BYTES, 2 * AHEAD_BYTES, 100 << 10] {
            let count = 40;
            let (body, taken) = pieces(count, bytes);
            let (mut reader, feeder) = pair(Vec::new());
            let feeding = tokio::spawn(feeder.feed(body, false, 0));
            // It runs on this thread, as far as there is room.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            // Those that there is room for, and the one that waits for room.
            let ahead = taken.load(Ordering::SeqCst);
            assert_eq!(ahead, (AHEAD_BYTES / bytes).max(1) + 1, "pieces of {bytes} bytes");
            let read = tokio::task::spawn_blocking(move || {
                let mut body = Vec::new();
                reader.read_to_end(&mut body).map(|_| body.len())
            });
            assert_eq!(read.await.expect("it ends").expect("it is whole"), count * bytes);
            feeding.await.expect("it ends");
        }
    }
}
