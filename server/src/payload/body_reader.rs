//! A body that arrives asynchronously, as a blocking reader on another thread.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use tokio::sync::mpsc;

use crate::http::BodyStream;

/// Pieces under way between the two: what the connection reads ahead of the parser.
const PIECES: usize = 16;

/// The reading end.
pub(super) struct BodyReader {
    head: std::vec::IntoIter<Bytes>,
    current: Bytes,
    pieces: mpsc::Receiver<Piece>,
    ended: bool,
}

/// The feeding end.
pub(super) struct BodyFeeder {
    pieces: mpsc::Sender<Piece>,
}

enum Piece {
    Bytes(Bytes),
    /// A body that just stops without this was cut off.
    End,
}

/// The two ends; `head` was received already.
pub(super) fn pair(head: Vec<Bytes>) -> (BodyReader, BodyFeeder) {
    let (sender, receiver) = mpsc::channel(PIECES);
    let reader = BodyReader { head: head.into_iter(), current: Bytes::new(), pieces: receiver, ended: false };
    (reader, BodyFeeder { pieces: sender })
}

impl BodyFeeder {
    /// Passes the body on until it ends or its reader is gone; then discards up to `drain_bytes` of the rest.
    pub(super) async fn feed(self, mut body: BodyStream, ended: bool, drain_bytes: u64) {
        let mut is_read = true;
        let mut drained = 0;
        while !ended && drained <= drain_bytes {
            match body.next().await {
                Some(Ok(piece)) if is_read => is_read = self.pieces.send(Piece::Bytes(piece)).await.is_ok(),
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
            if let Some(piece) = self.head.next() {
                self.current = piece;
                continue;
            }
            match self.pieces.blocking_recv() {
                Some(Piece::Bytes(piece)) => self.current = piece,
                Some(Piece::End) => self.ended = true,
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the body was cut off")),
            }
        }
        let count = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
