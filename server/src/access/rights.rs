//! What a request was allowed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::action::Action;
use super::key::ApiKey;
use super::tenant::SearchRules;
use crate::error::{ApiError, ApiResult, Code};

/// The indexes that a request may touch, and how. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rights(Reach);

#[derive(Clone, Debug)]
enum Reach {
    Everything,
    Nothing,
    Some(Arc<Restricted>),
}

#[derive(Debug)]
struct Restricted {
    key: Arc<ApiKey>,
    /// Those of a tenant token signed with the key.
    rules: Option<SearchRules>,
}

/// On whose behalf something is kept: a key, a tenant of it, or the holder of all rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Holder(Option<(Uuid, Option<u64>)>);

impl Rights {
    /// Everything: the master key, or a server without one.
    pub fn all() -> Rights {
        Rights(Reach::Everything)
    }

    /// Nothing: what a request has that was not checked yet.
    pub fn none() -> Rights {
        Rights(Reach::Nothing)
    }

    pub(super) fn of_key(key: Arc<ApiKey>) -> Rights {
        Rights(Reach::Some(Arc::new(Restricted { key, rules: None })))
    }

    pub(super) fn of_tenant(key: Arc<ApiKey>, rules: SearchRules) -> Rights {
        Rights(Reach::Some(Arc::new(Restricted { key, rules: Some(rules) })))
    }

    /// Whether the index may be touched.
    pub fn admits(&self, index_uid: &str) -> bool {
        self.check_index(index_uid).is_ok()
    }

    /// # Errors
    /// `invalid_api_key`, saying which indexes would be fine.
    pub fn check_index(&self, index_uid: &str) -> ApiResult<()> {
        let restricted = match &self.0 {
            Reach::Everything => return Ok(()),
            Reach::Nothing => return Err(super::invalid_key()),
            Reach::Some(restricted) => restricted,
        };
        let message = match &restricted.rules {
            Some(rules) if rules.of(index_uid).is_none() => format!(
                "The provided tenant token cannot acces the index `{index_uid}`, allowed indexes are {}.",
                sorted(rules.patterns())
            ),
            _ if restricted.key.admits(index_uid) => return Ok(()),
            Some(_) => {
                format!("The API key used to generate this tenant token cannot acces the index `{index_uid}`.")
            }
            None => format!(
                "The API key cannot acces the index `{index_uid}`, authorized indexes are {}.",
                sorted(restricted.key.indexes.iter().map(String::as_str))
            ),
        };
        Err(ApiError::new(Code::InvalidApiKey, message))
    }

    /// The uids and patterns of what may be seen; `None` when that is everything.
    pub fn visible(&self) -> Option<&[String]> {
        match &self.0 {
            Reach::Everything => None,
            Reach::Nothing => Some(&[]),
            Reach::Some(restricted) => (!restricted.key.is_global()).then_some(&*restricted.key.indexes),
        }
    }

    /// Whether this is allowed besides what the route asks for, with the indexes that the key admits. A tenant may nothing
    /// but search.
    pub fn may(&self, action: Action) -> bool {
        match &self.0 {
            Reach::Everything => true,
            Reach::Nothing => false,
            Reach::Some(restricted) => restricted.rules.is_none() && restricted.key.may(action),
        }
    }

    /// Whether a write to an index that is not there may create it.
    pub fn may_create_index(&self, index_uid: &str) -> bool {
        match &self.0 {
            Reach::Everything => true,
            Reach::Nothing => false,
            Reach::Some(restricted) => restricted.key.may(Action::IndexesCreate) && restricted.key.admits(index_uid),
        }
    }

    /// Who asks. Tokens with the same rules are the same tenant, whenever they end.
    pub fn holder(&self) -> Holder {
        let Reach::Some(restricted) = &self.0 else { return Holder(None) };
        let of_rules = |rules: &SearchRules| {
            let mut hasher = DefaultHasher::new();
            format!("{rules:?}").hash(&mut hasher);
            hasher.finish()
        };
        Holder(Some((restricted.key.uid, restricted.rules.as_ref().map(of_rules))))
    }

