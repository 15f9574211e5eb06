//! Dynamic search rules: one row each, as JSON. They change with the end of the batch that changes them.

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::{Store, StoreError};

/// Change of one rule, or of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleChange {
    /// The rule is now so.
    Set {
        /// By which requests refer to it.
        uid: String,
        /// The rule, as JSON.
        rule: String,
    },
    /// The rule is gone.
    Removed {
        /// By which requests referred to it.
        uid: String,
    },
    /// All rules are gone.
    Cleared,
}

/// A row of the table of dynamic search rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRule {
    /// Rules that were made before have lower ones.
    pub place: i64,
    /// By which requests refer to it.
    pub uid: String,
    /// The rule, as JSON.
    pub rule: String,
}

/// Carries out a change.
pub(super) fn change(connection: &Connection, change: &RuleChange) -> Result<(), StoreError> {
    match change {
        RuleChange::Set { uid, rule } => connection
            .prepare_cached(
                "INSERT INTO search_rules (uid, rule) VALUES (?1, ?2) ON CONFLICT (uid) DO UPDATE SET rule = excluded.rule",
            )?
            .execute([uid, rule])?,
        RuleChange::Removed { uid } => {
            connection.prepare_cached("DELETE FROM search_rules WHERE uid = ?1")?.execute([uid])?
        }
        RuleChange::Cleared => connection.prepare_cached("DELETE FROM search_rules")?.execute([])?,
    };
    Ok(())
}

impl Store {
    /// All rules, in the order in which they were made.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) fn search_rules(&self) -> Result<Vec<StoredRule>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT place, uid, rule FROM search_rules ORDER BY place")?;
            let stored =
                |row: &rusqlite::Row<'_>| Ok(StoredRule { place: row.get(0)?, uid: row.get(1)?, rule: row.get(2)? });
            Ok(statement.query_map([], stored)?.collect::<Result<_, _>>()?)
        })
    }

    /// Changes rules outside of a batch: those of a dump.
    ///
    /// # Errors
    /// What the store says; nothing has changed then.
    pub fn change_search_rules(&self, changes: &[RuleChange]) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        changes.iter().try_for_each(|one| change(&transaction, one))?;
        transaction.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_keeps_its_place_and_a_new_one_comes_last() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("tasks.sqlite")).unwrap();
        let set = |uid: &str, rule: &str| RuleChange::Set { uid: uid.into(), rule: rule.into() };
        store.change_search_rules(&[set("b", "1"), set("a", "2"), set("c", "3"), set("b", "4")]).unwrap();
        let shown = || -> Vec<(String, String)> {
            store.search_rules().unwrap().into_iter().map(|stored| (stored.uid, stored.rule)).collect()
        };
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(uid, rule)| ((*uid).into(), (*rule).into())).collect()
        };
        assert_eq!(shown(), pairs(&[("b", "4"), ("a", "2"), ("c", "3")]));
        store.change_search_rules(&[RuleChange::Removed { uid: "b".into() }, set("b", "5")]).unwrap();
        assert_eq!(shown(), pairs(&[("a", "2"), ("c", "3"), ("b", "5")]));
        store.change_search_rules(&[RuleChange::Cleared]).unwrap();
        assert!(shown().is_empty());
    }
}
