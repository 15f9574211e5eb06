//! What is the same for every route: compression both ways, request ids, cross-origin rules, methods.

use std::io::{Read, Write};

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

fn decoded(encoding: &str, bytes: &[u8]) -> Value {
    let reader: Box<dyn Read + '_> = match encoding {
        "gzip" => Box::new(flate2::read::GzDecoder::new(bytes)),
        "deflate" => Box::new(flate2::read::ZlibDecoder::new(bytes)),
        "br" => Box::new(brotli::Decompressor::new(bytes, 4096)),
        "zstd" => Box::new(zstd::Decoder::new(bytes).expect("a zstd stream")),
        other => panic!("unexpected encoding {other}"),
    };
    serde_json::from_reader(reader).expect("JSON")
}

fn encoded(encoding: &str, text: &str) -> Vec<u8> {
    match encoding {
        "gzip" => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            writer.write_all(text.as_bytes()).unwrap();
            writer.finish().unwrap()
        }
        "deflate" => {
            let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            writer.write_all(text.as_bytes()).unwrap();
            writer.finish().unwrap()
        }
        "br" => {
            let mut writer = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
            writer.write_all(text.as_bytes()).unwrap();
            writer.into_inner()
        }
        "zstd" => zstd::encode_all(text.as_bytes(), 3).unwrap(),
        other => panic!("unexpected encoding {other}"),
    }
}

#[test]
fn bodies_are_compressed_both_ways() {
    let server = Server::start();
    let words = |id: usize| (0..50).map(|n| format!("word{}", n * 7 + id)).collect::<Vec<_>>().join(" ");
    for (place, encoding) in ["gzip", "deflate", "br", "zstd"].into_iter().enumerate() {
        let documents: Vec<Value> =
            (0..500).map(|n| place * 500 + n).map(|id| json!({"id": id, "text": words(id)})).collect();
        let body = encoded(encoding, &Value::from(documents).to_string());
        let request = server
            .request(Method::POST, "/indexes/films/documents")
            .header("Content-Type", "application/json")
            .header("Content-Encoding", encoding)
            .body(body);
        server.done(&server.send(request));
    }
    let plain = server.get("/indexes/films/documents?limit=1000").ok();
    assert_eq!(plain["total"], 2000);
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let request =
            server.request(Method::GET, "/indexes/films/documents?limit=1000").header("Accept-Encoding", encoding);
        let answer = request.send().expect("an answer");
        assert_eq!(answer.headers()["content-encoding"], encoding);
        assert_eq!(answer.headers()["vary"], "Accept-Encoding");
        assert_eq!(answer.headers()["content-type"], "application/json");
        let bytes = answer.bytes().expect("a body");
        assert!(bytes.len() * 2 < plain.to_string().len(), "{encoding}: {} bytes", bytes.len());
        assert_eq!(decoded(encoding, &bytes), plain, "{encoding}");
    }
}

/// There are clients that decode what they asked for, and look at nothing else.
#[test]
fn what_is_asked_for_by_name_is_used_for_every_answer_with_a_body() {
    let key = "a key of sixteen bytes";
    let server = Server::with_options(&["--master-key", key]).with_key(key);
    server.add("films", json!([{"id": 1, "title": "Ran"}]));
    let asked = |method: Method, path: &str, wish: &str| {
        server.request(method, path).header("Accept-Encoding", wish).send().expect("an answer")
    };
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        for (path, status, word) in [
            ("/health", 200, "available"),
            ("/indexes/films/search?q=ran", 200, "Ran"),
            ("/indexes/absent", 404, "index_not_found"),
            ("/indexes/films/search?limit=x", 400, "invalid_search_limit"),
        ] {
            let answer = asked(Method::GET, path, encoding);
            assert_eq!(answer.status(), status, "{path}");
            assert_eq!(answer.headers()["content-encoding"], encoding, "{path}");
            let length: usize = answer.headers()["content-length"].to_str().unwrap().parse().unwrap();
            let bytes = answer.bytes().expect("a body");
            assert_eq!(bytes.len(), length);
            let read = decoded(encoding, &bytes).to_string();
            assert!(read.contains(word), "{path}: {read}");
        }
        for (method, path, status) in
            [(Method::HEAD, "/nowhere", 404), (Method::DELETE, "/health", 405), (Method::GET, "/nowhere", 404)]
        {
            let answer = asked(method, path, encoding);
            assert_eq!(answer.status(), status);
            assert!(!answer.headers().contains_key("content-encoding"), "{path}");
            assert_eq!(answer.bytes().expect("no body").len(), 0, "{path}");
        }
    }
    let made = server.post("/keys", json!({"actions": ["search"], "indexes": ["*"], "expiresAt": null})).body;
    let deleted = asked(Method::DELETE, &format!("/keys/{}", made["uid"].as_str().unwrap()), "gzip");
    assert_eq!(deleted.status(), 204);
    assert!(!deleted.headers().contains_key("content-encoding"));

    for (wish, used) in [
        ("*", None),
        ("identity, gzip;q=0.5", None),
        ("gzip;q=0.5, br;q=0.9", Some("br")),
        ("identity;q=0", Some("gzip")),
        ("gzip;q=0", None),
    ] {
        let answer = asked(Method::GET, "/health", wish);
        let coding = answer.headers().get("content-encoding").map(|coding| coding.to_str().unwrap());
        assert_eq!(coding, used, "{wish}");
        assert_eq!(answer.headers()["vary"], "Accept-Encoding", "{wish}");
    }
    // Nothing is done for who could not read what came of it.
    let nothing = asked(Method::DELETE, "/indexes/films", "identity;q=0, *;q=0");
    assert_eq!(nothing.status(), 406);
    assert_eq!(nothing.text().unwrap(), "");
    server.get("/indexes/films").ok();
}

