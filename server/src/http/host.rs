//! The host that a request names: one, and the same wherever it is named. Where a proxy goes by one name and this server by another, a
//! request is taken for something that it is not.

use warp::http::header::HOST;
use warp::http::uri::Authority;
use warp::http::{Request, Version};

/// # Errors
/// A sentence on what is wrong with the `Host` header.
pub(crate) fn check_host<B>(request: &Request<B>) -> Result<(), &'static str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, other) = (hosts.next(), hosts.next());
    if other.is_some() {
        return Err("The request has more than one `Host` header: send one.");
    }
    let Some(host) = host else {
        let needs_one = request.version() == Version::HTTP_11;
        return if needs_one { Err("The request has no `Host` header: HTTP/1.1 requires one.") } else { Ok(()) };
    };
    // Of a target without a host.
    if host.is_empty() {
        return Ok(());
    }
    let named = Authority::try_from(host.as_bytes()).ok().filter(|named| !named.as_str().contains('@'));
    let Some(named) = named else { return Err("The `Host` header is neither a name nor an address.") };
    match request.uri().authority() {
        // HTTP/1 goes by the target then, whatever the header says.
        Some(target) if request.version() >= Version::HTTP_2 && *target != named => {
            Err("The `Host` header names another host than `:authority`: leave it out, or let both say the same.")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(version: Version, uri: &str, hosts: &[&str]) -> Result<(), &'static str> {
        let request = Request::builder().version(version).uri(uri);
        check_host(&hosts.iter().fold(request, |request, host| request.header(HOST, *host)).body(()).unwrap())
    }

    #[test]
    fn a_request_names_one_host() {
        for host in ["localhost", "localhost:7700", "[::1]:7700", "127.0.0.1", ""] {
            assert_eq!(said(Version::HTTP_11, "/", &[host]), Ok(()), "{host}");
        }
        assert_eq!(said(Version::HTTP_10, "/", &[]), Ok(()));
        assert!(said(Version::HTTP_11, "/", &[]).unwrap_err().contains("no `Host`"));
        for hosts in [["a", "b"], ["a", "a"]] {
            assert!(said(Version::HTTP_11, "/", &hosts).unwrap_err().contains("more than one"));
        }
        for host in ["a b", "a, b", "user@a", "a/b", "http://a"] {
            assert!(said(Version::HTTP_11, "/", &[host]).unwrap_err().contains("neither"), "{host}");
        }
    }

    #[test]
    fn of_http2_both_names_are_the_same() {
        assert_eq!(said(Version::HTTP_2, "http://a:1/", &[]), Ok(()));
        assert_eq!(said(Version::HTTP_2, "http://a:1/", &["A:1"]), Ok(()));
        assert!(said(Version::HTTP_2, "http://a:1/", &["b:1"]).unwrap_err().contains(":authority"));
        assert!(said(Version::HTTP_2, "http://a:1/", &["a:1", "a:1"]).unwrap_err().contains("more than one"));
        assert_eq!(said(Version::HTTP_11, "http://a:1/", &["b:1"]), Ok(()));
    }
}
