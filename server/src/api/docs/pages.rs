//! The pages of the manual: which there are, in which order, and how they look.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::markdown::{Section, Targets, render, sections};
use crate::api::html::escaped;

include!(concat!(env!("OUT_DIR"), "/manual.rs"));

const SUMMARY: &str = include_str!("../../../../docs/SUMMARY.md");
const FRAME: &str = include_str!("frame.html");
const STYLE: &str = include_str!("../../../../docs/site/site.css");
const SCRIPT: &str = include_str!("../../../../docs/site/site.js");
const MARK: &str = include_str!("../../../../docs/site/mark.svg");

/// A page, with its place in the table of contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: &'static str,
    group: &'static str,
    pub(super) title: &'static str,
    /// Path below `/docs`.
    pub(super) path: &'static str,
}

/// All pages in the order of the table of contents.
pub(super) fn contents() -> Vec<Entry> {
    let (mut kind, mut group) = ("", "");
    let mut found = Vec::new();
    for line in SUMMARY.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            (kind, group) = heading.split_once(": ").unwrap_or((heading, ""));
        } else if let Some((title, target)) = line.strip_prefix("- [").and_then(|rest| rest.split_once("](")) {
            let source = joined("docs/SUMMARY.md", target.trim_end_matches(')'));
            found.extend(page_of(&source).map(|path| Entry { kind, group, title, path }));
        }
    }
    found
}

/// The Markdown of a page.
pub(super) fn text(path: &str) -> Option<&'static str> {
    PAGES.iter().find(|(page, _, _)| *page == path).map(|(_, _, text)| *text)
}

/// The words after `also:` in a page: what readers call its subject.
pub(super) fn also(text: &str) -> &str {
    text.split_once("<!-- also: ").and_then(|(_, rest)| rest.split_once(" -->")).map_or("", |(words, _)| words)
}

fn page_of(source: &str) -> Option<&'static str> {
    PAGES.iter().find(|(_, other, _)| *other == source).map(|(page, _, _)| *page)
}

/// The file of the repository that `target` leads to from another file.
fn joined(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A page that is shown. `root` leads from its address to the manual.
struct Shown<'a> {
    source: &'a str,
    root: &'a str,
}

impl Targets for Shown<'_> {
    fn link(&self, target: &str) -> Option<String> {
        if target.starts_with('#') || target.contains("://") || target.starts_with("mailto:") {
            return Some(target.to_owned());
        }
        let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
        page_of(&joined(self.source, path)).map(|page| format!("{}{page}{anchor}", self.root))
    }

    fn picture(&self, target: &str) -> Option<String> {
        let path = joined(self.source, target);
        let picture = PICTURES.iter().find(|(_, source, _)| *source == path);
        picture.map(|(_, _, text)| inside(text))
    }
}

/// A picture as an address.
fn inside(picture: &str) -> String {
    format!("data:image/svg+xml;base64,{}", BASE64.encode(picture))
}

/// A page as HTML. `root` leads from its address to the manual.
pub(super) fn page(path: &str, root: &str) -> Option<String> {
    let &(path, source, markdown) = PAGES.iter().find(|(page, _, _)| *page == path)?;
    let contents = contents();
    let kind = contents.iter().find(|entry| entry.path == path).map_or("", |entry| entry.kind);
    let parts = sections(markdown);
    let body = render(markdown, &Shown { source, root }) + &*footer(&contents, path, root);
    Some(framed(&Frame {
        title: &parts[0].title,
        class: "",
        root,
        kinds: &kinds(&contents, kind, root),
        pages: &beside(&contents, path, kind, root),
        headings: &headings(&parts),
        body: &body,
    }))
}

/// The first page: what the manual has.
pub(super) fn home(root: &str) -> String {
    let contents = contents();
    let mut body = format!(
        "<h1>Manual</h1>\n<p>Of this version, and of this server: the examples use its address. Press <kbd>/</kbd> to search.</p>\n\
         <p><a class=\"button\" href=\"{root}start/first-search\">Your first search</a>\
         <a class=\"button second\" href=\"{root}api\">All routes</a>\
         <a class=\"button second\" href=\"{root}errors\">Errors</a></p>\n"
    );
    for kind in names_of_kinds(&contents) {
        body.push_str(&format!("<h2>{kind}</h2>\n<div class=\"cards\">"));
        for (group, entries) in groups(&contents, kind) {
            body.push_str("<div>");
            if !group.is_empty() {
                body.push_str(&format!("<h3>{}</h3>", escaped(group)));
            }
            body.push_str(&list(&entries, "", root));
            body.push_str("</div>");
        }
        body.push_str("</div>\n");
    }
    let frame = Frame {
        title: "Manual",
        class: "home",
        root,
        kinds: &kinds(&contents, "", root),
        pages: &beside(&contents, "", "", root),
        headings: "",
        body: &body,
    };
    framed(&frame)
}

/// Parts that differ between pages.
struct Frame<'a> {
    title: &'a str,
    class: &'a str,
    root: &'a str,
    kinds: &'a str,
    pages: &'a str,
    headings: &'a str,
    body: &'a str,
}

fn framed(frame: &Frame<'_>) -> String {
    let (title, icon) = (escaped(frame.title), inside(MARK));
    let values = [
        ("title", &*title),
        ("icon", &*icon),
        ("style", STYLE),
        ("class", frame.class),
        ("kinds", frame.kinds),
        ("pages", frame.pages),
        ("headings", frame.headings),
        ("script", SCRIPT),
        ("root", frame.root),
        // Last: it may contain what looks like another one.
        ("body", frame.body),
    ];
    values.iter().fold(FRAME.to_owned(), |page, (name, value)| page.replace(&format!("<!--{name}-->"), value))
}

