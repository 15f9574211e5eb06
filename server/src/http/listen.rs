//! The accept loop.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use warp::http::{Request, Response};

use super::busy::{Busy, CountingService};
use super::compress::{AnswerBody, BoxError};
use super::slow::Impatient;

/// Maximum time of a client for a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// An HTTP/2 connection in silence is asked for a sign of life this often, and ends without one.
const PING_INTERVAL: Duration = Duration::from_secs(60);
/// Requests of an HTTP/2 connection that are under way at the same time.
const STREAMS_MAX: u32 = 200;
/// The head of an HTTP/2 request, unpacked. (Of HTTP/1, hyper bounds it by its buffer.)
const HEADER_BYTES_MAX: u32 = 16 << 10;
/// Requests that an HTTP/2 client may take back before they are looked at; with more, the connection ends.
const RESETS_MAX: usize = 20;
/// Pause after an accept that failed for lack of resources, which the next one would too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens on every address that `address` (`host:port`) stands for: `localhost` is one in each family.
///
/// # Errors
/// When there is none, or one of them is taken. A family that the machine lacks is skipped when another one works.
pub(crate) async fn listen(address: &str) -> io::Result<Vec<TcpListener>> {
    let (mut listeners, mut missing) = (Vec::new(), None);
    let mut port = None;
    for mut socket in lookup_host(address).await? {
        // Port 0 is any free one, but the same for all.
        if let Some(port) = port.filter(|_| socket.port() == 0) {
            socket.set_port(port);
        }
        match TcpListener::bind(socket).await {
            Ok(listener) => {
                port = Some(listener.local_addr()?.port());
                listeners.push(listener);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => missing = Some(error),
            Err(error) => return Err(error),
        }
    }
    if listeners.is_empty() {
        return Err(missing.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
    }
    Ok(listeners)
}

/// The next connection of any listener.
async fn accept(listeners: &[TcpListener]) -> io::Result<TcpStream> {
    match listeners {
        [one] => one.accept().await.map(|(stream, _)| stream),
        several => {
            let accepts = several.iter().map(|listener| Box::pin(listener.accept()));
            futures_util::future::select_all(accepts).await.0.map(|(stream, _)| stream)
        }
    }
}

/// Time for which all places must be taken before connections are asked to make room.
const CROWDED_TIME: Duration = Duration::from_secs(1);

/// Limits of number and time that connections are held to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// For the head of a request, the first one or the next, and to read more of an answer.
    pub patience: Duration,
    /// Connections at once, so that descriptors are left for files. More wait to be accepted, and those that are served end
    /// with their current request then, or at once when they have none.
    pub count_max: usize,
    /// For all connections to finish their requests once the server shuts down.
    pub drain: Duration,
}

/// Accepts connections and serves them until `shutdown` is ready; then lets requests under way finish.
pub(crate) async fn serve<S>(
    listeners: Vec<TcpListener>,
    tls: Option<TlsAcceptor>,
    limits: ConnectionLimits,
    service: S,
    shutdown: impl Future<Output = ()>,
) where
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    let server = Server { builder: builder(limits.patience), tls, patience: limits.patience, service };
    let (mut graceful, mut leaving) = (GracefulShutdown::new(), FuturesUnordered::new());
    let mut shutdown = std::pin::pin!(shutdown);
    let places = Arc::new(Semaphore::new(limits.count_max.min(Semaphore::MAX_PERMITS)));
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = tokio::time::sleep(CROWDED_TIME) => {
                tracing::debug!(places = limits.count_max, "all connections are taken: asking clients to make room");
                leaving.push(std::mem::take(&mut graceful).shutdown());
                continue;
            }
            // What has left is forgotten.
            Some(()) = leaving.next() => continue,
            () = &mut shutdown => break,
        };
        let accepted = tokio::select! {
            accepted = accept(&listeners) => accepted,
            () = &mut shutdown => break,
        };
        let Some(stream) = usable(accepted).await else { continue };
        let (server, watcher) = (server.clone(), graceful.watcher());
        tokio::spawn(async move {
            let ended = server.serve(stream, watcher).await;
            drop(place);
            if let Err(error) = ended {
                tracing::debug!(error, "connection ended early");
            }
        });
    }
    drop(listeners);
    leaving.push(graceful.shutdown());
    if tokio::time::timeout(limits.drain, leaving.collect::<()>()).await.is_err() {
        tracing::warn!("some connections did not finish in time");
    }
}

/// The connection, ready to be served; none when it could not be accepted, after a pause where the next one could not either.
async fn usable(accepted: io::Result<TcpStream>) -> Option<TcpStream> {
    match accepted {
        Ok(stream) => {
            // Answers are written whole; waiting for more to send would only delay them.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "cannot set TCP_NODELAY");
            }
            Some(stream)
        }
        Err(error) => {
            if !is_about_one_connection(&error) {
                tracing::error!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            None
        }
    }
}

/// Parts that serve a connection.
#[derive(Clone)]
struct Server<S> {
    builder: auto::Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    patience: Duration,
    service: S,
}

impl<S> Server<S>
where
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Infallible> + Send + 'static,
    S::Future: Send + 'static,
{
    async fn serve(self, stream: TcpStream, watcher: Watcher) -> Result<(), BoxError> {
        let Some(tls) = &self.tls else { return self.serve_plain(stream, watcher).await };
        // A handshake takes time: no other connection waits for it.
        match tokio::time::timeout(self.patience.min(HANDSHAKE_TIME), tls.accept(stream)).await {
            Ok(Ok(stream)) => self.serve_plain(stream, watcher).await,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err("the TLS handshake takes too long".into()),
        }
    }

    async fn serve_plain(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        watcher: Watcher,
    ) -> Result<(), BoxError> {
        let busy = Busy::new();
        let stream = Impatient::new(stream, self.patience, busy.clone());
        let service = CountingService { service: self.service, busy };
        watcher.watch(self.builder.serve_connection(TokioIo::new(stream), service).into_owned()).await
    }
}

fn builder(patience: Duration) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience);
    let ping_interval = PING_INTERVAL.min(patience);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(ping_interval))
        .keep_alive_timeout(ping_interval)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX)
        .max_pending_accept_reset_streams(RESETS_MAX);
    builder
}

/// Reports whether an accept failed because of the peer. The next connection may then succeed.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
