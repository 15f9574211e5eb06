//! Other names of indexes: what each of them stands for. A set of them is immutable, so that a request works with one from
//! its first check to its answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{ApiError, Code};
use crate::timestamp::Timestamp;

/// New targets by alias; `None` removes the alias.
pub type AliasMoves = BTreeMap<String, Option<String>>;

/// Target of an alias.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alias {
    /// The one that requests for the alias reach.
    pub index_uid: String,
    /// Time at which the alias got this index.
    pub updated_at: Timestamp,
}

/// An index as a request names it. Made once, where the request comes in: what looks into an index goes by its own uid, what answers
/// and what checks rights by the name that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexName {
    /// Name as requested: the uid of an index, or an alias.
    pub asked: String,
    /// Uid of the index: the target of the alias, or the requested name itself.
    pub uid: String,
}

/// All aliases, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aliases(BTreeMap<String, Alias>);

impl Aliases {
    /// Returns the alias `name`, if it is one.
    pub fn get(&self, name: &str) -> Option<&Alias> {
        self.0.get(name)
    }

    /// The index that `name` means: its own, unless it is an alias.
    pub fn target<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, |alias| &alias.index_uid)
    }

    /// The index that a request names so.
    pub fn resolve(&self, asked: String) -> IndexName {
        let uid = self.target(&asked).to_owned();
        IndexName { asked, uid }
    }

    /// In byte order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Alias)> {
        self.0.iter()
    }

    /// Number of them.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reports whether there are no aliases.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one, or gives it another index.
    pub fn insert(&mut self, name: String, alias: Alias) {
        self.0.insert(name, alias);
    }

    /// All of `moves` at once.
    pub fn change(&mut self, moves: &AliasMoves, updated_at: Timestamp) {
        for (name, target) in moves {
            match target {
                Some(index_uid) => {
                    self.insert(name.clone(), Alias { index_uid: index_uid.clone(), updated_at });
                }
                None => drop(self.0.remove(name)),
            }
        }
    }

    /// An index got another name: its aliases stand for it still.
    pub fn index_renamed(&mut self, from: &str, to: &str) {
        for alias in self.0.values_mut().filter(|alias| alias.index_uid == from) {
            to.clone_into(&mut alias.index_uid);
        }
    }

    /// An index is deleted, and its aliases with it.
    pub fn index_deleted(&mut self, uid: &str) {
        self.0.retain(|_, alias| alias.index_uid != uid);
    }
}

/// The refusal of a name that is no alias.
pub fn not_found(name: &str) -> ApiError {
    ApiError::new(Code::AliasNotFound, format!("Alias `{name}` not found."))
}

/// The refusal to call an index as an alias is called.
pub fn already_exists(name: &str) -> ApiError {
    ApiError::new(
        Code::AliasAlreadyExists,
        format!(
            "`{name}` is an alias, and no index can be called as an alias is. Delete the alias first, or use another uid."
        ),
    )
}

/// The refusal of an alias where only an index will do.
pub fn is_no_index(name: &str, target: &str) -> ApiError {
    ApiError::new(
        Code::IndexUidIsAlias,
        format!("`{name}` is an alias of the index `{target}`, and this needs the uid of an index itself."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(pairs: &[(&str, &str)]) -> Aliases {
        let mut aliases = Aliases::default();
        let moves = pairs.iter().map(|(name, target)| ((*name).to_owned(), Some((*target).to_owned()))).collect();
        aliases.change(&moves, Timestamp::from_nanos(1));
        aliases
    }

    fn shown(aliases: &Aliases) -> Vec<(&str, &str)> {
        aliases.iter().map(|(name, alias)| (name.as_str(), alias.index_uid.as_str())).collect()
    }

    #[test]
    fn names_mean_themselves_unless_they_are_aliases() {
        let aliases = aliases(&[("films", "films-1")]);
        assert_eq!((aliases.target("films"), aliases.target("films-1")), ("films-1", "films-1"));
        assert!(aliases.get("films-1").is_none());
        assert_eq!(aliases.len(), 1);
        assert!(!aliases.is_empty());
    }

    #[test]
    fn several_move_at_once() {
        let mut aliases = aliases(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let moves = AliasMoves::from([("a".to_owned(), Some("2".to_owned())), ("b".to_owned(), None)]);
        aliases.change(&moves, Timestamp::from_nanos(2));
        assert_eq!(shown(&aliases), [("a", "2"), ("c", "1")]);
        assert_eq!(aliases.get("a").unwrap().updated_at, Timestamp::from_nanos(2));
        assert_eq!(aliases.get("c").unwrap().updated_at, Timestamp::from_nanos(1));
    }

    #[test]
    fn aliases_follow_their_index_and_end_with_it() {
        let mut aliases = aliases(&[("a", "1"), ("b", "1"), ("c", "2")]);
        aliases.index_renamed("1", "3");
        assert_eq!(shown(&aliases), [("a", "3"), ("b", "3"), ("c", "2")]);
        aliases.index_deleted("3");
        assert_eq!(shown(&aliases), [("c", "2")]);
    }
}
