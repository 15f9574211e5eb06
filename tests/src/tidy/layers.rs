//! Which modules may use which: layers of the engine, floors of the server, and no circles between files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{Source, none, sources};
use crate::server::repository;

/// The crates of the engine from the bottom up, each with its modules from the bottom up. A module uses those of lower layers, and
/// itself; within a layer only where `true` says so.
const ENGINE_CRATES: [(&str, &str, &Layers<'_>, &[&str]); 4] = [
    ("lamina-text", "engine/text", &[(&["id"], false), (&["text", "filter"], true)], &[]),
    (
        "lamina-segment",
        "engine/segment",
        &[(&["bits", "storage"], true), (&["document"], false), (&["segment"], false)],
        &["text"],
    ),
    (
        "lamina-index",
        "engine/index",
        &[(&["runtime"], false), (&["caches"], false), (&["index"], false)],
        &["text", "segment"],
    ),
    (
        "lamina-engine",
        "engine",
        &[
            (&["geo", "vector"], false),
            (&["condition"], false),
            (&["facet", "sort", "highlight"], false),
            (&["boost"], false),
            (&["query"], false),
            (&["rank"], false),
            (&["search"], false),
        ],
        &["text", "segment", "index"],
    ),
];

/// The crates of the server from the bottom up, with the crates of the workspace that each uses.
const SERVER_CRATES: [(&str, &str, &[&str]); 9] = [
    ("lamina-base", "server/base", &["engine"]),
    ("lamina-models", "server/models", &["engine", "base"]),
    ("lamina-protocol", "server/protocol", &["engine", "base", "models"]),
    ("lamina-data", "server/data", &["engine", "base", "protocol"]),
    ("lamina-replication", "server/replication", &["engine", "base", "protocol", "data"]),
    ("lamina-server", "server", &["engine", "base", "models", "protocol", "data", "replication"]),
    // An edit of a route compiles none of these two.
    ("lamina-client", "server/client", &["base", "protocol"]),
    ("lamina-sync", "server/sync", &["base", "client"]),
    ("lamina-cli", "server/cli", &["engine", "base", "protocol", "data", "replication", "server", "client", "sync"]),
];

/// The floors of `lamina-server` from the bottom up. A module uses those of lower floors, and itself; beside it only where `true`
/// says so.
const SERVER_FLOORS: [(&[&str], bool); 5] = [
    // What answers requests, and what is done without one.
    (&["answer", "work"], false),
    (&["app"], false),
    (&["http"], false),
    (&["api"], false),
    // The life of the process.
    (&["banner", "restore", "run", "usage_report"], true),
];

/// Files beside the floors, at most.
const SERVER_ROOT_FILES_MAX: usize = 6;

/// Layers from the bottom up, with whether the modules of one may use each other.
type Layers<'a> = [(&'a [&'a str], bool)];

/// The uses of modules of a crate that its layers do not allow, and modules without a layer.
fn upward_uses(sources: &[Source], crate_folder: &str, layers: &Layers<'_>, outside: &[&str]) -> Vec<String> {
    let layer = |module: &str| layers.iter().position(|(modules, _)| modules.contains(&module));
    let mut violations = Vec::new();
    let mut unknown = BTreeSet::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let Some(rest) = source.path.strip_prefix(crate_folder) else { continue };
        let module = rest.split('/').next().unwrap().trim_end_matches(".rs");
        if outside.contains(&module) {
            continue;
        }
        let Some(own) = layer(module) else {
            unknown.insert(module.to_owned());
            continue;
        };
        for (number, used) in modules_of_the_crate(source) {
            let Some(other) = layer(&used) else { continue };
            let among_themselves = other == own && layers[own].1;
            if used != module && other >= own && !among_themselves {
                violations.push(format!("{}:{number}: `{module}` must not use `{used}`", source.path));
            }
        }
    }
    violations.extend(
        unknown.iter().map(|module| format!("{crate_folder}{module}: give it a layer in tests/src/tidy/layers.rs")),
    );
    violations
}

/// The top modules that a source names, with the line that begins their path.
fn modules_of_the_crate(source: &Source) -> Vec<(usize, String)> {
    let lines: Vec<(usize, &str)> = source.code().collect();
    let text: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    let mut used = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let mut paths = Vec::new();
        collect_paths(&text[at..], &[], &mut paths);
        let (number, _) = lines[text[..at].matches('\n').count()];
        used.extend(paths.into_iter().filter_map(|path| Some((number, path.get(1)?.clone()))));
    }
    used
}

#[test]
fn engine_modules_use_only_what_is_below_them() {
    let sources = sources("rs");
    let of_crate = |(_, folder, layers, _): &(_, &str, &Layers<'_>, _)| {
        upward_uses(&sources, &format!("{folder}/src/"), layers, &["lib", "oracle"])
    };
    none(ENGINE_CRATES.iter().flat_map(of_crate).collect());
}

