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

fn ask(access: &Access, method: &str, path: &str, header: Option<&str>) -> Result<Rights, (Code, String)> {
    let mut headers = HeaderMap::new();
    if let Some(value) = header {
        headers.insert(header::AUTHORIZATION, value.parse().unwrap());
    }
    access
        .check(&method.parse().unwrap(), path, &headers, std::sync::Arc::default())
        .map_err(|error| (error.code, error.message))
}

fn with(access: &Access, method: &str, path: &str, token: &str) -> Result<Rights, String> {
    ask(access, method, path, Some(&format!("Bearer {token}"))).map_err(|(_, message)| message)
}

fn make(access: &Access, key: ApiKey) -> String {
    access.keys().create(key).unwrap().value(MASTER)
}

const INVALID: &str = "The provided API key is invalid.";

#[test]
fn the_master_key_opens_everything() {
    let access = access(Some(MASTER));
    let code = |header: Option<&str>| ask(&access, "GET", "/keys", header).err().map(|(code, _)| code);
    assert_eq!(code(Some(&format!("Bearer {MASTER}"))), None);
    assert_eq!(code(Some(&format!("Bearer  {MASTER} "))), None);
    assert_eq!(code(Some(&format!("Bearer {}", &MASTER[1..]))), Some(Code::InvalidApiKey));
    assert_eq!(code(Some("Bearer")), Some(Code::InvalidApiKey));
    assert_eq!(code(Some(&format!("Bearer{MASTER}"))), Some(Code::MissingAuthorizationHeader));
    assert_eq!(code(Some(&format!("Basic {MASTER}"))), Some(Code::MissingAuthorizationHeader));
    assert_eq!(code(None), Some(Code::MissingAuthorizationHeader));
    assert!(with(&access, "GET", "/not/listed", MASTER).is_ok());
}

#[test]
fn without_a_master_key_all_but_keys_is_open() {
    for access in [access(None), access(Some(""))] {
        let code = |path: &str, header: Option<&str>| ask(&access, "GET", path, header).err().map(|(code, _)| code);
        assert_eq!(code("/indexes", None), None);
        assert_eq!(code("/indexes", Some("Bearer anything")), None);
        assert_eq!(code("/indexes", Some("Basic anything")), Some(Code::MissingAuthorizationHeader));
        assert_eq!(code("/keys", None), Some(Code::MissingMasterKey));
        assert_eq!(code("/keys/x", Some("Bearer x")), Some(Code::MissingMasterKey));
    }
}

#[test]
fn keys_may_do_what_their_actions_say() {
    let access = access(Some(MASTER));
    let token = make(&access, test_key(&[Action::DocumentsAdd], &["*"]));
    assert!(with(&access, "POST", "/indexes/a/documents", &token).is_ok());
    assert_eq!(with(&access, "GET", "/indexes/a/documents", &token).unwrap_err(), INVALID);
    assert_eq!(with(&access, "GET", "/not/listed", &token).unwrap_err(), INVALID);
    let all = make(&access, test_key(&[Action::All], &["*"]));
    assert_eq!(with(&access, "GET", "/not/listed", &all).unwrap_err(), INVALID);
    assert!(with(&access, "POST", "/keys", &all).is_ok());
}

#[test]
fn keys_may_touch_what_their_indexes_say() {
    let access = access(Some(MASTER));
    let token = make(&access, test_key(&[Action::All], &["dog"]));
    assert!(with(&access, "POST", "/indexes/dog/search", &token).is_ok());
    assert_eq!(
        with(&access, "POST", "/indexes/x/search", &token).unwrap_err(),
        "The API key cannot acces the index `x`, authorized indexes are [\"dog\"]."
    );
    assert_eq!(with(&access, "POST", "/keys", &token).unwrap_err(), INVALID);
    assert_eq!(
        with(&access, "GET", "/metrics", &token).unwrap_err(),
        format!("{INVALID} The API key for the `/metrics` route must allow access to all indexes.")
    );
}

#[test]
fn keys_end_while_the_server_runs() {
    let access = access(Some(MASTER));
    let soon = OffsetDateTime::now_utc() + time::Duration::milliseconds(300);
    let token = make(&access, ApiKey { expires_at: Some(soon), ..test_key(&[Action::All], &["*"]) });
    assert!(with(&access, "GET", "/indexes", &token).is_ok());
    std::thread::sleep(std::time::Duration::from_millis(350));
    assert_eq!(with(&access, "GET", "/indexes", &token).unwrap_err(), INVALID);
}

