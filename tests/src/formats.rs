//! Formats on disk: a database in each of them is opened, searched, updated, merged and verified, and one of a newer format is
//! refused.
//!
//! The fixtures and how they are written: `tests/fixtures/README.md`.

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

fn check_settings(server: &Server) {
    let places = server.get("/indexes/places/settings").ok();
    assert_eq!(places["filterableAttributes"], json!(["rating", "tags", "_geo", "_geojson", "visits"]));
    assert_eq!(places["sortableAttributes"], json!(["_geo", "rating"]));
    assert_eq!((&places["synonyms"], &places["stopWords"]), (&json!({"port": ["harbour"]}), &json!(["is"])));
    assert_eq!(places["embedders"]["own"]["dimensions"], 4);
    assert_eq!(server.get("/indexes/phrases/settings").ok()["searchableAttributes"], json!(["text"]));
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
    check_settings(&server);
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
fn format_1_is_read_merged_and_rewritten() {
    check("format-1");
}

/// The content of `VERSION` of a program of this version, whose newest format is `format`.
pub(crate) fn version_of(program: &str, format: u32) -> String {
    let said = format!("{program}\nformat {format}\n");
    let mut checksum = flate2::Crc::new();
    checksum.update(said.as_bytes());
    format!("{said}check {:08x}\n", checksum.sum())
}

/// A stopped server with one index.
fn stopped() -> Server {
    let mut server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}]));
    assert!(server.terminate().success());
    server
}

/// The file of the only index whose name begins with `prefix`.
fn file_of_index(server: &Server, prefix: &str) -> PathBuf {
    let entries = |folder: PathBuf| std::fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().path());
    let index = entries(server.data_folder().join("indexes")).next().expect("an index");
    let has_prefix = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    entries(index).find(has_prefix).expect("a file")
}

#[test]
fn a_folder_of_a_newer_format_is_refused() {
    let server = stopped();
    let own = env!("CARGO_PKG_VERSION");
    std::fs::write(server.data_folder().join("VERSION"), version_of(own, 2)).unwrap();
    let started = crate::server::command(server.folder(), &[]).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&started.stderr);
    let expected = format!("has files of format 2 (version {own}); this program reads formats up to 1");
    assert!(!started.status.success(), "{said}");
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn files_of_a_newer_format_are_refused_and_left_as_they_are() {
    for (prefix, expected) in [
        ("seg-", "has format version 2, this program reads up to 1"),
        ("manifest-", "has format version 2; this program reads up to 1"),
    ] {
        let mut server = stopped();
        let path = file_of_index(&server, prefix);
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[8..12], [1, 0, 0, 0], "{prefix}");
        bytes[8] = 2;
        if prefix == "manifest-" {
            // With the checksum of version 1 at its end, the number would be damage.
            let end = bytes.len() - 8;
            let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
            bytes[end..].copy_from_slice(&checksum.to_le_bytes());
        }
        std::fs::write(&path, &bytes).unwrap();
        server.start_again();
        let refused = server.post("/indexes/films/search", json!({}));
        refused.refused(500, "invalid_store_file");
        let message = refused.body["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
        assert!(server.terminate().success());
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{prefix}");
    }
}
