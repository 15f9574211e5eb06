//! Requests of the library for stores, sent by the one client of this server, whose guard checks each address.

use async_trait::async_trait;
use http_body_util::BodyExt;
use lamina_base::outbound::{Outbound, Reply};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, RetryConfig};
use reqwest::{Method, StatusCode};

use super::{Attempts, LISTING_BYTES_MAX, PART_TIME, StorageError};

/// Maximum size of the response, among the extensions of a request that reads an object.
#[derive(Clone, Copy)]
pub(super) struct BytesMax(pub(super) usize);

/// Sends what the library has signed, and again where that may help. The library only sees responses that say yes, that there is no such
/// object, or that there is one.
#[derive(Clone, Debug)]
pub(super) struct Guarded {
    pub(super) outbound: Outbound,
    /// Code of the conflict that says that an object exists, where conflicts have several reasons.
    pub(super) exists_code: &'static str,
}

/// The library makes one attempt, since [`Guarded`] makes several.
pub(super) fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// Allows `http`, for stores in networks of one's own.
pub(super) fn client_options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

impl HttpConnector for Guarded {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Guarded {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let (body, url) = (body.collect().await?.to_bytes(), with_plain_spaces(&parts.uri.to_string()));
        let bytes_max = parts.extensions.get().map(|BytesMax(most)| *most);
        let is_of_object = bytes_max.is_some() || parts.method == Method::DELETE;
        let mut attempts = Attempts::default();
        loop {
            let request = self.outbound.request(parts.method.clone(), &url).map_err(|error| unseen(error.into()))?;
            let request = request.headers(parts.headers.clone()).timeout(PART_TIME).body(body.clone());
            let sent = self.outbound.send(request, bytes_max.unwrap_or(LISTING_BYTES_MAX)).await;
            match attempts.judge(sent).await {
                Ok(None) => {}
                Ok(Some(reply)) => return Ok(response(reply)),
                Err(StorageError::Refused { status, text }) if self.is_seen(status, &text, is_of_object) => {
                    return Ok(response(Reply { status, headers: Default::default(), body: text.into() }));
                }
                Err(error) => return Err(unseen(error)),
            }
        }
    }
}

impl Guarded {
    fn is_seen(&self, status: StatusCode, text: &str, is_of_object: bool) -> bool {
        match status {
            StatusCode::NOT_FOUND => is_of_object,
            StatusCode::PRECONDITION_FAILED => true,
            StatusCode::CONFLICT => text.contains(self.exists_code),
            _ => false,
        }
    }
}

/// A query in the form that is signed, where a space is `%20`: some stores compare signatures without decoding it.
fn with_plain_spaces(url: &str) -> String {
    match url.split_once('?') {
        Some((path, query)) => format!("{path}?{}", query.replace('+', "%20")),
        None => url.to_owned(),
    }
}

fn response(reply: Reply) -> HttpResponse {
    let mut response = HttpResponse::new(reply.body.into());
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    response
}

/// An error that passes through the library.
fn unseen(error: StorageError) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, error)
}

#[cfg(test)]
mod tests {
    use lamina_base::outbound::IpPolicy;

    use super::*;

    #[test]
    fn spaces_of_a_query_are_those_that_are_signed() {
        assert_eq!(with_plain_spaces("http://s/a+b?prefix=a+b%2Bc&x="), "http://s/a+b?prefix=a%20b%2Bc&x=");
        assert_eq!(with_plain_spaces("http://s/a+b"), "http://s/a+b");
    }

    #[tokio::test]
    async fn the_library_sees_only_what_it_knows() {
        let outbound = Outbound::new(IpPolicy::Any).unwrap();
        let azure = Guarded { outbound: outbound.clone(), exists_code: "BlobAlreadyExists" };
        assert!(azure.is_seen(StatusCode::CONFLICT, "BlobAlreadyExists: The specified blob already exists.", false));
        assert!(!azure.is_seen(StatusCode::CONFLICT, "ContainerBeingDeleted: Later.", false));
        assert!(Guarded { outbound, exists_code: "" }.is_seen(StatusCode::CONFLICT, "", false));
        assert!(azure.is_seen(StatusCode::PRECONDITION_FAILED, "", false));
        assert!(azure.is_seen(StatusCode::NOT_FOUND, "", true));
        assert!(!azure.is_seen(StatusCode::NOT_FOUND, "NoSuchBucket", false), "no object is named");
        assert!(!azure.is_seen(StatusCode::FORBIDDEN, "AccessDenied", true));
    }
}
