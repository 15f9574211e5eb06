//! The form of dumps that servers of the protocol start from, stated strictly: what is not named here stops their start.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

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

pub(super) type Result = std::result::Result<(), String>;

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

pub(super) type Field = (&'static str, fn(&Value) -> bool);

pub(super) fn is_text(value: &Value) -> bool {
    value.is_string()
}

pub(super) fn is_text_or_null(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

pub(super) fn is_object(value: &Value) -> bool {
    value.is_object()
}

pub(super) fn is_count(value: &Value) -> bool {
    value.is_u64()
}

pub(super) fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

pub(super) fn is_switch(value: &Value) -> bool {
    value.is_boolean()
}

pub(super) fn is_anything(_: &Value) -> bool {
    true
}

pub(super) fn must(value: &Value, is_so: impl Fn(&Value) -> bool, what: &str) -> Result {
    if is_so(value) { Ok(()) } else { Err(format!("{value} is not {what}")) }
}

/// All these fields, and no others.
pub(super) fn exactly(value: &Value, fields: &[Field]) -> Result {
    let object = value.as_object().ok_or_else(|| format!("{value} is no object"))?;
    for (name, is_so) in fields {
        let field = object.get(*name).ok_or_else(|| format!("`{name}` is missing"))?;
        must(field, is_so, name)?;
    }
    known(object, &fields.iter().map(|(name, _)| *name).collect::<Vec<_>>())
}

pub(super) fn known(object: &Map<String, Value>, names: &[&str]) -> Result {
    match object.keys().find(|name| !names.contains(&name.as_str())) {
        Some(unknown) => Err(format!("unknown field `{unknown}`")),
        None => Ok(()),
    }
}

/// Settings, with or without all of their keys: null resets one.
pub(super) fn settings(sent: &Value) -> Result {
    let object = sent.as_object().ok_or("no object")?;
    for (name, value) in object {
        let parts: &[&str] = match name.as_str() {
            "displayedAttributes"
            | "searchableAttributes"
            | "sortableAttributes"
            | "stopWords"
            | "nonSeparatorTokens"
            | "separatorTokens"
            | "dictionary"
            | "rankingRules" => {
                must(value, |value| value.is_null() || is_texts(value), name)?;
                continue;
            }
            "filterableAttributes"
            | "synonyms"
            | "distinctAttribute"
            | "proximityPrecision"
            | "searchCutoffMs"
            | "localizedAttributes"
            | "facetSearch"
            | "prefixSearch"
            | "foreignKeys" => continue,
            "embedders" => {
                let of_one = |embedder: &Value| embedder.as_object().map_or(Ok(()), |fields| known(fields, &EMBEDDER));
                value.as_object().map_or(Ok(()), |embedders| embedders.values().try_for_each(of_one))?;
                continue;
            }
            "typoTolerance" => {
                &["enabled", "minWordSizeForTypos", "disableOnWords", "disableOnAttributes", "disableOnNumbers"]
            }
            "faceting" => &["maxValuesPerFacet", "sortFacetValuesBy"],
            "pagination" => &["maxTotalHits"],
            "chat" => &["description", "documentTemplate", "documentTemplateMaxBytes", "searchParameters"],
            unknown => return Err(format!("unknown setting `{unknown}`")),
        };
        value.as_object().map_or(Ok(()), |fields| known(fields, parts))?;
    }
    let strategy = sent.pointer("/chat/searchParameters/matchingStrategy").and_then(Value::as_str);
    match strategy {
        None | Some("last" | "all" | "frequency") => Ok(()),
        Some(other) => Err(format!("unknown strategy `{other}`")),
    }
}

const EMBEDDER: [&str; 18] = [
    "source",
    "model",
    "revision",
    "pooling",
    "apiKey",
    "dimensions",
    "binaryQuantized",
    "documentTemplate",
    "documentTemplateMaxBytes",
    "url",
    "indexingFragments",
    "searchFragments",
    "request",
    "response",
    "headers",
    "searchEmbedder",
    "indexingEmbedder",
    "distribution",
];

const ACTIONS: &[&str] = &[
    "*",
    "search",
    "documents.*",
    "documents.add",
    "documents.get",
    "documents.delete",
    "indexes.*",
    "indexes.create",
    "indexes.get",
    "indexes.update",
    "indexes.delete",
    "indexes.swap",
    "tasks.*",
    "tasks.cancel",
    "tasks.delete",
    "tasks.get",
    "settings.*",
    "settings.get",
    "settings.update",
    "stats.*",
    "stats.get",
    "metrics.*",
    "metrics.get",
    "dumps.*",
    "dumps.create",
    "snapshots.*",
    "snapshots.create",
    "version",
    "keys.create",
    "keys.get",
    "keys.update",
    "keys.delete",
    "experimental.get",
    "experimental.update",
    "export",
    "network.get",
    "network.update",
    "chatCompletions",
    "chats.*",
    "chats.get",
    "chats.delete",
    "chatsSettings.*",
    "chatsSettings.get",
    "chatsSettings.update",
    "*.get",
    "webhooks.get",
    "webhooks.update",
    "webhooks.delete",
    "webhooks.create",
    "webhooks.*",
    "indexes.compact",
    "fields.post",
    "tasks.compact",
    "dynamicSearchRules.get",
    "dynamicSearchRules.create",
    "dynamicSearchRules.update",
    "dynamicSearchRules.delete",
    "dynamicSearchRules.*",
];

pub(super) fn key(line: &Value) -> Result {
    let mut line = line.clone();
    for optional in ["name", "description"] {
        let value = line.as_object_mut().ok_or("no object")?.shift_remove(optional);
        must(&value.unwrap_or_else(|| "".into()), is_text, optional)?;
    }
    let actions = |actions: &Value| {
        is_texts(actions)
            && actions.as_array().unwrap().iter().all(|action| ACTIONS.contains(&action.as_str().unwrap()))
    };
    exactly(
        &line,
        &[
            ("uid", is_text),
            ("indexes", is_texts),
            ("expires_at", is_text_or_null),
            ("created_at", is_text),
            ("updated_at", is_text),
            ("actions", actions),
        ],
    )
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
