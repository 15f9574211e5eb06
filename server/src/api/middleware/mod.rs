//! What is the same for every request: path normalisation, cross-origin rules, the answer to unknown routes.

mod forward;
mod replica;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lamina_base::error::{ApiError, Code};
use lamina_data::observe::ObservedRequest;
use lamina_data::telemetry::RequestFacts;
use lamina_replication::Role;
use warp::Reply;
use warp::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use warp::reply::Response;

use hyper::body::Incoming;
use hyper::service::Service;
use uuid::Uuid;

use crate::app::AppState;
use crate::http::requests::{Endpoint, error_answer};
use crate::http::routing::{Route, Table};
use crate::http::{AnswerBody, Compressing, Origins, Received, Verdict, check_host, without_body};

/// The routes behind a hyper service. Cheap to clone: one per connection.
#[derive(Clone)]
pub(crate) struct Front<S> {
    routes: S,
    table: Table,
    state: Arc<AppState>,
    origins: Arc<Origins>,
    /// True if a refused page has been logged.
    has_warned: Arc<AtomicBool>,
}

impl<S> Front<S> {
    /// Puts the front before `routes`, which are those of `table`.
    pub(crate) fn new(routes: S, table: Table, state: Arc<AppState>, origins: Origins) -> Front<S> {
        Front { routes, table, state, origins: Arc::new(origins), has_warned: Arc::default() }
    }

    /// The answer to what never reaches a route: a page that may not ask, a target that no route can have, another address of a page.
    /// Otherwise, what the headers of the answer say of pages.
    fn stopped(&self, request: &Request<Incoming>) -> Result<Verdict, Box<Response>> {
        // The name of a host alone, as a proxy is asked for a tunnel.
        if request.method() == Method::CONNECT {
            return Err(Box::new(StatusCode::METHOD_NOT_ALLOWED.into_response()));
        }
        if request.uri().path_and_query().is_none() {
            let message = "The target of the request has no path: it must begin with a slash.";
            return Err(Box::new(error_answer(&self.state, &ApiError::new(Code::BadRequest, message))));
        }
        if let Err(message) = check_host(request) {
            return Err(Box::new(error_answer(&self.state, &ApiError::new(Code::BadRequest, message))));
        }
        let verdict = self.origins.judge(request);
        if let Verdict::Refused(reason) = verdict {
            return Err(Box::new(self.refused_origin(&reason)));
        }
        if is_preflight(request) {
            let mut response = preflight(request.headers());
            name_reader(response.headers_mut(), &verdict);
            return Err(Box::new(response));
        }
        // Links of a page count from its address.
        if let Some(uri) = normalized(request.uri())
            && self.table.find(request.method().as_str(), uri.path()).is_some_and(Route::answers_page)
            && let Some(location) = relative(request.uri(), &uri)
        {
            let mut response = StatusCode::PERMANENT_REDIRECT.into_response();
            response.headers_mut().insert(header::LOCATION, location);
            return Err(Box::new(response));
        }
        Ok(verdict)
    }

    /// The answer of the routes. A replica passes writes on, and reads may wait for a generation.
    fn answered(
        &self,
        mut request: Request<Incoming>,
        route: Option<&'static Route>,
    ) -> Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>
    where
        S: Service<Request<Received>, Response = Response, Error = Infallible>,
        S::Future: Send + 'static,
    {
        let state = Arc::clone(&self.state);
        let is_read = route.map_or(request.method() == Method::GET, |route| route.endpoint.is_read());
        if let Some(route) = route {
            request.extensions_mut().insert(route);
        }
        if state.replication.role() == Role::Alone {
            return Box::pin(self.routes.call(Received::of(request)));
        }
        if let Some(target) = forward::target(&state, &request, is_read) {
            return Box::pin(async move { Ok(forward::forward(&state, request, &target).await) });
        }
        let begun = if let Some(answer) = replica::passed_on(&state, request.uri(), is_read) {
            Err(answer)
        } else {
            replica::wanted_generation(request.uri()).map_err(|error| error_answer(&state, &error)).map(|wanted| {
                let wanted = wanted.map(|(generation, uri)| {
                    *request.uri_mut() = uri;
                    generation
                });
                (wanted, self.routes.call(Received::of(request)))
            })
        };
        Box::pin(async move {
            let (wanted, answer) = match begun {
                Ok(begun) => begun,
                Err(answer) => return Ok(answer),
            };
            if let Some(wanted) = wanted
                && let Err(error) = replica::reach(&state, wanted).await
            {
                return Ok(error_answer(&state, &error));
            }
            // Nothing of it has run before: a future does nothing until it is awaited.
            answer.await
        })
    }

