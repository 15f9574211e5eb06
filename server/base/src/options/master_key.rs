//! What a master key must be.

use thiserror::Error;
use uuid::Uuid;

use super::Environment;

/// Shortest good master key, in bytes.
const BYTES_MIN: usize = 16;

/// Fault of the master key that prevents the start of the server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MasterKeyError {
    /// None in production.
    #[error(
        "You must provide a master key to secure your instance in a production environment. Set one with \
         `--master-key` or `SVC_MASTER_KEY`."
    )]
    Missing,
    /// Too short in production.
    #[error(
        "The master key must be at least 16 bytes in a production environment. The provided key is only {bytes} bytes."
    )]
    TooShort {
        /// Length of the key.
        bytes: usize,
    },
}

/// Checks the key; in development a bad one is a warning, which is returned.
///
/// # Errors
/// In production.
pub fn check_master_key(environment: Environment, key: Option<&str>) -> Result<Option<&'static str>, MasterKeyError> {
    let bytes = key.map_or(0, str::len);
    match (environment, key) {
        (_, Some(_)) if bytes >= BYTES_MIN => Ok(None),
        (Environment::Production, None) => Err(MasterKeyError::Missing),
        (Environment::Production, Some("")) => Err(MasterKeyError::Missing),
        (Environment::Production, Some(_)) => Err(MasterKeyError::TooShort { bytes }),
        (Environment::Development, None) => Ok(Some(
            "No master key was found: anyone who reaches this server can read and change everything. Set \
             one with `--master-key` or `SVC_MASTER_KEY`.",
        )),
        (Environment::Development, Some(_)) => Ok(Some(
            "The master key has less than 16 bytes: it could be guessed, and a production environment refuses it.",
        )),
    }
}

/// A fresh key: 32 random bytes in URL-safe base64 without padding, 43 characters. None begins with a dash: behind
/// `--master-key` that would be read as another option.
pub fn suggested_master_key() -> String {
    std::iter::repeat_with(random_key).find(|key| !key.starts_with('-')).unwrap_or_default()
}

fn random_key() -> String {
    // Bytes 6 and 8 of a random UUID have fixed bits.
    let is_random = |index: usize| index != 6 && index != 8;
    let bytes: Vec<u8> = (0..3)
        .flat_map(|_| {
            let uuid = Uuid::new_v4().into_bytes();
            uuid.into_iter().enumerate().filter(move |(index, _)| is_random(*index)).map(|(_, byte)| byte)
        })
        .take(32)
        .collect();
    url_safe_base64(&bytes)
}

fn url_safe_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let sextet = bits >> (18 - 6 * place) & 63;
            text.push(char::from(ALPHABET[sextet as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_insists() {
        let production = |key| check_master_key(Environment::Production, key);
        assert_eq!(production(None), Err(MasterKeyError::Missing));
        assert_eq!(production(Some("short")), Err(MasterKeyError::TooShort { bytes: 5 }));
        assert_eq!(production(Some("0123456789abcdef")), Ok(None));
    }

    #[test]
    fn development_warns() {
        let development = |key| check_master_key(Environment::Development, key);
        assert!(matches!(development(None), Ok(Some(_))));
        assert!(matches!(development(Some("short")), Ok(Some(_))));
        assert_eq!(development(Some("0123456789abcdef")), Ok(None));
    }

    #[test]
    fn base64_is_url_safe_and_unpadded() {
        assert_eq!(url_safe_base64(b""), "");
        assert_eq!(url_safe_base64(b"f"), "Zg");
        assert_eq!(url_safe_base64(b"fo"), "Zm8");
        assert_eq!(url_safe_base64(b"foo"), "Zm9v");
        assert_eq!(url_safe_base64(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn suggestions_are_good_and_differ() {
        let (one, other) = (suggested_master_key(), suggested_master_key());
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
        // Of random ones, one in 64 does.
        assert!((0..1000).all(|_| !suggested_master_key().starts_with('-')));
    }
}
