//! Tests wait for a condition, with `soon` or `until`. A pause of a fixed length says in a comment why time has to pass.

use super::{Source, none, sources};

/// Lines with a pause that nothing explains.
fn unexplained(source: &Source) -> Vec<usize> {
    let lines: Vec<&str> = source.text.lines().map(str::trim_start).collect();
    let pauses = |(_, line): &(usize, &&str)| line.contains("thread::sleep(") && !line.starts_with("//");
    let bare = lines.iter().enumerate().skip(1).filter(pauses).filter(|(i, _)| !lines[i - 1].starts_with("//"));
    bare.map(|(i, _)| i + 1).collect()
}

#[test]
fn tests_say_why_time_has_to_pass() {
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| source.is_test() && !source.path.ends_with("tidy/sleeps.rs")) {
        violations.extend(unexplained(source).iter().map(|line| format!("{}:{line}: a pause", source.path)));
    }
    none(violations);
}

#[test]
fn pauses_without_a_reason_are_found() {
    let text = "a;\nthread::sleep(b);\n// Reason.\nthread::sleep(c);\n";
    assert_eq!(unexplained(&Source { path: "x.rs".to_owned(), text: text.to_owned() }), [2]);
}