#[test]
fn server_floors_use_only_what_is_below_them() {
    let sources = sources("rs");
    none(upward_uses(&sources, "server/src/", &SERVER_FLOORS, &["lib", "main"]));
    let is_there = |module: &&&str| {
        let file = format!("server/src/{module}.rs");
        sources.iter().any(|source| source.path == file || source.path == format!("server/src/{module}/mod.rs"))
    };
    let modules = SERVER_FLOORS.iter().flat_map(|(modules, _)| modules.iter());
    let gone: Vec<String> = modules.filter(|module| !is_there(module)).map(<_>::to_string).collect();
    assert!(gone.is_empty(), "there are no such modules: {gone:?}");
    let root = sources.iter().filter_map(|source| source.path.strip_prefix("server/src/"));
    let root: Vec<&str> = root.filter(|path| !path.contains('/')).collect();
    assert!(root.len() <= SERVER_ROOT_FILES_MAX, "each belongs to a floor: {root:?}");
}

#[test]
fn upward_uses_are_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        source("server/src/low/mod.rs", "//! crate::high\nuse crate::{\n    low::A,\n    high::B,\n};\n"),
        source("server/src/beside.rs", "fn f() { crate::low::g() }\n#[cfg(test)]\nmod tests { use crate::high; }\n"),
        source("server/src/high.rs", "use crate::low::A;\n"),
        source("server/src/new.rs", ""),
    ];
    let layers: [(&[&str], bool); 2] = [(&["low", "beside"], false), (&["high"], false)];
    let found = upward_uses(&sources, "server/src/", &layers, &[]);
    assert_eq!(
        found,
        [
            "server/src/low/mod.rs:2: `low` must not use `high`",
            "server/src/beside.rs:1: `beside` must not use `low`",
            "server/src/new.rs: give it a layer in tests/src/tidy/layers.rs",
        ]
        .map(|text| text.replace("new.rs", "new"))
    );
    assert_eq!(upward_uses(&sources[2..3], "server/src/", &layers, &[]), [""; 0]);
}

/// Compares manifests with what crates may use. `free` are crates that all of them may use.
fn check_crates<'a>(crates: impl Iterator<Item = (&'a str, &'a str, &'a [&'a str])>, top: &str, free: &[&str]) {
    let mut above: Vec<&str> = free.to_vec();
    let mut count = 0;
    for (name, folder, uses) in crates {
        let manifest = fs::read_to_string(repository().join(folder).join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("TOML");
        assert_eq!(manifest["package"]["name"].as_str(), Some(name));
        let used = manifest["dependencies"].as_table().expect("a table").keys();
        let used: BTreeSet<&str> = used.filter_map(|name| name.strip_prefix("lamina-")).collect();
        assert_eq!(used, uses.iter().copied().collect(), "{folder}");
        assert!(uses.iter().all(|name| above.contains(name)), "{folder}: from the bottom up");
        above.push(name.trim_start_matches("lamina-"));
        count += 1;
    }
    let folders = fs::read_dir(repository().join(top)).expect("a folder").map(|entry| entry.unwrap().path());
    assert_eq!(folders.filter(|folder| folder.join("Cargo.toml").exists()).count() + 1, count, "crates below {top}");
}

#[test]
fn crates_use_only_what_is_above_them() {
    check_crates(ENGINE_CRATES.iter().map(|(name, folder, _, uses)| (*name, *folder, *uses)), "engine", &[]);
    check_crates(SERVER_CRATES.iter().copied(), "server", &["engine"]);
}

/// The rows of a table of the map, between two marks of this name.
fn rows_of_the_map(name: &str) -> Vec<Vec<String>> {
    let map = fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("the map");
    let block = map.split(&format!("<!-- {name} -->")).nth(1).expect("a marked block");
    let rows = block.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.trim_matches(['|', ' ']).split(" | ").map(str::to_owned).collect()).collect()
}

/// The map shows the same crates as the tests, in the same order.
#[test]
fn the_map_shows_the_crates() {
    let row = |name: &str, folder: &str, uses: &[&str]| {
        let uses = if uses.is_empty() { "nothing".to_owned() } else { uses.join(", ") };
        [format!("`{name}`"), format!("`{folder}`"), uses]
    };
    let engine = ENGINE_CRATES.iter().map(|(name, folder, _, uses)| row(name, folder, uses));
    let expected: Vec<_> =
        engine.chain(SERVER_CRATES.iter().map(|(name, folder, uses)| row(name, folder, uses))).collect();
    let shown: Vec<_> = rows_of_the_map("crates").into_iter().map(|row| [0, 1, 3].map(|at| row[at].clone())).collect();
    assert_eq!(shown, expected);
}

