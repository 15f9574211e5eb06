//! The house rules that a program can check, on the sources of the repository.

mod layers;
mod limits;
mod map;
mod statics;

use std::fs;
use std::path::{Path, PathBuf};

use crate::server::repository;

/// Crates that have no business in the engine.
const NOT_IN_ENGINE: [&str; 9] =
    ["warp", "hyper", "http", "reqwest", "tokio", "rusqlite", "clap", "axum", "lamina-server"];

const UNSAFE_ALLOWED: [&str; 6] = [
    "engine/src/storage/mapped.rs",
    "engine/src/bits/kernels/dispatch.rs",
    "engine/src/segment/store/train.rs",
    "server/src/bus_error.rs",
    "server/src/crash_mark.rs",
    "server/src/memory.rs",
];

struct Source {
    /// Relative to the repository.
    path: String,
    text: String,
}

impl Source {
    fn is_test(&self) -> bool {
        ["tests/", "engine/src/oracle/"].iter().any(|folder| self.path.starts_with(folder))
            || self.path.ends_with("/tests.rs")
            || self.path.contains("/tests/")
    }

    /// Number and text of the lines that are neither comments nor part of the tests at the end of the file.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .take_while(|(_, line)| !["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|start| line.starts_with(start)))
            .map(|(i, line)| (i + 1, line.trim_start()))
            .filter(|(_, line)| !line.starts_with("//"))
    }
}

fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        if path.is_dir() {
            if !matches!(name, "target" | "node_modules") && !name.starts_with('.') && !name.ends_with(".lamina") {
                walk(&path, extension, found);
            }
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

fn sources(extension: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    walk(repository(), extension, &mut paths);
    let sources: Vec<Source> = paths
        .iter()
        .map(|path| Source {
            path: path.strip_prefix(repository()).expect("below the repository").to_str().unwrap().to_owned(),
            text: fs::read_to_string(path).expect("a readable source"),
        })
        .collect();
    assert!(!sources.is_empty());
    sources
}

/// Collects violations, so that one run shows them all.
#[track_caller]
fn none(violations: Vec<String>) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn the_engine_knows_no_web() {
    let manifest = fs::read_to_string(repository().join("engine/Cargo.toml")).expect("a manifest");
    let mut violations: Vec<String> = manifest
        .lines()
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| NOT_IN_ENGINE.contains(name))
        .map(|name| format!("engine/Cargo.toml: `{name}`"))
        .collect();
    for source in sources("rs").iter().filter(|source| source.path.starts_with("engine/")) {
        for (number, line) in source.code() {
            if ["StatusCode", "status_code", "http://", "https://"].iter().any(|word| line.contains(word)) {
                violations.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    none(violations);
}

#[test]
fn unsafe_stays_where_it_is_allowed() {
    let mut violations = Vec::new();
    for source in sources("rs") {
        if UNSAFE_ALLOWED.iter().any(|allowed| source.path.starts_with(allowed)) || source.path.ends_with("tidy.rs") {
            continue;
        }
        for (number, line) in source.code() {
            if ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|word| line.contains(word)) {
                violations.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    none(violations);
}

#[test]
fn nothing_is_left_unfinished_or_silenced() {
    let mut violations = Vec::new();
    for source in sources("rs") {
        if source.path.ends_with("tidy.rs") {
            continue;
        }
        for (number, line) in source.code() {
            let words = ["todo!(", "unimplemented!(", "dbg!(", "#[allow(", "#![allow("];
            if words.iter().any(|word| line.contains(word)) {
                violations.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    none(violations);
}

/// What is tested is what ships: sizes that tests want smaller are values that they pass, not constants of another build.
#[test]
fn no_constant_depends_on_the_build() {
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| !source.path.ends_with("tidy.rs")) {
        let mut constant = None;
        for (number, line) in source.code() {
            let is_constant = ["const ", "static "].iter().any(|word| {
                let rest =
                    line.trim_start_matches("pub ").trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
                rest.starts_with(word) && !rest.starts_with("const fn")
            });
            if is_constant {
                constant = Some(number);
            }
            let names_the_build = ["debug_assertions", "cfg!("].iter().any(|build| line.contains(build));
            if let Some(start) = constant.filter(|_| names_the_build) {
                violations.push(format!("{}:{start}: {line}", source.path));
            }
            if line.trim_end().ends_with(';') {
                constant = None;
            }
        }
    }
    none(violations);
}

/// The page on the format names the hash of the constants it describes: who changes one looks at the other.
#[test]
fn the_format_page_follows_its_constants() {
    let page = fs::read_to_string(repository().join("segment-format.md")).expect("the page");
    let constants = fs::read(repository().join("engine/src/segment/format.rs")).expect("the constants");
    let hash = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&constants));
    let line = format!("<!-- engine/src/segment/format.rs {hash} -->");
    assert!(
        page.contains(&line),
        "engine/src/segment/format.rs changed: bring segment-format.md up to date, then put this line into it:\n{line}"
    );
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut violations = Vec::new();
    for page in sources("md") {
        let folder = Path::new(&page.path).parent().expect("a folder");
        for target in page.text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let outside = target.is_empty() || target.contains("://");
            if !outside && !repository().join(folder).join(target).exists() {
                violations.push(format!("{}: no {target}", page.path));
            }
        }
    }
    none(violations);
}

#[test]
fn the_index_of_decisions_has_all_of_them() {
    let folder = repository().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).expect("the index");
    let mut violations = Vec::new();
    for entry in fs::read_dir(&folder).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        if name != "README.md" && !index.contains(&format!("| [{}]({name}) |", &name[..4])) {
            violations.push(format!("docs/decisions/README.md: a line for {name} is missing"));
        }
    }
    none(violations);
}

/// Comments that say no more than that there is one.
const EMPTY_COMMENTS: [&str; 9] = [
    "/// Why.",
    "/// How.",
    "/// What.",
    "/// As named.",
    "/// As configured.",
    "/// As JSON.",
    "/// Nothing.",
    "/// Bytes.",
    "/// For people.",
];

#[test]
fn comments_of_items_say_something() {
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| source.path.contains("/src/")) {
        for (number, line) in (1..).zip(source.text.lines()) {
            if EMPTY_COMMENTS.contains(&line.trim()) {
                violations.push(format!("{}:{number}: say what it is: `{}`", source.path, line.trim()));
            }
        }
    }
    none(violations);
}

/// Words that stand for a noun or a verb of the field: a rule is applied, a count is reported, a thread waits.
const VAGUE_WORDS: [&str; 6] = ["told", "tell", "tells", "whoever", "nobody", "somebody"];

#[test]
fn names_and_comments_use_words_of_the_field() {
    // A sentence of the server, and a question.
    const QUOTED: [&str; 2] = ["the server does not tell what became of the tasks", "which western tells of a sheriff"];
    let folders = ["benches/", "engine/", "fuzz/", "server/", "tests/"];
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| folders.iter().any(|folder| source.path.starts_with(folder))) {
        if source.path.ends_with("tidy.rs") {
            continue;
        }
        for (number, line) in (1..).zip(source.text.lines()) {
            let mut words = line.split(|c: char| !c.is_ascii_alphabetic());
            let vague = words.find(|word| VAGUE_WORDS.contains(&word.to_ascii_lowercase().as_str()));
            if let Some(word) = vague.filter(|_| !QUOTED.iter().any(|quoted| line.contains(quoted))) {
                violations.push(format!("{}:{number}: `{word}`: say who does what", source.path));
            }
        }
    }
    none(violations);
}
