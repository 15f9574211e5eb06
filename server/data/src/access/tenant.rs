//! Tenant tokens: JWTs that a backend signs with an API key, so that its users can search a part of what the key can.

use std::collections::BTreeMap;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use lamina_base::error::{ApiError, Code};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::key::matches;

/// The indexes that a tenant may search, by uid or pattern, each with what its searches must obey.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct SearchRules(BTreeMap<String, Rule>);

/// Restrictions on searches of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rule {
    /// Filter in the form of a search request; never an empty one.
    pub(super) filter: Option<Value>,
}

impl TryFrom<Value> for SearchRules {
    type Error = String;

    /// From an array of index patterns, or an object with a rule for each. A rule that is not understood, or whose filter is
    /// empty, would let its tenant see what others have: it is refused.
    fn try_from(written: Value) -> Result<SearchRules, String> {
        let neither = || "`searchRules` is neither an array of index patterns nor an object of them".to_owned();
        let rules: Result<BTreeMap<String, Rule>, String> = match written {
            Value::Array(patterns) => patterns
                .into_iter()
                .map(|pattern| match pattern {
                    Value::String(pattern) => Ok((pattern, Rule::default())),
                    _ => Err(neither()),
                })
                .collect(),
            Value::Object(rules) => rules
                .into_iter()
                .map(|(pattern, rule)| Rule::read(&pattern, rule).map(|rule| (pattern, rule)))
                .collect(),
            _ => Err(neither()),
        };
        rules.map(SearchRules)
    }
}

impl Rule {
    /// `null`, `{}`, or `{"filter": …}`.
    fn read(pattern: &str, written: Value) -> Result<Rule, String> {
        let mut fields = match written {
            Value::Null => return Ok(Rule::default()),
            Value::Object(fields) => fields,
            _ => return Err(format!("the rule of `{pattern}` in `searchRules` is neither null nor an object")),
        };
        let filter = fields.remove("filter");
        if let Some(unknown) = fields.keys().next() {
            let reason = "expected `filter` and nothing else";
            return Err(format!("unknown field `{unknown}` in the rule of `{pattern}` in `searchRules`: {reason}"));
        }
        if filter.as_ref().is_some_and(is_empty) {
            let advice = "leave it out to let the tenant see the whole index";
            return Err(format!("the filter of `{pattern}` in `searchRules`, or a part of it, is empty: {advice}"));
        }
        Ok(Rule { filter })
    }
}

/// Reports whether a filter, or a part of it, is empty, because a value is missing in the text that a backend
/// wrote.
fn is_empty(filter: &Value) -> bool {
    match filter {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(parts) => parts.is_empty() || parts.iter().any(is_empty),
        // No filter at all, as the search that it is for says.
        _ => false,
    }
}

impl SearchRules {
    /// The rule of an index: the one with its very uid, else the one with the longest pattern. `None`: not allowed.
    pub(super) fn of(&self, index_uid: &str) -> Option<&Rule> {
        if let Some(rule) = self.0.get(index_uid) {
            return Some(rule);
        }
        let matching = self.0.iter().filter(|(pattern, _)| matches(pattern, index_uid));
        matching.max_by_key(|(pattern, _)| pattern.len()).map(|(_, rule)| rule)
    }

    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claims {
    search_rules: SearchRules,
    /// Unix seconds.
    #[serde(default)]
    exp: Option<f64>,
    api_key_uid: Uuid,
}

/// The key that `token` says it is signed with; `None` when it has not the form of a token. Nothing of it is to be trusted
/// yet.
///
/// # Errors
/// `invalid_api_key` with the reason, when it has the form and another content: its sender knows that already.
pub(super) fn signer(token: &str) -> Result<Option<Uuid>, ApiError> {
    match jsonwebtoken::dangerous::insecure_decode_claims::<Claims>(token) {
        Ok(claims) => Ok(Some(claims.api_key_uid)),
        Err(error) if matches!(error.kind(), ErrorKind::InvalidToken) => Ok(None),
        Err(error) => Err(undecodable(&error)),
    }
}

/// The rules of a token that is signed with `secret` and has not ended by `now` (Unix seconds).
///
/// # Errors
/// `invalid_api_key` with the reason.
pub(super) fn verify(token: &str, secret: &str, now: i64) -> Result<SearchRules, ApiError> {
    let algorithm = decode_header(token).map_err(|error| undecodable(&error))?.alg;
    // The token names its algorithm, but only among those that prove knowledge of the secret.
    if !matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512) {
        return Err(undecodable(&jsonwebtoken::errors::new_error(ErrorKind::InvalidAlgorithm)));
    }
    let mut validation = Validation::new(algorithm);
    // Its end is checked below, with words of its own; other claims are the backend's business.
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let claims = decode::<Claims>(token, &DecodingKey::from_secret(secret.as_bytes()), &validation)
        .map_err(|error| undecodable(&error))?
        .claims;
    match claims.exp {
        Some(end) if now as f64 > end => Err(ApiError::new(
            Code::InvalidApiKey,
            format!("Tenant token expired. Was valid up to `{end:.0}` and we're now `{now}`."),
        )),
        _ => Ok(claims.search_rules),
    }
}

fn undecodable(error: &jsonwebtoken::errors::Error) -> ApiError {
    ApiError::new(Code::InvalidApiKey, format!("Could not decode tenant token, {error}."))
}

