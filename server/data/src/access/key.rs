//! API keys.

use aws_lc_rs::hmac;
use lamina_base::secret::redacted;
use lamina_base::timestamp::{Timestamp, instant};
use lamina_protocol::wire::keys::NewKey;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::Action;

/// Everything about a key but its value, which follows from the master key and the uid and is stored nowhere. Serialised as dumps
/// have it: a line of `keys.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// A description for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A name for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Chosen by the client or random.
    pub uid: Uuid,
    /// Actions that the key permits.
    #[serde(deserialize_with = "known_actions")]
    pub actions: Vec<Action>,
    /// Index uids and patterns with a final `*`.
    pub indexes: Vec<String>,
    /// `None`: never.
    #[serde(default, serialize_with = "write_end", deserialize_with = "read_end")]
    pub expires_at: Option<OffsetDateTime>,
    /// Keys are listed by it, newest first.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Leaves out actions that this server does not know.
fn known_actions<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Action>, D::Error> {
    let known = |name: String| {
        let action = Action::parse(&name);
        if action.is_none() {
            tracing::warn!(action = name, "left out an action of a key that this server does not know");
        }
        action
    };
    Ok(Vec::deserialize(from)?.into_iter().filter_map(known).collect())
}

fn write_end<S: Serializer>(end: &Option<OffsetDateTime>, to: S) -> Result<S::Ok, S::Error> {
    end.map(rfc3339).serialize(to)
}

/// A date that cannot be read must not make a key last for ever.
fn read_end<'de, D: Deserializer<'de>>(from: D) -> Result<Option<OffsetDateTime>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    Ok(text.map(|text| instant(&text).unwrap_or(OffsetDateTime::UNIX_EPOCH)))
}

/// The public key object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyView {
    name: Option<String>,
    description: Option<String>,
    key: String,
    uid: Uuid,
    actions: Vec<Action>,
    indexes: Vec<String>,
    expires_at: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl ApiKeyView {
    /// The object for those who may read keys and no more: with as much of the secret as identifies it.
    pub fn without_value(self) -> ApiKeyView {
        ApiKeyView { key: redacted(&self.key), ..self }
    }
}