/// Tags are of what an answer says: one that was sent in one form is known in all of them.
#[test]
fn an_answer_that_is_known_is_known_in_any_encoding() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Ran"}]));
    let search = |wish: &str, tag: Option<&str>| {
        let request = server.request(Method::GET, "/indexes/films/search?q=ran").header("Accept-Encoding", wish);
        let request = tag.into_iter().fold(request, |request, tag| request.header("If-None-Match", tag));
        request.send().expect("an answer")
    };
    let first = search("gzip", None);
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    assert!(tag.starts_with("W/"), "{tag}");
    for wish in ["gzip", "br", "identity"] {
        let again = search(wish, Some(&tag));
        assert_eq!(again.status(), 304, "{wish}");
        assert_eq!(again.headers()["etag"], *tag, "{wish}");
        assert_eq!(again.headers()["vary"], "Accept-Encoding", "{wish}");
        assert!(!again.headers().contains_key("content-encoding"), "{wish}");
    }
}

#[test]
fn a_bomb_is_refused_by_its_decoded_size() {
    let server = Server::with_options(&["--http-payload-size-limit", "1 MB"]);
    let bomb = encoded("gzip", &" ".repeat(50_000_000));
    assert!(bomb.len() < 100_000);
    let request = |path: &str| {
        let request = server.request(Method::POST, path).header("Content-Type", "application/json");
        request.header("Content-Encoding", "gzip").body(bomb.clone())
    };
    server.send(request("/indexes/films/documents")).refused(413, "payload_too_large");
    server.send(request("/indexes/films/search")).refused(413, "payload_too_large");
}

#[test]
fn the_page_is_for_development() {
    let server = Server::start();
    let page = server.request(Method::GET, "/").send().expect("an answer");
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; connect-src 'self'; style-src 'sha256-"), "{policy}");
    assert!(policy.contains("; img-src data: https:; "), "{policy}");
    assert!(page.text().unwrap().contains("<title>Lamina</title>"));
    let mut server = Server::with_options(&["--env", "production", "--master-key", "a key of sixteen bytes"]);
    assert_eq!(server.get("/").ok(), json!({"status": "Lamina is running"}));
    assert!(server.terminate().success());
    let server =
        server.with_other_options(&["--env", "production", "--master-key", "a key of sixteen bytes", "--console"]);
    let page = server.request(Method::GET, "/").send().expect("an answer");
    assert!(page.text().unwrap().contains("<title>Lamina</title>"));
    server.get("/stats").refused(401, "missing_authorization_header");
    server.get("/stats/history").refused(401, "missing_authorization_header");
}

#[test]
fn pictures_over_http_are_an_option_of_the_console_alone() {
    let server = Server::with_options(&["--console-http-pictures"]);
    let policy = |path: &str| {
        let page = server.request(Method::GET, path).send().expect("an answer");
        page.headers()["content-security-policy"].to_str().unwrap().to_owned()
    };
    assert!(policy("/").contains("; img-src data: https: http:; "), "{}", policy("/"));
    assert!(policy("/docs").contains("; img-src data:; "), "{}", policy("/docs"));
}

