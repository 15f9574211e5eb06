//! Who may ask what: the master key, API keys and tenant tokens.
//!
//! Every request that reaches a route passes [`Access::check`] before anything else of it is read. What comes out are
//! its [`Rights`]: the indexes it may touch and the filters its searches must obey.

mod key;
mod matrix;
mod rights;
mod store;
mod tenant;
#[cfg(test)]
pub mod tests;
mod transfer;

use std::sync::Arc;

use http::{HeaderMap, Method, header};
use lamina_base::aliases::Aliases;
use lamina_base::error::{ApiError, ApiResult, Code};
use time::OffsetDateTime;

pub use key::matches;
pub use key::{ApiKey, ApiKeyView};
pub use lamina_protocol::wire::actions::Action;
pub use rights::{Holder, Rights};
pub use store::KeyStore;
pub use tenant::SearchRules;
pub use transfer::{KeyLine, export_keys, import_keys, key_lines, replace_keys};

use matrix::Asked;

/// The action that a key needs for such a request; `None` where no key but the master key will do, or none is needed.
pub fn action_of(method: &str, path: &str) -> Option<Action> {
    Asked::of(&method.parse().ok()?, path).action
}

/// Whether a replica answers such a request itself: it reads what is published, or it is about the server that is asked.
pub fn is_read(method: &Method, path: &str) -> bool {
    match Asked::of(method, path).action {
        Some(
            Action::Search
            | Action::DocumentsGet
            | Action::IndexesGet
            | Action::SettingsGet
            | Action::StatsGet
            | Action::FieldsPost
            | Action::KeysGet
            | Action::NetworkGet
            | Action::MetricsGet
            | Action::Version
            | Action::ExperimentalGet
            | Action::DynamicSearchRulesGet
            | Action::WebhooksGet
            | Action::ChatsGet
            | Action::ChatsSettingsGet,
        ) => true,
        Some(_) => false,
        None => *method == Method::GET,
    }
}

/// The gate.
#[derive(Debug)]
pub struct Access {
    keys: KeyStore,
}

impl Access {
    /// With these keys. Everything is open without a master key.
    pub fn new(keys: KeyStore) -> Access {
        Access { keys }
    }

    /// Where keys are looked up, made and removed.
    pub fn keys(&self) -> &KeyStore {
        &self.keys
    }

    /// What a request may do, with the `aliases` of this moment; who may not make it never learns what else is wrong with it.
    ///
    /// # Errors
    /// `missing_authorization_header`, `missing_master_key`, `invalid_api_key`
    pub fn check(&self, method: &Method, path: &str, headers: &HeaderMap, aliases: Arc<Aliases>) -> ApiResult<Rights> {
        let token = match headers.get(header::AUTHORIZATION) {
            // A header of another scheme is refused even where none is needed: the client means something by it.
            Some(value) => Some(bearer(value.as_bytes()).ok_or_else(missing_header)?),
            None => None,
        };
        let asked = Asked::of(method, path);
        if self.keys.master_key().is_none() {
            return match asked.action {
                Some(Action::KeysGet | Action::KeysCreate | Action::KeysUpdate | Action::KeysDelete) => {
                    Err(missing_master_key())
                }
                _ => Ok(Rights::all().with(aliases)),
            };
        }
        let token = token.ok_or_else(missing_header)?;
        if self.keys.is_master(token) {
            return Ok(Rights::all().with(aliases));
        }
        let action = asked.action.ok_or_else(invalid_key)?;
        let rights = match self.keys.by_value(token) {
            Some(key) => {
                if key.is_expired(OffsetDateTime::now_utc()) {
                    return Err(invalid_key());
                }
                if let Some(lacking) = [action].into_iter().chain(asked.also).find(|needed| !key.may(*needed)) {
                    return Err(refused(&key, lacking));
                }
                Rights::of_key(key)
            }
            None => self.tenant(token, action)?,
        };
        let rights = rights.with(aliases);
        if let Some(uid) = &asked.index_uid {
            rights.check_index(uid)?;
        }
        Ok(rights)
    }

    fn tenant(&self, token: &[u8], action: Action) -> ApiResult<Rights> {
        if !matches!(action, Action::Search | Action::ChatCompletions) {
            return Err(invalid_key());
        }
        let token = std::str::from_utf8(token).map_err(|_| invalid_key())?;
        let (Some(uid), Some(master)) = (tenant::signer(token)?, self.keys.master_key()) else {
            return Err(invalid_key());
        };
        let now = OffsetDateTime::now_utc();
        // A client that signs with another secret learns no more than that, whichever keys there are.
        let rules = tenant::verify(token, &key::value(uid, master), now.unix_timestamp())?;
        let key =
            self.keys.by_uid(uid).filter(|key| !key.is_expired(now) && key.may(action)).ok_or_else(invalid_key)?;
        Ok(Rights::of_tenant(key, rules))
    }
}

/// The token after `Bearer`; empty when there is none.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let rest = value.strip_prefix(b"Bearer")?;
    match rest.first() {
        None => Some(rest),
        Some(b' ') => Some(rest.trim_ascii()),
        Some(_) => None,
    }
}

fn missing_header() -> ApiError {
    ApiError::new(
        Code::MissingAuthorizationHeader,
        "The Authorization header is missing. It must use the bearer authorization method.",
    )
}

fn missing_master_key() -> ApiError {
    ApiError::new(
        Code::MissingMasterKey,
        "Lamina is running without a master key. To access this API endpoint, you must have set a master key at launch.",
    )
}

fn invalid_key() -> ApiError {
    ApiError::new(Code::InvalidApiKey, "The provided API key is invalid.")
}

fn refused(key: &ApiKey, action: Action) -> ApiError {
    let mut error = invalid_key();
    // The key would do, were it not for its indexes.
    if action == Action::MetricsGet && key.actions.iter().any(|held| held.grants(action)) {
        error.message.push_str(" The API key for the `/metrics` route must allow access to all indexes.");
    }
    error
}
