//! Dynamic search rules: which there are, how they change, and which act in a search.
//!
//! They are durable in a table beside the tasks, where the end of the batch that changes them is stored with the change, and in
//! memory for searches and listings.

mod alternatives;
mod draft;
mod fuel;
mod listing;
mod matcher;
mod numbers;
mod set;
mod sets;
#[cfg(test)]
mod tests;
mod timetable;
mod transfer;
mod values;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use lamina_base::timestamp::Timestamp;
use lamina_protocol::wire::rules::{Conditions, RuleAction, RulePatch};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::tasks::{RuleChange, Store, StoreError};

pub use draft::Draft;
pub use fuel::Fuel;
pub use set::{RuleSet, SearchContext};
pub use transfer::{import_rules, settings_of_rules};

/// A rule, in the form in which it is stored and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Chosen by its maker.
    pub uid: String,
    /// Purpose of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Time at which the last task that changed the rule was registered.
    pub last_updated_at: Timestamp,
    /// Lower ones come first; those without come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precedence: Option<u64>,
    /// True if the rule may act.
    #[serde(default = "yes")]
    pub active: bool,
    /// Conditions under which the rule acts: all of them must hold.
    #[serde(default)]
    pub conditions: Conditions,
    /// Actions of the rule.
    #[serde(default)]
    pub actions: Vec<RuleAction>,
}

fn yes() -> bool {
    true
}

impl Rule {
    /// One that pins nothing.
    fn bare(uid: &str) -> Rule {
        Rule {
            uid: uid.to_owned(),
            description: None,
            last_updated_at: Timestamp::from_nanos(0),
            precedence: None,
            active: true,
            conditions: Conditions::default(),
            actions: Vec::new(),
        }
    }

    fn apply(&mut self, patch: &RulePatch, at: Timestamp) {
        if let Some(description) = &patch.description {
            self.description.clone_from(description);
        }
        if let Some(precedence) = patch.precedence {
            self.precedence = precedence;
        }
        if let Some(active) = patch.active {
            self.active = active.unwrap_or(true);
        }
        if let Some(conditions) = &patch.conditions {
            self.conditions = conditions.clone().unwrap_or_default();
        }
        if let Some(actions) = &patch.actions {
            self.actions = actions.clone().unwrap_or_default();
        }
        self.last_updated_at = at;
    }
}

/// All rules of a server.
#[derive(Debug)]
pub struct Rules {
    all: RwLock<All>,
    /// Rules that searches see.
    set: RwLock<Arc<RuleSet>>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { all: RwLock::default(), set: RwLock::new(Arc::new(RuleSet::empty())) }
    }
}

/// The rules by their uids, and in the order in which they were made.
#[derive(Debug, Default)]
struct All {
    places: HashMap<String, i64>,
    by_place: BTreeMap<i64, Arc<Rule>>,
    /// Rules that were changed since all were joined last.
    changed: BTreeSet<String>,
}

impl All {
    fn get(&self, uid: &str) -> Option<&Arc<Rule>> {
        self.by_place.get(self.places.get(uid)?)
    }

    fn set(&mut self, rule: Arc<Rule>) {
        // As SQLite counts.
        let next = self.by_place.last_key_value().map_or(1, |(place, _)| place + 1);
        let place = *self.places.entry(rule.uid.clone()).or_insert(next);
        self.by_place.insert(place, rule);
    }

    fn remove(&mut self, uid: &str) {
        if let Some(place) = self.places.remove(uid) {
            self.by_place.remove(&place);
        }
    }
}

impl Rules {
    /// Reads the rules. One that cannot be read is left out, and said to be: searches go on without it.
    ///
    /// # Errors
    /// What the store says.
    pub fn open(store: &Store) -> Result<Rules, StoreError> {
        let mut all = All::default();
        for stored in store.search_rules()? {
            match serde_json::from_str::<Rule>(&stored.rule) {
                Ok(rule) => {
                    all.places.insert(rule.uid.clone(), stored.place);
                    all.by_place.insert(stored.place, Arc::new(rule));
                }
                Err(error) => tracing::error!(rule = stored.uid, %error, "a dynamic search rule cannot be read"),
            }
        }
        all.changed = all.places.keys().cloned().collect();
        let mut changed = std::mem::take(&mut all.changed);
        let set = RuleSet::empty().next(&all, &mut changed);
        all.changed = changed;
        Ok(Rules { all: RwLock::new(all), set: RwLock::new(Arc::new(set)) })
    }

    /// The rule of this uid.
    pub fn get(&self, uid: &str) -> Option<Arc<Rule>> {
        self.all.read().get(uid).cloned()
    }

    /// All of them, in the order in which they were made.
    pub fn all(&self) -> Vec<Arc<Rule>> {
        self.all.read().by_place.values().cloned().collect()
    }

    /// The rules as a search sees them.
    pub fn set(&self) -> Arc<RuleSet> {
        Arc::clone(&self.set.read())
    }

    /// Another number after each change.
    pub fn version(&self) -> u64 {
        self.set.read().version()
    }

    /// Reports whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.all.read().by_place.is_empty()
    }

    /// Changes to the rules as they are now.
    pub fn draft(&self) -> Draft<'_> {
        Draft::new(self)
    }

    /// Shows what a batch changes.
    pub fn follow(&self, changes: &[RuleChange]) {
        if changes.is_empty() {
            return;
        }
        let mut all = self.all.write();
        for change in changes {
            match change {
                RuleChange::Set { uid, rule } => match serde_json::from_str(rule) {
                    Ok(rule) => {
                        all.changed.insert(uid.clone());
                        all.set(Arc::new(rule));
                    }
                    Err(error) => tracing::error!(%error, "a dynamic search rule cannot be read"),
                },
                RuleChange::Removed { uid } => {
                    all.changed.insert(uid.clone());
                    all.remove(uid);
                }
                RuleChange::Cleared => {
                    let before = std::mem::take(&mut *all);
                    all.changed = before.changed;
                    all.changed.extend(before.places.into_keys());
                }
            }
        }
        let mut changed = std::mem::take(&mut all.changed);
        let next = Arc::new(self.set().next(&all, &mut changed));
        all.changed = changed;
        *self.set.write() = next;
    }
}
