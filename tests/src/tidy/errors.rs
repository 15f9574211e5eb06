//! Failures in production code: typed errors, and no panic without a reason.

use std::collections::BTreeSet;

use regex::Regex;

use super::{Source, none, sources};

/// Files and folders of modules that only tests have, as paths without their ending.
fn modules_of_tests(sources: &[Source]) -> BTreeSet<String> {
    let declaration =
        r#"(?m)^#\[cfg\((?:test|all\(test,.*)\)\]\n(?:#\[path = "(\w+)\.rs"\]\n)?(?:pub(?:\(.*\))? )?mod (\w+);$"#;
    let declaration = Regex::new(declaration).expect("a pattern");
    let mut found = BTreeSet::new();
    for Source { path, text } in sources {
        let path = path.strip_suffix(".rs").expect("a source");
        let is_head = ["/mod", "/lib", "/main"].iter().any(|head| path.ends_with(head));
        let beside = path.rsplit_once('/').expect("a folder").0;
        let below = if is_head { beside } else { path };
        found.extend(declaration.captures_iter(text).map(|names| match names.get(1) {
            Some(file) => format!("{beside}/{}", file.as_str()),
            None => format!("{below}/{}", &names[2]),
        }));
    }
    found
}

fn of_production(sources: &[Source]) -> impl Iterator<Item = &Source> {
    let of_tests = modules_of_tests(sources);
    let is_of_test = move |path: &str| {
        of_tests
            .iter()
            .any(|module| path.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with(['.', '/'])))
    };
    let of_a_crate = |path: &str| path.starts_with("engine/") || path.starts_with("server/");
    sources.iter().filter(move |source| {
        of_a_crate(&source.path) && source.path.contains("/src/") && !source.is_test() && !is_of_test(&source.path)
    })
}

#[test]
fn only_tests_unwrap() {
    let sources = sources("rs");
    let mut violations = Vec::new();
    for source in of_production(&sources) {
        for (number, line) in source.code().filter(|(_, line)| line.contains(".unwrap()")) {
            violations.push(format!("{}:{number}: return an error, or expect with a reason: {line}", source.path));
        }
    }
    none(violations);
}

/// Checks that others may not list the variants of an error, so that a new one breaks none of them.
#[test]
fn public_errors_may_grow() {
    let public_error = Regex::new(r"(?m)^((?:#\[.*\]\n)*)pub enum (\w+Error) ").expect("a pattern");
    let sources = sources("rs");
    let (mut count, mut violations) = (0, Vec::new());
    for source in of_production(&sources) {
        for found in public_error.captures_iter(&source.text) {
            count += 1;
            if !found[1].contains("#[non_exhaustive]") {
                violations.push(format!("{}: `{}` is not `#[non_exhaustive]`", source.path, &found[2]));
            }
        }
    }
    assert!(count > 20, "only {count} errors are found");
    none(violations);
}

#[test]
fn modules_of_tests_are_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        source("server/src/a/mod.rs", "mod b;\n#[cfg(test)]\nmod c;\n"),
        source(
            "server/src/d.rs",
            "#[cfg(test)]\npub(crate) mod e;\n#[cfg(test)]\n#[path = \"d_tests.rs\"]\nmod tests;\n",
        ),
        source("server/src/d_tests.rs", ""),
        source("server/src/a/b.rs", ""),
        source("server/src/a/c.rs", ""),
        source("server/src/a/cc.rs", ""),
        source("server/src/d/e/g.rs", ""),
    ];
    let left: Vec<&str> = of_production(&sources).map(|source| source.path.as_str()).collect();
    assert_eq!(left, ["server/src/a/mod.rs", "server/src/d.rs", "server/src/a/b.rs", "server/src/a/cc.rs"]);
}
