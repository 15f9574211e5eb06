//! Connections whose other side says nothing or stops reading: they hold memory and files, so they end.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::busy::Busy;
use super::frames::Progress;
use super::heads::Heads;

/// Text that identifies the HTTP version of a client: the fixed text at the start of HTTP/2. Its reader has no time
/// limit. After it, heads of HTTP/1 requests have a time limit of their own.
const OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const OPENING_BYTES: usize = OPENING.len();

/// An HTTP/2 connection is looked at so many times while the patience with it lasts.
const LOOKS: u32 = 8;

/// A connection that fails when its client says nothing at the start, or when nothing could be written, for some time.
/// Of HTTP/1, reading is not limited later: what a client may take for heads and bodies is known where these are read. Of
/// HTTP/2, the connection ends when nothing gets done on it though the server has done its part, and when an answer is stuck:
/// there is one connection for all requests, so there is one end for all.
pub(super) struct Impatient<S> {
    stream: S,
    patience: Duration,
    /// Bytes that are still to come before the version is known.
    opening_bytes: usize,
    /// True if the bytes so far are those of HTTP/2.
    is_http2: bool,
    /// State of HTTP/1 heads.
    heads: Heads,
    /// State of an HTTP/2 connection, once the version is known.
    progress: Option<Watched>,
    busy: Busy,
    /// Runs from the beginning until then.
    opening: Pin<Box<Sleep>>,
    /// Runs while a write waits.
    writing: Option<Pin<Box<Sleep>>>,
}

/// The progress of an HTTP/2 connection, and when to look at it next.
struct Watched {
    progress: Progress,
    look: Pin<Box<Sleep>>,
}

impl<S> Impatient<S> {
    /// To be called within a runtime: the time of the client begins now. `busy` says what the server has to do for it.
    pub(super) fn new(stream: S, patience: Duration, busy: Busy) -> Impatient<S> {
        let opening = Box::pin(sleep(patience));
        let (opening_bytes, is_http2) = (OPENING_BYTES, true);
        let (heads, progress) = (Heads::new(), None);
        Impatient { stream, patience, opening_bytes, is_http2, heads, progress, busy, opening, writing: None }
    }

    /// Takes note of what the client sent.
    fn received(&mut self, bytes: &mut [u8]) {
        let (opening, rest) = bytes.split_at_mut(self.opening_bytes.min(bytes.len()));
        if !opening.is_empty() {
            let from = OPENING_BYTES - self.opening_bytes;
            self.is_http2 &= *opening == OPENING[from..from + opening.len()];
            self.opening_bytes -= opening.len();
            if self.opening_bytes == 0 && self.is_http2 {
                let look = Box::pin(sleep(self.patience / LOOKS));
                self.progress = Some(Watched { progress: Progress::new(Instant::now()), look });
            }
        }
        match &mut self.progress {
            Some(watched) => watched.progress.received(rest, Instant::now()),
            None => {
                self.heads.look(opening);
                self.heads.look(rest);
            }
        }
    }

    /// Takes note of what was sent to the client: the first `count` bytes of these.
    fn sent<'a>(&mut self, slices: impl Iterator<Item = &'a [u8]>, mut count: usize) {
        let Some(watched) = &mut self.progress else { return };
        let now = Instant::now();
        for slice in slices {
            let taken = count.min(slice.len());
            watched.progress.sent(&slice[..taken], now);
            count -= taken;
        }
    }

    /// Reports the fault of an HTTP/2 connection on which nothing can be read. Wakes the reader for the next check.
    fn overdue(&mut self, context: &mut Context<'_>) -> Option<&'static str> {
        let Watched { progress, look } = self.progress.as_mut()?;
        while look.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if self.busy.idle(now).is_some_and(|idle| idle.min(progress.idle(now)) > self.patience) {
                return Some("the client does nothing");
            }
            // Which answers the server still makes is not known here, only how many.
            if progress.stuck(now, self.patience) > self.busy.answers() {
                return Some("the client does not read its answer");
            }
            look.as_mut().reset((now + self.patience / LOOKS).into());
        }
        None
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
        let this = &mut *self;
        this.received(&mut buffer.filled_mut()[filled..]);
        if read.is_pending() && this.opening_bytes > 0 && this.opening.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client says nothing")));
        }
        match read {
            Poll::Pending => match this.overdue(context) {
                Some(reason) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, reason))),
                None => Poll::Pending,
            },
            read => read,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.sent(std::iter::once(bytes), count);
        }
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        if let Poll::Ready(Ok(count)) = written {
            self.sent(slices.iter().map(|slice| &**slice), count);
        }
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
        let mut stream = Impatient::new(ours, Duration::from_millis(20), Busy::new());
        stream.write_all(&[0; 1000]).await.unwrap();
        let error = stream.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_slow_one_is_waited_for() {
        let (ours, mut theirs) = duplex(100);
        let mut stream = Impatient::new(ours, Duration::from_millis(500), Busy::new());
        let reader = tokio::spawn(async move {
            let (mut total, mut buffer) = (0, [0; 10]);
            while total < 300 {
                // Slowly: the whole takes longer than the silence that is allowed.
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
            let mut stream = Impatient::new(ours, Duration::from_millis(20), Busy::new());
            theirs.write_all(said).await.unwrap();
            let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        let (ours, mut theirs) = duplex(100);
        let mut stream = Impatient::new(ours, Duration::from_millis(20), Busy::new());
        theirs.write_all(&[0; OPENING_BYTES]).await.unwrap();
        let read = tokio::time::timeout(Duration::from_millis(100), stream.read_to_end(&mut Vec::new())).await;
        assert!(read.is_err(), "it waits: {read:?}");
    }

    #[tokio::test]
    async fn http2_ends_when_nothing_gets_done() {
        let (ours, mut theirs) = duplex(1000);
        let mut stream = Impatient::new(ours, Duration::from_millis(50), Busy::new());
        theirs.write_all(OPENING).await.unwrap();
        let pings = tokio::spawn(async move {
            // Type 6, without end.
            while theirs.write_all(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]).await.is_ok() {
                // More often than the silence that is allowed.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let read = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut Vec::new())).await;
        assert_eq!(read.expect("it ends").unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(stream);
        pings.await.unwrap();
    }
}