#[test]
fn the_manual_needs_no_key() {
    let server = Server::with_options(&["--env", "production", "--master-key", "a-master-key-of-32-characters-ab"]);
    for (path, text) in [
        ("/docs", "href=\"docs/how-to/synonyms\""),
        ("/docs/api", "Find a route"),
        ("/docs/errors", "<h3 id=\"index_not_found\">"),
        ("/docs/how-to/synonyms", "href=\"../how-to/typo-tolerance\""),
    ] {
        let page = server.request(Method::GET, path).send().expect("an answer");
        assert_eq!(page.status(), 200, "{path}");
        assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; connect-src 'self';"), "{policy}");
        assert!(page.text().unwrap().contains(text), "{path}");
    }
    // Links of a page count from its address.
    for (path, address) in [("/docs/", "/docs"), ("/docs/how-to//synonyms/", "/docs/how-to/synonyms")] {
        let page = server.request(Method::GET, path).send().expect("an answer");
        assert_eq!((page.status().as_u16(), page.url().path()), (200, address));
    }
    assert_eq!(server.get("/docs/search?q=synonim").ok()["hits"][0]["path"], "how-to/synonyms");
    let link = server.get("/indexes").body["link"].as_str().expect("a link").to_owned();
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
    assert!(link.ends_with("/docs/errors#missing_authorization_header"), "{link}");
}

#[test]
fn features_that_are_off_or_not_there_say_so() {
    let server = Server::with_options(&["--master-key", "a key of sixteen bytes"]).with_key("a key of sixteen bytes");
    for (method, path) in [
        ("GET", "/chats"),
        ("DELETE", "/chats/a"),
        ("PATCH", "/chats/a/settings"),
        ("POST", "/chats/a/chat/completions"),
        ("POST", "/render-template"),
    ] {
        server.send(server.request(method.parse().unwrap(), path)).refused(400, "feature_not_enabled");
    }
    for is_on in [false, true] {
        let switches = json!({"chatCompletions": is_on, "network": is_on});
        assert_eq!(server.patch("/experimental-features", switches.clone()).ok()["chatCompletions"], is_on);
        let control = server.post("/network/control", json!({}));
        let expected = if is_on { (451, "requires_enterprise_edition") } else { (400, "feature_not_enabled") };
        control.refused(expected.0, expected.1);
    }
    server.patch("/experimental-features", json!({"chatCompletions": false})).ok();
    // With any key that has the rights for them.
    let made = server.post("/keys", json!({"actions": ["*"], "indexes": ["*"], "expiresAt": null})).body;
    let server = server.with_key(made["key"].as_str().unwrap());
    for (method, path) in [("POST", "/render-template"), ("DELETE", "/dynamic-search-rules"), ("GET", "/chats")] {
        server.send(server.request(method.parse().unwrap(), path)).refused(400, "feature_not_enabled");
    }
    let other = server.with_key("wrong");
    other.get("/chats").refused(403, "invalid_api_key");
    other.post("/render-template", json!({})).refused(403, "invalid_api_key");
}

#[test]
fn every_answer_names_its_request() {
    let server = Server::start();
    let id = |request: reqwest::blocking::RequestBuilder| {
        request.send().expect("an answer").headers()["x-request-id"].to_str().unwrap().to_owned()
    };
    let made = id(server.request(Method::GET, "/health"));
    assert_ne!(id(server.request(Method::GET, "/nothing")), made);
    assert_eq!(id(server.request(Method::GET, "/stats").header("X-Request-Id", "mine-1")), "mine-1");
}

#[test]
fn browsers_of_any_origin_may_ask() {
    let server = Server::with_options(&["--master-key", "a key of sixteen bytes"]);
    let preflight = server
        .request(Method::OPTIONS, "/indexes/films/search")
        .header("Origin", "https://example.org")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "authorization,x-meilisearch-client")
        .send()
        .expect("an answer");
    assert!(preflight.status().is_success());
    assert_eq!(preflight.headers()["access-control-allow-origin"], "*");
    assert_eq!(preflight.headers()["access-control-max-age"], "86400");
    assert_eq!(preflight.headers()["access-control-allow-headers"], "authorization,x-meilisearch-client");
    let refused = server.request(Method::GET, "/stats").header("Origin", "https://example.org").send().unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.headers()["access-control-allow-origin"], "*");
    for (method, path, status, allowed) in [
        (Method::HEAD, "/indexes/films/compact", 405, Some("POST")),
        (Method::DELETE, "/health", 405, Some("GET, HEAD")),
        (Method::PATCH, "/indexes/films/documents/1", 405, Some("GET, HEAD, DELETE")),
        (Method::PUT, "/indexes/films/settings/faceting", 405, Some("GET, HEAD, PATCH, DELETE")),
        (Method::OPTIONS, "/keys", 405, Some("GET, HEAD, POST")),
        (Method::GET, "/nowhere", 404, None),
    ] {
        let answer = server.request(method, path).send().expect("an answer");
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.headers().get("allow").map(|allow| allow.to_str().unwrap()), allowed, "{path}");
        assert_eq!(answer.text().unwrap(), "", "{path}");
    }
}

