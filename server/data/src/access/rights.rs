//! What a request was allowed.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use lamina_base::aliases::{Aliases, IndexName, is_no_index};
use lamina_base::error::{ApiError, ApiResult, Code};
use serde_json::Value;
use uuid::Uuid;

use super::Action;
use super::key::ApiKey;
use super::tenant::SearchRules;

/// The indexes that a request may touch, and how. What is asked of an alias is asked of both: the name that was used and the
/// index that it stands for, as of the beginning of the request. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rights {
    reach: Reach,
    aliases: Arc<Aliases>,
}

#[derive(Clone, Debug)]
enum Reach {
    Everything,
    Nothing,
    Some(Arc<Restricted>),
}

#[derive(Debug)]
struct Restricted {
    key: Arc<ApiKey>,
    /// Rules of a tenant token signed with the key.
    rules: Option<SearchRules>,
}

/// On whose behalf something is kept: a key, a tenant of it, or the holder of all rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Holder(Option<(Uuid, Option<u64>)>);

impl Rights {
    fn new(reach: Reach) -> Rights {
        Rights { reach, aliases: Arc::default() }
    }

    /// The same, where these names stand for indexes.
    pub(super) fn with(self, aliases: Arc<Aliases>) -> Rights {
        Rights { aliases, ..self }
    }

    /// The aliases that the request goes by.
    pub fn aliases(&self) -> &Aliases {
        &self.aliases
    }

