//! Folders that are no databases of ours: nothing is written into them.

use std::fs;
use std::io;
use std::path::Path;

use super::error::{InstanceError, io_error};
use super::parts::PARTS;

/// Default backup folders, which may lie at the top of a database folder besides its parts.
const BESIDE: [&str; 2] = ["dumps", "snapshots"];
/// Names that identify a database folder of this program with certainty.
const CERTAIN: [&str; 3] = ["tasks.sqlite", "payloads", "import-unfinished"];
/// Stores of another server of the protocol, with the file that it keeps in each.
const THEIRS: [&str; 4] = ["tasks/data.mdb", "auth/data.mdb", "update_files", "tasks/lock.mdb"];
/// Name that file systems create in a folder.
const OF_FILE_SYSTEMS: &str = "lost+found";

/// Refuses a folder that holds something, and no database of ours.
///
/// # Errors
/// Whose it seems to be, and what to do.
pub fn check_ours(folder: &Path) -> Result<(), InstanceError> {
    let mut names = Vec::new();
    match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                names.push(entry.map_err(io_error(folder))?.file_name().to_string_lossy().into_owned());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(InstanceError::Io { path: folder.to_owned(), source }),
    }
    if names.iter().any(|name| CERTAIN.contains(&name.as_str())) {
        return Ok(());
    }
    for within in ["", "data.ms"] {
        let place = folder.join(within);
        if THEIRS.iter().any(|name| place.join(name).exists()) {
            return Err(InstanceError::OfAnotherServer { folder: place });
        }
    }
    names.sort_unstable();
    let is_strange = |name: &&String| {
        let is_ours = is_ours(name);
        // Hidden files are no data: `.gitkeep`, `.DS_Store`.
        !is_ours && !name.starts_with('.') && *name != OF_FILE_SYSTEMS
    };
    match names.iter().find(is_strange) {
        Some(name) => Err(InstanceError::NotOurs { folder: folder.to_owned(), found: name.clone() }),
        None => Ok(()),
    }
}

/// Returns whether a folder of ours has something of this name at its top, whatever of it is lost.
fn is_ours(name: &str) -> bool {
    name.starts_with("tasks.sqlite") || BESIDE.contains(&name) || PARTS.iter().any(|part| part.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(paths: &[&str]) -> Result<(), InstanceError> {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        check_ours(folder.path())
    }

    #[test]
    fn folders_of_others_are_refused() {
        for paths in [
            &["VERSION", "instance-uid", "tasks/data.mdb", "auth/data.mdb", "indexes/x/data.mdb"][..],
            &["lock", "VERSION", "tasks/data.mdb"],
            &["data.ms/auth/data.mdb", "dumps/x"],
            &["update_files/x"],
        ] {
            assert!(matches!(with(paths), Err(InstanceError::OfAnotherServer { .. })), "{paths:?}");
        }
        for paths in [&["letter.txt"][..], &["VERSION", "letter.txt"], &["lock", "src/main.rs"]] {
            assert!(matches!(with(paths), Err(InstanceError::NotOurs { .. })), "{paths:?}");
        }
    }

    #[test]
    fn what_the_page_names_is_ours() {
        let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../database-format.md")).unwrap();
        let folder = page.split("```text\n").nth(1).and_then(|block| block.split("```").next()).unwrap();
        let names: Vec<&str> = folder.lines().filter_map(|line| line.split([' ', '/', ',']).next()).collect();
        assert!(names.len() > 15, "{names:?}");
        for name in names {
            assert!(is_ours(name), "{name}");
        }
    }

    #[test]
    fn folders_of_ours_are_used_whatever_is_lost_or_added() {
        for paths in [
            &[][..],
            &[".gitkeep", "lost+found/x"],
            &["tasks.sqlite", "letter.txt", "tasks/data.mdb"],
            &["indexes/x/manifest", "VERSION"],
            &["models/x"],
            &["network.json", "chats.json", "replica.json"],
            &["tasks.sqlite-wal", "lock"],
            &["payloads/x", "own.txt"],
            &["import-unfinished", "x"],
        ] {
            with(paths).unwrap();
        }
        check_ours(Path::new("/does/not/exist")).unwrap();
    }
}
