//! Damage to manifests and to files of tombstones: bits, cuts, blocks of zeros, blocks that changed their places. What is
//! answered is right, or an error that names the file, and a repair leaves the documents that were there.
//!
//! `LAMINA_FLIPS` is the number of damages of each kind to each file; CI has time for few.

use std::path::Path;

use super::super::repair::{RepairOptions, repair};
use super::super::verify::verify_directory;
use super::*;
use lamina_segment::storage::MemoryDirectory;
use serde_json::json;

const DOCUMENTS: u64 = 3000;

/// Tombstones of both segments, those of the larger one in a file.
fn written(directory: &(impl Directory + Clone + 'static)) {
    let options = IndexOptions { indexing_threads: 1, inline_tombstones_max: 64, ..options() };
    let index = Index::create_in(Arc::new(directory.clone()), options).expect("empty directory");
    let film = |id: u64| json!({"id": id, "title": format!("film {id}"), "n": id % 7});
    apply(&index, &[settings(json!({"filterableAttributes": ["n"]}))]);
    apply(&index, &[add(&(0..DOCUMENTS).map(film).collect::<Vec<_>>())]);
    apply(&index, &[add(&(DOCUMENTS..DOCUMENTS + 40).map(film).collect::<Vec<_>>())]);
    let deleted: Vec<String> = (0..DOCUMENTS).filter(|id| id % 11 == 0).map(|id| id.to_string()).collect();
    apply(&index, &[delete(&deleted.iter().map(String::as_str).collect::<Vec<_>>())]);
    apply(&index, &[delete(&["3010"])]);
}

/// Manifests and files of tombstones.
fn small_files(directory: &dyn Directory) -> Vec<String> {
    let is_small = |name: &String| name.starts_with("manifest-") || name.starts_with("del-");
    let files: Vec<String> = directory.list().expect("lists").into_iter().filter(is_small).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    files
}

/// Number `number` of `count` damages of a kind; `None` where it would change nothing.
fn damaged(whole: &[u8], kind: usize, number: usize, count: usize) -> Option<Vec<u8>> {
    const BLOCK: usize = 32;
    let at = whole.len() * (2 * number + 1) / (2 * count);
    let mut bytes = whole.to_vec();
    match kind {
        0 => bytes[at] ^= 1 << (number % 8),
        1 => bytes.truncate(at),
        2 => bytes[at..].iter_mut().take(BLOCK).for_each(|byte| *byte = 0),
        _ => {
            let other = (at + whole.len() / 2) % whole.len();
            let end = |start: usize| (start + BLOCK).min(whole.len());
            let length = (end(at) - at).min(end(other) - other).min(at.abs_diff(other));
            (0..length).for_each(|place| bytes.swap(at + place, other + place));
        }
    }
    (bytes != whole).then_some(bytes)
}

/// Reads the documents of an index. Returns `None` if the index reports damage, and checks that the error names the
/// damaged file.
fn read(directory: &MemoryDirectory, file: &str, what: &str) -> Option<Observed> {
    let names_it = |error: IndexError| assert!(error.to_string().contains(file), "{what}: {error}");
    let index = match Index::open_in(Arc::new(directory.clone()), options()) {
        Ok(index) => index,
        Err(error) => {
            names_it(error);
            return None;
        }
    };
    let snapshot = index.snapshot();
    if let Err(error) = snapshot.check_whole() {
        names_it(error);
        return None;
    }
    Some(observe(&snapshot))
}

fn each_damage(directory: &MemoryDirectory, mut check: impl FnMut(&str, &str)) {
    let count: usize = std::env::var("LAMINA_FLIPS").ok().and_then(|count| count.parse().ok()).unwrap_or(12);
    for file in small_files(directory) {
        let whole = directory.open_read(&file).expect("reads").to_vec();
        for (kind, number) in (0..4).flat_map(|kind| (0..count).map(move |number| (kind, number))) {
            let Some(bytes) = damaged(&whole, kind, number, count) else { continue };
            directory.overwrite(&file, bytes);
            check(&file, &format!("damage {kind}, {number} of {count}, of {file}"));
        }
        directory.overwrite(&file, whole);
    }
}

#[test]
fn damage_is_an_error_that_names_the_file() {
    let directory = MemoryDirectory::new();
    written(&directory);
    let before = directory.list().expect("lists");
    each_damage(&directory, |file, what| {
        assert!(read(&directory, file, what).is_none(), "{what} is not found");
        let damages = verify_directory(&directory, false, &()).expect("a list").damages;
        assert!(damages.iter().any(|damage| damage.to_string().contains(file)), "{what}: {damages:?}");
        assert_eq!(directory.list().expect("lists"), before, "{what}: nothing is removed");
    });
    assert!(read(&directory, "", "whole").is_some());
}

#[test]
fn a_repair_keeps_the_documents() {
    let directory = MemoryDirectory::new();
    written(&directory);
    let ids = |observed: Observed| -> Vec<u64> {
        observed.documents.iter().map(|document| document["id"].as_u64().expect("a number")).collect()
    };
    let right = ids(read(&directory, "", "whole").expect("sound"));
    let mut place = 0;
    each_damage(&directory, |file, what| {
        place += 1;
        // A repair reads and writes each byte: fewer of them.
        if place % 5 != 0 {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let of_index = folder.path().join("index");
        copy(&directory, &of_index);
        let aside = folder.path().join("aside");
        let options = RepairOptions { aside: Some(&aside), memory_bytes: 64 << 20, progress: &|_| () };
        let report = repair(&of_index, options).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(!report.is_sound(), "{what}");
        assert!(aside.join(file).exists(), "{what}: what was damaged is kept");
        let index = Index::open(&of_index, super::options()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = ids(observe(&index.snapshot()));
        assert!(right.iter().all(|id| found.contains(id)), "{what}: a document is lost");
        // Which were deleted is lost with their file, or with the manifest, and said.
        let lost = found.len() > right.len();
        let says_so = report.segments.iter().any(|segment| segment.tombstones_lost)
            || matches!(report.manifest, super::super::repair::ManifestFound::Lost { .. });
        assert!(!lost || says_so, "{what}: deleted documents are there again, and nothing says so");
    });
}

fn copy(directory: &MemoryDirectory, folder: &Path) {
    std::fs::create_dir(folder).expect("a folder");
    for name in directory.list().expect("lists") {
        std::fs::write(folder.join(&name), &*directory.open_read(&name).expect("reads")).expect("writes");
    }
}
