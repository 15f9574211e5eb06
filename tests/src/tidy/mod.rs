//! The house rules that a program can check, on the sources of the repository.

mod assertions;
mod comments;
mod errors;
mod layers;
mod limits;
mod map;
mod names;
mod pages;
mod parameters;
mod plurals;
mod settings;
mod sleeps;
mod statics;
mod threads;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use comments::VAGUE_WORDS;

use crate::server::repository;

/// Crates that have no business in the engine.
const NOT_IN_ENGINE: [&str; 9] =
    ["warp", "hyper", "http", "reqwest", "tokio", "rusqlite", "clap", "axum", "lamina-base"];

const UNSAFE_ALLOWED: [&str; 6] = [
    "engine/segment/src/storage/mapped.rs",
    "engine/segment/src/bits/kernels/dispatch.rs",
    "engine/segment/src/segment/store/train.rs",
    "server/base/src/bus_error.rs",
    "server/base/src/crash_mark.rs",
    "server/base/src/memory.rs",
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
            || self.path.ends_with("_tests.rs")
            || self.path.contains("/tests/")
    }

    /// Number and text of the lines that are neither comments nor an item of the tests, wherever that stands.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut of_test = OfTest::No;
        self.text
            .lines()
            .enumerate()
            .filter(move |(_, line)| !of_test.takes(line))
            .map(|(i, line)| (i + 1, line.trim_start()))
            .filter(|(_, line)| !line.starts_with("//"))
    }
}

/// State of a line with regard to items that only tests have. The indentation by rustfmt separates the items.
#[derive(Clone, Copy, PartialEq)]
enum OfTest {
    No,
    /// An attribute says that an item comes which does.
    Begins,
    /// Up to the line that ends the item.
    Goes,
}

impl OfTest {
    fn takes(&mut self, line: &str) -> bool {
        let starts = ["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|start| line.starts_with(start));
        let is_inside = |line: &str| line.starts_with([' ', '\t']) || line.is_empty();
        let ends = |line: &str| line.ends_with([';', '}']);
        let (takes, next) = match *self {
            OfTest::No if !starts => (false, OfTest::No),
            OfTest::No => (true, OfTest::Begins),
            OfTest::Begins if line.starts_with(['#', '/']) => (true, OfTest::Begins),
            OfTest::Begins | OfTest::Goes if ends(line) && !is_inside(line) => (true, OfTest::No),
            OfTest::Begins | OfTest::Goes => (true, OfTest::Goes),
        };
        *self = next;
        takes
    }
}

#[test]
fn items_of_tests_are_no_code() {
    let text = "a;\n#[cfg(test)]\nmod tests;\nb;\n#[cfg(test)]\n#[path = \"x\"]\nfn c(\n    d: D,\n) -> E {\n    e;\n}\n\
                #[cfg(test)]\npub use f::{\n    g,\n};\nh;\n#[cfg(test)]\nmod i {\n    fn j() {\n    }\n}\n// k\nl;\n";
    let source = Source { path: "x.rs".to_owned(), text: text.to_owned() };
    assert_eq!(source.code().collect::<Vec<_>>(), [(1, "a;"), (4, "b;"), (16, "h;"), (23, "l;")]);
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
    let mut violations = Vec::new();
    for folder in ["engine", "engine/index", "engine/segment", "engine/text"] {
        let manifest = fs::read_to_string(repository().join(folder).join("Cargo.toml")).expect("a manifest");
        let names = manifest.lines().filter_map(|line| line.split(['.', '=', ' ']).next());
        let wrong = names.filter(|name| NOT_IN_ENGINE.contains(name));
        violations.extend(wrong.map(|name| format!("{folder}/Cargo.toml: `{name}`")));
    }
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
        if UNSAFE_ALLOWED.iter().any(|allowed| source.path.starts_with(allowed)) || source.path.ends_with("tidy/mod.rs")
        {
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
        if source.path.ends_with("tidy/mod.rs") {
            continue;
        }
        for (number, line) in source.code() {
            let words = ["todo!(", "unimplemented!(", "dbg!(", "#[allow(", "#![allow("];
            if words.iter().any(|word| line.contains(word)) {
                violations.push(format!("{}:{number}: {line}", source.path));
            }
        }
        for attribute in source.text.split("#[expect(").skip(1).filter_map(|rest| rest.split(")]").next()) {
            if !attribute.contains("reason = ") {
                violations.push(format!("{}: #[expect({attribute})] has no reason", source.path));
            }
        }
    }
    none(violations);
}

/// Names of modules that say nothing of their concern.
const NO_NAMES: [&str; 7] = ["common", "helper", "helpers", "manager", "misc", "util", "utils"];

#[test]
fn modules_are_named_after_their_concern() {
    let sources = sources("rs");
    let parts = |path: &str| path.trim_end_matches(".rs").split('/').map(str::to_owned).collect::<Vec<_>>();
    let is_vague = |source: &&Source| parts(&source.path).iter().any(|part| NO_NAMES.contains(&part.as_str()));
    none(sources.iter().filter(is_vague).map(|source| source.path.clone()).collect());
}

/// Routes are rows of a table: what is said of one by a filter, rights and descriptions would not know.
#[test]
fn one_filter_dispatches() {
    let mut violations = Vec::new();
    let of_server = |source: &&Source| {
        source.path.starts_with("server/src/") && source.path != "server/src/http/routing/dispatch.rs"
    };
    for source in sources("rs").iter().filter(of_server) {
        for (number, line) in source.code() {
            if ["warp::path!", "warp::Filter", "warp::{Filter", "warp::any("].iter().any(|word| line.contains(word)) {
                violations.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    none(violations);
}

/// Checks that tests and releases run the same code: smaller sizes for tests are values that they pass, not those
/// of another build.
#[test]
fn no_code_depends_on_the_build() {
    const OF_A_BUILD: [&str; 5] =
        ["cfg!(test)", "debug_assertions", "cfg!(not(test))", "#[cfg(not(test))]", "cfg!(any(test"];
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| !source.path.ends_with("tidy/mod.rs")) {
        for (number, line) in source.code() {
            if OF_A_BUILD.iter().any(|build| line.contains(build)) {
                violations.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    none(violations);
}

/// The page on the format names the hash of the constants it describes: who changes one looks at the other.
#[test]
fn the_format_page_follows_its_constants() {
    let page = fs::read_to_string(repository().join("segment-format.md")).expect("the page");
    let constants = fs::read(repository().join("engine/segment/src/segment/format/mod.rs")).expect("the constants");
    let hash = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&constants));
    let line = format!("<!-- engine/segment/src/segment/format/mod.rs {hash} -->");
    assert!(
        page.contains(&line),
        "engine/segment/src/segment/format/mod.rs changed: bring segment-format.md up to date, then put this line into it:\n{line}"
    );
}
