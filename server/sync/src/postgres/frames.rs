//! Messages: a letter, a length, a body.

use std::io;

use bytes::{Buf, Bytes, BytesMut, TryGetError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::PostgresError;

/// Larger than any value that the database can hold.
const FRAME_BYTES_MAX: usize = 1 << 30;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// A connection in the clear, or with TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

pub(super) struct Frame {
    pub(super) tag: u8,
    pub(super) body: Bytes,
}

pub(super) struct Wire {
    stream: Box<dyn Stream>,
    received: BytesMut,
}

impl Wire {
    pub(super) fn new(stream: Box<dyn Stream>) -> Wire {
        Wire { stream, received: BytesMut::new() }
    }

    /// Sends a message; the first of a connection has no letter.
    pub(super) async fn send(&mut self, tag: Option<u8>, body: &[u8]) -> Result<(), PostgresError> {
        let mut frame = Vec::with_capacity(body.len() + 5);
        frame.extend(tag);
        frame.extend_from_slice(&u32::try_from(body.len() + 4).unwrap_or(u32::MAX).to_be_bytes());
        frame.extend_from_slice(body);
        self.stream.write_all(&frame).await?;
        Ok(self.stream.flush().await?)
    }

    /// The next message. What was read of it is kept when this is given up.
    pub(super) async fn receive(&mut self) -> Result<Frame, PostgresError> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(frame);
            }
            self.received.reserve(READ_BYTES);
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    fn take(&mut self) -> Result<Option<Frame>, PostgresError> {
        let Some((head, _)) = self.received.split_first_chunk::<5>() else { return Ok(None) };
        let [tag, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if !(4..=FRAME_BYTES_MAX).contains(&length) {
            return Err(PostgresError::Unexpected(format!("a message with the length {length}")));
        }
        if self.received.len() < length + 1 {
            self.received.reserve(length + 1 - self.received.len());
            return Ok(None);
        }
        let mut frame = self.received.split_to(length + 1).freeze();
        frame.advance(5);
        Ok(Some(Frame { tag, body: frame }))
    }
}

impl From<TryGetError> for PostgresError {
    fn from(_: TryGetError) -> PostgresError {
        short()
    }
}

/// Takes bytes from the front of a body.
pub(super) fn bytes<'b>(body: &mut &'b [u8], count: usize) -> Result<&'b [u8], PostgresError> {
    body.split_off(..count).ok_or_else(short)
}

/// Takes a text that ends with a zero.
pub(super) fn text(body: &mut &[u8]) -> Result<String, PostgresError> {
    let end = body.iter().position(|byte| *byte == 0).ok_or_else(short)?;
    let text = String::from_utf8_lossy(bytes(body, end)?).into_owned();
    body.advance(1);
    Ok(text)
}

fn short() -> PostgresError {
    PostgresError::Unexpected("a message that ends too early".to_owned())
}
