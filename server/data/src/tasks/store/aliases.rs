//! Aliases, beside the names of the indexes: what a task does to either is one transaction with its end.

use lamina_base::aliases::{Alias, AliasMoves, Aliases};
use lamina_base::timestamp::Timestamp;
use lamina_protocol::wire::identifier::check_index_uid;
use rusqlite::{Connection, params};

use super::{SHOWN_MAX, Store, StoreError};

/// Aliases in the table, and the rows that this program would not have stored.
#[derive(Debug, Default)]
pub struct StoredAliases {
    pub aliases: Aliases,
    /// Rows that are passed over, and why.
    pub damaged: Vec<String>,
}

/// Reads all of them, each with its checks.
///
/// # Errors
/// What SQLite says.
pub fn read_aliases(connection: &Connection) -> Result<StoredAliases, StoreError> {
    let mut stored = StoredAliases::default();
    let mut statement =
        connection.prepare("SELECT alias, index_uid, updated_at, alias IN (SELECT uid FROM indexes) FROM aliases")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, index_uid, hides): (String, String, bool) = (row.get(0)?, row.get(1)?, row.get(3)?);
        let updated_at = Timestamp::from_nanos(row.get(2)?);
        let reason = match (check_index_uid(&name), check_index_uid(&index_uid)) {
            (Err(_), _) => Some("no alias can be called so"),
            (_, Err(_)) => Some("it stands for what can be no index"),
            _ if hides => Some("an index is called so"),
            _ => None,
        };
        match reason {
            None => stored.aliases.insert(name, Alias { index_uid, updated_at }),
            Some(reason) => {
                let shown: String = name.chars().take(SHOWN_MAX).collect();
                stored.damaged.push(format!("the alias {shown:?} is passed over: {reason}"));
            }
        }
    }
    Ok(stored)
}

impl Store {
    /// All aliases. Those that this program would not have stored are said and passed over.
    ///
    /// # Errors
    /// What the store says.
    pub fn aliases(&self) -> Result<Aliases, StoreError> {
        let StoredAliases { aliases, damaged } = self.read(read_aliases)?;
        for damage in damaged {
            tracing::error!("tasks.sqlite: {damage}");
        }
        Ok(aliases)
    }

    /// Stores aliases of another database: those of them whose names are free here.
    ///
    /// # Errors
    /// Nothing is stored then.
    pub fn import_aliases(&self, aliases: &Aliases) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        for (name, alias) in aliases.iter() {
            put(&transaction, name, &alias.index_uid, alias.updated_at.nanos())?;
        }
        transaction.execute("DELETE FROM aliases WHERE alias IN (SELECT uid FROM indexes)", [])?;
        transaction.commit()
    }
}

fn put(connection: &Connection, name: &str, index_uid: &str, updated_at: i64) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO aliases (alias, index_uid, updated_at) VALUES (?1, ?2, ?3)")?
        .execute(params![name, index_uid, updated_at])?;
    Ok(())
}

/// Makes these all the aliases.
pub(super) fn replace(connection: &Connection, aliases: &Aliases) -> Result<(), StoreError> {
    connection.execute("DELETE FROM aliases", [])?;
    aliases.iter().try_for_each(|(name, alias)| put(connection, name, &alias.index_uid, alias.updated_at.nanos()))
}

/// Carries out `moves`.
pub(super) fn change(connection: &Connection, moves: &AliasMoves, updated_at: i64) -> Result<(), StoreError> {
    for (name, target) in moves {
        match target {
            Some(index_uid) => put(connection, name, index_uid, updated_at)?,
            None => drop(connection.prepare_cached("DELETE FROM aliases WHERE alias = ?1")?.execute([name])?),
        }
    }
    Ok(())
}

/// Aliases of an index that got another name.
pub(super) fn follow(connection: &Connection, from: &str, to: &str) -> Result<(), StoreError> {
    connection.prepare_cached("UPDATE aliases SET index_uid = ?2 WHERE index_uid = ?1")?.execute([from, to])?;
    Ok(())
}

