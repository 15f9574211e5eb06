//! Who may ask: with a master key, every route but the open ones wants it.

use subtle::ConstantTimeEq;
use warp::http::{HeaderMap, header};

use crate::error::{ApiError, ApiResult, Code};

/// The rule of this server. Cheap to check.
pub struct Access {
    master_key: Option<Box<str>>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("has_master_key", &self.master_key.is_some()).finish()
    }
}

impl Access {
    /// Everything is open without a master key.
    pub fn new(master_key: Option<&str>) -> Access {
        Access { master_key: master_key.map(Into::into) }
    }

    /// Whether a request with these headers may go on.
    ///
    /// # Errors
    /// `missing_authorization_header`, `invalid_api_key`
    pub fn check(&self, headers: &HeaderMap) -> ApiResult<()> {
        let token = match headers.get(header::AUTHORIZATION) {
            // A header of another scheme is refused even where none is needed: the client means something by it.
            Some(value) => Some(bearer(value.as_bytes()).ok_or_else(missing_header)?),
            None => None,
        };
        match (&self.master_key, token) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(missing_header()),
            (Some(key), Some(token)) if bool::from(key.as_bytes().ct_eq(token)) => Ok(()),
            (Some(_), Some(_)) => Err(ApiError::new(Code::InvalidApiKey, "The provided API key is invalid.")),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: Option<&str>, header: Option<&str>) -> Result<(), Code> {
        let mut headers = HeaderMap::new();
        if let Some(value) = header {
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        }
        Access::new(key).check(&headers).map_err(|error| error.code)
    }

    #[test]
    fn the_master_key_opens_everything() {
        assert_eq!(check(Some("secret"), Some("Bearer secret")), Ok(()));
        assert_eq!(check(Some("secret"), Some("Bearer  secret ")), Ok(()));
        assert_eq!(check(Some("secret"), Some("Bearer secre")), Err(Code::InvalidApiKey));
        assert_eq!(check(Some("secret"), Some("Bearer")), Err(Code::InvalidApiKey));
        assert_eq!(check(Some("secret"), Some("Bearersecret")), Err(Code::MissingAuthorizationHeader));
        assert_eq!(check(Some("secret"), Some("Basic secret")), Err(Code::MissingAuthorizationHeader));
        assert_eq!(check(Some("secret"), None), Err(Code::MissingAuthorizationHeader));
    }

    #[test]
    fn without_a_master_key_only_other_schemes_are_refused() {
        assert_eq!(check(None, None), Ok(()));
        assert_eq!(check(None, Some("Bearer anything")), Ok(()));
        assert_eq!(check(None, Some("Basic anything")), Err(Code::MissingAuthorizationHeader));
    }
}
