//! Which web pages may use the server. With a master key any page may ask, since none has a key by itself. Without one, a page
//! that a user of this machine looks at could read and change everything: then only pages of this machine may, and those
//! that `--allowed-origins` names.
//!
//! A page also gets here by giving its own name the address of this machine (DNS rebinding). Browsers take such a server for
//! the page's own, so the name that a request was sent to is looked at too: it must be one that no stranger can have.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;
use warp::http::header::{HOST, ORIGIN};
use warp::http::uri::Authority;
use warp::http::{HeaderMap, HeaderValue, Request};

/// Ends of names that the public name service never leads anywhere.
const PRIVATE_ENDS: [&str; 6] = [".localhost", ".local", ".internal", ".home.arpa", ".lan", ".test"];

/// Settings of the operator for web pages, as long as there is no master key.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    /// True if any page may send requests: there is a key, or the option permits it.
    is_open: bool,
    /// Origins as browsers write them, in lower case: `https://example.org:8080`, `null`.
    allowed: Vec<String>,
    /// Names that the server goes by, in lower case.
    hosts: Vec<String>,
    /// True if the server listens for this machine alone. A request with another name then does not come from a client
    /// in the network.
    is_local: bool,
}

/// Decision about the origin of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Any page may read the answer.
    Open,
    /// No page asks, or one of this server.
    Own,
    /// Origin of a page that may read the answer.
    Named(HeaderValue),
    /// The request is refused, with this sentence.
    Refused(String),
}

impl Origins {
    /// `address` is the one of the options, `listening` are those it stands for.
    pub(crate) fn new(has_key: bool, allowed: &[String], address: &str, listening: &[SocketAddr]) -> Origins {
        let allowed: Vec<String> = allowed.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        let of_allowed = allowed.iter().filter_map(|origin| Some(Url::parse(origin).ok()?.host_str()?.to_owned()));
        let own = address.parse::<Authority>().map(|address| address.host().to_ascii_lowercase());
        Origins {
            is_open: has_key || allowed.iter().any(|origin| origin == "*"),
            hosts: of_allowed.chain(own).collect(),
            is_local: listening.iter().all(|address| address.ip().to_canonical().is_loopback()),
            allowed,
        }
    }

    pub(crate) fn judge<B>(&self, request: &Request<B>) -> Verdict {
        if self.is_open {
            return Verdict::Open;
        }
        let headers = request.headers();
        let origin = headers.get(ORIGIN);
        if origin.is_some() || self.is_local {
            for host in hosts(request.uri().authority(), headers) {
                if !host.as_ref().is_some_and(|host| self.is_own(host.host())) {
                    let shown = host.map_or_else(|| "which cannot be read".to_owned(), |host| format!("`{host}`"));
                    return Verdict::Refused(format!(
                        "It was sent to the host {shown}, which is not a name of this server."
                    ));
                }
            }
        }
        let Some(origin) = origin else { return Verdict::Own };
        let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        if self.allowed.contains(&text) {
            return Verdict::Named(origin.clone());
        }
        let page = Url::parse(&text).ok().filter(Url::has_host);
        let is_of_machine = page.as_ref().is_some_and(|page| is_loopback(page.host_str().unwrap_or_default()));
        let is_same = page.as_ref().is_some_and(|page| {
            let mut hosts = hosts(request.uri().authority(), headers).peekable();
            hosts.peek().is_some() && hosts.all(|host| host.is_some_and(|host| is_same(page, &host)))
        });
        if is_same || is_of_machine {
            return Verdict::Named(origin.clone());
        }
        let shown: String = text.chars().take(ORIGIN_SHOWN_MAX).collect();
        Verdict::Refused(format!("It comes from a web page of `{}`.", shown.escape_debug()))
    }

    /// Reports whether only the operator, or a host of their network, can have given this name to the server.
    fn is_own(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // An address is no name. A name without a dot is one of this machine, or of a container beside it.
        is_address(&host)
            || !host.contains('.') && !host.is_empty()
            || PRIVATE_ENDS.iter().any(|end| host.ends_with(end))
            || self.hosts.contains(&host)
    }
}

/// Most characters of an origin in a message.
const ORIGIN_SHOWN_MAX: usize = 200;

/// The names that a request was sent to; `None` for one that cannot be read. Old clients send none.
fn hosts<'a>(
    target: Option<&'a Authority>,
    headers: &'a HeaderMap,
) -> impl Iterator<Item = Option<Authority>> + use<'a> {
    let named = headers.get_all(HOST).iter().map(|host| Authority::try_from(host.as_bytes()).ok());
    target.cloned().map(Some).into_iter().chain(named)
}

fn is_address(host: &str) -> bool {
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    literal.parse::<IpAddr>().is_ok()
}

