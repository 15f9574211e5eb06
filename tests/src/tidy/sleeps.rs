//! Tests wait for a condition, with `soon` or `until`. A pause of a fixed length says in a comment why time has to pass.

use std::collections::BTreeSet;

use super::{Source, none, sources};

/// Lines of tests with a pause that nothing explains.
fn unexplained(source: &Source) -> Vec<usize> {
    let code: BTreeSet<usize> = source.code().map(|(number, _)| number).filter(|_| !source.is_test()).collect();
    let lines: Vec<&str> = source.text.lines().map(str::trim_start).collect();
    let is_pause = |line: &str| ["thread::sleep(", "time::sleep("].iter().any(|pause| line.contains(pause));
    let pauses = (1..lines.len())
        .filter(|i| is_pause(lines[*i]) && ![lines[*i], lines[i - 1]].iter().any(|line| line.starts_with("//")));
    pauses.map(|i| i + 1).filter(|number| !code.contains(number)).collect()
}

#[test]
fn tests_say_why_time_has_to_pass() {
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| !source.path.ends_with("tidy/sleeps.rs")) {
        violations.extend(unexplained(source).iter().map(|line| format!("{}:{line}: a pause", source.path)));
    }
    none(violations);
}

#[test]
fn pauses_without_a_reason_are_found() {
    let text = "a;\nthread::sleep(b);\n// Reason.\nthread::sleep(c);\n#[cfg(test)]\nmod tests {\n    tokio::time::sleep(d);\n}\n";
    let source = |path: &str| Source { path: path.to_owned(), text: text.to_owned() };
    assert_eq!(unexplained(&source("server/src/x.rs")), [7]);
    assert_eq!(unexplained(&source("tests/src/x.rs")), [2, 7]);
}