/// The secret of the key with this uid, whether there is one or not.
pub(super) fn value(uid: Uuid, master_key: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, master_key.as_bytes());
    let tag = hmac::sign(&key, uid.hyphenated().to_string().as_bytes());
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// By which servers see whether they have the same master key: 32 bits that say nothing about it. `none`: there is no master key.
pub(super) fn master_key_mark(master_key: Option<&str>) -> String {
    let Some(master_key) = master_key else { return "none".to_owned() };
    let key = hmac::Key::new(hmac::HMAC_SHA256, master_key.as_bytes());
    let tag = hmac::sign(&key, b"the master key of a group");
    tag.as_ref()[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl From<NewKey> for ApiKey {
    /// Made now, with a random uid where none was chosen.
    fn from(asked: NewKey) -> ApiKey {
        let NewKey { uid, name, description, actions, indexes, expires_at } = asked;
        let now = Timestamp::now();
        ApiKey {
            uid: uid.unwrap_or_else(Uuid::new_v4),
            name,
            description,
            actions,
            indexes,
            expires_at,
            created_at: now,
            updated_at: now,
        }
    }
}

impl ApiKey {
    /// The secret that clients send: HMAC-SHA256 of the uid under the master key, 64 characters of lower-case hex.
    pub fn value(&self, master_key: &str) -> String {
        value(self.uid, master_key)
    }

    /// The public object, with the secret.
    pub fn view(&self, master_key: &str) -> ApiKeyView {
        ApiKeyView {
            name: self.name.clone(),
            description: self.description.clone(),
            key: self.value(master_key),
            uid: self.uid,
            actions: self.actions.clone(),
            indexes: self.indexes.clone(),
            expires_at: self.expires_at.map(rfc3339),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    /// Reports whether the key is valid for every index.
    pub(crate) fn is_global(&self) -> bool {
        self.indexes.iter().any(|pattern| pattern == "*")
    }

    /// Reports whether the key admits an index.
    pub fn admits(&self, index_uid: &str) -> bool {
        self.indexes.iter().any(|pattern| matches(pattern, index_uid))
    }

    /// Reports whether the key permits `needed` on the indexes that it admits.
    pub fn may(&self, needed: Action) -> bool {
        // `*` of a key for some indexes must not lead to all of them by way of a new key, an export or a webhook.
        let is_too_far = needed.is_global() && !self.is_global();
        !is_too_far && self.actions.iter().any(|action| action.grants(needed))
    }

    /// Reports whether the key has expired.
    pub(crate) fn is_expired(&self, now: OffsetDateTime) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// The keys of a new server, in the order in which they are listed.
    pub(super) fn defaults(now: Timestamp) -> Vec<ApiKey> {
        let texts: [(&str, &str, &[Action]); 4] = [
            ("Default Search API Key", "Use it to search from the frontend", &[Action::Search]),
            (
                "Default Admin API Key",
                "Use it for anything that is not a search operation. Caution! Do not expose it on a public frontend",
                &[Action::All],
            ),
            (
                "Default Read-Only Admin API Key",
                "Use it to read information across the whole database. Caution! Do not expose this key on a public \
                 frontend",
                &[Action::AllGet, Action::KeysGet],
            ),
            (
                "Default Chat API Key",
                "Use it to chat and search from the frontend",
                &[Action::ChatCompletions, Action::Search],
            ),
        ];
        let keys = texts.into_iter().zip((0..).step_by(1000));
        keys.map(|((name, description, actions), younger_nanos)| {
            // The newest is listed first.
            let created_at = Timestamp::from_nanos(now.nanos() - younger_nanos);
            ApiKey {
                uid: Uuid::new_v4(),
                name: Some(name.to_owned()),
                description: Some(description.to_owned()),
                actions: actions.to_vec(),
                indexes: vec!["*".to_owned()],
                expires_at: None,
                created_at,
                updated_at: created_at,
            }
        })
        .collect()
    }
}

/// Reports whether a pattern matches an index uid.
pub fn matches(pattern: &str, index_uid: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => index_uid.starts_with(prefix),
        None => pattern == index_uid,
    }
}

/// In UTC, unless that is behind the year 9999.
pub(super) fn rfc3339(time: OffsetDateTime) -> String {
    time.checked_to_offset(time::UtcOffset::UTC).unwrap_or(time).format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
pub(super) fn test_key(actions: &[Action], indexes: &[&str]) -> ApiKey {
    ApiKey {
        uid: Uuid::new_v4(),
        name: None,
        description: None,
        actions: actions.to_vec(),
        indexes: indexes.iter().map(|&index| index.to_owned()).collect(),
        expires_at: None,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_from_the_master_key_and_the_uid() {
        for (uid, value) in [
            (
                "4bc0887a-0e41-4f3b-935d-0c451dcee9c8",
                "d9e776b8412f1db6974c9a5556b961c3559440b6588216f4ea5d9ed49f7c8f3c",
            ),
            (
                "00000000-0000-0000-0000-000000000000",
                "aeb94973e0b6e912d94165430bbe87dee91a7c4f891ce19050c3910ec96977e9",
            ),
        ] {
            let key = ApiKey { uid: uid.parse().unwrap(), ..test_key(&[], &[]) };
            assert_eq!(key.value("MASTER_KEY"), value);
        }
    }

    #[test]
    fn marks_differ_as_master_keys_do() {
        let marks = [None, Some("MASTER_KEY"), Some("master_key")].map(master_key_mark);
        assert_eq!(marks[0], "none");
        assert_eq!(marks[1], master_key_mark(Some("MASTER_KEY")));
        assert_eq!(marks[1].len(), 8, "{marks:?}");
        assert!(marks[1] != marks[2], "{marks:?}");
    }

    #[test]
    fn the_public_object() {
        let key = ApiKey {
            uid: Uuid::nil(),
            name: Some("n".into()),
            expires_at: Some(time::macros::datetime!(9000-01-02 3:04:05 +1)),
            created_at: Timestamp::from_nanos(0),
            updated_at: Timestamp::from_nanos(1_000_000_000),
            ..test_key(&[Action::Search], &["a*"])
        };
        assert_eq!(
            serde_json::to_string(&key.view("MASTER_KEY")).unwrap(),
            r#"{"name":"n","description":null,"key":"aeb94973e0b6e912d94165430bbe87dee91a7c4f891ce19050c3910ec96977e9","uid":"00000000-0000-0000-0000-000000000000","actions":["search"],"indexes":["a*"],"expiresAt":"9000-01-02T02:04:05Z","createdAt":"1970-01-01T00:00:00Z","updatedAt":"1970-01-01T00:00:01Z"}"#
        );
    }

    #[test]
    fn patterns() {
        let key = test_key(&[], &["movies*", "books"]);
        for (uid, admitted) in
            [("movies", true), ("movies_fr", true), ("movie", false), ("books", true), ("books2", false)]
        {
            assert_eq!(key.admits(uid), admitted, "{uid}");
        }
        assert!(test_key(&[], &["*"]).admits("x"));
        assert!(!test_key(&[], &[]).admits("x"));
    }

    #[test]
    fn a_key_for_some_indexes_cannot_reach_beyond_them() {
        let all = test_key(&[Action::All], &["*"]);
        let some = test_key(&[Action::All], &["movies*"]);
        for &action in Action::ALL {
            assert!(all.may(action), "{action}");
            assert_eq!(some.may(action), !action.is_global(), "{action}");
        }
    }

    #[test]
    fn default_keys_come_in_their_order() {
        let keys = ApiKey::defaults(Timestamp::now());
        assert_eq!(keys.len(), 4);
        assert!(keys.is_sorted_by(|one, other| one.created_at > other.created_at));
    }
}
