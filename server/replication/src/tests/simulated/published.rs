//! What roots, manifests and tasks are made of here.

use std::collections::{BTreeMap, BTreeSet};

use lamina_data::tasks::{Content, NewTask};
use lamina_engine::index::NamedFile;

use super::folder::Manifest;
use crate::root::Root;

/// Returns the files that a manifest names.
pub(super) fn names(manifest: &[u8]) -> Option<Vec<NamedFile>> {
    Some(serde_json::from_slice::<Manifest>(manifest).ok()?.named_files())
}

/// The keys of all objects that a root names.
pub(super) fn keys_of(root: &Root, objects: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for index in &root.indexes {
        let manifest = objects.get(&index.manifest_key());
        let files = manifest.and_then(|manifest| names(manifest)).unwrap_or_default();
        keys.extend(files.iter().map(|file| index.file_key(file)));
        keys.insert(index.manifest_key());
    }
    keys
}

/// The tasks of a root all of whose objects are there.
pub(super) fn tasks_of(root: &Root, objects: &BTreeMap<String, Vec<u8>>) -> BTreeSet<u32> {
    let mut tasks = BTreeSet::new();
    for index in &root.indexes {
        for file in names(&objects[&index.manifest_key()]).expect("a manifest") {
            let segment: BTreeSet<u32> = serde_json::from_slice(&objects[&index.file_key(&file)]).expect("a segment");
            tasks.extend(segment);
        }
    }
    tasks
}

/// A task of this number under its uid.
pub(super) fn task_of(uid: u32, task: u32) -> NewTask {
    NewTask { uid: Some(uid), ..NewTask::for_index(task.to_string(), Content::Clear { mark: None }) }
}

/// The number of a task, and its uid.
pub(super) fn numbers(task: &NewTask) -> (u32, u32) {
    let number = task.index_uid.as_ref().and_then(|text| text.parse().ok());
    (task.uid.expect("a uid"), number.expect("a number"))
}
