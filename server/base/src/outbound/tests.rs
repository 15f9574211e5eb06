//! The client against local peers that answer, redirect, stall, or talk without end.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::*;

/// Answers each connection with the next of `answers`, as it is; then leaves.
fn peer(answers: Vec<String>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let _length = stream.read(&mut head).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    port
}

fn answer(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn redirect_to(url: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n")
}

async fn get(networks: &str, url: &str) -> Result<Reply, OutboundError> {
    let outbound = Outbound::new(networks.parse().unwrap())?;
    let request = outbound.request(Method::GET, url)?.timeout(Duration::from_secs(5));
    outbound.send(request, 1000).await
}

#[tokio::test]
async fn allowed_addresses_answer() {
    let port = peer(vec![answer("hello"), answer("by name")]);
    let reply = get("127.0.0.0/8", &format!("http://127.0.0.1:{port}/")).await.unwrap();
    assert_eq!((reply.status, &reply.body[..]), (StatusCode::OK, &b"hello"[..]));
    let reply = get("127.0.0.0/8,::1", &format!("http://localhost:{port}/")).await.unwrap();
    assert_eq!(&reply.body[..], b"by name");
}

#[tokio::test]
async fn forbidden_addresses_are_rejected_by_number_and_by_name() {
    let port = peer(vec![answer("never read")]);
    for host in ["127.0.0.1", "localhost", "[::1]", "2130706433"] {
        let error = get("", &format!("http://{host}:{port}/")).await.unwrap_err();
        assert!(matches!(error, OutboundError::Rejected(_)), "{host}: {error:?}");
        assert!(error.to_string().starts_with("Rejected IP"), "{error}");
    }
}

#[tokio::test]
async fn redirects_lead_nowhere_forbidden() {
    let secret = peer(vec![answer("secret")]);
    // 127.0.0.2 and 127.0.0.1 are both this machine; only the second one is allowed.
    let port = peer(vec![redirect_to(&format!("http://127.0.0.2:{secret}/")), redirect_to("http://localhost:1/")]);
    for _ in 0..2 {
        let error = get("127.0.0.1/32", &format!("http://127.0.0.1:{port}/")).await;
        match error {
            Err(OutboundError::Rejected(_)) => {}
            // `localhost` is an allowed address where it has no other one.
            Err(OutboundError::Http(error)) => assert!(error.is_connect(), "{error:?}"),
            other => panic!("{other:?}"),
        }
    }
    let port = peer(vec![redirect_to("ftp://127.0.0.1/")]);
    assert!(get("127.0.0.1/32", &format!("http://127.0.0.1:{port}/")).await.is_err());
}

#[tokio::test]
async fn redirects_within_what_is_allowed_are_followed_but_not_for_ever() {
    let end = peer(vec![answer("there")]);
    let port = peer(vec![redirect_to(&format!("http://127.0.0.1:{end}/"))]);
    assert_eq!(&get("127.0.0.0/8", &format!("http://127.0.0.1:{port}/")).await.unwrap().body[..], b"there");
    let round = peer((0..20).map(|_| redirect_to("/again")).collect());
    let error = get("127.0.0.0/8", &format!("http://127.0.0.1:{round}/")).await.unwrap_err();
    assert!(error.to_string().contains("redirects"), "{error}");
}

/// Answers as [`peer`], and sends on what it was asked.
fn listening_peer(answers: Vec<String>) -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap();
            let _ = sender.send(String::from_utf8_lossy(&head[..length]).to_lowercase());
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (port, receiver)
}

