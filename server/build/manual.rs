//! The pages of the manual as a list in Rust, which the program contains.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders of pages.
const KINDS: [&str; 4] = ["start", "how-to", "reference", "explanation"];
/// Pages that lie elsewhere in the repository.
const OTHERS: [(&str, &str); 2] = [("reference/changes", "CHANGELOG.md"), ("explanation/reporting", "SECURITY.md")];

/// Writes `PAGES` and `PICTURES` to `target`: for each the path in the manual, the path in the repository, and the text.
///
/// # Errors
/// When a folder cannot be read, or `target` not be written.
pub(crate) fn write(root: &Path, target: &Path) -> io::Result<()> {
    let mut pages: Vec<(String, String)> =
        OTHERS.iter().map(|&(page, source)| (page.to_owned(), source.to_owned())).collect();
    for kind in KINDS {
        pages.extend(names(&root.join("docs").join(kind), "md")?.into_iter().map(|name| {
            let page = format!("{kind}/{name}");
            let source = format!("docs/{page}.md");
            (page, source)
        }));
    }
    let pictures = names(&root.join("docs/pictures"), "svg")?.into_iter();
    let pictures: Vec<(String, String)> =
        pictures.map(|name| (name.clone(), format!("docs/pictures/{name}.svg"))).collect();
    let text = format!("{}{}", list(root, "PAGES", &pages), list(root, "PICTURES", &pictures));
    fs::write(target, text)
}

/// Returns the folders and files that the list depends on.
pub(crate) fn sources(root: &Path) -> Vec<PathBuf> {
    let folders = KINDS.iter().chain(&["pictures"]).map(|folder| root.join("docs").join(folder));
    folders.chain(OTHERS.iter().map(|(_, source)| root.join(source))).collect()
}

/// The names of the files with this ending, without it, in order.
fn names(folder: &Path, ending: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            found.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    found.sort();
    Ok(found)
}

fn list(root: &Path, name: &str, files: &[(String, String)]) -> String {
    let mut text = format!("const {name}: &[(&str, &str, &str)] = &[\n");
    for (page, source) in files {
        let path = root.join(source);
        writeln!(text, "    ({page:?}, {source:?}, include_str!({path:?})),").expect("texts grow");
    }
    text + "];\n"
}
