//! Web pages and the server: which may ask, with and without a master key, and where a server without one listens.

use std::process::Command;

use reqwest::Method;
use reqwest::blocking::Response;
use serde_json::json;

use crate::keys;
use crate::server::{Server, binary};

const EVIL: &str = "http://evil.example";

fn ask(server: &Server, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = server.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.json(&json!({"uid": "films"})).send().expect("an answer")
}

#[test]
fn without_a_key_pages_of_strangers_are_refused() {
    let server = Server::start();
    for (method, path) in [
        (Method::POST, "/indexes"),
        (Method::DELETE, "/indexes/films"),
        (Method::PATCH, "/indexes/films/settings"),
        (Method::POST, "/indexes/films/documents"),
        (Method::POST, "/export"),
        (Method::GET, "/indexes"),
        (Method::GET, "/indexes/films/documents"),
        (Method::POST, "/multi-search"),
        (Method::GET, "/keys"),
    ] {
        for origin in [EVIL, "null", "https://localhost.evil.example"] {
            let answer = ask(&server, method.clone(), path, &[("Origin", origin)]);
            assert_eq!(answer.status(), 403, "{method} {path} {origin}");
            assert!(answer.headers().get("access-control-allow-origin").is_none());
            let body: serde_json::Value = answer.json().expect("an error");
            assert_eq!((&body["code"], &body["type"]), (&json!("foreign_origin"), &json!("auth")));
            let message = body["message"].as_str().expect("a message");
            assert!(message.contains("`--master-key`"), "{message}");
            assert!(message.contains("`--allowed-origins`"), "{message}");
        }
    }
    // A name that a stranger has given to this machine.
    for (method, path) in [(Method::GET, "/indexes"), (Method::POST, "/indexes")] {
        let answer = ask(&server, method, path, &[("Host", "evil.example:7700")]);
        assert_eq!(answer.status(), 403, "{path}");
    }
    let preflight = [("Origin", EVIL), ("Access-Control-Request-Method", "POST")];
    let answer = ask(&server, Method::OPTIONS, "/indexes", &preflight);
    assert_eq!(answer.status(), 403);
    assert!(answer.headers().get("access-control-allow-methods").is_none());
    assert_eq!(server.get("/indexes").ok()["total"], 0, "nothing was done");
    assert_eq!(server.log().matches("Later requests like it are refused").count(), 1);
}

#[test]
fn without_a_key_the_own_page_and_programs_go_on() {
    let server = Server::start();
    let own = server.url.clone();
    for origin in [own.as_str(), "http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:80"] {
        let answer = ask(&server, Method::GET, "/indexes", &[("Origin", origin)]);
        assert_eq!(answer.status(), 200, "{origin}");
        assert_eq!(answer.headers()["access-control-allow-origin"], origin);
        assert!(answer.headers().get_all("vary").iter().any(|vary| vary == "origin"));
        let preflight = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        let answer = ask(&server, Method::OPTIONS, "/indexes", &preflight);
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["access-control-allow-origin"]),
            (200, &origin.parse().unwrap())
        );
    }
    let answer = ask(&server, Method::POST, "/indexes", &[]);
    assert_eq!(answer.status(), 202);
    assert!(answer.headers().get("access-control-allow-origin").is_none());
    let answer = ask(&server, Method::GET, "/indexes", &[("Host", "lamina:7700")]);
    assert_eq!(answer.status(), 200, "a container asks another one by its name");
}

#[test]
fn pages_can_be_named() {
    let server = Server::with_options(&["--allowed-origins", "https://app.example.org, http://other.example:8080"]);
    for (origin, status) in [
        ("https://app.example.org", 200),
        ("http://other.example:8080", 200),
        ("http://app.example.org", 403),
        ("https://app.example.org:8443", 403),
        (EVIL, 403),
    ] {
        assert_eq!(ask(&server, Method::GET, "/indexes", &[("Origin", origin)]).status(), status, "{origin}");
    }
    let host = [("Host", "app.example.org"), ("Origin", "https://app.example.org")];
    assert_eq!(ask(&server, Method::GET, "/indexes", &host).status(), 200);
    let open = Server::with_options(&["--allowed-origins", "*"]);
    let answer = ask(&open, Method::GET, "/indexes", &[("Origin", EVIL), ("Host", "evil.example")]);
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["access-control-allow-origin"]),
        (200, &"*".parse().unwrap())
    );
}

#[test]
fn with_a_key_any_page_may_ask() {
    let server = keys::start(&[]).with_key(keys::MASTER);
    let answer = ask(&server, Method::GET, "/indexes", &[("Origin", EVIL), ("Host", "search.example.org")]);
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["access-control-allow-origin"]),
        (200, &"*".parse().unwrap())
    );
}

#[test]
fn a_server_without_a_key_can_be_kept_to_its_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(binary())
        .args(["--http-addr", "0.0.0.0:0", "--unprotected", "local", "--db-path"])
        .arg(folder.path().join("data"))
        .current_dir(folder.path())
        .env_remove("SVC_MASTER_KEY")
        .output()
        .expect("the binary runs");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["without a master key", "0.0.0.0:", "`--master-key`", "`--unprotected anywhere`", "SVC_UNPROTECTED"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!folder.path().join("data").exists(), "the database was not touched");
    let local = Server::with_options(&["--unprotected", "local"]);
    local.get("/indexes").ok();
}