#[test]
fn a_head_is_the_answer_to_get_without_its_body() {
    let server = Server::start();
    server.patch("/experimental-features", json!({"metrics": true, "tasksStreamingRoute": true})).ok();
    server.add("films", (0..500).map(|id| json!({"id": id, "title": format!("film {id}")})).collect());
    let generation = server.get("/indexes/films/generations").ok()["results"][0]["generation"].clone();
    let tag = server.request(Method::GET, "/indexes/films/search").send().unwrap().headers()["etag"].clone();
    for (path, encoding) in [
        ("/health", None),
        ("/", Some("gzip")),
        ("/docs", Some("gzip")),
        ("/docs/how-to/synonyms", None),
        ("/docs/search?q=typo", None),
        ("/version", None),
        ("/metrics", None),
        ("/stats", Some("zstd")),
        ("/indexes/films/search?q=film", None),
        ("/indexes/films/search?q=film&limit=100", Some("gzip")),
        ("/indexes/films/documents?limit=400", None),
        ("/indexes/films/documents/7", None),
        ("/indexes/films/settings", Some("br")),
        ("/indexes/absent", None),
        ("/indexes/films/search?limit=x", None),
        ("/nowhere", None),
        ("/tasks/stream", None),
        (&format!("/indexes/films/changes?since={generation}"), None),
    ] {
        let asked = |method: Method| {
            let request =
                server.request(method, path).header("If-None-Match", "\"other\"").header("X-Request-Id", "one");
            let request = encoding.into_iter().fold(request, |request, name| request.header("Accept-Encoding", name));
            request.send().expect("an answer")
        };
        let (get, head) = (asked(Method::GET), asked(Method::HEAD));
        assert_eq!(head.status(), get.status(), "{path}");
        // How long a search took is one digit more or less.
        let values = |headers: &reqwest::header::HeaderMap, name: &str| {
            headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for (name, _) in get.headers().iter().filter(|(name, _)| !["date", "content-length"].contains(&name.as_str())) {
            if *name != "transfer-encoding" {
                assert_eq!(
                    values(head.headers(), name.as_str()),
                    values(get.headers(), name.as_str()),
                    "{path}: {name}"
                );
            }
        }
        let length =
            |headers: &reqwest::header::HeaderMap| headers.get("content-length")?.to_str().ok()?.parse::<i64>().ok();
        match (length(get.headers()), length(head.headers())) {
            // Each request is counted.
            _ if path == "/metrics" => {}
            (Some(of_get), Some(of_head)) => assert!((of_get - of_head).abs() < 400, "{path}: {of_get} and {of_head}"),
            (of_get, of_head) => assert_eq!(of_head, of_get, "{path}"),
        }
        assert_eq!(head.bytes().expect("no body").len(), 0, "{path}");
    }
    let known = server.request(Method::HEAD, "/indexes/films/search").header("If-None-Match", tag).send().unwrap();
    assert_eq!(known.status(), 304);
}

/// Sends text over a connection, and returns the response.
fn answered(server: &Server, sent: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    stream.write_all(sent.as_bytes()).expect("sent");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a time limit");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("an answer");
    said
}

#[test]
fn heads_that_a_proxy_may_read_otherwise_are_refused() {
    let server = Server::start();
    let status = |sent: &str| answered(&server, sent).split(' ').nth(1).unwrap_or_default().to_owned();
    for (sent, expected) in [
        ("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "200"),
        ("\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "200"),
        ("GET /health HTTP/1.0\r\n\r\n", "200"),
        ("GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n", "400"),
        ("GET /health HTTP/1.1\r\nHost: localhost\r\nhost: other\r\nConnection: close\r\n\r\n", "400"),
        ("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", "400"),
        ("GET /health HTTP/1.1\r\nHost: localhost, other\r\nConnection: close\r\n\r\n", "400"),
        ("GET /health HTTP/1.1\nHost: localhost\n\n", "400"),
        ("GET /health HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", "400"),
        ("GET /health HTTP/1.1\r\nHost: localhost\r\n\n", "400"),
        ("\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
    ] {
        assert_eq!(status(sent), expected, "{sent:?}");
    }
    // In bodies they are what they are, and the next head is looked at again.
    let body = "{\"id\": 1}\n{\"id\": 2}\n";
    let post = "POST /indexes/films/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n";
    let (length, chunked) = (
        format!("{post}Content-Length: {}\r\n\r\n{body}", body.len()),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
    );
    for first in [length, chunked] {
        let said = answered(&server, &format!("{first}GET /health HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n"));
        assert!(said.contains("202 Accepted"), "{said}");
        assert!(said.contains("400 Bad Request"), "{said}");
        let said =
            answered(&server, &format!("{first}GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        assert!(said.contains("202 Accepted"), "{said}");
        assert!(said.contains("200 OK"), "{said}");
    }
    let refused = answered(&server, "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n");
    assert!(refused.contains("more than one `Host` header"), "{refused}");
    assert!(refused.contains("bad_request"), "{refused}");
}
