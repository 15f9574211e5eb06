//! Requests about API keys.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp;
use lamina_engine::text::Moment;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::actions::Action;
use super::identifier::check_index_pattern;
use super::json::{At, required};
use super::query_string::QueryString;

/// Values that a change sets; `None` keeps the old value, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPatch {
    /// A name for people to read.
    pub name: Option<Option<String>>,
    /// A description for people to read.
    pub description: Option<Option<String>>,
}

/// A key that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Uid chosen by the client.
    pub uid: Option<Uuid>,
    /// A name for people to read.
    pub name: Option<String>,
    /// A description for people to read.
    pub description: Option<String>,
    /// Actions that the key permits.
    pub actions: Vec<Action>,
    /// Index uids and patterns with a final `*`.
    pub indexes: Vec<String>,
    /// `None`: never.
    pub expires_at: Option<OffsetDateTime>,
}

/// The query string of a list of keys: offset and limit.
///
/// # Errors
/// The first problem in the order of the text.
pub fn list_parameters(query: &QueryString) -> ApiResult<(usize, usize)> {
    let (mut offset, mut limit) = (0, 20);
    query.parameters(&["offset", "limit"], |name, parameter| {
        let (place, code) = match name {
            "offset" => (&mut offset, Code::InvalidApiKeyOffset),
            _ => (&mut limit, Code::InvalidApiKeyLimit),
        };
        *place = usize::try_from(parameter.code(code).positive_integer()?).unwrap_or(usize::MAX);
        Ok(())
    })?;
    Ok((offset, limit))
}

/// The body of a new key.
///
/// # Errors
/// The first problem in the order of the text, then a missing field, then actions that its indexes forbid.
pub fn creation(body: &Value) -> ApiResult<NewKey> {
    const ACCEPTED: [&str; 6] = ["description", "name", "uid", "actions", "indexes", "expiresAt"];
    let (mut description, mut name, mut uid) = (None, None, None);
    let (mut actions, mut indexes, mut expires_at) = (None, None, None);
    let root = At::root(body);
    root.given(&ACCEPTED, &["actions", "indexes", "expiresAt"], |field_name, field| {
        match field_name {
            "description" => description = field.code(Code::InvalidApiKeyDescription).optional(|f| f.string())?,
            "name" => name = field.code(Code::InvalidApiKeyName).optional(|f| f.string())?,
            "uid" => uid = Some(key_uid(field.code(Code::InvalidApiKeyUid))?),
            "actions" => actions = Some(field.code(Code::InvalidApiKeyActions).list(|element| action(&element))?),
            "indexes" => indexes = Some(field.code(Code::InvalidApiKeyIndexes).list(|element| pattern(&element))?),
            _ => expires_at = Some(field.code(Code::InvalidApiKeyExpiresAt).optional(|f| end(&f))?),
        }
        Ok(())
    })?;
    let actions = required(actions, &root, "actions", Code::MissingApiKeyActions)?;
    let indexes = required(indexes, &root, "indexes", Code::MissingApiKeyIndexes)?;
    let expires_at = required(expires_at, &root, "expiresAt", Code::MissingApiKeyExpiresAt)?;
    let key = NewKey { uid, name, description, actions, indexes, expires_at };
    check_reach(&key)?;
    Ok(key)
}

fn key_uid(field: At<'_>) -> ApiResult<Uuid> {
    let text = field.string()?;
    Uuid::parse_str(&text).map_err(|error| field.invalid(error))
}

fn action(element: &At<'_>) -> ApiResult<Action> {
    let named: Vec<(&str, Action)> = Action::ALL.iter().map(|&action| (action.name(), action)).collect();
    element.one_of(&named)
}

fn pattern(element: &At<'_>) -> ApiResult<String> {
    let text = element.string()?;
    check_index_pattern(&text).map_err(|reason| element.invalid(reason))?;
    Ok(text)
}

/// A point in time or the midnight of a day, UTC where nothing else is said, in the future.
fn end(field: &At<'_>) -> ApiResult<OffsetDateTime> {
    let text = field.string()?;
    let time = Moment::parse(&text).map(timestamp::utc);
    time.filter(|time| *time > OffsetDateTime::now_utc()).ok_or_else(|| {
        // The newline at the end is part of the public text.
        field.invalid(format!(
            "`{text}` is not a valid date. It should follow the RFC 3339 format to represents a date or datetime in \
             the future or specified as a null value. e.g. 'YYYY-MM-DD' or 'YYYY-MM-DD HH:MM:SS'.\n"
        ))
    })
}

