//! The keys: durable in a table beside the tasks, and in memory for the look that every request takes.

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::hmac;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::{NoInstant, Timestamp, instant};
use lamina_protocol::wire::keys::KeyPatch;
use parking_lot::{Mutex, RwLock};
use rusqlite::{Connection, Row, params};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::Action;
use super::key::{ApiKey, master_key_mark, rfc3339};
use crate::tasks::{Durable, StoreError};

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS api_keys (
    uid TEXT PRIMARY KEY,
    name TEXT,
    description TEXT,
    actions TEXT NOT NULL,
    indexes TEXT NOT NULL,
    expires_at TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

const COLUMNS: &str = "uid, name, description, actions, indexes, expires_at, created_at, updated_at";

/// HMAC of a secret under a key that this process made up: what is compared and kept in memory reveals nothing.
type Digest = [u8; 32];

/// All keys of a server. Values are not among what is stored; see [`ApiKey::value`].
pub struct KeyStore {
    /// Locked for the whole of a change, so that memory follows the table in order.
    connection: Mutex<Durable>,
    live: RwLock<Arc<Live>>,
    master_key: Option<Box<str>>,
    digest_key: hmac::Key,
    master_digest: Option<Digest>,
}

impl std::fmt::Debug for KeyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyStore").field("keys", &self.live.read().newest_first.len()).finish_non_exhaustive()
    }
}

/// Keys that requests look up.
#[derive(Default)]
struct Live {
    newest_first: Vec<Arc<ApiKey>>,
    /// Empty without a master key.
    by_digest: HashMap<Digest, Arc<ApiKey>>,
}

/// Page of keys, newest first, with the number of all keys.
#[derive(Clone, Debug)]
pub struct KeyPage {
    /// Newest first.
    pub keys: Vec<Arc<ApiKey>>,
    /// On all pages.
    pub total: usize,
}

