//! Databases that earlier programs wrote: this one opens, searches, updates, merges and verifies them.
//!
//! The fixtures and how they are made: `tests/fixtures/README.md`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Server, binary, repository};

fn fixture(format: &str) -> PathBuf {
    repository().join("tests/fixtures").join(format)
}

/// The searches of a fixture with the answers of the program that wrote it.
fn answers(format: &str) -> Vec<Value> {
    let text = std::fs::read(fixture(format).join("answers.json")).expect("answers beside the fixture");
    serde_json::from_slice(&text).expect("a list of answers")
}

/// A server on a copy of the fixture's database.
fn started_on(format: &str) -> Server {
    let mut server = Server::start();
    // One that answers can be stopped.
    server.get("/health").ok();
    assert!(server.terminate().success());
    std::fs::remove_dir_all(server.data_folder()).unwrap();
    let archive = fixture(format).join("database.tar.gz");
    let unpacked =
        Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(server.folder()).status().expect("tar runs");
    assert!(unpacked.success());
    std::fs::rename(server.folder().join("database"), server.data_folder()).unwrap();
    verify(&server.data_folder());
    server.start_again();
    server
}

fn verify(folder: &Path) {
    let verified =
        Command::new(binary()).args(["verify", "--deep", "--db-path"]).arg(folder).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("sound")).count(), 3, "{said}");
}

#[track_caller]
fn check_answers(server: &Server, answers: &[Value], when: &str) {
    for expected in answers {
        let mut query = expected["query"].clone();
        query["attributesToRetrieve"] = json!(["id"]);
        let found = server.search(expected["index"].as_str().unwrap(), query);
        let ids: Value = found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
        assert_eq!(ids, expected["ids"], "{when}: {expected}");
        assert_eq!(found["estimatedTotalHits"], expected["total"], "{when}: {expected}");
        assert_eq!(found.get("facetDistribution"), expected.get("facets"), "{when}: {expected}");
    }
}

/// Writes that change no answer, into each segment: some documents are written again as they are, one comes and goes.
fn write(server: &Server) {
    let same =
        json!([{"id": "p3", "rating": 5}, {"id": "p5", "rating": 5}, {"id": "p401", "tags": ["library", "level 1"]}]);
    server.done(&server.put("/indexes/places/documents", same));
    server.add("places", json!([{"id": "new", "title": "unheard of", "_vectors": {"own": null}}]));
    assert_eq!(server.ids("places", json!({"q": "unheard"})), ["new"]);
    server.done(&server.delete("/indexes/places/documents/new"));
    server.add("phrases", json!([{"id": "new", "text": "unheard of"}]));
    server.done(&server.delete("/indexes/phrases/documents/new"));
    server.add("empty", json!([{"key": 1}]));
}

fn check(format: &str) {
    let answers = answers(format);
    assert_eq!(answers.len(), 18);
    let mut server = started_on(format);
    check_answers(&server, &answers, "as it was written");
    let version = std::fs::read_to_string(server.data_folder().join("VERSION")).unwrap();
    assert!(version.contains("\nformat "), "older programs are barred: {version}");
    write(&server);
    check_answers(&server, &answers, "after updates");
    for index in ["places", "phrases"] {
        server.done(&server.post(&format!("/indexes/{index}/compact"), json!({})));
    }
    check_answers(&server, &answers, "merged");
    assert!(server.terminate().success());
    verify(&server.data_folder());
    server.start_again();
    check_answers(&server, &answers, "merged, and opened again");
}

#[test]
fn format_1_is_read_merged_and_written_anew() {
    check("format-1");
}

#[test]
fn format_3_is_read_merged_and_written_anew() {
    check("format-3");
}

#[test]
fn format_2_is_read_merged_and_written_anew() {
    check("format-2");
}
