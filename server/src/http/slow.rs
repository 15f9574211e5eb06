//! Connections whose other side says nothing or stops reading: they hold memory and files, so they end.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Bytes that tell which version of HTTP a client speaks: the fixed text at the start of HTTP/2. Whoever reads them does
/// not look at a clock; with them, heads of requests have a time limit of their own.
const OPENING_BYTES: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();

/// A connection that fails when its client says nothing at the start, or when nothing could be written, for some time.
/// Reading is not limited later: what a client may take for heads and bodies is known where these are read.
pub(super) struct Impatient<S> {
    stream: S,
    patience: Duration,
    /// Bytes that are still to come before the version is known.
    opening_bytes: usize,
    /// Runs from the beginning until then.
    opening: Pin<Box<Sleep>>,
    /// Runs while a write waits.
    writing: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    /// To be called within a runtime: the time of the client begins now.
    pub(super) fn new(stream: S, patience: Duration) -> Impatient<S> {
        let opening = Box::pin(sleep(patience));
        Impatient { stream, patience, opening_bytes: OPENING_BYTES, opening, writing: None }
    }

    fn check<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.writing = None;
            return written;
        }
        let patience = self.patience;
        let alarm = self.writing.get_or_insert_with(|| Box::pin(sleep(patience)));
        match alarm.as_mut().poll(context) {
            Poll::Ready(()) => {
                self.writing = None;
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answer")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.opening_bytes > 0 {
            self.opening_bytes = self.opening_bytes.saturating_sub(buffer.filled().len() - filled);
            if read.is_pending() && self.opening.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client says nothing")));
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check(context, closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_up() {
        let (ours, _theirs) = duplex(1000);
        let mut stream = Impatient::new(ours, Duration::from_millis(20));
        stream.write_all(&[0; 1000]).await.unwrap();
        let error = stream.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_slow_one_is_waited_for() {
        let (ours, mut theirs) = duplex(100);
        let mut stream = Impatient::new(ours, Duration::from_millis(500));
        let reader = tokio::spawn(async move {
            let (mut total, mut buffer) = (0, [0; 10]);
            while total < 300 {
                tokio::time::sleep(Duration::from_millis(5)).await;
                total += theirs.read(&mut buffer).await.unwrap();
            }
        });
        stream.write_all(&[0; 300]).await.unwrap();
        reader.await.unwrap();
    }

    #[tokio::test]
    async fn a_silent_beginning_ends_and_a_silence_later_does_not() {
        for said in [&b""[..], b"PRI * HTTP"] {
            let (ours, mut theirs) = duplex(100);
            let mut stream = Impatient::new(ours, Duration::from_millis(20));
            theirs.write_all(said).await.unwrap();
            let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        let (ours, mut theirs) = duplex(100);
        let mut stream = Impatient::new(ours, Duration::from_millis(20));
        theirs.write_all(&[0; OPENING_BYTES]).await.unwrap();
        let read = tokio::time::timeout(Duration::from_millis(100), stream.read_to_end(&mut Vec::new())).await;
        assert!(read.is_err(), "it waits: {read:?}");
    }
}