#[test]
fn tenants_search_and_nothing_else() {
    let access = access(Some(MASTER));
    let key = test_key(&[Action::Search, Action::DocumentsGet], &["a*"]);
    let value = make(&access, key.clone());
    let token = |claims: Value, secret: &str| tenant::sign(Algorithm::HS384, &claims, secret);
    let rules = json!({"apiKeyUid": key.uid, "searchRules": {"*": {"filter": "x = 1"}}});
    let good = token(rules.clone(), &value);
    for (method, path) in
        [("POST", "/indexes/a/search"), ("GET", "/indexes/a1/similar"), ("POST", "/indexes/a/facet-search")]
    {
        let rights = with(&access, method, path, &good).unwrap();
        assert_eq!(rights.imposed_filter("a").as_deref(), Some(&json!("x = 1")));
    }
    assert!(with(&access, "POST", "/multi-search", &good).unwrap().check_index("b").is_err());
    assert_eq!(with(&access, "GET", "/indexes/a/documents", &good).unwrap_err(), INVALID);
    assert_eq!(
        with(&access, "POST", "/indexes/b/search", &good).unwrap_err(),
        "The API key used to generate this tenant token cannot acces the index `b`."
    );
    assert_eq!(
        with(&access, "POST", "/indexes/a/search", &token(rules, "another secret")).unwrap_err(),
        "Could not decode tenant token, InvalidSignature."
    );
    access.keys().delete(&value).unwrap();
    assert_eq!(with(&access, "POST", "/indexes/a/search", &good).unwrap_err(), INVALID, "it dies with its key");
}

#[test]
fn tenants_need_a_key_that_may_search() {
    let access = access(Some(MASTER));
    let key = test_key(&[Action::DocumentsAll], &["*"]);
    let value = make(&access, key.clone());
    let claims = json!({"apiKeyUid": key.uid, "searchRules": ["*"]});
    let token = tenant::sign(Algorithm::HS256, &claims, &value);
    assert_eq!(with(&access, "POST", "/indexes/a/search", &token).unwrap_err(), INVALID);
    // The master key signs no tokens.
    let claims = json!({"apiKeyUid": uuid::Uuid::new_v4(), "searchRules": ["*"]});
    let token = tenant::sign(Algorithm::HS256, &claims, MASTER);
    let reason = with(&access, "POST", "/indexes/a/search", &token).unwrap_err();
    assert_eq!(reason, "Could not decode tenant token, InvalidSignature.");
}

#[test]
fn a_token_that_cannot_be_read_says_why_where_tokens_are_taken() {
    let access = access(Some(MASTER));
    let token = tenant::sign(Algorithm::HS256, &json!({"tamo": "kefir"}), "tamo");
    let reason = with(&access, "POST", "/indexes/a/search", &token).unwrap_err();
    assert_eq!(reason, "Could not decode tenant token, JSON error: missing field `searchRules` at line 1 column 16.");
    assert_eq!(with(&access, "GET", "/indexes/a/documents", &token).unwrap_err(), INVALID);
    assert_eq!(with(&access, "POST", "/indexes/a/search", "no token").unwrap_err(), INVALID);
}

/// Rendering shows settings and documents: a key needs both rights. What is refused because the server does not have it is
/// for the route to say.
#[test]
fn keys_reach_routes_of_features_that_are_not_there() {
    let access = access(Some(MASTER));
    let may = |actions: &[Action], method: &str, path: &str| {
        let value = make(&access, ApiKey { uid: uuid::Uuid::new_v4(), ..test_key(actions, &["*"]) });
        with(&access, method, path, &value).is_ok()
    };
    for actions in [
        &[Action::All][..],
        &[Action::SettingsGet, Action::DocumentsGet],
        &[Action::DocumentsAll, Action::SettingsGet],
        &[Action::SettingsAll, Action::DocumentsGet],
    ] {
        assert!(may(actions, "POST", "/render-template"), "{actions:?}");
    }
    for actions in [&[Action::SettingsGet][..], &[Action::DocumentsGet], &[Action::Search]] {
        assert!(!may(actions, "POST", "/render-template"), "{actions:?}");
    }
    // Documents and settings come back.
    assert!(may(&[Action::DocumentsAll, Action::SettingsUpdate], "POST", "/indexes/a/restore"));
    for actions in [&[Action::DocumentsAll][..], &[Action::SettingsAll], &[Action::IndexesAll]] {
        assert!(!may(actions, "POST", "/indexes/a/restore"), "{actions:?}");
    }
    assert!(may(&[Action::DynamicSearchRulesDelete], "DELETE", "/dynamic-search-rules"));
    assert!(!may(&[Action::DynamicSearchRulesGet], "DELETE", "/dynamic-search-rules"));
}
