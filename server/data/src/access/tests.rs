//! The gate as a whole.

use jsonwebtoken::Algorithm;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::key::test_key;
use super::*;
use crate::tasks::Durable;

const MASTER: &str = "a master key of many bytes";

fn access(master_key: Option<&str>) -> Access {
    Access::new(KeyStore::open(Durable::new(Connection::open_in_memory().unwrap()).unwrap(), master_key).unwrap())
}

fn ask(access: &Access, needed: Needed, index: Option<&str>, header: Option<&str>) -> Result<Rights, (Code, String)> {
    let mut headers = HeaderMap::new();
    if let Some(value) = header {
        headers.insert(header::AUTHORIZATION, value.parse().unwrap());
    }
    access.check(needed, index, &headers, std::sync::Arc::default()).map_err(|error| (error.code, error.message))
}

/// A request for `index`, or for none in particular.
fn with(access: &Access, action: Action, index: Option<&str>, token: &str) -> Result<Rights, String> {
    ask(access, Needed::only(action), index, Some(&format!("Bearer {token}"))).map_err(|(_, message)| message)
}

fn make(access: &Access, key: ApiKey) -> String {
    access.keys().create(key).unwrap().value(MASTER)
}

const INVALID: &str = "The provided API key is invalid.";

#[test]
fn the_master_key_opens_everything() {
    let access = access(Some(MASTER));
    let code =
        |header: Option<&str>| ask(&access, Needed::only(Action::KeysGet), None, header).err().map(|(code, _)| code);
    assert_eq!(code(Some(&format!("Bearer {MASTER}"))), None);
    assert_eq!(code(Some(&format!("Bearer  {MASTER} "))), None);
    assert_eq!(code(Some(&format!("Bearer {}", &MASTER[1..]))), Some(Code::InvalidApiKey));
    assert_eq!(code(Some("Bearer")), Some(Code::InvalidApiKey));
    assert_eq!(code(Some(&format!("Bearer{MASTER}"))), Some(Code::MissingAuthorizationHeader));
    assert_eq!(code(Some(&format!("Basic {MASTER}"))), Some(Code::MissingAuthorizationHeader));
    assert_eq!(code(None), Some(Code::MissingAuthorizationHeader));
}

#[test]
fn without_a_master_key_all_but_keys_is_open() {
    for access in [access(None), access(Some(""))] {
        let code = |action: Action, header: Option<&str>| {
            ask(&access, Needed::only(action), None, header).err().map(|(code, _)| code)
        };
        assert_eq!(code(Action::IndexesGet, None), None);
        assert_eq!(code(Action::IndexesGet, Some("Bearer anything")), None);
        assert_eq!(code(Action::IndexesGet, Some("Basic anything")), Some(Code::MissingAuthorizationHeader));
        for action in [Action::KeysGet, Action::KeysCreate, Action::KeysUpdate, Action::KeysDelete] {
            assert_eq!(code(action, None), Some(Code::MissingMasterKey));
            assert_eq!(code(action, Some("Bearer x")), Some(Code::MissingMasterKey));
        }
    }
}

#[test]
fn keys_may_do_what_their_actions_say() {
    let access = access(Some(MASTER));
    let token = make(&access, test_key(&[Action::DocumentsAdd], &["*"]));
    assert!(with(&access, Action::DocumentsAdd, Some("a"), &token).is_ok());
    assert_eq!(with(&access, Action::DocumentsGet, Some("a"), &token).unwrap_err(), INVALID);
    let all = make(&access, test_key(&[Action::All], &["*"]));
    assert!(with(&access, Action::KeysCreate, None, &all).is_ok());
}

#[test]
fn keys_may_touch_what_their_indexes_say() {
    let access = access(Some(MASTER));
    let token = make(&access, test_key(&[Action::All], &["dog"]));
    assert!(with(&access, Action::Search, Some("dog"), &token).is_ok());
    assert_eq!(
        with(&access, Action::Search, Some("x"), &token).unwrap_err(),
        "The API key cannot acces the index `x`, authorized indexes are [\"dog\"]."
    );
    assert_eq!(with(&access, Action::KeysCreate, None, &token).unwrap_err(), INVALID);
    assert_eq!(
        with(&access, Action::MetricsGet, None, &token).unwrap_err(),
        format!("{INVALID} This route shows all indexes: its API key must allow access to all of them.")
    );
}

#[test]
fn keys_end_while_the_server_runs() {
    let access = access(Some(MASTER));
    let soon = OffsetDateTime::now_utc() + time::Duration::milliseconds(300);
    let token = make(&access, ApiKey { expires_at: Some(soon), ..test_key(&[Action::All], &["*"]) });
    assert!(with(&access, Action::IndexesGet, None, &token).is_ok());
    // Until the key has expired.
    std::thread::sleep(std::time::Duration::from_millis(350));
    assert_eq!(with(&access, Action::IndexesGet, None, &token).unwrap_err(), INVALID);
}

