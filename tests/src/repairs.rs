//! `lamina repair`, and the server on what it has repaired.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use crate::damage::sections;
use crate::server::{Server, binary};

/// All files below a folder with their contents, but for empty ones.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.extend((!bytes.is_empty()).then_some((path, bytes)));
            }
        }
    }
    found.sort();
    found
}

fn repair(server: &Server, options: &[&str]) -> (Output, String) {
    let folder = server.data_folder();
    let output = Command::new(binary()).args(["repair", "--db-path"]).arg(folder).args(options).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output, said)
}

/// The segment files of the database, the largest last.
fn segments(server: &Server) -> Vec<PathBuf> {
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("seg-");
    let files = contents(&server.data_folder().join("indexes")).into_iter().map(|(path, _)| path);
    let mut segments: Vec<PathBuf> = files.filter(is_segment).collect();
    segments.sort_by_key(|path| std::fs::metadata(path).unwrap().len());
    segments
}

/// Flips a bit in the section of a kind.
fn damage(segment: &Path, kind: u16) {
    let mut bytes = std::fs::read(segment).unwrap();
    let section = sections(&bytes).into_iter().find(|section| section.0 == kind).expect("the section is there").1;
    bytes[section.start + section.len() / 2] ^= 0x10;
    std::fs::write(segment, bytes).unwrap();
}

const TERMS: u16 = 3;
const STORE: u16 = 20;

/// The permissions of all files and folders.
fn modes(folder: &Path) -> Vec<u32> {
    use std::os::unix::fs::PermissionsExt;
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: &PathBuf| if path.is_dir() { modes(path) } else { Vec::new() };
    let own = |path: &PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    entries.flat_map(|path| below(&path).into_iter().chain([own(&path)]).collect::<Vec<_>>()).collect()
}

#[test]
fn repair_says_first_what_it_does_and_the_server_goes_on() {
    let mut server = Server::start();
    server.set("films", json!({"filterableAttributes": ["year"]}));
    let film = |id: u32| json!({"id": id, "title": format!("Film number {id}"), "year": 1900 + id % 90});
    server.add("films", (0..800).map(film).collect());
    server.add("books", json!([{"id": 1, "title": "Moby Dick"}]));
    assert!(server.terminate().success());
    let (output, said) = repair(&server, &[]);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("films: sound, 800 documents in 1 segment\n"), "{said}");

    let largest = segments(&server).pop().unwrap();
    damage(&largest, TERMS);
    damage(&largest, STORE);
    let before = contents(&server.data_folder());
    let (output, said) = repair(&server, &["--dry-run"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for expected in ["task queue: 3 tasks", "films: DAMAGED", "section terms", "section store", ": loses ", "--apply"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(contents(&server.data_folder()) == before, "nothing was changed");
    let (output, said) = repair(&server, &["--index", "books"]);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("films"), "{said}");
    assert_eq!(repair(&server, &["--index", "other"]).0.status.code(), Some(1));

    let (output, said) = repair(&server, &["--apply"]);
    assert!(output.status.success(), "{said}");
    let kept = contents(&server.data_folder().join("quarantine"));
    let damaged = before.iter().find(|(path, _)| *path == largest).unwrap();
    assert!(kept.iter().any(|(_, bytes)| *bytes == damaged.1), "the damaged file is kept: {said}");
    let (is_sound, shown) = server.verify();
    assert!(is_sound, "{shown}");
    assert!(shown.contains("put aside by a start or a repair"), "{shown}");
    let inspected = Command::new(binary()).args(["inspect", "--db-path"]).arg(server.data_folder()).output().unwrap();
    let shown = String::from_utf8_lossy(&inspected.stdout).into_owned();
    assert!(shown.contains("\nquarantine: "), "{shown}");
    assert!(shown.contains(" files, "), "{shown}");
    assert!(modes(&server.data_folder()).iter().all(|mode| mode & 0o77 == 0), "private, as all that a server writes");
    assert!(repair(&server, &[]).0.status.success());

    server.start_again();
    let lost = said.split(": loses ").nth(1).unwrap().split(": ").nth(1).unwrap().lines().next().unwrap();
    let lost: Vec<u32> = lost.split(", ").map(|id| id.parse().expect("an id")).collect();
    assert_eq!(server.document_count("films"), 800 - lost.len() as u64);
    assert!(!lost.is_empty(), "{said}");
    assert!(lost.len() < 200, "{said}");
    server.get(&format!("/indexes/films/documents/{}", lost[0])).refused(404, "document_not_found");
    let sound = (0..800).find(|id| !lost.contains(id)).unwrap();
    assert_eq!(server.ids("films", json!({"q": format!("number {sound}"), "matchingStrategy": "all"}))[0], sound);
    let found = server.search("films", json!({"q": "film", "filter": "year < 1950"}));
    assert_eq!(found.get("degraded"), None);
    server.add("films", lost.iter().map(|id| film(*id)).collect());
    assert_eq!(server.document_count("films"), 800);
    assert_eq!(repair(&server, &[]).0.status.code(), Some(1), "a server uses the folder");
}