#[cfg(test)]
pub(super) fn sign(algorithm: Algorithm, claims: &Value, secret: &str) -> String {
    let key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&jsonwebtoken::Header::new(algorithm), claims, &key).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const UID: &str = "4bc0887a-0e41-4f3b-935d-0c451dcee9c8";

    fn check(mut claims: Value) -> Result<SearchRules, String> {
        claims["apiKeyUid"] = json!(UID);
        let token = sign(Algorithm::HS256, &claims, "secret");
        verify(&token, "secret", 1000).map_err(|error| error.message)
    }

    fn rules(rules: Value) -> SearchRules {
        serde_json::from_value(rules).unwrap()
    }

    #[test]
    fn three_algorithms_are_accepted() {
        let claims = json!({"apiKeyUid": UID, "searchRules": ["*"]});
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let token = sign(algorithm, &claims, "secret");
            assert_eq!(signer(&token), Ok(Some(UID.parse().unwrap())));
            assert!(verify(&token, "secret", 0).is_ok(), "{algorithm:?}");
            let error = verify(&token, "other", 0).unwrap_err();
            assert_eq!(error.message, "Could not decode tenant token, InvalidSignature.");
        }
    }

    /// Hand-made: `{"alg":"none"}` and a header that claims a public-key algorithm.
    #[test]
    fn unsigned_tokens_are_refused() {
        let token = sign(Algorithm::HS256, &json!({"apiKeyUid": UID, "searchRules": ["*"]}), "secret");
        let payload = token.split('.').nth(1).unwrap();
        for head in ["eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0", "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9"] {
            for signature in ["", token.split('.').nth(2).unwrap()] {
                assert!(verify(&format!("{head}.{payload}.{signature}"), "secret", 0).is_err());
            }
        }
    }

    #[test]
    fn what_is_no_tenant_token() {
        for token in ["", "abc", "a.b"] {
            assert_eq!(signer(token), Ok(None), "{token}");
        }
        let reason = |claims: Value| signer(&sign(Algorithm::HS256, &claims, "x")).unwrap_err().message;
        let missing = "Could not decode tenant token, JSON error: missing field `searchRules`";
        assert!(reason(json!({"tamo": "kefir"})).starts_with(missing));
        let missing = "Could not decode tenant token, JSON error: missing field `apiKeyUid`";
        assert!(reason(json!({"searchRules": ["*"]})).starts_with(missing));
        let error = reason(json!({"searchRules": "kefir", "apiKeyUid": UID}));
        assert!(error.starts_with("Could not decode tenant token, JSON error: `searchRules` is neither"), "{error}");
        assert!(signer("a.b.c").is_err());
    }

    #[test]
    fn tokens_end() {
        let at = |exp: Value| check(json!({"searchRules": ["*"], "exp": exp}));
        assert!(at(json!(null)).is_ok());
        assert!(at(json!(1000)).is_ok());
        assert!(at(json!(1001)).is_ok());
        assert_eq!(at(json!(999)).unwrap_err(), "Tenant token expired. Was valid up to `999` and we're now `1000`.");
        assert!(at(json!("soon")).unwrap_err().starts_with("Could not decode tenant token, JSON error: "));
    }

    #[test]
    fn rules_are_required() {
        let error = check(json!({"apiKeyUid": UID})).unwrap_err();
        assert!(error.starts_with("Could not decode tenant token, JSON error: missing field `searchRules`"), "{error}");
        let error = check(json!({"searchRules": 1})).unwrap_err();
        assert!(error.contains("JSON error: `searchRules` is neither an array of index patterns nor an"), "{error}");
    }

    #[test]
    fn rules_that_are_not_understood_open_nothing() {
        for (rule, reason) in [
            (json!({"filters": "x = 1"}), "unknown field `filters` in the rule of `films`"),
            (json!({"filter": "x = 1", "Filter": "x = 2"}), "unknown field `Filter` in the rule of `films`"),
            (json!({"filter": ""}), "is empty"),
            (json!({"filter": " \t\n"}), "is empty"),
            (json!({"filter": null}), "is empty"),
            (json!({"filter": []}), "is empty"),
            (json!({"filter": [[]]}), "is empty"),
            (json!({"filter": ["x = 1", ""]}), "is empty"),
            (json!({"filter": [["x = 1", " "]]}), "is empty"),
            (json!("x = 1"), "neither null nor an object"),
            (json!(true), "neither null nor an object"),
            (json!([]), "neither null nor an object"),
        ] {
            for pattern in ["films", "*"] {
                let error = check(json!({"searchRules": {"films": {"filter": "y = 1"}, pattern: rule}})).unwrap_err();
                let reason = reason.replace("films", pattern);
                assert!(error.starts_with("Could not decode tenant token, JSON error: "), "{error}");
                assert!(error.contains(&reason), "{rule}: {error}");
            }
        }
        let error = check(json!({"searchRules": ["films", {"filter": "x = 1"}]})).unwrap_err();
        assert!(error.contains("neither an array of index patterns nor an object of them"), "{error}");
    }

    #[test]
    fn all_forms_of_rules() {
        let filter = |filter: Value| Rule { filter: Some(filter) };
        assert_eq!(rules(json!(["*"])).of("x"), Some(&Rule::default()));
        assert_eq!(rules(json!([])).of("x"), None);
        assert_eq!(rules(json!({})).of("x"), None);
        let written = json!({
            "*": {}, "a": null, "ab*": {"filter": "x = 1"}, "abc*": {"filter": ["y = 2"]}, "abd": {}
        });
        let rules = rules(written);
        for (uid, rule) in [
            ("a", Rule::default()),
            ("ab", filter(json!("x = 1"))),
            ("abcd", filter(json!(["y = 2"]))),
            ("abd", Rule::default()),
            ("z", Rule::default()),
        ] {
            assert_eq!(rules.of(uid), Some(&rule), "{uid}");
        }
    }
}