#[test]
fn tenants_search_and_nothing_else() {
    let access = access(Some(MASTER));
    let key = test_key(&[Action::Search, Action::DocumentsGet], &["a*"]);
    let value = make(&access, key.clone());
    let token = |claims: Value, secret: &str| tenant::sign(Algorithm::HS384, &claims, secret);
    let rules = json!({"apiKeyUid": key.uid, "searchRules": {"*": {"filter": "x = 1"}}});
    let good = token(rules.clone(), &value);
    // The second is `a`, encoded.
    for index in ["a", "%61", "a1"] {
        let rights = with(&access, Action::Search, Some(index), &good).unwrap();
        assert_eq!(rights.imposed_filter("a", "a").as_deref(), Some(&json!("x = 1")));
    }
    assert!(with(&access, Action::Search, None, &good).unwrap().check_index("b").is_err());
    assert_eq!(with(&access, Action::DocumentsGet, Some("a"), &good).unwrap_err(), INVALID);
    assert_eq!(
        with(&access, Action::Search, Some("b"), &good).unwrap_err(),
        "The API key used to generate this tenant token cannot acces the index `b`."
    );
    assert_eq!(
        with(&access, Action::Search, Some("a"), &token(rules, "another secret")).unwrap_err(),
        "Could not decode tenant token, InvalidSignature."
    );
    access.keys().delete(&value).unwrap();
    assert_eq!(with(&access, Action::Search, Some("a"), &good).unwrap_err(), INVALID, "it dies with its key");
}

#[test]
fn tenants_need_a_key_that_may_search() {
    let access = access(Some(MASTER));
    let key = test_key(&[Action::DocumentsAll], &["*"]);
    let value = make(&access, key.clone());
    let claims = json!({"apiKeyUid": key.uid, "searchRules": ["*"]});
    let token = tenant::sign(Algorithm::HS256, &claims, &value);
    assert_eq!(with(&access, Action::Search, Some("a"), &token).unwrap_err(), INVALID);
    // The master key signs no tokens.
    let claims = json!({"apiKeyUid": uuid::Uuid::new_v4(), "searchRules": ["*"]});
    let token = tenant::sign(Algorithm::HS256, &claims, MASTER);
    let reason = with(&access, Action::Search, Some("a"), &token).unwrap_err();
    assert_eq!(reason, "Could not decode tenant token, InvalidSignature.");
}

#[test]
fn a_token_that_cannot_be_read_says_why_where_tokens_are_taken() {
    let access = access(Some(MASTER));
    let token = tenant::sign(Algorithm::HS256, &json!({"tamo": "kefir"}), "tamo");
    let reason = with(&access, Action::Search, Some("a"), &token).unwrap_err();
    assert_eq!(reason, "Could not decode tenant token, JSON error: missing field `searchRules` at line 1 column 16.");
    assert_eq!(with(&access, Action::DocumentsGet, Some("a"), &token).unwrap_err(), INVALID);
    assert_eq!(with(&access, Action::Search, Some("a"), "no token").unwrap_err(), INVALID);
}

#[test]
fn a_second_action_is_needed_besides() {
    let access = access(Some(MASTER));
    let may = |actions: &[Action], action: Action, also: Action| {
        let value = make(&access, ApiKey { uid: uuid::Uuid::new_v4(), ..test_key(actions, &["*"]) });
        ask(&access, Needed { action, also: Some(also) }, None, Some(&format!("Bearer {value}"))).is_ok()
    };
    for actions in [
        &[Action::All][..],
        &[Action::SettingsGet, Action::DocumentsGet],
        &[Action::DocumentsAll, Action::SettingsGet],
        &[Action::SettingsAll, Action::DocumentsGet],
    ] {
        assert!(may(actions, Action::SettingsGet, Action::DocumentsGet), "{actions:?}");
    }
    for actions in [&[Action::SettingsGet][..], &[Action::DocumentsGet], &[Action::Search]] {
        assert!(!may(actions, Action::SettingsGet, Action::DocumentsGet), "{actions:?}");
    }
    assert!(may(&[Action::DocumentsAll, Action::SettingsUpdate], Action::DocumentsAll, Action::SettingsUpdate));
    for actions in [&[Action::DocumentsAll][..], &[Action::SettingsAll], &[Action::IndexesAll]] {
        assert!(!may(actions, Action::DocumentsAll, Action::SettingsUpdate), "{actions:?}");
    }
}

#[test]
fn keys_survive_the_way_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let connect = |name: &str| Durable::new(Connection::open(folder.path().join(name)).unwrap()).unwrap();
    let made = export_keys(connect("one")).unwrap();
    assert_eq!(made.len(), 4, "the default ones");
    let made: Vec<ApiKey> = serde_json::from_str(&json!(made).to_string()).unwrap();
    import_keys(connect("two"), &made).unwrap();
    assert_eq!(export_keys(connect("two")).unwrap(), made);
}

#[test]
fn lines_of_other_programs_are_read() {
    let text = r#"{"description":"d","name":null,"uid":"9f8a34da-b6b2-42f0-939b-dbd4c3448655",
        "actions":["documents.*","something.new"],"indexes":["doggos"],"expires_at":"2030-03-14T12:21:00Z",
        "created_at":"2020-11-15T00:00:00Z","updated_at":"2022-11-10T00:00:00Z"}"#;
    let folder = tempfile::tempdir().unwrap();
    let connect = || Durable::new(Connection::open(folder.path().join("keys")).unwrap()).unwrap();
    import_keys(connect(), &[serde_json::from_str(text).unwrap()]).unwrap();
    let keys = export_keys(connect()).unwrap();
    assert_eq!((keys.len(), &keys[0].actions), (1, &vec![Action::DocumentsAll]));
    assert_eq!(json!(keys[0])["expires_at"], "2030-03-14T12:21:00Z");
}

#[test]
fn a_key_whose_end_cannot_be_read_has_ended() {
    let line = json!({"uid": uuid::Uuid::nil(), "actions": ["search"], "indexes": ["*"], "expires_at": "soon",
        "created_at": "2020-11-15T00:00:00Z", "updated_at": "2022-11-10T00:00:00Z"});
    let key: ApiKey = serde_json::from_value(line).unwrap();
    assert_eq!(key.expires_at, Some(OffsetDateTime::UNIX_EPOCH));
}
