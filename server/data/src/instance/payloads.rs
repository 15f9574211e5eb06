//! Documents in the payload folder that no task needs.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use lamina_base::stored_names::PayloadName;

use super::error::{InstanceError, io_error};
use super::quarantine::put_aside;

/// Removes payloads that a crash left: of tasks that are finished, or were never stored and so never acknowledged. Where tasks
/// were lost that is not known, and what does not look like a payload is none of ours: all of that is put aside.
///
/// # Errors
/// When the folder cannot be listed, or something in it not put aside. What cannot be removed is logged and stays.
pub(super) fn clean_up(folder: &Path, needed: &[PayloadName], tasks_were_lost: bool) -> Result<(), InstanceError> {
    let needed: HashSet<&str> = needed.iter().map(PayloadName::as_str).collect();
    let payloads = folder.join("payloads");
    for entry in fs::read_dir(&payloads).map_err(io_error(&payloads))? {
        let entry = entry.map_err(io_error(&payloads))?;
        let (name, path) = (entry.file_name(), entry.path());
        if name.to_str().is_some_and(|name| needed.contains(name)) {
            continue;
        }
        let is_payload = name.to_str().is_some_and(|name| PayloadName::try_from(name.to_owned()).is_ok());
        if tasks_were_lost || !is_payload || path.is_dir() {
            let aside = put_aside(folder, &path)?;
            tracing::error!("no known task needs {path:?}: moved to {aside:?}");
            continue;
        }
        match fs::remove_file(&path) {
            Ok(()) => tracing::info!(path = %path.display(), "removed the leftovers of an interrupted task"),
            Err(error) => tracing::warn!(path = %path.display(), %error, "cannot remove a payload that no task needs"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::quarantine::QUARANTINE;
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn payloads_go_only_when_no_task_can_miss_them() {
        let folder = tempfile::tempdir().unwrap();
        let payloads = folder.path().join("payloads");
        fs::create_dir(&payloads).unwrap();
        let [needed, left] = [PayloadName::random(), PayloadName::random()];
        for name in [needed.as_str(), left.as_str(), "notes.txt"] {
            fs::write(payloads.join(name), "{}").unwrap();
        }
        clean_up(folder.path(), std::slice::from_ref(&needed), false).unwrap();
        assert_eq!(names(&payloads), [needed.as_str()]);
        let aside = names(&folder.path().join(QUARANTINE));
        assert_eq!(aside.len(), 1, "{aside:?}");
        assert!(aside[0].starts_with("notes.txt-"), "{aside:?}");
        fs::write(payloads.join(&left), "{}").unwrap();
        clean_up(folder.path(), std::slice::from_ref(&needed), true).unwrap();
        assert_eq!(names(&payloads), [needed.as_str()]);
        assert_eq!(names(&folder.path().join(QUARANTINE)).len(), 2);
    }
}
