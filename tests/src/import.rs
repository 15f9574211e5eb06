//! `lamina import`: every format, compression and failure, against a running server.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::server::{NOBODY, Server, binary};

fn import(server: &Server, arguments: &[&str], input: &[u8]) -> Output {
    let mut process = Command::new(binary())
        .args(["import", "--url", &server.url, "--index", "films"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // It may end before it has read everything.
    let _ = process.stdin.take().expect("a pipe").write_all(input);
    process.wait_with_output().expect("it ends")
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn failed(output: &Output, reason: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it succeeded");
    assert!(said.contains(reason), "no `{reason}` in: {said}");
}

fn file(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a file can be written");
    path.to_str().expect("a plain path").to_owned()
}

fn lines(ids: std::ops::Range<u32>) -> Vec<u8> {
    ids.flat_map(|id| format!("{{\"id\":{id},\"title\":\"film {id}\"}}\n").into_bytes()).collect()
}

#[test]
fn files_of_every_format() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&lines(1000..2000)).unwrap();
    let files = [
        file(folder.path(), "a.ndjson", &lines(0..1000)),
        file(folder.path(), "b.ndjson.gz", &gzip.finish().unwrap()),
        file(folder.path(), "c.jsonl.zst", &zstd::encode_all(&lines(2000..3000)[..], 1).unwrap()),
        file(folder.path(), "d.json", b"[{\"id\": 3000, \"title\": \"[an array]\"},\n {\"id\": 3001}]"),
        file(folder.path(), "e.csv", b"id,title,year:number\n3002,\"two\nlines\",1999\n3003,x,2000\n"),
    ];
    let arguments: Vec<&str> = files.iter().map(String::as_str).chain(["--batch-bytes", "5000"]).collect();
    let said = succeeded(&import(&server, &arguments, b""));
    assert!(said.contains("3,004 documents"), "{said}");
    assert_eq!(server.document_count("films"), 3004);
    let document = server.get("/indexes/films/documents/3002").ok();
    assert_eq!(document, json!({"id": "3002", "title": "two\nlines", "year": 1999}));
    assert_eq!(server.get("/indexes/films/documents/2999").ok()["title"], "film 2999");
    assert_eq!(server.get("/tasks?statuses=failed").ok()["total"], 0);
}

#[test]
fn standard_input_updates_and_keys() {
    let server = Server::with_options(&["--master-key", "0123456789abcdef"]).with_key("0123456789abcdef");
    server.add("films", json!([{"id": 1, "year": 1979}]));
    let key = ["--api-key", "0123456789abcdef"];
    succeeded(&import(&server, &[&key[..], &["--update"]].concat(), &lines(0..3)));
    assert_eq!(server.get("/indexes/films/documents/1").ok(), json!({"id": 1, "year": 1979, "title": "film 1"}));
    let csv = b"id;title\n7;seven\n";
    succeeded(&import(&server, &[&key[..], &["--format", "csv", "--csv-delimiter", ";", "-"]].concat(), csv));
    assert_eq!(server.get("/indexes/films/documents/7").ok()["title"], "seven");
    failed(&import(&server, &["--api-key", "wrong"], &lines(0..3)), "403");
    failed(&import(&server, &[], &lines(0..3)), "401");
}

#[test]
fn failures_are_reported_and_the_rest_is_loaded() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let mut input = lines(10..20);
    input.extend(b"{\"id\":\"not an id\"}\n");
    input.extend(lines(20..30));
    // One document per request, so that one of 21 fails.
    let output = import(&server, &["--batch-bytes", "1"], &input);
    failed(&output, "documents 11 to 11 failed");
    failed(&output, "invalid_document_id");
    assert_eq!(server.document_count("films"), 21);

    let mut input = lines(30..40);
    input.extend(b"{\"id\":}\n");
    failed(&import(&server, &["--batch-bytes", "1"], &input), "documents 11 to 11 failed");
    assert_eq!(server.document_count("films"), 31);
}

#[test]
fn what_cannot_work_is_said_at_once() {
    let server = Server::start();
    failed(&import(&server, &["absent.ndjson"], b""), "absent.ndjson");
    failed(&import(&server, &["--format", "json"], b"[{\"id\": 1}, 2]"), "expected a JSON object at byte 12");
    failed(&import(&server, &["--format", "json"], b"[{\"id\": 1}, {\"id\""), "ends inside a document");
    failed(&import(&server, &["--primary-key", "isbn"], b"{\"title\": \"x\"}"), "isbn");
    let output = Command::new(binary())
        .args(["import", "--url", NOBODY, "--index", "films", "--patience", "1"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|mut process| {
            process.stdin.take().expect("a pipe").write_all(b"{\"id\":1}")?;
            process.wait_with_output()
        })
        .expect("it ends");
    failed(&output, "did not answer");
}
