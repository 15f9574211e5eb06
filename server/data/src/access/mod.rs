//! Who may ask what: the master key, API keys and tenant tokens.
//!
//! Every request whose route needs a key passes [`Access::check`] before anything else of it is read. What comes out are
//! its [`Rights`]: the indexes it may touch and the filters its searches must obey.

mod key;
mod rights;
mod store;
mod tenant;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use http::{HeaderMap, header};
use lamina_base::aliases::Aliases;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_protocol::wire::identifier::decode_path_segment;
use time::OffsetDateTime;

pub use key::matches;
pub use key::{ApiKey, ApiKeyView};
pub use lamina_protocol::wire::actions::Action;
pub use rights::{Holder, Rights};
pub use store::{KeyStore, export_keys, import_keys};
pub use tenant::SearchRules;

/// The actions that a key needs for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    pub action: Action,
    /// A second one, where the first is not enough.
    pub also: Option<Action>,
}

impl Needed {
    /// Returns the need for this action alone.
    pub const fn only(action: Action) -> Needed {
        Needed { action, also: None }
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

    /// Returns the store in which keys are looked up, created and removed.
    pub fn keys(&self) -> &KeyStore {
        &self.keys
    }

    /// Returns what a request may do, with the `aliases` of this moment; who may not make it never learns what else is wrong with it.
    /// `index` is the part of its path that names an index, still encoded.
    ///
    /// # Errors
    /// `missing_authorization_header`, `missing_master_key`, `invalid_api_key`
    pub fn check(
        &self,
        needed: Needed,
        index: Option<&str>,
        headers: &HeaderMap,
        aliases: Arc<Aliases>,
    ) -> ApiResult<Rights> {
        let Needed { action, also } = needed;
        let token = match headers.get(header::AUTHORIZATION) {
            // A header of another scheme is refused even where none is needed: the client means something by it.
            Some(value) => Some(bearer(value.as_bytes()).ok_or_else(missing_header)?),
            None => None,
        };
        if self.keys.master_key().is_none() {
            return match action {
                Action::KeysGet | Action::KeysCreate | Action::KeysUpdate | Action::KeysDelete => {
                    Err(missing_master_key())
                }
                _ => Ok(Rights::all().with(aliases)),
            };
        }
        let token = token.ok_or_else(missing_header)?;
        if self.keys.is_master(token) {
            return Ok(Rights::all().with(aliases));
        }
        let rights = match self.keys.by_value(token) {
            Some(key) => {
                if key.is_expired(OffsetDateTime::now_utc()) {
                    return Err(invalid_key());
                }
                if let Some(lacking) = [action].into_iter().chain(also).find(|needed| !key.may(*needed)) {
                    return Err(refused(&key, lacking));
                }
                Rights::of_key(key)
            }
            None => self.tenant(token, action)?,
        };
        let rights = rights.with(aliases);
        if let Some(index) = index {
            rights.check_index(&decode_path_segment(index))?;
        }
        Ok(rights)
    }

    fn tenant(&self, token: &[u8], action: Action) -> ApiResult<Rights> {
        if !matches!(action, Action::Search | Action::ChatCompletions | Action::EventsAdd) {
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
        error.message.push_str(" This route shows all indexes: its API key must allow access to all of them.");
    }
    error
}