    /// The answer to a page that may not ask. No page may read it; the operator reads of it once.
    fn refused_origin(&self, reason: &str) -> Response {
        let message = format!(
            "{reason} Without a master key this server answers only web pages of the machine that it runs on. Set one with \
             `--master-key`, or name the page with `--allowed-origins`, as in `--allowed-origins https://example.org`."
        );
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("refused a request: {message} Later requests like it are refused without a log line.");
        }
        error_answer(&self.state, &ApiError::new(Code::ForeignOrigin, message))
    }
}

/// An answer as it is sent.
type Sent = warp::http::Response<AnswerBody>;
type Answer = Pin<Box<dyn Future<Output = Result<Sent, Infallible>> + Send>>;

impl<S> Service<Request<Incoming>> for Front<S>
where
    S: Service<Request<Received>, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Sent;
    type Error = Infallible;
    type Future = Answer;

    fn call(&self, mut request: Request<Incoming>) -> Answer {
        if request.method() != Method::HEAD {
            return self.answer(request);
        }
        *request.method_mut() = Method::GET;
        let answer = self.answer(request);
        Box::pin(async move { Ok(without_body(answer.await?)) })
    }
}

impl<S> Front<S>
where
    S: Service<Request<Received>, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    fn answer(&self, mut request: Request<Incoming>) -> Answer {
        let request_id = request_id(request.headers());
        // Before the request is carried out: its answer could not be sent.
        let (compressing, verdict) = match Compressing::wanted_by(request.headers()) {
            Ok(compressing) => (compressing, self.stopped(&request)),
            Err(_) => (Compressing::NOTHING, Err(Box::new(StatusCode::NOT_ACCEPTABLE.into_response()))),
        };
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(mut answer) => {
                answer.headers_mut().insert(REQUEST_ID, request_id);
                return Box::pin(async move { Ok(compressing.apply(*answer).await) });
            }
        };
        if let Some(uri) = normalized(request.uri()) {
            *request.uri_mut() = uri;
        }
        let state = Arc::clone(&self.state);
        let start = Instant::now();
        let span = state.spans.begin(request.headers());
        let table = self.table;
        let found = table.find(request.method().as_str(), request.uri().path());
        let listed = found.filter(|route| route.is_listed());
        let route = listed.map(|route| (route.endpoint.method, route.endpoint.pattern));
        let searches = found.is_some_and(|route| route.endpoint.searches());
        let facts = listed.filter(|_| state.telemetry.is_on()).and_then(|route| facts(route, &request));
        let log = tracing::enabled!(tracing::Level::DEBUG)
            .then(|| (request.method().clone(), loggable(request.uri().path()).to_owned()));
        let uri = request.uri().clone();
        let answer = self.answered(request, found);
        Box::pin(async move {
            let mut answer = answer.await?;
            replica::say_how_far(&state, answer.headers_mut());
            allow_others(&mut answer, table, uri.path());
            let seen = answer.extensions_mut().remove::<ObservedRequest>();
            if let Some(seen) = &seen {
                state.observations.seen(seen);
            }
            if let Some(route) = route {
                state.observations.request(route, searches, answer.status().as_u16(), start.elapsed());
            }
            if let (Some(span), Some(route)) = (span, route) {
                state.spans.end(span, route, loggable(uri.path()), answer.status().as_u16());
            }
            if let Some(request) = facts {
                let facts = seen.as_ref().and_then(|seen| seen.facts.as_deref());
                state.telemetry.request(&request, answer.status().as_u16(), start.elapsed(), facts);
            }
            if let Some((method, path)) = log {
                let (status, micros) = (answer.status().as_u16(), start.elapsed().as_micros());
                tracing::debug!(%method, path, status, micros, request_id = ?request_id, "request");
            }
            answer.headers_mut().insert(REQUEST_ID, request_id);
            let mut sent = compressing.apply(answer).await;
            name_reader(sent.headers_mut(), &verdict);
            Ok(sent)
        })
    }
}

/// Returns the facts that telemetry counts of a request; `None` for a route whose requests are not counted.
fn facts(route: &Route, request: &Request<Incoming>) -> Option<RequestFacts> {
    let Endpoint { method, pattern, .. } = route.endpoint;
    Some(RequestFacts::new(route.event?, method, pattern, request.uri().query(), request.headers()))
}

/// Names the methods that a route has, in the answer to one that it has not.
fn allow_others(answer: &mut Response, table: Table, path: &str) {
    if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
        let methods = table.methods_of(path).into_iter();
        let allowed: Vec<&str> =
            methods.flat_map(|known| [Some(known), (known == "GET").then_some("HEAD")]).flatten().collect();
        let allowed = HeaderValue::from_str(&allowed.join(", ")).expect("methods are words");
        answer.headers_mut().insert(header::ALLOW, allowed);
    }
}

