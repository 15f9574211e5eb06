//! The pages of the repository: their links, the decisions, how long they may get.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{Source, none, sources};
use crate::server::repository;

/// The names by which links find the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) else { continue };
        // Of a link, its text.
        let mut text = String::new();
        for (i, piece) in heading.trim_start_matches('#').split("](").enumerate() {
            text += if i == 0 { piece } else { piece.split_once(')').map_or("", |(_, behind)| behind) };
        }
        let letters = text.trim().to_lowercase();
        let letters = letters.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
        anchors.insert(letters.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    anchors
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = sources("md");
    let by_path: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let mut violations = Vec::new();
    for page in &pages {
        let folder = Path::new(&page.path).parent().expect("a folder");
        for link in page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if target.is_empty() { page.path.clone() } else { joined(folder, target) };
            if !repository().join(&path).exists() {
                violations.push(format!("{}: no {target}", page.path));
            } else if !anchor.is_empty() && !by_path.get(path.as_str()).is_some_and(|of_page| of_page.contains(anchor))
            {
                violations.push(format!("{}: no heading of {link}", page.path));
            }
        }
    }
    none(violations);
}

/// `target` as a path from the repository on.
fn joined(folder: &Path, target: &str) -> String {
    let mut parts: Vec<&str> =
        folder.to_str().expect("a plain name").split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn anchors_are_made_of_headings() {
    let page = "# A `b` c, d\n```sh\n# no\n```\n## [E f](g.md#h): 1.5\n";
    assert_eq!(anchors(page), BTreeSet::from(["a-b-c-d".to_owned(), "e-f-15".to_owned()]));
    assert_eq!(joined(Path::new("docs/decisions"), "../a/./b.md"), "docs/a/b.md");
}

/// The decisions by their numbers: name of the file, first line.
fn decisions() -> BTreeMap<String, (String, String)> {
    let entries = fs::read_dir(repository().join("docs/decisions")).expect("a folder");
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().expect("a plain name");
        let text = fs::read_to_string(entry.path()).expect("reads");
        (name != "README.md")
            .then(|| (name[..4].to_owned(), (name, text.lines().next().unwrap_or_default().to_owned())))
    };
    entries.filter_map(|entry| read(entry.expect("an entry"))).collect()
}

#[test]
fn the_index_of_decisions_has_all_of_them() {
    let index = fs::read_to_string(repository().join("docs/decisions/README.md")).expect("the index");
    let mut violations = Vec::new();
    for (number, (name, title)) in decisions() {
        let mut rows = index.lines().filter(|line| line.starts_with(&format!("| [{number}]({name}) | ")));
        let holds = rows.next().and_then(|row| row.trim_end_matches('|').rsplit('|').next());
        if holds.is_none_or(|holds| holds.trim().is_empty()) || rows.next().is_some() {
            violations.push(format!("docs/decisions/README.md: one line for {name}, which says whether it holds"));
        }
        if !title.starts_with(&format!("# {number}: ")) {
            violations.push(format!("docs/decisions/{name}: its title begins with its number"));
        }
    }
    none(violations);
}

/// Checks that every cited decision exists.
#[test]
fn cited_decisions_are_there() {
    let decisions = decisions();
    let cited =
        regex::Regex::new(r"(?:decisions?|and|or|to)[ /\[]+(00\d\d)\b|\[(00\d\d)\]|/(00\d\d)-").expect("a pattern");
    let mut violations = Vec::new();
    for Source { path, text } in
        ["rs", "md", "toml", "sh", "py", "html"].iter().flat_map(|extension| sources(extension))
    {
        for found in cited.captures_iter(&text) {
            let number = found.iter().skip(1).flatten().next().expect("a number").as_str();
            if !decisions.contains_key(number) {
                violations.push(format!("{path}: there is no decision {number}"));
            }
        }
    }
    none(violations);
}

/// Pages for users stay short: history belongs into decisions.
#[test]
fn pages_are_no_diaries() {
    let page = |name: &str| fs::read_to_string(repository().join(name)).expect("the page");
    let mut violations = Vec::new();
    let changes = page("CHANGELOG.md").lines().count();
    if changes > 40 {
        violations.push(format!("CHANGELOG.md: {changes} lines; 40 say what a version is"));
    }
    let figures = page("docs/explanation/performance.md");
    let tables = figures.lines().filter(|line| line.starts_with("|---")).count();
    if tables != 1 {
        violations
            .push(format!("docs/explanation/performance.md: {tables} tables; earlier figures belong into decisions"));
    }
    for (number, line) in
        (1..).zip(figures.lines()).filter(|(_, line)| !line.starts_with('|') && line.chars().count() > 150)
    {
        violations.push(format!("docs/explanation/performance.md:{number}: {} characters", line.chars().count()));
    }
    none(violations);
}

/// Files at the top of the database folder, as the server's sources name them.
#[test]
fn files_of_the_folder_are_described() {
    let page = fs::read_to_string(repository().join("database-format.md")).expect("the page");
    let constant =
        regex::Regex::new(r#"const (?:FILE|MARKER|DATABASE|QUARANTINE): &str = "(.+)";"#).expect("a pattern");
    let mut names = BTreeSet::new();
    for source in sources("rs").iter().filter(|source| source.path.starts_with("server/")) {
        names.extend(constant.captures_iter(&source.text).map(|found| found[1].to_owned()));
    }
    assert!(names.len() >= 9, "{names:?}");
    none(
        names
            .iter()
            .filter(|name| !page.contains(&format!("\n{name}")))
            .map(|name| format!("database-format.md: no {name}"))
            .collect(),
    );
}
