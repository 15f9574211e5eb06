//! What belongs to all indexes and changes seldom: an object of its own, whose key names its content.
//!
//! ```text
//! i/carried/<XXH3-128 of the content, 32 digits>[-<addition>]
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use lamina_base::aliases::Aliases;
use lamina_data::rules::Rule;
use lamina_data::tasks::RuleChange;
use lamina_data::webhooks::WebhookFile;
use lamina_protocol::wire::identifier::check_index_uid;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::store::ObjectError;

/// State that replicas have of their publisher besides indexes and keys.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedState {
    pub aliases: Aliases,
    /// In the order in which they were made.
    pub rules: Vec<Arc<Rule>>,
    /// The switches that are on or off, by name.
    pub features: Map<String, Value>,
    /// With their secrets.
    pub webhooks: WebhookFile,
    /// Servers that searches are spread over, with their keys, as the server stores them.
    pub network: Value,
    /// Workspaces of conversations with the keys of their providers, as the server stores them.
    pub chats: Value,
}

impl SharedState {
    /// The aliases. What can be none is left out.
    pub(super) fn aliases(&self) -> Aliases {
        let mut aliases = Aliases::default();
        for (name, alias) in self.aliases.iter() {
            if check_index_uid(name).is_ok() && check_index_uid(&alias.index_uid).is_ok() {
                aliases.insert(name.clone(), alias.clone());
            }
        }
        aliases
    }

    /// Returns the changes that turn `before` into the carried rules.
    pub(super) fn rule_changes(&self, before: &[Arc<Rule>]) -> Vec<RuleChange> {
        let set = |rule: &Arc<Rule>| RuleChange::Set {
            uid: rule.uid.clone(),
            rule: serde_json::to_string(rule).expect("a rule is plain JSON"),
        };
        let carried: HashSet<&str> = self.rules.iter().map(|rule| rule.uid.as_str()).collect();
        let (stay, go): (Vec<_>, Vec<_>) = before.iter().partition(|rule| carried.contains(rule.uid.as_str()));
        let keep_their_places = stay.len() <= self.rules.len()
            && stay.iter().zip(&self.rules).all(|(before, carried)| before.uid == carried.uid);
        if !keep_their_places {
            return [RuleChange::Cleared].into_iter().chain(self.rules.iter().map(set)).collect();
        }
        let removed = go.iter().map(|rule| RuleChange::Removed { uid: rule.uid.clone() });
        let is_other = |(place, rule): &(usize, &Arc<Rule>)| stay.get(*place).is_none_or(|before| before != rule);
        let changed = self.rules.iter().enumerate().filter(is_other).map(|(_, rule)| set(rule));
        removed.chain(changed).collect()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("it has string keys only")
    }

    /// Reads what is stored under `name`.
    ///
    /// # Errors
    /// [`ObjectError::Damaged`]
    pub(super) fn read(name: &str, bytes: &[u8]) -> Result<SharedState, ObjectError> {
        let damaged = |reason| ObjectError::Damaged { key: shared_state_key(name), reason };
        if name.get(..NAME_BYTES) != Some(shared_state_name(bytes).as_str()) {
            return Err(damaged("its checksum does not match"));
        }
        serde_json::from_slice(bytes).map_err(|_| damaged("it is not what roots carry"))
    }
}

/// Length of a name without its optional suffix.
const NAME_BYTES: usize = 32;

/// Returns the name of this content in roots.
pub(super) fn shared_state_name(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

/// The key of the object of this name.
pub(super) fn shared_state_key(name: &str) -> String {
    format!("i/carried/{name}")
}

#[cfg(test)]
mod tests {
    use lamina_base::aliases::Alias;
    use lamina_base::timestamp::Timestamp;

    use super::*;

    fn rule(uid: &str, precedence: u64) -> Arc<Rule> {
        let rule = serde_json::json!({"uid": uid, "lastUpdatedAt": "2024-01-01T00:00:00Z", "precedence": precedence});
        Arc::new(serde_json::from_value(rule).unwrap())
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let with = |entries: &[(&str, &str)]| {
            let mut aliases = Aliases::default();
            for (name, target) in entries {
                let alias = Alias { index_uid: (*target).into(), updated_at: Timestamp::from_nanos(7) };
                aliases.insert((*name).into(), alias);
            }
            aliases
        };
        let aliases = with(&[("films", "films-1"), ("no name", "films-1"), ("bad", "../x")]);
        let bytes =
            SharedState { aliases: aliases.clone(), rules: vec![rule("a", 1)], ..SharedState::default() }.to_bytes();
        let name = shared_state_name(&bytes);
        let read = SharedState::read(&name, &bytes).unwrap();
        assert_eq!((read.aliases(), read.rules), (with(&[("films", "films-1")]), vec![rule("a", 1)]));
        let reason = |name: &str, bytes: &[u8]| SharedState::read(name, bytes).unwrap_err().to_string();
        assert!(reason(&name, b"{}").contains("its checksum does not match"));
        assert!(reason(&shared_state_name(b"1"), b"1").contains("not what roots carry"));
        assert!(reason(&shared_state_name(b"{}"), b"{}").contains("not what roots carry"));
    }

    #[test]
    fn rules_keep_their_places_where_they_can() {
        let changes = |before: &[Arc<Rule>], after: &[Arc<Rule>]| -> Vec<String> {
            let carried = SharedState { rules: after.to_vec(), ..SharedState::default() };
            let shown = |change: RuleChange| match change {
                RuleChange::Set { uid, .. } => format!("set {uid}"),
                RuleChange::Removed { uid } => format!("removed {uid}"),
                RuleChange::Cleared => "cleared".to_owned(),
            };
            carried.rule_changes(before).into_iter().map(shown).collect()
        };
        let (a, b, c) = (rule("a", 1), rule("b", 1), rule("c", 1));
        assert!(changes(&[a.clone(), b.clone()], &[a.clone(), b.clone()]).is_empty());
        assert_eq!(changes(&[a.clone(), b.clone()], &[a.clone(), rule("b", 2), c.clone()]), ["set b", "set c"]);
        assert_eq!(changes(&[a.clone(), b.clone()], &[b.clone(), c.clone()]), ["removed a", "set c"]);
        // One that was removed and made again comes last.
        assert_eq!(changes(&[a.clone(), b.clone()], &[b.clone(), a.clone()]), ["cleared", "set b", "set a"]);
        assert_eq!(changes(&[a], &[]), ["removed a"]);
    }
}
