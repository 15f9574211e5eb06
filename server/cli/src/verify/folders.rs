//! What else lies in the database folder: folders of indexes that nothing names, small files, the quarantine.

use std::fs;
use std::path::Path;

use lamina_base::options::human_size;
use lamina_base::plural::counted;
use lamina_base::stored_names::FolderName;
use lamina_data::instance::{Aside, Opened, Plan, QUARANTINE, aside};
use serde_json::Value;
use uuid::Uuid;

use super::Findings;

/// Says what a start would do about folders without a name; the names that it would give back.
pub(super) fn check_names(folder: &Path, opened: &Opened, findings: &mut Findings) -> Vec<(String, FolderName)> {
    let plan = match Plan::make(folder, opened) {
        Ok(plan) => plan,
        Err(error) => {
            findings.damage("indexes", format!("no server starts here: {error}"));
            return Vec::new();
        }
    };
    for (uid, of_index) in &plan.rebuilt {
        findings.damage(
            &format!("indexes/{}", of_index.as_str()),
            format!(
                "its name was lost with the task queue; it says that it is `{uid}`, and the next start calls it so"
            ),
        );
    }
    for (of_index, reason) in &plan.aside {
        findings.damage(
            &format!("indexes/{of_index}"),
            format!("no index refers to it ({reason}): the next start moves it to `{QUARANTINE}`"),
        );
    }
    plan.rebuilt
}

/// Files that a server does without when they are damaged.
pub(super) fn check_small_files(folder: &Path, findings: &mut Findings) {
    let names = ["asked-queries.json", "chats.json", "experimental-features.json", "instance-uid", "network.json"];
    for name in names.into_iter().chain(["experiments.json", "replica.json", "store.json"]) {
        let is_whole = |text: &str| match name {
            "instance-uid" => Uuid::parse_str(text.trim()).is_ok(),
            _ => serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()),
        };
        let path = folder.join(name);
        if path.exists() && !fs::read_to_string(&path).is_ok_and(|text| is_whole(&text)) {
            findings.damage(name, "it cannot be read: the next start continues without it");
        }
    }
}

/// Lists quarantined files. They are not damage, but wait for inspection.
pub(super) fn mention_quarantine(folder: &Path, findings: &mut Findings) {
    for Aside { name, files, bytes } in aside(folder) {
        let (files, size) = (counted(files, "file"), human_size(bytes));
        let then = "nothing uses it: delete it when you no longer need it";
        findings.all_right(QUARANTINE, format!("{name}, {files}, {size}, put aside by a start or a repair; {then}"));
    }
}