/// The map shows the same floors as the test, in the same order.
#[test]
fn the_map_shows_the_floors_of_the_server() {
    let quoted = |modules: &[&str]| modules.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let floors = (1..).zip(SERVER_FLOORS).map(|(floor, (modules, _)): (usize, _)| [floor.to_string(), quoted(modules)]);
    let rows = rows_of_the_map("floors of the server").into_iter();
    let shown: Vec<_> = rows.map(|row| [row[0].clone(), row[1].clone()]).collect();
    assert_eq!(shown, floors.collect::<Vec<_>>());
}

/// Heads of crates and folders that list their modules.
const HEADS: [&str; 7] = [
    "engine/text/src/lib.rs",
    "engine/segment/src/lib.rs",
    "engine/index/src/lib.rs",
    "engine/src/lib.rs",
    "server/src/answer/mod.rs",
    "server/src/work/mod.rs",
    "server/src/http/mod.rs",
];

/// Checks that heads name the modules that others use. That of the engine names them from the bottom up.
#[test]
fn heads_name_their_modules() {
    let sources = sources("rs");
    let mut violations = Vec::new();
    for path in HEADS {
        let source = sources.iter().find(|source| source.path == path).expect("a head");
        let head: String = source.text.lines().take_while(|line| line.starts_with("//!")).collect();
        let named = source.code().filter(|(_, line)| line.starts_with("pub"));
        let modules = named.filter_map(|(_, line)| line.split_once("mod ")?.1.strip_suffix(';'));
        for module in modules {
            if !head.contains(&format!("[`{module}`]")) {
                violations.push(format!("{path}: its head does not name `{module}`"));
            }
        }
    }
    let head = fs::read_to_string(repository().join("engine/src/lib.rs")).expect("the engine");
    let (.., layers, _) = ENGINE_CRATES[3];
    let modules = layers.iter().flat_map(|(modules, _)| modules.iter());
    let places = modules.map(|module| head.find(&format!("//! * [`{module}`]")).unwrap_or_else(|| panic!("{module}")));
    assert!(places.collect::<Vec<_>>().is_sorted(), "engine/src/lib.rs lists its modules from the bottom up");
    none(violations);
}

/// Crates whose files use each other in one direction only. A file in the folder of another one may use that one's items: the other
/// way counts.
fn without_circles() -> impl Iterator<Item = String> {
    ["engine", "tests"]
        .into_iter()
        .chain(SERVER_CRATES.iter().map(|(_, folder, _)| *folder))
        .map(|folder| format!("{folder}/src/"))
}

/// The path of the module in a file, from that of the crate on.
fn module_path(file: &str, crate_folder: &str) -> Option<Vec<String>> {
    let path = file.strip_prefix(crate_folder)?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    (!["lib", "main"].contains(&path)).then(|| path.split('/').map(str::to_owned).collect())
}

/// Collects the paths of a `use` tree, or a single path: `a::{b, c::d}` is `a::b` and `a::c::d`. Answers what comes behind.
fn collect_paths<'t>(text: &'t str, prefix: &[String], found: &mut Vec<Vec<String>>) -> &'t str {
    let mut rest = text.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        rest = group.trim_start();
        while !rest.is_empty() && !rest.starts_with('}') {
            let behind = collect_paths(rest, prefix, found);
            let skipped = if behind.len() == rest.len() {
                &rest[rest.chars().next().map_or(0, char::len_utf8)..]
            } else {
                behind
            };
            rest = skipped.trim_start_matches([',', ' ', '\n']);
        }
        return rest.strip_prefix('}').unwrap_or(rest);
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    if end == 0 {
        return rest;
    }
    let path = [prefix, &[rest[..end].to_owned()]].concat();
    match rest[end..].strip_prefix("::") {
        Some(inner) => collect_paths(inner, &path, found),
        None => {
            found.push(path);
            &rest[end..]
        }
    }
}