/// Actions on the whole server need a key for all indexes. A key for none counts as one here: it does no harm.
fn check_reach(key: &NewKey) -> ApiResult<()> {
    let is_scoped = !key.indexes.is_empty() && !key.indexes.iter().any(|pattern| pattern == "*");
    match key.actions.iter().find(|action| is_scoped && action.is_global()) {
        Some(action) => Err(ApiError::new(
            Code::IndexScopedApiKeyWithGlobalAction,
            format!(
                "cannot create index-scoped API key with global action `\"{action}\"`\n  - Hint: remove action \
                 `\"{action}\"` from the action list, or remove `indexes` to make the key global"
            ),
        )),
        None => Ok(()),
    }
}

/// The body of a change of a key.
///
/// # Errors
/// The first problem in the order of the text.
pub fn change(body: &Value) -> ApiResult<KeyPatch> {
    const ACCEPTED: [&str; 2] = ["description", "name"];
    let mut patch = KeyPatch::default();
    let root = At::root(body);
    root.entries(|name, field| {
        let immutable = match name {
            "description" => {
                patch.description = Some(field.code(Code::InvalidApiKeyDescription).optional(|f| f.string())?);
                return Ok(());
            }
            "name" => {
                patch.name = Some(field.code(Code::InvalidApiKeyName).optional(|f| f.string())?);
                return Ok(());
            }
            "uid" => Code::ImmutableApiKeyUid,
            "actions" => Code::ImmutableApiKeyActions,
            "indexes" => Code::ImmutableApiKeyIndexes,
            "expiresAt" => Code::ImmutableApiKeyExpiresAt,
            "createdAt" => Code::ImmutableApiKeyCreatedAt,
            "updatedAt" => Code::ImmutableApiKeyUpdatedAt,
            _ => return Err(root.unknown_field(name, &ACCEPTED)),
        };
        Err(root.code(immutable).immutable_field(name, &ACCEPTED))
    })?;
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(field: &str, value: Value) -> Value {
        let mut body = json!({"actions": ["search"], "indexes": ["*"], "expiresAt": null});
        body[field] = value;
        body
    }

    fn refused(body: &Value) -> (Code, String) {
        let error = creation(body).unwrap_err();
        (error.code, error.message)
    }

    #[test]
    fn everything_of_a_key() {
        let key = creation(&json!({
            "uid": "4BC0887A-0E41-4f3b-935d-0c451dcee9c8", "name": "n", "description": null,
            "actions": ["documents.*", "*.get"], "indexes": ["a*", "b"], "expiresAt": "9000-01-01"
        }))
        .unwrap();
        assert_eq!(key.uid.unwrap().to_string(), "4bc0887a-0e41-4f3b-935d-0c451dcee9c8");
        assert_eq!((key.name.as_deref(), key.description), (Some("n"), None));
        assert_eq!(key.actions, [Action::DocumentsAll, Action::AllGet]);
        assert_eq!(key.indexes, ["a*", "b"]);
        assert_eq!(key.expires_at, Some(time::macros::datetime!(9000-01-01 0:00 UTC)));
        assert_eq!(creation(&body("actions", json!([]))).unwrap().uid, None);
        for (text, end) in [
            ("9000-01-01 10:20:30", time::macros::datetime!(9000-01-01 10:20:30 UTC)),
            ("9000-01-01T10:20:30", time::macros::datetime!(9000-01-01 10:20:30 UTC)),
            ("9000-01-01T10:20:30+01:00", time::macros::datetime!(9000-01-01 9:20:30 UTC)),
            ("9999-12-31T23:59:59-12:00", time::UtcDateTime::MAX.into()),
        ] {
            assert_eq!(creation(&body("expiresAt", json!(text))).unwrap().expires_at, Some(end), "{text}");
        }
    }

    #[test]
    fn what_must_be_there() {
        for (field, code) in [
            ("actions", Code::MissingApiKeyActions),
            ("indexes", Code::MissingApiKeyIndexes),
            ("expiresAt", Code::MissingApiKeyExpiresAt),
        ] {
            let mut body = body("name", json!("n"));
            body.as_object_mut().unwrap().remove(field);
            assert_eq!(refused(&body), (code, format!("Missing field `{field}`")));
        }
        assert_eq!(refused(&json!({})).0, Code::MissingApiKeyActions);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (field, value, code, start) in [
            (
                "actions",
                json!(["doc.add"]),
                Code::InvalidApiKeyActions,
                "Unknown value `doc.add` at `.actions[0]`: expected one of `*`, `search`, `documents.*`, ",
            ),
            (
                "actions",
                json!("search"),
                Code::InvalidApiKeyActions,
                "Invalid value type at `.actions`: expected an array, but found a string: `\"search\"`",
            ),
            (
                "indexes",
                json!(["invalid index # / \\name with spaces"]),
                Code::InvalidApiKeyIndexes,
                "Invalid value at `.indexes[0]`: `invalid index # / \\name with spaces` is not a valid index uid \
                 pattern. Index uid patterns can be an integer or a string containing only alphanumeric characters, \
                 hyphens (-), underscores (_), and optionally end with a star (*).",
            ),
            ("name", json!(1), Code::InvalidApiKeyName, "Invalid value type at `.name`: expected a string, but "),
            ("description", json!([]), Code::InvalidApiKeyDescription, "Invalid value type at `.description`: "),
            ("uid", json!("aaaaabbbbbccc"), Code::InvalidApiKeyUid, "Invalid value at `.uid`: invalid "),
            ("uid", json!(1), Code::InvalidApiKeyUid, "Invalid value type at `.uid`: expected a string, but "),
            (
                "key",
                json!("x"),
                Code::BadRequest,
                "Unknown field `key`: expected one of `description`, `name`, `uid`, ",
            ),
            ("expiresAt", json!(1), Code::InvalidApiKeyExpiresAt, "Invalid value type at `.expiresAt`: "),
        ] {
            let (found, message) = refused(&body(field, value));
            assert_eq!(found, code, "{message}");
            assert!(message.starts_with(start), "{message}");
        }
    }

    #[test]
    fn ends_lie_in_the_future() {
        for good in ["9000-01-02", "9000-01-02 03:04:05", "9000-01-02T03:04:05", "9000-01-02T03:04:05.5+01:00"] {
            assert!(creation(&body("expiresAt", json!(good))).is_ok(), "{good}");
        }
        for bad in ["2001-01-01", "soon", "", "9000-13-01", "9000-01-02 03:04"] {
            let (code, message) = refused(&body("expiresAt", json!(bad)));
            assert_eq!(code, Code::InvalidApiKeyExpiresAt);
            assert!(message.starts_with(&format!("Invalid value at `.expiresAt`: `{bad}` is not a valid date. ")));
            assert!(message.ends_with("'YYYY-MM-DD HH:MM:SS'.\n"), "{message}");
        }
    }

    #[test]
    fn global_actions_need_all_indexes() {
        let key = |actions: Value, indexes: Value| {
            creation(&json!({"actions": actions, "indexes": indexes, "expiresAt": null}))
        };
        assert_eq!(
            key(json!(["search", "version"]), json!(["dog"])).unwrap_err().message,
            "cannot create index-scoped API key with global action `\"version\"`\n  - Hint: remove action \
             `\"version\"` from the action list, or remove `indexes` to make the key global"
        );
        assert!(key(json!(["version"]), json!(["dog", "*"])).is_ok());
        assert!(key(json!(["version"]), json!([])).is_ok());
        assert!(key(json!(["*", "*.get"]), json!(["dog"])).is_ok());
    }

    #[test]
    fn only_texts_change() {
        assert_eq!(change(&json!({})), Ok(KeyPatch::default()));
        let patch = KeyPatch { name: Some(None), description: Some(Some("d".into())) };
        assert_eq!(change(&json!({"name": null, "description": "d"})), Ok(patch));
        for (field, code) in [
            ("uid", Code::ImmutableApiKeyUid),
            ("actions", Code::ImmutableApiKeyActions),
            ("indexes", Code::ImmutableApiKeyIndexes),
            ("expiresAt", Code::ImmutableApiKeyExpiresAt),
            ("createdAt", Code::ImmutableApiKeyCreatedAt),
            ("updatedAt", Code::ImmutableApiKeyUpdatedAt),
        ] {
            let error = change(&json!({field: 1})).unwrap_err();
            let message = format!("Immutable field `{field}`: expected one of `description`, `name`");
            assert_eq!((error.code, error.message), (code, message));
        }
        let unknown = change(&json!({"key": "x"})).unwrap_err();
        assert_eq!(unknown.code, Code::BadRequest);
        assert_eq!(unknown.message, "Unknown field `key`: expected one of `description`, `name`");
        assert_eq!(change(&json!({"name": 1})).unwrap_err().code, Code::InvalidApiKeyName);
    }

    #[test]
    fn paging() {
        let of = |query: &str| list_parameters(&QueryString::parse(query)).map_err(|error| error.code);
        assert_eq!(of(""), Ok((0, 20)));
        assert_eq!(of("offset=3&limit=0"), Ok((3, 0)));
        assert_eq!(of("offset=-1"), Err(Code::InvalidApiKeyOffset));
        assert_eq!(of("limit=x"), Err(Code::InvalidApiKeyLimit));
    }
}