fn names_of_kinds(contents: &[Entry]) -> Vec<&'static str> {
    let mut names: Vec<&str> = contents.iter().map(|entry| entry.kind).collect();
    names.dedup();
    names
}

/// The groups of a kind with their pages, in order.
fn groups(contents: &[Entry], kind: &str) -> Vec<(&'static str, Vec<Entry>)> {
    let mut found: Vec<(&str, Vec<Entry>)> = Vec::new();
    for entry in contents.iter().filter(|entry| entry.kind == kind) {
        match found.last_mut().filter(|(group, _)| *group == entry.group) {
            Some((_, entries)) => entries.push(*entry),
            None => found.push((entry.group, vec![*entry])),
        }
    }
    found
}

fn list(entries: &[Entry], current: &str, root: &str) -> String {
    let rows = entries.iter().map(|Entry { title, path, .. }| {
        let mark = if *path == current { " aria-current=\"page\"" } else { "" };
        format!("<li><a href=\"{root}{path}\"{mark}>{}</a></li>", escaped(title))
    });
    format!("<ul>{}</ul>", rows.collect::<String>())
}

/// Links to the first page of each kind.
fn kinds(contents: &[Entry], kind: &str, root: &str) -> String {
    let of_kind = |name: &str| contents.iter().find(|entry| entry.kind == name).map_or("", |entry| entry.path);
    let links = names_of_kinds(contents).into_iter().map(|name| {
        let mark = if name == kind { " aria-current=\"true\"" } else { "" };
        format!("<a href=\"{root}{}\"{mark}>{name}</a>", of_kind(name))
    });
    links.collect()
}

/// The list of pages beside a page: those of its kind, or of all kinds where it is of none.
fn beside(contents: &[Entry], path: &str, kind: &str, root: &str) -> String {
    let mut made = String::new();
    for name in names_of_kinds(contents).into_iter().filter(|name| kind.is_empty() || *name == kind) {
        for (group, entries) in groups(contents, name) {
            let heading = if group.is_empty() { name } else { group };
            made.push_str(&format!("<h2>{}</h2>{}", escaped(heading), list(&entries, path, root)));
        }
    }
    made
}

/// The list of headings beside a page.
fn headings(parts: &[Section]) -> String {
    /// A longer list shows the higher ones only.
    const SHOWN_MAX: usize = 40;
    let up_to = |level: u8| parts.iter().filter(move |part| !part.anchor.is_empty() && part.level <= level);
    let level = if up_to(3).count() > SHOWN_MAX { 2 } else { 3 };
    if up_to(level).count() < 2 {
        return String::new();
    }
    let rows = up_to(level).map(|Section { level, anchor, title, .. }| {
        let class = if *level > 2 { " class=\"deeper\"" } else { "" };
        format!("<li{class}><a href=\"#{}\">{}</a></li>", escaped(anchor), escaped(title))
    });
    format!("<h2>On this page</h2><ul>{}</ul>", rows.collect::<String>())
}

/// Links to the pages before and behind.
fn footer(contents: &[Entry], path: &str, root: &str) -> String {
    let Some(place) = contents.iter().position(|entry| entry.path == path) else { return String::new() };
    let link = |entry: &Entry, text: String| format!("<a href=\"{root}{}\">{text}</a>", entry.path);
    let before = place.checked_sub(1).and_then(|place| contents.get(place));
    let before = before.map(|entry| link(entry, format!("← {}", escaped(entry.title))));
    let behind = contents.get(place + 1).map(|entry| link(entry, format!("{} →", escaped(entry.title))));
    let links: String = before.into_iter().chain(behind).collect();
    format!("<footer>{links}</footer>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::html::needs_no_other_server;

    #[test]
    fn every_page_has_its_place_in_the_contents() {
        let mut listed: Vec<&str> = contents().iter().map(|entry| entry.path).collect();
        let mut pages: Vec<&str> = PAGES.iter().map(|(page, _, _)| *page).collect();
        listed.sort_unstable();
        pages.sort_unstable();
        assert_eq!(listed, pages);
    }

    #[test]
    fn pages_stand_alone() {
        for (path, _, _) in PAGES {
            needs_no_other_server(&page(path, "../").expect("a page"));
        }
        needs_no_other_server(&home("docs/"));
    }

    #[test]
    fn links_lead_to_pages_that_are_there() {
        let mut count = 0;
        for (path, _, _) in PAGES {
            let html = page(path, "../").expect("a page");
            let links = html.split("href=\"../").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
            for target in links {
                assert!(text(target).is_some() || ["../docs", "api"].contains(&target), "{path}: {target}");
                count += 1;
            }
        }
        assert!(count > 1000, "{count}");
    }

    #[test]
    fn targets_are_those_of_the_repository() {
        let shown = Shown { source: "docs/how-to/facets.md", root: "../" };
        assert_eq!(shown.link("../reference/settings.md#synonyms").as_deref(), Some("../reference/settings#synonyms"));
        assert_eq!(shown.link("../../CHANGELOG.md").as_deref(), Some("../reference/changes"));
        assert_eq!(shown.link("#a").as_deref(), Some("#a"));
        assert_eq!(shown.link("https://example.org/").as_deref(), Some("https://example.org/"));
        assert_eq!(shown.link("../../CONTRIBUTING.md"), None);
        assert_eq!(shown.picture("../page.png"), None);
    }
}