impl KeyStore {
    /// Reads the keys; makes the default ones when there is none.
    ///
    /// # Errors
    /// When the table cannot be used.
    pub fn open(mut connection: Durable, master_key: Option<&str>) -> Result<KeyStore, StoreError> {
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLE)?;
        let is_empty: bool =
            transaction.query_row("SELECT NOT EXISTS (SELECT 1 FROM api_keys)", [], |row| row.get(0))?;
        if is_empty {
            for key in ApiKey::defaults(Timestamp::now()) {
                insert(&transaction, &key)?;
            }
        }
        transaction.commit()?;
        // An empty master key would be no secret.
        let master_key: Option<Box<str>> = master_key.filter(|key| !key.is_empty()).map(Into::into);
        // Random bytes of the system. The library's own source is only ready after 50 ms, which a start need not wait for.
        let random = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
        let digest_key = hmac::Key::new(hmac::HMAC_SHA256, &random);
        let master_digest = master_key.as_deref().map(|master| digest(&digest_key, master.as_bytes()));
        let store = KeyStore {
            connection: Mutex::new(connection),
            live: RwLock::default(),
            master_key,
            digest_key,
            master_digest,
        };
        store.refresh(store.connection.lock().connection())?;
        Ok(store)
    }

    /// The key that makes all others, if the server has one.
    pub fn master_key(&self) -> Option<&str> {
        self.master_key.as_deref()
    }

    /// The same for servers with the same master key, and for no others.
    pub fn master_key_mark(&self) -> String {
        master_key_mark(self.master_key())
    }

    /// Reports whether `token` is the master key. Takes constant time, regardless of any common prefix.
    pub(super) fn is_master(&self, token: &[u8]) -> bool {
        self.master_digest.is_some_and(|master| master.ct_eq(&digest(&self.digest_key, token)).into())
    }

    /// The key of this value. How long it takes depends on digests that no client can choose.
    pub(super) fn by_value(&self, token: &[u8]) -> Option<Arc<ApiKey>> {
        let asked = digest(&self.digest_key, token);
        let live = Arc::clone(&self.live.read());
        let (found, key) = live.by_digest.get_key_value(&asked)?;
        bool::from(found.ct_eq(&asked)).then(|| Arc::clone(key))
    }

    /// The key of this uid.
    pub(super) fn by_uid(&self, uid: Uuid) -> Option<Arc<ApiKey>> {
        self.live.read().newest_first.iter().find(|key| key.uid == uid).cloned()
    }

    /// The key of this uid or value.
    ///
    /// # Errors
    /// `api_key_not_found`
    pub fn find(&self, uid_or_value: &str) -> ApiResult<Arc<ApiKey>> {
        let by_uid = Uuid::try_parse(uid_or_value).ok().and_then(|uid| self.by_uid(uid));
        by_uid.or_else(|| self.by_value(uid_or_value.as_bytes())).ok_or_else(|| not_found(uid_or_value))
    }

    /// A page of the keys, newest first.
    pub fn page(&self, offset: usize, limit: usize) -> KeyPage {
        let live = self.live.read();
        let keys = live.newest_first.iter().skip(offset).take(limit).cloned().collect();
        KeyPage { keys, total: live.newest_first.len() }
    }

    /// Stores a new key. Blocks for an fsync, as all changes do.
    ///
    /// # Errors
    /// `api_key_already_exists`, or what the store says; nothing has changed then.
    pub fn create(&self, key: ApiKey) -> ApiResult<Arc<ApiKey>> {
        let mut connection = self.connection.lock();
        if self.by_uid(key.uid).is_some() {
            return Err(ApiError::new(
                Code::ApiKeyAlreadyExists,
                format!("`uid` field value `{}` is already an existing API key.", key.uid),
            ));
        }
        let transaction = connection.transaction()?;
        insert(&transaction, &key)?;
        transaction.commit()?;
        self.refresh(connection.connection())?;
        Ok(Arc::new(key))
    }

    /// Changes the texts of a key.
    ///
    /// # Errors
    /// `api_key_not_found`, or what the store says; nothing has changed then.
    pub fn update(&self, uid_or_value: &str, patch: KeyPatch) -> ApiResult<Arc<ApiKey>> {
        let mut connection = self.connection.lock();
        let old = self.find(uid_or_value)?;
        let key = ApiKey {
            name: patch.name.unwrap_or_else(|| old.name.clone()),
            description: patch.description.unwrap_or_else(|| old.description.clone()),
            updated_at: Timestamp::now(),
            ..ApiKey::clone(&old)
        };
        connection.execute(
            "UPDATE api_keys SET name = ?2, description = ?3, updated_at = ?4 WHERE uid = ?1",
            params![key.uid.hyphenated().to_string(), key.name, key.description, key.updated_at.nanos()],
        )?;
        self.refresh(connection.connection())?;
        Ok(Arc::new(key))
    }

    /// Deletes a key: it stops working with the return of this call.
    ///
    /// # Errors
    /// `api_key_not_found`, or what the store says; nothing has changed then.
    pub fn delete(&self, uid_or_value: &str) -> ApiResult<()> {
        let mut connection = self.connection.lock();
        let key = self.find(uid_or_value)?;
        connection.execute("DELETE FROM api_keys WHERE uid = ?1", [key.uid.hyphenated().to_string()])?;
        Ok(self.refresh(connection.connection())?)
    }

    /// All keys, newest first.
    pub fn all(&self) -> Vec<ApiKey> {
        self.live.read().newest_first.iter().map(|key| ApiKey::clone(key)).collect()
    }

    /// Makes these all the keys that there are.
    ///
    /// # Errors
    /// What the store says; nothing has changed then.
    pub fn replace(&self, keys: &[ApiKey]) -> Result<(), StoreError> {
        if self.all() == keys {
            return Ok(());
        }
        let mut connection = self.connection.lock();
        let transaction = connection.transaction()?;
        transaction.execute("DELETE FROM api_keys", [])?;
        for key in keys {
            insert(&transaction, key)?;
        }
        transaction.commit()?;
        self.refresh(connection.connection())
    }

    /// Memory follows the table.
    fn refresh(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut statement =
            connection.prepare_cached(&format!("SELECT {COLUMNS} FROM api_keys ORDER BY created_at DESC, uid"))?;
        let known = Arc::clone(&self.live.read());
        let mut live = Live::default();
        for key in statement.query_map([], read)? {
            // Keys that did not change need no new digest.
            let key = key?;
            let old = known.newest_first.iter().find(|old| ***old == key);
            live.newest_first.push(old.cloned().unwrap_or_else(|| Arc::new(key)));
        }
        let old_digests: HashMap<Uuid, Digest> = known.by_digest.iter().map(|(&d, key)| (key.uid, d)).collect();
        if let Some(master) = self.master_key() {
            for key in &live.newest_first {
                let of_value = || digest(&self.digest_key, key.value(master).as_bytes());
                live.by_digest.insert(old_digests.get(&key.uid).copied().unwrap_or_else(of_value), Arc::clone(key));
            }
        }
        *self.live.write() = Arc::new(live);
        Ok(())
    }
}

/// Reads all keys of a database, newest first. Their values are not exported, so the master key does not matter.
pub fn export_keys(connection: Durable) -> Result<Vec<ApiKey>, StoreError> {
    Ok(KeyStore::open(connection, None)?.all())
}

/// Stores keys in a database that has none yet: no process has it open, so there is nothing in memory to follow.
pub fn import_keys(mut connection: Durable, keys: &[ApiKey]) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLE)?;
    for key in keys {
        insert(&transaction, key)?;
    }
    transaction.commit()
}