    /// The filter that a search of this index must also obey, as its tenant token has it.
    pub fn imposed_filter(&self, index_uid: &str) -> Option<&Value> {
        match &self.0 {
            Reach::Some(restricted) => restricted.rules.as_ref()?.of(index_uid)?.filter.as_ref(),
            Reach::Everything | Reach::Nothing => None,
        }
    }
}

/// `["a", "b"]`
fn sorted<'a>(patterns: impl Iterator<Item = &'a str>) -> String {
    let mut patterns: Vec<String> = patterns.map(|pattern| Value::from(pattern).to_string()).collect();
    patterns.sort_unstable();
    format!("[{}]", patterns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::key::test_key;
    use serde_json::json;

    fn rules(rules: Value) -> SearchRules {
        serde_json::from_value(rules).unwrap()
    }

    fn message(rights: &Rights, index: &str) -> String {
        rights.check_index(index).unwrap_err().message
    }

    #[test]
    fn everything_is_everything() {
        let all = Rights::all();
        assert!(all.admits("x") && all.may_create_index("x") && all.visible().is_none());
        assert_eq!(all.imposed_filter("x"), None);
        assert!(all.may(Action::KeysCreate) && !Rights::none().may(Action::Search));
        let none = Rights::none();
        assert!(!none.admits("x") && !none.may_create_index("x") && none.visible() == Some(&[][..]));
    }

    #[test]
    fn keys_are_restricted_to_their_indexes() {
        let rights = Rights::of_key(Arc::new(test_key(&[Action::DocumentsAll], &["dog", "cat*"])));
        assert!(rights.admits("dog") && rights.admits("cats"));
        assert_eq!(
            message(&rights, "x"),
            "The API key cannot acces the index `x`, authorized indexes are [\"cat*\", \"dog\"]."
        );
        assert_eq!(rights.visible(), Some(&["dog".to_owned(), "cat*".to_owned()][..]));
        assert!(!rights.may_create_index("dog"));
        let creator = Rights::of_key(Arc::new(test_key(&[Action::IndexesAll], &["dog"])));
        assert!(creator.may_create_index("dog") && !creator.may_create_index("x"));
    }

    #[test]
    fn tenants_may_nothing_of_their_own() {
        let key = Arc::new(test_key(&[Action::All], &["*"]));
        assert!(Rights::of_key(Arc::clone(&key)).may(Action::SettingsUpdate));
        assert!(!Rights::of_tenant(key, rules(json!(["*"]))).may(Action::SettingsUpdate));
    }

    #[test]
    fn tenants_are_distinguished_by_their_rules() {
        let key = Arc::new(test_key(&[Action::Search], &["*"]));
        let tenant = |written: Value| Rights::of_tenant(Arc::clone(&key), rules(written)).holder();
        assert_eq!(tenant(json!({"a": {"filter": "x = 1"}})), tenant(json!({"a": {"filter": "x = 1"}})));
        assert_ne!(tenant(json!({"a": {"filter": "x = 1"}})), tenant(json!({"a": {"filter": "x = 2"}})));
        assert_ne!(tenant(json!(["a"])), Rights::of_key(Arc::clone(&key)).holder());
        assert_ne!(Rights::of_key(key).holder(), Rights::all().holder());
    }

    #[test]
    fn tenants_need_their_rules_and_their_key() {
        let key = Arc::new(test_key(&[Action::Search], &["a*", "b"]));
        let rights = Rights::of_tenant(key, rules(json!({"a1": {"filter": "x = 1"}, "b": null, "c": {}})));
        assert!(rights.admits("a1") && rights.admits("b"));
        assert_eq!(
            message(&rights, "a2"),
            "The provided tenant token cannot acces the index `a2`, allowed indexes are [\"a1\", \"b\", \"c\"]."
        );
        assert_eq!(message(&rights, "c"), "The API key used to generate this tenant token cannot acces the index `c`.");
        assert_eq!(rights.imposed_filter("a1"), Some(&json!("x = 1")));
        assert_eq!(rights.imposed_filter("b"), None);
    }
}