    /// The index that `name` means: its own, unless it is an alias.
    pub fn target<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.target(name)
    }

    /// Resolves a name like [`Rights::target`], and keeps the name.
    pub fn index(&self, name: &str) -> IndexName {
        self.aliases.resolve(name.to_owned())
    }

    /// # Errors
    /// `index_uid_is_alias`
    pub fn check_own(&self, name: &str) -> ApiResult<()> {
        self.aliases.get(name).map_or(Ok(()), |alias| Err(is_no_index(name, &alias.index_uid)))
    }

    /// Everything: the master key, or a server without one.
    pub fn all() -> Rights {
        Rights::new(Reach::Everything)
    }

    /// Nothing: what a request has that was not checked yet.
    pub fn none() -> Rights {
        Rights::new(Reach::Nothing)
    }

    pub fn of_key(key: Arc<ApiKey>) -> Rights {
        Rights::new(Reach::Some(Arc::new(Restricted { key, rules: None })))
    }

    pub fn of_tenant(key: Arc<ApiKey>, rules: SearchRules) -> Rights {
        Rights::new(Reach::Some(Arc::new(Restricted { key, rules: Some(rules) })))
    }

    /// Reports whether the index may be accessed.
    pub fn admits(&self, index_uid: &str) -> bool {
        self.check_index(index_uid).is_ok()
    }

    /// # Errors
    /// `invalid_api_key`, saying which indexes would be fine.
    pub fn check_index(&self, index_uid: &str) -> ApiResult<()> {
        self.check_name(index_uid)?;
        match self.aliases.get(index_uid) {
            // What an alias stands for is shown to those who may see it.
            Some(alias) => self.check_name(&alias.index_uid).map_err(|_| {
                ApiError::new(
                    Code::InvalidApiKey,
                    format!("The API key or token cannot access the index that the alias `{index_uid}` stands for."),
                )
            }),
            None => Ok(()),
        }
    }

    fn check_name(&self, index_uid: &str) -> ApiResult<()> {
        let restricted = match &self.reach {
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
        match &self.reach {
            Reach::Everything => None,
            Reach::Nothing => Some(&[]),
            Reach::Some(restricted) => (!restricted.key.is_global()).then_some(&*restricted.key.indexes),
        }
    }

    /// Reports whether an action beyond that of the route is permitted, on the indexes that the key admits. A tenant
    /// may only search.
    pub fn may(&self, action: Action) -> bool {
        match &self.reach {
            Reach::Everything => true,
            Reach::Nothing => false,
            Reach::Some(restricted) => restricted.rules.is_none() && restricted.key.may(action),
        }
    }

    /// Reports whether the key may search, including that of a tenant.
    pub fn may_search(&self) -> bool {
        match &self.reach {
            Reach::Everything => true,
            Reach::Nothing => false,
            Reach::Some(restricted) => restricted.key.may(Action::Search),
        }
    }

    /// Reports whether a write may create the index if there is none. Not by an alias, which means an index that is there: who writes by it
    /// does not mean a new index of the name that the old one had before it was renamed.
    pub fn may_create_index(&self, index: &IndexName) -> bool {
        let is_allowed = match &self.reach {
            Reach::Everything => true,
            Reach::Nothing => false,
            Reach::Some(restricted) => restricted.key.may(Action::IndexesCreate) && restricted.key.admits(&index.uid),
        };
        is_allowed && index.asked == index.uid
    }

    /// Returns the holder of the rights. Tokens with the same rules belong to the same tenant, regardless of their
    /// expiry.
    pub fn holder(&self) -> Holder {
        let Reach::Some(restricted) = &self.reach else { return Holder(None) };
        let of_rules = |rules: &SearchRules| {
            let mut hasher = DefaultHasher::new();
            format!("{rules:?}").hash(&mut hasher);
            hasher.finish()
        };
        Holder(Some((restricted.key.uid, restricted.rules.as_ref().map(of_rules))))
    }

    /// Returns whether nothing can take these away while the server runs: those of the master key, or of a server without one.
    pub fn are_all(&self) -> bool {
        matches!(self.reach, Reach::Everything)
    }

    /// Returns whether the same key permits the same, whatever it is called and whatever aliases stand for.
    pub fn permit_the_same_as(&self, other: &Rights) -> bool {
        let permitted = |restricted: &Restricted| {
            let key = &restricted.key;
            (key.uid, key.actions.clone(), key.indexes.clone(), restricted.rules.clone())
        };
        match (&self.reach, &other.reach) {
            (Reach::Everything, Reach::Everything) => true,
            (Reach::Some(one), Reach::Some(other)) => permitted(one) == permitted(other),
            _ => false,
        }
    }

    /// The filter that a search must also obey, as its tenant token has it: what is said of the name that the request uses, of
    /// the index that this name stands for, and of the index `uid` that is searched, which is another one where an alias has
    /// moved since a point in time.
    pub fn imposed_filter(&self, name: &str, uid: &str) -> Option<Cow<'_, Value>> {
        let filters = [name, self.target(name), uid].map(|name| self.filter_of(name));
        let mut different: Vec<&Value> = filters.into_iter().flatten().collect();
        different.dedup();
        let mut different = different.into_iter();
        let first = Cow::Borrowed(different.next()?);
        Some(different.fold(first, |all, filter| Cow::Owned(both(&all, filter))))
    }

    fn filter_of(&self, index_uid: &str) -> Option<&Value> {
        match &self.reach {
            Reach::Some(restricted) => restricted.rules.as_ref()?.of(index_uid)?.filter.as_ref(),
            Reach::Everything | Reach::Nothing => None,
        }
    }
}

