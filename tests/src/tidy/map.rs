//! What `ARCHITECTURE.md` names is there.

use std::fs;

use super::none;
use crate::server::repository;

fn map() -> String {
    fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("the map")
}

/// Paths that the map gives as examples of what a newcomer adds: an example that is there already is none.
const ADDED_BY_EXAMPLE: [&str; 3] = [
    "engine/index/src/index/settings/blocked_words.rs",
    "server/protocol/src/wire/settings/blocked_words.rs",
    "server/src/api/terms.rs",
];

#[test]
fn the_map_names_files_that_are_there() {
    let map = map();
    let names = map.split('`').skip(1).step_by(2);
    let is_path = |name: &&str| {
        ["engine/", "server/", "tests/", "docs/", "benches/", "fuzz/"].iter().any(|folder| name.starts_with(folder))
    };
    let paths: Vec<&str> = names.filter(is_path).collect();
    assert!(paths.len() > 20, "the map names files: {paths:?}");
    let absent = |path: &&str| {
        // `server/engine_errors` is short for the module of that name.
        let in_sources = path.replacen('/', "/src/", 1);
        let names = [(*path).to_owned(), in_sources.clone(), format!("{in_sources}.rs")];
        let is_there = names.iter().any(|name| repository().join(name).exists());
        is_there == ADDED_BY_EXAMPLE.contains(path)
    };
    let unnamed = ADDED_BY_EXAMPLE.iter().copied().filter(|path| !paths.contains(path));
    let wrong: Vec<&str> = paths.iter().copied().filter(absent).chain(unnamed).collect();
    none(
        wrong.into_iter().map(|path| format!("ARCHITECTURE.md: {path} is not there, or an example that is")).collect(),
    );
}

/// Each step of a way names a file and a function in it.
#[test]
fn the_ways_name_functions_that_are_there() {
    let map = map();
    let ways = map.split("<!-- the ways -->").skip(1).step_by(2);
    let steps: Vec<&str> =
        ways.flat_map(str::lines).filter(|line| line.starts_with("| ") && !line.starts_with("| |")).collect();
    assert!(steps.len() > 30, "the ways have steps: {steps:?}");
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
