//! The rules as the tasks of a batch leave them, one after another.

use std::collections::HashMap;

use lamina_base::timestamp::Timestamp;
use lamina_protocol::wire::rules::RulePatch;

use super::{Rule, Rules};
use crate::tasks::RuleChange;

/// Changes that are not made yet.
#[derive(Debug)]
pub struct Draft<'a> {
    rules: &'a Rules,
    /// Rules that are other than they were; `None` where they are gone.
    changed: HashMap<String, Option<Rule>>,
    is_cleared: bool,
    changes: Vec<RuleChange>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(rules: &'a Rules) -> Draft<'a> {
        Draft { rules, changed: HashMap::new(), is_cleared: false, changes: Vec::new() }
    }

    fn get(&self, uid: &str) -> Option<Rule> {
        match self.changed.get(uid) {
            Some(changed) => changed.clone(),
            None if self.is_cleared => None,
            None => self.rules.get(uid).map(|rule| Rule::clone(&rule)),
        }
    }

    /// Changes a rule, or makes it.
    pub fn patch(&mut self, uid: &str, patch: &RulePatch, at: Timestamp) {
        let mut rule = self.get(uid).unwrap_or_else(|| Rule::bare(uid));
        rule.apply(patch, at);
        let text = serde_json::to_string(&rule).expect("a rule is plain JSON");
        self.changes.push(RuleChange::Set { uid: uid.to_owned(), rule: text });
        self.changed.insert(uid.to_owned(), Some(rule));
    }

    /// Removes a rule, if it is there.
    pub fn remove(&mut self, uid: &str) {
        self.changes.push(RuleChange::Removed { uid: uid.to_owned() });
        self.changed.insert(uid.to_owned(), None);
    }

    /// Removes all rules: how many there were.
    pub fn clear(&mut self) -> u64 {
        let here = |uid: &str| !self.changed.contains_key(uid);
        let untouched = match self.is_cleared {
            true => 0,
            false => self.rules.all.read().places.keys().filter(|uid| here(uid)).count(),
        };
        let count = untouched + self.changed.values().filter(|rule| rule.is_some()).count();
        self.changed.clear();
        self.is_cleared = true;
        self.changes.push(RuleChange::Cleared);
        count as u64
    }

    /// All changes, in order.
    pub fn into_changes(self) -> Vec<RuleChange> {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lamina_protocol::wire::rules::patch;
    use serde_json::json;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn tasks_of_a_batch_build_on_each_other() {
        let rules = Rules::default();
        let mut draft = rules.draft();
        draft.patch("a", &patch(&json!({"description": "one", "precedence": 3})).unwrap(), at(1));
        draft.patch("b", &patch(&json!({})).unwrap(), at(2));
        draft.patch("a", &patch(&json!({"active": false, "precedence": null})).unwrap(), at(3));
        draft.remove("c");
        rules.follow(&draft.into_changes());
        let a = rules.get("a").unwrap();
        assert_eq!((a.description.as_deref(), a.precedence, a.active), (Some("one"), None, false));
        assert_eq!(a.last_updated_at, at(3));
        let uids = |rules: &Rules| -> Vec<String> { rules.all().iter().map(|rule| rule.uid.clone()).collect() };
        assert_eq!(uids(&rules), ["a", "b"]);

        let mut draft = rules.draft();
        draft.patch("new", &patch(&json!({})).unwrap(), at(4));
        draft.remove("b");
        assert_eq!(draft.clear(), 2, "`a` and `new`");
        assert_eq!(draft.clear(), 0);
        draft.patch("a", &patch(&json!({})).unwrap(), at(5));
        assert_eq!(uids(&rules), ["a", "b"], "nothing has happened yet");
        rules.follow(&draft.into_changes());
        assert_eq!(uids(&rules), ["a"]);
        assert_eq!(rules.get("a").unwrap().description, None, "it was made anew");
    }
}
