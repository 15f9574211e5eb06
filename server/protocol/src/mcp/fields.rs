//! What descriptions of tools say of an index: the fields that filters, facets and sorts may use, and its embedders. Without
//! them a model would have to guess.

use serde_json::{Map, Value};

use super::{Backend, Call, excerpt};

/// Names of each kind that a description lists: a model reads it with each conversation.
const NAMES_MAX: usize = 50;

/// Names of fields and embedders, by the names of the settings that list them.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) filters: Vec<String>,
    pub(super) sorts: Vec<String>,
    pub(super) embedders: Vec<String>,
}

impl Fields {
    /// Returns the fields of an index; `None` if the caller may not read its settings, or there is no answer.
    pub(super) async fn of<B: Backend>(backend: &B, index: &str) -> Option<Fields> {
        Some(Fields {
            filters: names_in(backend, index, "filterable-attributes").await?,
            sorts: names_in(backend, index, "sortable-attributes").await?,
            embedders: names_in(backend, index, "embedders").await?,
        })
    }

    /// Returns the fields of several indexes, in their order.
    pub(super) async fn of_each<B: Backend>(backend: &B, indexes: &[String]) -> Vec<Option<Fields>> {
        let mut fields = Vec::new();
        for index in indexes {
            fields.push(Fields::of(backend, index).await);
        }
        fields
    }

    /// For the entry of an index in a list.
    pub(super) fn write_into(self, entry: &mut Map<String, Value>) {
        entry.insert("filterableAttributes".into(), self.filters.into());
        entry.insert("sortableAttributes".into(), self.sorts.into());
        entry.insert("embedders".into(), self.embedders.into());
    }

    /// In words, for the description of an index.
    pub(super) fn in_words(&self) -> String {
        let kinds =
            [("filters and facets by", &self.filters), ("sorts by", &self.sorts), ("embedders", &self.embedders)];
        let kinds = kinds.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = kinds.map(|(kind, names)| format!("{kind} {}", listed(names))).collect();
        if parts.is_empty() { "no filters, facets or sorts".to_owned() } else { parts.join("; ") }
    }
}

/// Names as a sentence has them.
pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

async fn names_in<B: Backend>(backend: &B, index: &str, route: &'static str) -> Option<Vec<String>> {
    let setting = backend.call(Call::Setting { index: index.to_owned(), route }).await.ok()?;
    Some(names(&setting))
}

/// The names in the value of a setting: a list of names or of objects with patterns of names, or an object by name.
fn names(setting: &Value) -> Vec<String> {
    let names: Vec<&str> = match setting {
        Value::Array(entries) => entries.iter().flat_map(of_entry).collect(),
        Value::Object(members) => members.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    names.into_iter().take(NAMES_MAX).map(excerpt).collect()
}

fn of_entry(entry: &Value) -> Vec<&str> {
    match entry {
        Value::String(name) => vec![name],
        Value::Object(rule) => rule
            .get("attributePatterns")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect(),
        _ => Vec::new(),
    }
}
