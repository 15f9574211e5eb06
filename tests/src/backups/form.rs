//! The form of dumps that servers of the protocol start from, stated strictly: what is not named here stops their start.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::fields::{Field, Result, exactly, is_object, is_text, is_text_or_null, key, known, must, settings};
use super::form_of_tasks::{batch, task};

/// Files of a dump by their paths; folders end with `/`.
pub(super) type Files = BTreeMap<String, String>;

pub(super) fn files(dump: &Path) -> Files {
    let file = std::fs::File::open(dump).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let mut files = Files::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().trim_start_matches("./").to_owned();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
        let is_folder = entry.header().entry_type().is_dir();
        files.insert(if is_folder { format!("{}/", path.trim_end_matches('/')) } else { path }, text);
    }
    files
}

pub(super) fn lines(files: &Files, path: &str) -> Vec<Value> {
    let text = files.get(path).unwrap_or_else(|| panic!("{path} is missing"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks all that another server reads.
///
/// # Panics
/// With what would stop its start.
#[track_caller]
pub(super) fn check(files: &Files) {
    for folder in ["indexes/", "tasks/", "tasks/update_files/", "batches/", "chat-completions-settings/"] {
        assert!(files.contains_key(folder), "the folder {folder} is missing");
    }
    let metadata: Value = serde_json::from_str(&files["metadata.json"]).unwrap();
    assert_eq!(metadata["dumpVersion"], "V6");
    let mut folders = 0;
    for (path, text) in files {
        let json = || serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let each = |check: fn(&Value) -> Result| {
            lines(files, path).iter().try_for_each(|line| check(line).map_err(|error| format!("{error} in {line}")))
        };
        let inside: Vec<&str> = path.split('/').collect();
        let checked = match inside.as_slice() {
            ["metadata.json" | "instance_uid.uuid" | "aliases.jsonl" | "chats.json"] | ["lamina", ..] => Ok(()),
            [.., ""] => Ok(()),
            ["keys.jsonl"] => each(key),
            ["network.json"] => network(&json()),
            ["webhooks.json"] => exactly(&json(), &[("webhooks", is_object)]),
            ["experimental-features.json"] => {
                json().as_object().unwrap().values().try_for_each(|switch| must(switch, Value::is_boolean, "a switch"))
            }
            ["chat-completions-settings", _] => chat(&json()),
            ["indexes", _, "metadata.json"] => {
                folders += 1;
                let fields: [Field; 4] =
                    [("uid", is_text), ("primaryKey", is_text_or_null), ("createdAt", is_text), ("updatedAt", is_text)];
                exactly(&json(), &fields)
            }
            ["indexes", folder, "settings.json"] => {
                assert!(files.contains_key(&format!("indexes/{folder}/documents.jsonl")));
                settings(&json())
            }
            ["indexes", _, "documents.jsonl"] => each(|line| must(line, is_object, "a document")),
            ["tasks", "queue.jsonl"] => each(task),
            ["tasks", "update_files", _] => Ok(()),
            ["batches", "queue.jsonl"] => each(batch),
            _ => Err("no file that is known".to_owned()),
        };
        checked.unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    assert_eq!(
        folders,
        files.keys().filter(|path| path.starts_with("indexes/") && path.ends_with("settings.json")).count()
    );
}

fn network(value: &Value) -> Result {
    let fields: [Field; 5] = [
        ("self", is_text_or_null),
        ("remotes", is_object),
        ("shards", is_object),
        ("leader", is_text_or_null),
        ("version", |version| version.as_str().is_some_and(|text| text.len() == 36)),
    ];
    exactly(value, &fields)?;
    let remote = |remote: &Value| must(&remote["url"], is_text, "an address");
    value["remotes"].as_object().unwrap().values().try_for_each(remote)
}

fn chat(value: &Value) -> Result {
    let sources = ["openAi", "azureOpenAi", "mistral", "vLlm"];
    must(&value["source"], |source| sources.iter().any(|known| source == known), "a source")?;
    let names = ["source", "orgId", "projectId", "apiVersion", "deploymentId", "baseUrl", "apiKey", "prompts"];
    known(value.as_object().ok_or("no object")?, &names)
}