fn digest(key: &hmac::Key, secret: &[u8]) -> Digest {
    hmac::sign(key, secret).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn not_found(uid_or_value: &str) -> ApiError {
    ApiError::new(Code::ApiKeyNotFound, format!("API key `{uid_or_value}` not found."))
}

fn insert(connection: &Connection, key: &ApiKey) -> Result<(), StoreError> {
    connection.execute(
        &format!("INSERT INTO api_keys ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"),
        params![
            key.uid.hyphenated().to_string(),
            key.name,
            key.description,
            serde_json::json!(key.actions).to_string(),
            serde_json::json!(key.indexes).to_string(),
            key.expires_at.map(rfc3339),
            key.created_at.nanos(),
            key.updated_at.nanos()
        ],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    fn parsed<T, E>(row: &Row<'_>, column: usize, parse: impl Fn(&str) -> Result<T, E>) -> rusqlite::Result<T>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let text: String = row.get(column)?;
        parse(&text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
        })
    }
    let names: Vec<String> = parsed(row, 3, |text| serde_json::from_str(text))?;
    let has_end = row.get_ref(5)? != rusqlite::types::ValueRef::Null;
    Ok(ApiKey {
        uid: parsed(row, 0, Uuid::parse_str)?,
        name: row.get(1)?,
        description: row.get(2)?,
        // An action that a later version knew grants nothing here.
        actions: names.iter().filter_map(|name| Action::parse(name)).collect(),
        indexes: parsed(row, 4, |text| serde_json::from_str(text))?,
        expires_at: has_end.then(|| parsed(row, 5, |text| instant(text).ok_or(NoInstant))).transpose()?,
        created_at: Timestamp::from_nanos(row.get(6)?),
        updated_at: Timestamp::from_nanos(row.get(7)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::key::test_key;

    fn store(path: &std::path::Path, master_key: Option<&str>) -> KeyStore {
        KeyStore::open(Durable::new(Connection::open(path).unwrap()).unwrap(), master_key).unwrap()
    }

    #[test]
    fn default_keys_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.sqlite");
        let first = store(&path, None).page(0, 20);
        assert_eq!(first.total, 4);
        assert_eq!(first.keys[1].name.as_deref(), Some("Default Admin API Key"));
        let with_master = store(&path, Some("master"));
        assert_eq!(with_master.page(0, 20).keys, first.keys, "they wait for a master key");
        let deleted = first.keys[0].value("master");
        with_master.delete(&deleted).unwrap();
        assert_eq!(store(&path, Some("master")).page(1, 1).keys, first.keys[2..3]);
    }

    #[test]
    fn keys_live_and_die_and_survive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.sqlite");
        let keys = store(&path, Some("master"));
        let end = time::macros::datetime!(9000-01-01 0:00 UTC);
        let key = ApiKey { expires_at: Some(end), ..test_key(&[Action::Search, Action::AllGet], &["a*", "b"]) };
        keys.create(key.clone()).unwrap();
        assert_eq!(keys.create(key.clone()).unwrap_err().code, Code::ApiKeyAlreadyExists);
        let value = key.value("master");
        assert_eq!(*keys.by_value(value.as_bytes()).unwrap(), key);
        assert_eq!(*keys.find(&key.uid.to_string()).unwrap(), key);
        assert_eq!(keys.page(0, 1).keys, [Arc::new(key.clone())], "the newest comes first");

        let patch = KeyPatch { name: Some(Some("n".into())), description: None };
        let changed = keys.update(&value, patch).unwrap();
        assert_eq!((changed.name.as_deref(), changed.created_at), (Some("n"), key.created_at));
        assert!(changed.updated_at > key.updated_at);
        drop(keys);

        let again = store(&path, Some("master"));
        assert_eq!(*again.by_value(value.as_bytes()).unwrap(), *changed);
        assert_eq!(again.page(0, 20).total, 5);
        again.delete(&value).unwrap();
        assert!(again.by_value(value.as_bytes()).is_none());
        assert_eq!(again.delete(&value).unwrap_err().message, format!("API key `{value}` not found."));
        assert_eq!(store(&path, Some("master")).page(0, 20).total, 4);
    }

    #[test]
    fn another_master_key_makes_other_values() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.sqlite");
        let value = store(&path, Some("one")).page(0, 1).keys[0].value("one");
        assert!(store(&path, Some("one")).by_value(value.as_bytes()).is_some());
        assert!(store(&path, Some("two")).by_value(value.as_bytes()).is_none());
        assert!(store(&path, None).by_value(value.as_bytes()).is_none());
    }

    #[test]
    fn the_table_holds_no_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.sqlite");
        let keys = store(&path, Some("a master key"));
        let values: Vec<String> = keys.page(0, 20).keys.iter().map(|key| key.value("a master key")).collect();
        drop(keys);
        let bytes = std::fs::read(&path).unwrap();
        for secret in values.iter().map(String::as_str).chain(["a master key"]) {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }
}