/// Aliases of an index that is deleted.
pub(super) fn end(connection: &Connection, uid: &str) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM aliases WHERE index_uid = ?1")?.execute([uid])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::store::{FinishedBatch, IndexChange};

    fn store(folder: &tempfile::TempDir) -> Store {
        Store::open(&folder.path().join("tasks.sqlite")).unwrap()
    }

    fn finish(store: &Store, changes: Vec<IndexChange>) {
        let uid = store.next_batch_uid().unwrap();
        let batch = FinishedBatch::now(uid, Timestamp::now(), String::new(), Vec::new());
        store.finish(&FinishedBatch { index_changes: changes, ..batch }).unwrap();
    }

    fn aliased(pairs: &[(&str, Option<&str>)]) -> IndexChange {
        let moves = pairs.iter().map(|(name, to)| ((*name).to_owned(), to.map(str::to_owned))).collect();
        IndexChange::Aliased { moves, at: 7 }
    }

    fn shown(store: &Store) -> Vec<(String, String)> {
        store.aliases().unwrap().iter().map(|(name, alias)| (name.clone(), alias.index_uid.clone())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, uid)| ((*name).to_owned(), (*uid).to_owned())).collect()
    }

    #[test]
    fn they_change_with_the_end_of_a_batch_and_with_the_names_of_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        assert!(store.aliases().unwrap().is_empty());
        finish(&store, vec![aliased(&[("films", Some("one")), ("books", Some("two"))])]);
        finish(&store, vec![aliased(&[("films", Some("two")), ("new", Some("one"))])]);
        assert_eq!(shown(&store), pairs(&[("books", "two"), ("films", "two"), ("new", "one")]));
        finish(&store, vec![IndexChange::Renamed { from: "two".into(), to: "three".into() }]);
        finish(&store, vec![IndexChange::SwappedIntoFree { from: "one".into(), to: "four".into(), task: 0 }]);
        assert_eq!(shown(&store), pairs(&[("books", "three"), ("films", "three"), ("new", "four")]));
        finish(&store, vec![IndexChange::Swapped { one: "three".into(), other: "four".into(), task: 0 }]);
        assert_eq!(shown(&store)[0].1, "three", "a uid that stays keeps its aliases");
        finish(&store, vec![IndexChange::Deleted { uid: "three".into() }, aliased(&[("none", None)])]);
        assert_eq!(shown(&store), pairs(&[("new", "four")]));
        assert_eq!(store.aliases().unwrap().get("new").unwrap().updated_at, Timestamp::from_nanos(7));
    }

    #[test]
    fn what_cannot_be_an_alias_is_passed_over_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        finish(&store, vec![aliased(&[("good", Some("one")), ("bad name", Some("one")), ("bad", Some("../one"))])]);
        let durable = store.connect().unwrap();
        let connection = durable.connection();
        connection.execute("INSERT INTO indexes (uid, folder) VALUES ('taken', 'f')", []).unwrap();
        connection.execute("INSERT INTO aliases VALUES ('taken', 'one', 0)", []).unwrap();
        let stored = read_aliases(connection).unwrap();
        assert_eq!(stored.damaged.len(), 3, "{:?}", stored.damaged);
        assert!(stored.damaged.iter().any(|damage| damage.contains("\"taken\" is passed over: an index is called so")));
        assert_eq!(shown(&store), pairs(&[("good", "one")]));
    }

    #[test]
    fn aliases_of_another_database_hide_no_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        store
            .connect()
            .unwrap()
            .connection()
            .execute("INSERT INTO indexes (uid, folder) VALUES ('taken', 'f')", [])
            .unwrap();
        let mut aliases = Aliases::default();
        for name in ["taken", "free"] {
            let alias = Alias { index_uid: "one".to_owned(), updated_at: Timestamp::from_nanos(3) };
            aliases.insert(name.to_owned(), alias);
        }
        store.import_aliases(&aliases).unwrap();
        assert_eq!(shown(&store), pairs(&[("free", "one")]));
    }
}