/// The modules that a source names, of those that there are: also those in its folder, but not those whose folder it is in, whose
/// private items it may use.
fn used_modules(source: &Source, own: &[String], modules: &BTreeSet<Vec<String>>) -> BTreeSet<Vec<String>> {
    let text: String = source.code().map(|(_, line)| format!("{line}\n")).collect();
    let inside = modules.iter().filter(|module| module.len() == own.len() + 1 && module.starts_with(own));
    let inside: BTreeSet<&str> = inside.filter_map(|module| module.last()).map(String::as_str).collect();
    let mut paths = Vec::new();
    for (at, _) in text.match_indices("::") {
        let before = text[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let root = &text[before.len()..at];
        // A name of a module behind a point is one of a field.
        let begins_path = !before.ends_with(':') && !before.ends_with('.');
        if begins_path && (["crate", "super", "self"].contains(&root) || inside.contains(root)) {
            collect_paths(&text[before.len()..], &[], &mut paths);
        }
    }
    let mut used = BTreeSet::new();
    for path in paths {
        let mut base = if path[0] == "crate" { Vec::new() } else { own.to_vec() };
        for name in &path {
            match name.as_str() {
                "crate" | "self" => {}
                "super" => drop(base.pop()),
                name => base.push(name.to_owned()),
            }
        }
        let module = (1..=base.len()).rev().map(|len| base[..len].to_vec()).find(|module| modules.contains(module));
        used.extend(module.filter(|module| !own.starts_with(module)));
    }
    used
}

/// The modules of a crate that are in a circle, or before one.
fn circles(sources: &[Source], crate_folder: &str) -> Vec<String> {
    // Tests look at all that they test.
    let is_checked = |source: &&Source| {
        crate_folder.starts_with("tests/") || !(source.is_test() || source.path.ends_with("_tests.rs"))
    };
    let modules = sources.iter().filter(is_checked);
    let checked: Vec<(Vec<String>, &Source)> =
        modules.filter_map(|source| Some((module_path(&source.path, crate_folder)?, source))).collect();
    let modules: BTreeSet<Vec<String>> = checked.iter().map(|(module, _)| module.clone()).collect();
    let mut uses: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> =
        checked.iter().map(|(module, source)| (module.clone(), used_modules(source, module, &modules))).collect();
    assert!(uses.values().any(|used| !used.is_empty()), "paths are found");
    // What uses nothing that is left is in no circle.
    loop {
        let done: Vec<Vec<String>> =
            uses.iter().filter(|(_, used)| used.is_empty()).map(|(module, _)| module.clone()).collect();
        if done.is_empty() {
            break;
        }
        done.iter().for_each(|module| drop(uses.remove(module)));
        uses.values_mut().for_each(|used| used.retain(|module| !done.contains(module)));
    }
    let named = |module: &Vec<String>| module.join("/");
    uses.iter()
        .map(|(module, used)| {
            let used: Vec<String> = used.iter().map(named).collect();
            format!("{crate_folder}{}: uses {}, in or before a circle", named(module), used.join(", "))
        })
        .collect()
}

#[test]
fn files_use_each_other_in_one_direction() {
    let sources = sources("rs");
    none(without_circles().flat_map(|crate_folder| circles(&sources, &crate_folder)).collect());
}

#[test]
fn a_module_of_several_files_is_a_folder() {
    let sources = sources("rs");
    let has_folder = |path: &str| {
        let folder = format!("{}/", path.strip_suffix(".rs").expect("a source"));
        sources.iter().any(|other| other.path.starts_with(&folder))
    };
    let split = sources.iter().filter(|source| source.path.contains("/src/") && has_folder(&source.path));
    none(split.map(|source| format!("{}: is the `mod.rs` of its folder", source.path)).collect());
}

#[test]
fn circles_are_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let mut sources = vec![
        source("server/src/a/mod.rs", "mod b;\nmod c;\npub use b::B;\n"),
        source("server/src/a/b.rs", "use super::c::C;\nuse super::A;\n"),
        source("server/src/a/c.rs", "#[cfg(test)]\nmod tests;\nuse crate::d;\n"),
        source("server/src/d.rs", "#[cfg(test)]\nmod tests { use crate::a::b; }\n"),
    ];
    assert_eq!(circles(&sources, "server/src/"), [""; 0]);
    sources.push(source("server/src/e/mod.rs", "mod f;\npub(crate) use f::F;\n"));
    sources.push(source("server/src/e/f.rs", "use super::E;\nuse crate::g::G;\n"));
    sources.push(source("server/src/g.rs", "use crate::e::E;\n"));
    let through_a_folder = ["e: uses e/f", "e/f: uses g", "g: uses e"];
    let through_a_folder = through_a_folder.map(|text| format!("server/src/{text}, in or before a circle"));
    assert_eq!(circles(&sources, "server/src/"), through_a_folder);
    sources.truncate(4);
    sources[2].text += "fn f() { super::b::g() }\n";
    let between_files = ["a: uses a/b", "a/b: uses a/c", "a/c: uses a/b"];
    let between_files = between_files.map(|text| format!("server/src/{text}, in or before a circle"));
    assert_eq!(circles(&sources, "server/src/"), between_files);
}

#[test]
fn use_trees_are_read() {
    let mut found = Vec::new();
    collect_paths("crate::a::{b, c::{d, self}, E as F};", &[], &mut found);
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    for path in ["crate::a::b", "crate::a::c::d", "crate::a::c::self", "crate::a::E"] {
        assert!(found.iter().any(|found| found == path), "{path} of {found:?}");
    }
}