/// Two filters as one: the outer array of a filter is AND.
fn both(one: &Value, other: &Value) -> Value {
    let parts = |filter: &Value| match filter {
        Value::Array(parts) => parts.clone(),
        Value::Null => Vec::new(),
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        expression => vec![expression.clone()],
    };
    Value::Array([parts(one), parts(other)].concat())
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

    fn own(uid: &str) -> IndexName {
        IndexName { asked: uid.to_owned(), uid: uid.to_owned() }
    }

    #[test]
    fn everything_is_everything() {
        let all = Rights::all();
        assert!(all.admits("x"));
        assert!(all.may_create_index(&own("x")));
        assert!(all.visible().is_none());
        assert_eq!(all.imposed_filter("x", "x"), None);
        assert!(all.may(Action::KeysCreate));
        assert!(!Rights::none().may(Action::Search));
        let none = Rights::none();
        assert!(!none.admits("x"));
        assert!(!none.may_create_index(&own("x")));
        assert!(none.visible() == Some(&[][..]));
    }

    #[test]
    fn keys_are_restricted_to_their_indexes() {
        let rights = Rights::of_key(Arc::new(test_key(&[Action::DocumentsAll], &["dog", "cat*"])));
        assert!(rights.admits("dog"));
        assert!(rights.admits("cats"));
        assert_eq!(
            message(&rights, "x"),
            "The API key cannot acces the index `x`, authorized indexes are [\"cat*\", \"dog\"]."
        );
        assert_eq!(rights.visible(), Some(&["dog".to_owned(), "cat*".to_owned()][..]));
        assert!(!rights.may_create_index(&own("dog")));
        let creator = Rights::of_key(Arc::new(test_key(&[Action::IndexesAll], &["dog"])));
        assert!(creator.may_create_index(&own("dog")));
        assert!(!creator.may_create_index(&IndexName { asked: "alias".to_owned(), uid: "dog".to_owned() }));
        assert!(!creator.may_create_index(&own("x")));
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
        assert!(rights.admits("a1"));
        assert!(rights.admits("b"));
        assert_eq!(
            message(&rights, "a2"),
            "The provided tenant token cannot acces the index `a2`, allowed indexes are [\"a1\", \"b\", \"c\"]."
        );
        assert_eq!(message(&rights, "c"), "The API key used to generate this tenant token cannot acces the index `c`.");
        assert_eq!(rights.imposed_filter("a1", "a1").as_deref(), Some(&json!("x = 1")));
        assert_eq!(rights.imposed_filter("b", "b"), None);
    }

    fn aliases(pairs: &[(&str, &str)]) -> Arc<Aliases> {
        let mut aliases = Aliases::default();
        let moves = pairs.iter().map(|(name, target)| ((*name).to_owned(), Some((*target).to_owned()))).collect();
        aliases.change(&moves, lamina_base::timestamp::Timestamp::from_nanos(0));
        Arc::new(aliases)
    }

    #[test]
    fn an_alias_needs_the_rights_of_its_name_and_of_its_index() {
        let key = Arc::new(test_key(&[Action::All], &["films", "films-1", "other"]));
        let names = aliases(&[("films", "films-1"), ("other", "secret"), ("hidden", "films-1")]);
        let rights = Rights::of_key(key).with(names);
        assert!(rights.admits("films"));
        assert!(rights.admits("films-1"));
        assert!(!rights.admits("hidden"), "the name is not among those of the key");
        assert_eq!(
            message(&rights, "other"),
            "The API key or token cannot access the index that the alias `other` stands for."
        );
        assert_eq!((rights.target("films"), rights.target("films-1")), ("films-1", "films-1"));
        assert!(Rights::all().with(aliases(&[("films", "films-1")])).admits("films"));
    }

    #[test]
    fn tenants_obey_the_rules_of_an_alias_and_those_of_its_index() {
        let tenant = |written: Value| {
            let key = Arc::new(test_key(&[Action::Search], &["*"]));
            Rights::of_tenant(key, rules(written)).with(aliases(&[("films", "films-1")]))
        };
        let filter = |rights: &Rights| rights.imposed_filter("films", "films-1").map(Cow::into_owned);
        let rights =
            tenant(json!({"films": {"filter": "x = 1"}, "films-1": {"filter": ["y = 1", ["z = 1", "z = 2"]]}}));
        assert_eq!(filter(&rights), Some(json!(["x = 1", "y = 1", ["z = 1", "z = 2"]])));
        let moved = tenant(json!({"films": null, "films-1": null, "films-0": {"filter": "w = 1"}}));
        assert_eq!(moved.imposed_filter("films", "films-0").map(Cow::into_owned), Some(json!("w = 1")));
        assert_eq!(filter(&tenant(json!({"films": {"filter": "x = 1"}, "films-1": null}))), Some(json!("x = 1")));
        assert_eq!(filter(&tenant(json!({"films": null, "*": {"filter": "x = 1"}}))), Some(json!("x = 1")));
        assert_eq!(filter(&tenant(json!({"*": {"filter": "x = 1"}}))), Some(json!("x = 1")));
        assert!(!tenant(json!(["films"])).admits("films"));
        assert!(!tenant(json!(["films-1"])).admits("films"));
    }
}
