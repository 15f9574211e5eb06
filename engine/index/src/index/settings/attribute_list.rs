//! A list of attributes that may stand for "all of them".

use std::hash::Hash;

use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

/// `displayedAttributes` and `searchableAttributes`: every attribute, or these in this order.
///
/// Its JSON form is an array of strings; an array that holds `"*"` anywhere means [`AttributeList::All`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub enum AttributeList {
    /// `["*"]`
    #[default]
    All,
    /// In the order sent, without duplicates.
    These(Vec<String>),
}

impl AttributeList {
    /// Reports whether the list contains `field` (dotted path) or one of its ancestors.
    pub fn selects(&self, field: &str) -> bool {
        self.position(field).is_some()
    }

    /// The weight of `field`: the index of the first entry that is the field or one of its ancestors, `Some(0)` for
    /// every field of [`AttributeList::All`]; `None` when the list does not select it.
    pub fn position(&self, field: &str) -> Option<u16> {
        match self {
            AttributeList::All => Some(0),
            AttributeList::These(names) => {
                names.iter().position(|name| covers(name, field)).map(|index| u16::try_from(index).unwrap_or(u16::MAX))
            }
        }
    }
}

impl From<Vec<String>> for AttributeList {
    fn from(names: Vec<String>) -> AttributeList {
        if names.iter().any(|name| name == "*") {
            AttributeList::All
        } else {
            AttributeList::These(without_duplicates(names))
        }
    }
}

impl From<AttributeList> for Vec<String> {
    fn from(list: AttributeList) -> Vec<String> {
        match list {
            AttributeList::All => vec!["*".to_owned()],
            AttributeList::These(names) => names,
        }
    }
}

/// Reports whether `parent` is `field` itself or an ancestor of it: `a` covers `a` and `a.b`, not `ab`.
pub fn covers(parent: &str, field: &str) -> bool {
    field.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// `field` and its ancestors, the longest first.
pub fn lineage(field: &str) -> impl Iterator<Item = &str> {
    let parents = field.rmatch_indices('.').map(|(end, _)| &field[..end]);
    std::iter::once(field).chain(parents)
}

/// Keeps the first of equal values, in order.
pub(super) fn without_duplicates<T: Clone + Eq + Hash>(mut values: Vec<T>) -> Vec<T> {
    let mut seen = HashSet::with_capacity(values.len());
    values.retain(|value| seen.insert(value.clone()));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> AttributeList {
        AttributeList::from(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_star_anywhere_means_all() {
        assert_eq!(list(&["title", "*"]), AttributeList::All);
        assert_eq!(Vec::from(AttributeList::All), ["*"]);
    }

    #[test]
    fn a_child_inherits_the_position_of_the_first_listed_ancestor_or_itself() {
        let searchable = list(&["title", "author.name", "author", "title"]);
        assert_eq!(searchable.position("title"), Some(0));
        assert_eq!(searchable.position("author.name"), Some(1));
        assert_eq!(searchable.position("author.name.first"), Some(1));
        assert_eq!(searchable.position("author.born"), Some(2));
        assert_eq!(searchable.position("titles"), None);
        assert_eq!(list(&[]).position("title"), None);
    }
}