fn is_loopback(host: &str) -> bool {
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_name = literal == "localhost" || literal.ends_with(".localhost");
    is_name || literal.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Reports whether a page comes from the server that it sends requests to. Behind a proxy, `http` and `https`
/// cannot be distinguished.
fn is_same(page: &Url, host: &Authority) -> bool {
    let is_default = |port: u16| matches!(port, 80 | 443);
    let same_port = match (page.port(), host.port_u16()) {
        (Some(one), Some(other)) => one == other,
        (None, None) => true,
        (Some(port), None) | (None, Some(port)) => is_default(port),
    };
    same_port && page.host_str().is_some_and(|name| name.eq_ignore_ascii_case(host.host()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: &str = "127.0.0.1:7700";
    const EVERYWHERE: &str = "0.0.0.0:7700";

    fn origins(allowed: &[&str], listening: &str) -> Origins {
        let allowed: Vec<String> = allowed.iter().map(|origin| origin.to_string()).collect();
        Origins::new(false, &allowed, "search.example.org:7700", &[listening.parse().unwrap()])
    }

    fn judge(origins: &Origins, host: &str, origin: Option<&str>) -> Verdict {
        let mut request = Request::builder().uri("/indexes");
        if !host.is_empty() {
            request = request.header(HOST, host);
        }
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        origins.judge(&request.body(()).unwrap())
    }

    fn is_refused(origins: &Origins, host: &str, origin: Option<&str>) -> bool {
        matches!(judge(origins, host, origin), Verdict::Refused(_))
    }

    #[test]
    fn with_a_key_any_page_may_ask() {
        let open = Origins::new(true, &[], LOCAL, &[LOCAL.parse().unwrap()]);
        assert_eq!(judge(&open, "evil.example", Some("http://evil.example")), Verdict::Open);
        assert_eq!(judge(&origins(&["*"], LOCAL), "evil.example", Some("http://evil.example")), Verdict::Open);
    }

    #[test]
    fn programs_ask_as_they_like() {
        for listening in [LOCAL, EVERYWHERE] {
            for host in
                ["localhost:7700", "127.0.0.1:7700", "[::1]:7700", "192.168.1.5", "lamina:7700", "a.b.local", ""]
            {
                assert_eq!(judge(&origins(&[], listening), host, None), Verdict::Own, "{host}");
            }
        }
        // In a network names are whatever its operator makes them.
        assert_eq!(judge(&origins(&[], EVERYWHERE), "search.corp.example", None), Verdict::Own);
    }

    #[test]
    fn pages_of_strangers_are_refused() {
        for listening in [LOCAL, EVERYWHERE] {
            let origins = origins(&["https://app.example.org"], listening);
            for origin in [
                "http://evil.example",
                "https://localhost.evil.example",
                "http://127.0.0.1.evil.example",
                "http://app.example.org",
                "https://app.example.org:8443",
                "https://app.example.org.evil.example",
                "null",
                "",
                "file://",
                "chrome-extension://abc",
            ] {
                assert!(is_refused(&origins, "localhost:7700", Some(origin)), "{origin}");
            }
            assert!(!is_refused(&origins, "localhost:7700", Some("https://app.example.org")));
            assert!(!is_refused(&origins, "localhost:7700", Some("HTTPS://APP.example.org")));
        }
        assert!(!is_refused(&origins(&["null"], LOCAL), "localhost", Some("null")));
    }

    #[test]
    fn pages_of_this_machine_and_of_the_server_itself_may_ask() {
        let everywhere = origins(&[], EVERYWHERE);
        for (host, origin) in [
            ("localhost:7700", "http://localhost:7700"),
            ("localhost:7700", "http://localhost:3000"),
            ("127.0.0.1:7700", "http://[::1]:5173"),
            ("192.168.1.5:7700", "http://192.168.1.5:7700"),
            ("search.example.org:7700", "http://search.example.org:7700"),
            ("lamina", "http://lamina"),
            ("lamina:443", "https://lamina"),
        ] {
            let named = Verdict::Named(HeaderValue::from_static(origin));
            assert_eq!(judge(&everywhere, host, Some(origin)), named, "{host} {origin}");
        }
        assert!(is_refused(&everywhere, "192.168.1.5:7700", Some("http://192.168.1.5:8000")));
    }

    #[test]
    fn a_strangers_name_for_this_machine_is_not_its_own() {
        let local = origins(&[], LOCAL);
        for host in ["evil.example:7700", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a b"] {
            assert!(is_refused(&local, host, None), "{host}");
            assert!(is_refused(&local, host, Some("http://evil.example:7700")), "{host}");
            assert!(is_refused(&origins(&[], EVERYWHERE), host, Some("http://evil.example:7700")), "{host}");
        }
        // Of several names each one counts.
        let request = Request::builder().uri("http://evil.example/").header(HOST, "localhost").body(()).unwrap();
        assert!(matches!(local.judge(&request), Verdict::Refused(_)));
    }
}
