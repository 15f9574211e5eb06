//! Golden files: compared, or written again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::Value;

use crate::server::repository;

/// Differences that are shown.
const SHOWN_MAX: usize = 30;

/// Contents by their paths below `tests/golden`.
#[derive(Default)]
pub(super) struct Files(Mutex<BTreeMap<String, Value>>);

impl Files {
    pub(super) fn add(&self, path: &str, content: Value) {
        let earlier = self.0.lock().expect("no thread panicked").insert(path.to_owned(), content);
        assert!(earlier.is_none(), "{path} is there twice");
    }

    /// Compares all with the folder, or writes it when `LAMINA_WRITE_GOLDEN` is set.
    pub(super) fn check(&self) {
        let folder = repository().join("tests/golden");
        let is_writing = std::env::var_os("LAMINA_WRITE_GOLDEN").is_some();
        let mut differences = Vec::new();
        let files = self.0.lock().expect("no thread panicked");
        for (path, found) in &*files {
            let file = folder.join(path);
            let text = format!("{found:#}\n");
            if is_writing {
                fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                fs::write(&file, text).expect("writable");
                continue;
            }
            let written = fs::read_to_string(&file).unwrap_or_default();
            if written == text {
                continue;
            }
            let expected: Value = serde_json::from_str(&written).unwrap_or_default();
            let before = differences.len();
            compare(path, &expected, found, &mut differences);
            if differences.len() == before {
                differences.push(format!("{path}: {}", first_line(&written, &text)));
            }
        }
        let stale = errors(&folder).into_iter().filter(|path| !files.contains_key(path));
        for path in stale {
            if is_writing {
                fs::remove_file(folder.join(&path)).expect("removable");
            } else {
                differences.push(format!("{path}: nothing writes this file"));
            }
        }
        let shown = &differences[..differences.len().min(SHOWN_MAX)];
        let advice = "If users are to see this, run the test with LAMINA_WRITE_GOLDEN=1 and commit the files.";
        assert!(differences.is_empty(), "{} differences:\n{}\n{advice}", differences.len(), shown.join("\n"));
    }
}

/// The files of `errors`, which has no others.
fn errors(folder: &std::path::Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder.join("errors")).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("readable").path());
    let name = |path: PathBuf| path.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
    paths.map(|path| format!("errors/{}", name(path))).collect()
}

/// Adds the places where two values differ.
fn compare(place: &str, expected: &Value, found: &Value, differences: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, value) in expected {
                let place = format!("{place} / {name}");
                match found.get(name) {
                    Some(other) => compare(&place, value, other, differences),
                    None => differences.push(format!("{place}: gone, it was {value}")),
                }
            }
            for (name, value) in found.iter().filter(|(name, _)| !expected.contains_key(*name)) {
                differences.push(format!("{place} / {name}: new, {value}"));
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{place} / {number}"), expected, found, differences);
            }
        }
        _ if expected == found => {}
        _ => differences.push(format!("{place}:\n    expected {expected}\n    found    {found}")),
    }
}

/// Returns the place where two texts of equal values differ: in the order of their fields.
fn first_line(expected: &str, found: &str) -> String {
    let lines = expected.lines().zip(found.lines());
    match (1..).zip(lines).find(|(_, (expected, found))| expected != found) {
        Some((number, (expected, found))) => {
            format!("another order from line {number} on, with {} in place of {}", found.trim(), expected.trim())
        }
        None => "another end".to_owned(),
    }
}

#[test]
fn differences_name_their_place() {
    let mut differences = Vec::new();
    let expected = serde_json::json!({"a": {"b": [1, 2]}, "c": 1, "same": null});
    let found = serde_json::json!({"a": {"b": [1, 3]}, "d": 2, "same": null});
    compare("x", &expected, &found, &mut differences);
    let at = "x / a / b / 1:\n    expected 2\n    found    3";
    assert_eq!(differences, [at, "x / c: gone, it was 1", "x / d: new, 2"]);
    assert_eq!(first_line("{\n a\n b\n}", "{\n b\n a\n}"), "another order from line 2 on, with b in place of a");
}
