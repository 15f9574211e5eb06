//! What `ARCHITECTURE.md` names is there.

use std::fs;

use super::none;
use crate::server::repository;

fn map() -> String {
    fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("the map")
}

/// Paths that CONTRIBUTING.md gives as examples of what a newcomer adds: an example that is there already is none.
const ADDED_BY_EXAMPLE: [&str; 1] = ["server/src/api/primary_key.rs"];

/// The paths in backticks of a text.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let folders = ["engine/", "server/", "tests/", "docs/", "benches/", "fuzz/", "scripts/"];
    // A line breaks no path, and ends an odd backtick.
    let names = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |name: &&str| !name.contains([' ', '*', '<', '{']);
    names.filter(move |name| folders.iter().any(|folder| name.starts_with(folder))).filter(is_path)
}

#[test]
fn pages_name_files_that_are_there() {
    let is_there = |path: &str| {
        // `engine/query` is short for the module of that name.
        let in_sources = path.replacen('/', "/src/", 1);
        let names = [path.to_owned(), in_sources.clone(), format!("{in_sources}.rs")];
        names.iter().any(|name| repository().join(name).exists())
    };
    let folders = ["", "docs", "docs/decisions"].map(|folder| repository().join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let pages =
        files.map(|entry| entry.expect("an entry").path()).filter(|path| path.extension() == Some("md".as_ref()));
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        for path in paths(&text) {
            count += 1;
            if is_there(path) == ADDED_BY_EXAMPLE.contains(&path) {
                wrong.push(format!("{}: {path} is not there, or an example that is", page.display()));
            }
        }
    }
    assert!(count > 100, "pages name files: {count}");
    let examples = fs::read_to_string(repository().join("CONTRIBUTING.md")).expect("the examples");
    let unnamed = ADDED_BY_EXAMPLE.iter().filter(|path| !paths(&examples).any(|named| named == **path));
    wrong.extend(unnamed.map(|path| format!("CONTRIBUTING.md does not name {path}")));
    none(wrong);
}

/// Each step of a way names a file and a function in it.
#[test]
fn the_ways_name_functions_that_are_there() {
    let map = map();
    let ways = map.split("<!-- the ways -->").skip(1).step_by(2);
    let steps: Vec<&str> =
        ways.flat_map(str::lines).filter(|line| line.starts_with("| ") && !line.starts_with("| |")).collect();
    assert!(steps.len() > 20, "the ways have steps: {steps:?}");
    let absent = |step: &&str| {
        let place = step.trim_end_matches(" |").rsplit(" | ").next().expect("a place");
        let names: Vec<&str> = place.split('`').skip(1).step_by(2).collect();
        let [file, function] = names[..] else { return true };
        let text = fs::read_to_string(repository().join(file)).unwrap_or_default();
        let begins = |rest: &str| rest.strip_prefix(function).is_some_and(|rest| rest.starts_with(['(', '<']));
        !text.split("fn ").skip(1).any(begins)
    };
    none(steps.into_iter().filter(absent).map(|step| format!("ARCHITECTURE.md: not there: {step}")).collect());
}