/// The path without what may be the value of a key.
fn loggable(path: &str) -> &str {
    if path.starts_with("/keys/") { "/keys/…" } else { path }
}

/// Names a request in logs on both sides.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_BYTES_MAX: usize = 128;

/// The id that the client gave, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_fine = |id: &&HeaderValue| {
        (1..=REQUEST_ID_BYTES_MAX).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    headers.get(REQUEST_ID).filter(is_fine).cloned().unwrap_or_else(|| {
        let id = Uuid::now_v7().simple().to_string();
        HeaderValue::from_str(&id).expect("hexadecimal digits are fine")
    })
}

/// The path with repeated slashes merged and the last one gone; `None` when it is so already.
fn normalized(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if path == "/" || !(path.contains("//") || path.ends_with('/')) {
        return None;
    }
    let mut clean = String::with_capacity(path.len());
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        clean.push('/');
        clean.push_str(segment);
    }
    if clean.is_empty() {
        clean.push('/');
    }
    if let Some(query) = uri.query() {
        clean.push('?');
        clean.push_str(query);
    }
    clean.parse().ok()
}

/// Returns the address `to` as seen from `from`: a proxy may have taken the beginning of the path away.
fn relative(from: &Uri, to: &Uri) -> Option<HeaderValue> {
    let up = "../".repeat(from.path().matches('/').count() - 1);
    HeaderValue::from_str(&format!("{up}{}", to.to_string().trim_start_matches('/'))).ok()
}

fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Says which pages may read an answer.
fn name_reader(answer: &mut HeaderMap, verdict: &Verdict) {
    let reader = match verdict {
        // The same to all: an answer that depends on `Origin` could not be cached.
        Verdict::Open => HeaderValue::from_static("*"),
        Verdict::Named(origin) => {
            answer.append(header::VARY, HeaderValue::from_static("origin"));
            origin.clone()
        }
        Verdict::Own | Verdict::Refused(_) => {
            answer.append(header::VARY, HeaderValue::from_static("origin"));
            return;
        }
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, reader);
}

/// Any method and header; no key is needed to ask.
fn preflight(headers: &HeaderMap) -> Response {
    let mut response = Response::new(Default::default());
    let answer: &mut HeaderMap = response.headers_mut();
    answer.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS"),
    );
    // Named back rather than `*`, which does not cover `Authorization`.
    if let Some(asked) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_are_normalised() {
        let of = |text: &str| normalized(&text.parse().unwrap()).map(|uri| uri.to_string());
        assert_eq!(of("/"), None);
        assert_eq!(of("/indexes/a?x=//"), None);
        assert_eq!(of("/indexes/"), Some("/indexes".into()));
        assert_eq!(of("//indexes//a//?limit=1"), Some("/indexes/a?limit=1".into()));
        assert_eq!(of("//"), Some("/".into()));
    }

    #[test]
    fn a_page_has_one_address() {
        let of = |text: &str| {
            let from: Uri = text.parse().unwrap();
            normalized(&from).map(|to| relative(&from, &to).unwrap().to_str().unwrap().to_owned())
        };
        assert_eq!(["/", "/docs", "/docs?q=/"].map(of), [None, None, None]);
        assert_eq!(of("/docs/").as_deref(), Some("../docs"));
        assert_eq!(of("/docs//?q=a").as_deref(), Some("../../docs?q=a"));
        assert_eq!(of("/docs/start//first").as_deref(), Some("../../../docs/start/first"));
    }

    #[test]
    fn requests_keep_the_id_that_they_came_with() {
        let mut headers = HeaderMap::new();
        let made = request_id(&headers);
        assert_eq!(made.len(), 32);
        assert_ne!(request_id(&headers), made);
        headers.insert(REQUEST_ID, HeaderValue::from_static("abc-1"));
        assert_eq!(request_id(&headers), "abc-1");
        for bad in ["", "a b", &"x".repeat(129)] {
            headers.insert(REQUEST_ID, bad.parse().unwrap());
            assert_eq!(request_id(&headers).len(), 32, "{bad:?}");
        }
    }

    #[test]
    fn preflights_name_the_asked_headers_back() {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCESS_CONTROL_REQUEST_HEADERS, "authorization,x-custom".parse().unwrap());
        let response = preflight(&headers);
        assert_eq!(response.headers()[header::ACCESS_CONTROL_ALLOW_HEADERS], "authorization,x-custom");
        assert_eq!(response.headers()[header::ACCESS_CONTROL_MAX_AGE], "86400");
    }
}
