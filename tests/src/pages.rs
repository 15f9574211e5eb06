//! The pages of the documentation: all of them are listed, and links lead to pages and headings that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::server::repository;
use crate::tidy::VAGUE_WORDS;

/// A page, and where it lies.
fn read(path: &Path) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn pages_of(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join(folder)).expect("a folder");
    let names = entries.map(|entry| Path::new(folder).join(entry.expect("an entry").file_name()));
    let mut pages: Vec<PathBuf> = names.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    assert!(!pages.is_empty(), "{folder}");
    pages
}

/// Folders of the manual, one for each kind of page.
const MANUAL: [&str; 4] = ["docs/start", "docs/how-to", "docs/reference", "docs/explanation"];

/// Text without blocks of code, in which brackets are no links.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2).collect::<String>();
    outside.split('`').step_by(2).collect()
}

fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

/// `a/b/../c` is `a/c`.
fn plain(path: &Path) -> PathBuf {
    let mut made = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(made.pop()),
            Component::CurDir => {}
            part => made.push(part),
        }
    }
    made
}

/// The name of a heading in an address, as renderers of Markdown make it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let text = text.split("](").next().unwrap_or_default().replace(['[', '`'], "");
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect::<String>().replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let outside = text.split("```").step_by(2).collect::<String>();
    outside.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

#[test]
fn links_lead_to_headings_that_are_there() {
    let root =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "segment-format.md", "database-format.md"];
    let pages =
        root.iter().map(PathBuf::from).chain(MANUAL.into_iter().chain(["docs", "docs/decisions"]).flat_map(pages_of));
    let mut wrong = Vec::new();
    let mut checked = 0;
    for page in pages {
        let text = read(&page);
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { plain(&page.parent().unwrap().join(path)) };
            let whole = repository().join(&target);
            let has_heading = || heading.is_empty() || anchors(&read(&target)).contains(heading);
            if !whole.exists() || !has_heading() {
                wrong.push(format!("{}: {link}", page.display()));
            }
            checked += usize::from(!heading.is_empty());
        }
    }
    assert!(checked > 20, "only {checked} links to headings are found");
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn all_pages_are_in_the_contents() {
    let contents = read(Path::new("docs/SUMMARY.md"));
    for page in MANUAL.into_iter().flat_map(pages_of) {
        let name = page.strip_prefix("docs").unwrap().to_str().unwrap();
        assert!(contents.contains(&format!("]({name})")), "docs/SUMMARY.md has no {name}");
    }
}

#[test]
fn anchors_are_those_of_renderers() {
    assert_eq!(anchor("## What a `reverse proxy` should add"), "what-a-reverse-proxy-should-add");
    assert_eq!(anchor("### index_not_found"), "index_not_found");
    assert_eq!(links("a [b](c.md#d) `[x](y)` ```\n[z](w)\n``` [e](#f)"), ["c.md#d", "#f"]);
}

#[test]
fn pages_use_words_of_the_field() {
    let root = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(PathBuf::from);
    let pages = root.into_iter().chain(MANUAL.into_iter().chain(["docs", "docs/decisions"]).flat_map(pages_of));
    let mut found = Vec::new();
    for page in pages {
        for (number, line) in (1..).zip(read(&page).lines()) {
            let mut words = line.split(|c: char| !c.is_ascii_alphabetic());
            if let Some(word) = words.find(|word| VAGUE_WORDS.contains(&word.to_ascii_lowercase().as_str())) {
                found.push(format!("{}:{number}: `{word}`: say who does what", page.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Phrases that readers have to puzzle out; plain ones are "instead of", "retry", "heartbeat", "run".
const PUZZLING_PHRASES: [&str; 34] = [
    "in the place of",
    "is asked for",
    "are asked for",
    "what leads to",
    "what became of",
    "what it is to do",
    "behind the switch",
    "sign of life",
    "signs of life",
    "servers of the protocol",
    "by meaning",
    "truth value",
    "called so",
    "is called as",
    "of another make",
    "is looked at",
    "are looked at",
    "passed over",
    "passes over",
    "puts right",
    "tried again",
    "written anew",
    "made anew",
    "written down",
    "under way",
    "broke off",
    "breaks off",
    "processor time",
    "forgiven",
    "whatever runs",
    "is no number",
    "is no text",
    "is no boolean",
    "is no name",
];

/// A phrase may go on in the next line.
fn puzzling(page: &str) -> Vec<&'static str> {
    let text = prose(page).split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    PUZZLING_PHRASES.into_iter().filter(|phrase| text.contains(phrase)).collect()
}

#[test]
fn pages_have_no_puzzling_phrases() {
    let root = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(PathBuf::from);
    let formats = ["segment-format.md", "database-format.md"].map(PathBuf::from);
    let mut found = Vec::new();
    for page in
        root.into_iter().chain(formats).chain(MANUAL.into_iter().chain(["docs", "docs/decisions"]).flat_map(pages_of))
    {
        let phrases = puzzling(&read(&page)).into_iter();
        found.extend(phrases.map(|phrase| format!("{}: `{phrase}`: say it in the words of the field", page.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(puzzling("It is written\nanew, `under way`.\n```\ntried again\n```\n"), ["written anew"]);
}
