//! Keys on their way into a dump and out of one, in the public form of dumps: without their values.

use lamina_base::timestamp::{Timestamp, instant};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

use super::Action;
use super::key::{ApiKey, rfc3339};
use super::store::{KeyStore, import};
use crate::tasks::{Durable, StoreError};

/// A line of `keys.jsonl`. Names are written as dumps have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    uid: Uuid,
    actions: Vec<String>,
    indexes: Vec<String>,
    #[serde(default)]
    expires_at: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// All keys, the newest first.
pub fn export_keys(connection: Durable) -> Result<Vec<KeyLine>, StoreError> {
    // Values are not exported, so the master key does not matter.
    Ok(key_lines(&KeyStore::open(connection, None)?))
}

/// All keys of an open store, the newest first.
pub fn key_lines(store: &KeyStore) -> Vec<KeyLine> {
    let keys = store.page(0, usize::MAX).keys;
    let line = |key: &ApiKey| KeyLine {
        description: key.description.clone(),
        name: key.name.clone(),
        uid: key.uid,
        actions: key.actions.iter().map(|action| action.name().to_owned()).collect(),
        indexes: key.indexes.clone(),
        expires_at: key.expires_at.map(rfc3339),
        created_at: key.created_at,
        updated_at: key.updated_at,
    };
    keys.iter().map(|key| line(key)).collect()
}

/// Stores keys in a database that has none. Actions that this server does not know are left out of them.
pub fn import_keys(connection: Durable, lines: Vec<KeyLine>) -> Result<(), StoreError> {
    import(connection, &keys_of(lines))
}

/// Makes these all the keys that there are.
pub fn replace_keys(store: &KeyStore, lines: Vec<KeyLine>) -> Result<(), StoreError> {
    if key_lines(store) == lines { Ok(()) } else { store.replace(&keys_of(lines)) }
}

fn keys_of(lines: Vec<KeyLine>) -> Vec<ApiKey> {
    let key = |line: KeyLine| {
        let known = |name: &String| {
            let action = Action::parse(name);
            if action.is_none() {
                tracing::warn!(key = %line.uid, action = name, "left out an action that this server does not know");
            }
            action
        };
        ApiKey {
            uid: line.uid,
            actions: line.actions.iter().filter_map(known).collect(),
            name: line.name,
            description: line.description,
            indexes: line.indexes,
            // A date that cannot be read must not make a key last for ever.
            expires_at: line.expires_at.map(|text| instant(&text).unwrap_or(OffsetDateTime::UNIX_EPOCH)),
            created_at: line.created_at,
            updated_at: line.updated_at,
        }
    };
    lines.into_iter().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_way_there_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let connect = |name: &str| Durable::new(rusqlite::Connection::open(folder.path().join(name)).unwrap()).unwrap();
        let made = export_keys(connect("one")).unwrap();
        assert_eq!(made.len(), 4, "the default ones");
        import_keys(connect("two"), made.clone()).unwrap();
        assert_eq!(export_keys(connect("two")).unwrap(), made);
    }

    #[test]
    fn lines_of_other_programs_are_read() {
        let text = r#"{"description":"d","name":null,"uid":"9f8a34da-b6b2-42f0-939b-dbd4c3448655",
            "actions":["documents.*","something.new"],"indexes":["doggos"],"expires_at":"2030-03-14T12:21:00Z",
            "created_at":"2020-11-15T00:00:00Z","updated_at":"2022-11-10T00:00:00Z"}"#;
        let folder = tempfile::tempdir().unwrap();
        let connect = || Durable::new(rusqlite::Connection::open(folder.path().join("keys")).unwrap()).unwrap();
        import_keys(connect(), vec![serde_json::from_str(text).unwrap()]).unwrap();
        let keys = export_keys(connect()).unwrap();
        assert_eq!((keys.len(), &keys[0].actions), (1, &vec!["documents.*".to_owned()]));
        assert_eq!(keys[0].expires_at.as_deref(), Some("2030-03-14T12:21:00Z"));
    }
}
