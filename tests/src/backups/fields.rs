//! The form of what dumps hold in several places: fields, settings, keys.

use serde_json::{Map, Value};

pub(super) type Result = std::result::Result<(), String>;

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