fn moved(status: &str, url: &str) -> String {
    format!("HTTP/1.1 {status}\r\nConnection: close\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn secrets_stay_with_the_origin_they_are_meant_for() {
    for status in
        ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let (end, at_end) = listening_peer(vec![answer("there")]);
        let elsewhere = format!("http://user:own@127.0.0.1:{end}/elsewhere");
        let (start, at_start) = listening_peer(vec![moved(status, "/here"), moved(status, &elsewhere)]);
        let outbound = Outbound::new("127.0.0.0/8".parse().unwrap()).unwrap();
        let request = outbound
            .request(Method::POST, &format!("http://user:s3cret@127.0.0.1:{start}/"))
            .unwrap()
            .timeout(Duration::from_secs(5))
            .header("X-Anything", "s3cret")
            .header("Cookie", "s3cret")
            .header("Content-Type", "text/x-kept")
            .body("body");
        let reply = outbound.send(request, 1000).await.unwrap();
        assert_eq!(&reply.body[..], b"there", "{status}");
        for path in ["post / ", " /here "] {
            let asked = at_start.recv().unwrap();
            assert!(asked.contains(path), "{status}: {asked}");
            assert!(asked.contains("x-anything: s3cret"), "{status}: {asked}");
            assert!(asked.contains("authorization: basic"), "{status}: {asked}");
        }
        let asked = at_end.recv().unwrap();
        let is_kept = status.starts_with("307") || status.starts_with("308");
        assert!(asked.starts_with(if is_kept { "post /elsewhere" } else { "get /elsewhere" }), "{status}: {asked}");
        assert_eq!(asked.contains("text/x-kept"), is_kept, "{status}: {asked}");
        for secret in ["s3cret", "authorization", "x-anything", "cookie", "referer", "own@"] {
            assert!(!asked.contains(secret), "{status}, {secret}: {asked}");
        }
    }
}

#[tokio::test]
async fn answers_are_bounded_in_length_and_time() {
    let port = peer(vec![answer(&"x".repeat(1001))]);
    let error = get("127.0.0.0/8", &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(matches!(error, OutboundError::TooLong { bytes_max: 1000 }), "{error:?}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let outbound = Outbound::new(IpPolicy::Any).unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let start = Instant::now();
    let request = outbound.request(Method::GET, &url).unwrap().timeout(Duration::from_millis(100));
    let error = outbound.send(request, 1000).await.unwrap_err();
    assert!(matches!(error, OutboundError::Timeout), "{error:?}");
    assert!(error.is_transient(), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn other_schemes_and_relative_urls_are_refused() {
    for (url, reason) in [("nope", "relative URL without a base"), ("file:///etc/passwd", "scheme `file`")] {
        let error = get("any", url).await.unwrap_err();
        assert!(matches!(error, OutboundError::Url { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn errors_do_not_show_the_url() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = get("any", &format!("http://user:secret@{free}/?token=secret")).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn without_ca_certificates_there_is_still_http() {
    let port = peer(vec![answer("hello"), redirect_to("https://127.0.0.1:1/")]);
    let policy = Arc::new("127.0.0.0/8".parse().unwrap());
    let (client, runtime) = (client(&policy, false).unwrap(), tokio::runtime::Handle::current());
    let outbound = Outbound { client, policy, runtime, has_ca_certificates: false };
    assert_eq!(outbound.check_https(), Err(NoCaCertificates));
    let get = async |url: &str| outbound.send(outbound.request(Method::GET, url)?, 1000).await;
    assert_eq!(&get(&format!("http://127.0.0.1:{port}/")).await.unwrap().body[..], b"hello");
    for url in ["https://127.0.0.1:1/".to_owned(), format!("http://127.0.0.1:{port}/")] {
        let error = get(&url).await.unwrap_err();
        assert!(matches!(error, OutboundError::NoCaCertificates(_)), "{url}: {error:?}");
        assert!(!error.is_transient(), "{url}: {error:?}");
        assert!(error.to_string().contains("`ca-certificates`"));
        assert!(error.to_string().contains("`SSL_CERT_FILE`"));
    }
}

#[test]
fn clients_are_sent_to_servers_only() {
    let followed = |text: &str| followable(Some(text.to_owned())).is_some();
    assert!(followed("https://search.example.org"));
    assert!(followed("http://10.0.0.1:7700/below/"));
    for bad in [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc",
        "//evil",
        "/x",
        "",
        "http://a\r\nX: y",
        " http://a",
        "java\tscript:x",
    ] {
        assert!(!followed(bad), "{bad}");
    }
    assert_eq!(followable(None), None);
}
