//! The table of `docs/search-parameters.md` says what is read: every parameter, its default, an example.

use serde_json::{Value, json};

use super::{FIELDS, SearchQuery};

const PAGE: &str = include_str!("../../../../../docs/search-parameters.md");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
/// Read behind a switch, or only refused: an example of theirs is no search of its own.
const WITHOUT_EXAMPLE: [&str; 2] = ["personalize", "pointInTime"];

/// Name, type, default, example.
fn rows() -> Vec<[String; 4]> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, kind, default, example, purpose, cost] = cells[..] else { panic!("six cells: {line}") };
        assert!(!purpose.is_empty() && !cost.is_empty(), "{line}");
        [name, kind, default, example].map(|cell| cell.to_owned())
    });
    rows.collect()
}

fn value(cell: &str) -> Value {
    let text = cell.trim_matches('`');
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{cell} is no JSON: {error}"))
}

fn read(name: &str, value: &Value) -> SearchQuery {
    SearchQuery::from_body(&json!({ name: value })).unwrap_or_else(|error| panic!("{name}: {}", error.message))
}

#[test]
fn the_page_of_search_parameters_has_all_of_them() {
    let named: Vec<String> = rows().into_iter().map(|[name, ..]| name.trim_matches('`').to_owned()).collect();
    let unknown: Vec<&String> = named.iter().filter(|name| !FIELDS.contains(&name.as_str())).collect();
    assert_eq!(unknown, [""; 0], "docs/search-parameters.md has rows for what is no parameter");
    // A new parameter may be explained on another page first.
    let pages = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let pages: String = pages.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let is_explained = |name: &str| pages.contains(&format!("\"{name}\"")) || pages.contains(&format!("`{name}`"));
    let missing: Vec<&str> =
        FIELDS.into_iter().filter(|name| !named.iter().any(|row| row == name) && !is_explained(name)).collect();
    assert_eq!(missing, [""; 0], "docs/search-parameters.md has no row for them");
}

#[test]
fn defaults_and_examples_of_the_page_are_right() {
    for [name, kind, default, example] in rows() {
        let name = name.trim_matches('`');
        let default = value(&default);
        // What no value may be `null` for is sent as it is.
        if !default.is_null() {
            assert_eq!(read(name, &default), SearchQuery::default(), "the default of {name} is another");
        }
        if !WITHOUT_EXAMPLE.contains(&name) {
            assert_ne!(read(name, &value(&example)), SearchQuery::default(), "the example of {name} changes nothing");
        }
        assert!(!kind.is_empty(), "{name}");
    }
}
